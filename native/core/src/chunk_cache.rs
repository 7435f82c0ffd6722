//! Cache the ids of chunks of text.
//!
//! A chunk of up to 15 bytes is packed into one number, which is compared at once, and up to four ids are stored next to
//! it, so that most chunks cost one probe of one cache line. Longer chunks have a table of their own.

use crate::hash::{fold, hash};
use crate::id_buffer::{INLINE, IdBuffer};

/// The longest chunk that [`Key`] can hold, in bytes.
pub const SHORT: usize = 15;
/// The longest chunk worth storing, in bytes; longer ones rarely recur.
pub const LONG: usize = 256;
/// The number of bytes that must be readable after the end of a text whose chunks are packed.
pub const PADDING: usize = 16;

/// In the upper half of a key, the length is in the highest bits; below it, an entry contains the number of ids.
const LENGTH_SHIFT: u32 = 60;
const COUNT_SHIFT: u32 = 56;
const COUNT_MASK: u64 = 0xF << COUNT_SHIFT;
/// In place of the number of ids: they are in the arena.
const IN_ARENA: u64 = 8 << COUNT_SHIFT;
/// How many slots from its own a chunk may be stored.
const PROBES: usize = 8;
const SMALLEST: usize = 1 << 12;
const SPARSE: usize = 1 << 16;
const LARGEST: usize = 1 << 18;
/// The numbers of bytes and of ids after which an arena is emptied.
const ARENA: usize = 1 << 22;

/// For each length, the bits of the bytes of a chunk, in both halves of a key.
const KEPT: [[u64; 2]; SHORT + 1] = {
    let mut kept = [[u64::MAX, 0]; SHORT + 1];
    let mut length = 0;
    while length < 8 {
        kept[length][0] = (1 << (8 * length)) - 1;
        kept[length + 8][1] = (1 << (8 * length)) - 1;
        length += 1;
    }
    kept
};

/// A chunk of 1 to 15 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The first eight bytes, the first one lowest.
    pub low: u64,
    /// The other bytes, and the length in the highest four bits.
    pub high: u64,
    hash: u64,
}

impl Key {
    /// Pack the `length` bytes at `start`; 16 bytes must be readable there.
    #[must_use]
    #[inline]
    pub fn pack(padded: &[u8], start: usize, length: usize) -> Self {
        debug_assert!((1..=SHORT).contains(&length));
        let bytes = &padded[start..start + 16];
        let half = |start| u64::from_le_bytes(std::array::from_fn(|index| bytes[start + index]));
        let [low, high] = KEPT[length & SHORT];
        Self::new(half(0) & low, half(8) & high | (length as u64) << LENGTH_SHIFT)
    }

    #[inline]
    fn new(low: u64, high: u64) -> Self {
        Self { low, high, hash: fold(low, high) }
    }

    /// Return the number of the slot where a table begins to look for the chunk.
    #[must_use]
    #[inline]
    pub fn slot(self, mask: usize) -> usize {
        self.hash as usize & mask
    }
}

/// A short chunk and its ids.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub struct Entry {
    /// The lower half of the key.
    low: u64,
    /// The upper half of the key, with the number of ids above it; zero in an empty slot.
    high: u64,
    /// The ids, or their start and end in the arena.
    ids: [u32; INLINE],
}

impl Entry {
    #[inline]
    fn is_of(&self, key: Key) -> bool {
        (self.low ^ key.low) | ((self.high ^ key.high) & !COUNT_MASK) == 0
    }

    #[inline]
    fn count(&self) -> usize {
        ((self.high & COUNT_MASK) >> COUNT_SHIFT) as usize
    }
}

/// The ids of chunks by text.
#[derive(Debug, Default)]
pub struct ChunkCache {
    entries: Vec<Entry>,
    used: usize,
    /// The ids of short chunks that have more than four.
    arena: Vec<u32>,
    long: LongCache,
}

impl ChunkCache {
    /// Append the ids of the chunk from `start` to `end`; if it is not known yet, `encode` appends them.
    ///
    /// # Errors
    /// The error of `encode`.
    #[inline]
    pub fn append<Error>(
        &mut self,
        padded: &[u8],
        (start, end): (usize, usize),
        ids: &mut IdBuffer<'_>,
        encode: impl FnOnce(&mut IdBuffer<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let first = ids.len();
        if end - start > SHORT {
            let chunk = &padded[start..end];
            if !self.append_long(chunk, ids) {
                encode(ids)?;
                self.insert_long(chunk, ids.since(first));
            }
            return Ok(());
        }
        let key = Key::pack(padded, start, end - start);
        if let Some(entry) = self.find_at_once(key) {
            self.append_entry(entry, ids);
        } else if !self.append_short(key, ids) {
            encode(ids)?;
            self.insert_short(key, ids.since(first));
        }
        Ok(())
    }

    /// Return the entry of a short chunk if it is in its own slot.
    #[inline]
    pub fn find_at_once(&self, key: Key) -> Option<&Entry> {
        let mask = self.entries.len().wrapping_sub(1);
        self.entries.get(key.slot(mask)).filter(|entry| entry.is_of(key))
    }

    /// Append the ids of an entry of this cache.
    #[inline]
    pub fn append_entry(&self, entry: &Entry, ids: &mut IdBuffer<'_>) {
        if entry.high & IN_ARENA == 0 {
            ids.append(entry.ids, entry.count());
        } else {
            ids.extend(&self.arena[entry.ids[0] as usize..entry.ids[1] as usize]);
        }
    }

    /// Append the ids of a short chunk; return whether they are known.
    pub fn append_short(&self, key: Key, ids: &mut IdBuffer<'_>) -> bool {
        let Some(entry) = self.find_short(key) else { return false };
        self.append_entry(entry, ids);
        true
    }

    fn find_short(&self, key: Key) -> Option<&Entry> {
        let mask = self.entries.len().wrapping_sub(1);
        let slot = key.slot(mask);
        for probe in 0..PROBES {
            let entry = self.entries.get((slot + probe) & mask)?;
            if entry.is_of(key) {
                return Some(entry);
            }
            if entry.high == 0 {
                return None;
            }
        }
        None
    }

    /// Store the ids of a short chunk that is not known yet.
    pub fn insert_short(&mut self, key: Key, ids: &[u32]) {
        if self.arena.len() + ids.len() > ARENA {
            self.entries.fill(Entry::default());
            self.arena.clear();
            self.used = 0;
        }
        if self.is_full() {
            self.grow();
        }
        let mut entry = Entry { low: key.low, high: key.high, ids: [0; INLINE] };
        if ids.len() <= INLINE {
            entry.ids[..ids.len()].copy_from_slice(ids);
            entry.high |= (ids.len() as u64) << COUNT_SHIFT;
        } else {
            entry.ids[0] = self.arena.len() as u32;
            self.arena.extend_from_slice(ids);
            entry.ids[1] = self.arena.len() as u32;
            entry.high |= IN_ARENA;
        }
        self.place(entry);
    }

    /// Small tables are kept sparse, so that most chunks are in their own slot.
    fn is_full(&self) -> bool {
        let size = self.entries.len();
        if size < SPARSE { self.used * 2 >= size } else { size < LARGEST && self.used * 8 >= size * 7 }
    }

    fn grow(&mut self) {
        let size = (self.entries.len() * 2).clamp(SMALLEST, LARGEST);
        let entries = std::mem::replace(&mut self.entries, vec![Entry::default(); size]);
        self.used = 0;
        entries.into_iter().filter(|entry| entry.high != 0).for_each(|entry| self.place(entry));
    }

    /// Store an entry near its slot, in place of another one if there is no room.
    fn place(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let slot = Key::new(entry.low, entry.high & !COUNT_MASK).slot(mask);
        let free = (0..PROBES).map(|probe| (slot + probe) & mask).find(|&place| self.entries[place].high == 0);
        self.used += usize::from(free.is_some());
        self.entries[free.unwrap_or(slot)] = entry;
    }

    /// Append the ids of a chunk of any length; return whether they are known.
    pub fn append_long(&self, chunk: &[u8], ids: &mut IdBuffer<'_>) -> bool {
        chunk.len() <= LONG && self.long.find(chunk).map(|known| ids.extend(known)).is_some()
    }

    /// Store the ids of a chunk that is not known yet; one of more than `LONG` bytes is ignored.
    pub fn insert_long(&mut self, chunk: &[u8], ids: &[u32]) {
        if chunk.len() <= LONG {
            self.long.insert(chunk, ids);
        }
    }
}

#[derive(Debug, Default)]
struct LongCache {
    entries: Vec<LongEntry>,
    used: usize,
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

/// The places of a chunk and of its ids; an empty slot has the length zero.
#[derive(Debug, Clone, Copy, Default)]
struct LongEntry {
    hash: u64,
    start: u32,
    length: u32,
    ids_start: u32,
    ids_length: u32,
}

impl LongCache {
    fn find(&self, chunk: &[u8]) -> Option<&[u32]> {
        let hash = hash(chunk);
        let mask = self.entries.len().wrapping_sub(1);
        for probe in 0..PROBES {
            let entry = self.entries.get((hash as usize).wrapping_add(probe) & mask)?;
            if entry.length == 0 {
                return None;
            }
            let start = entry.start as usize;
            if entry.hash == hash && &self.bytes[start..start + entry.length as usize] == chunk {
                let start = entry.ids_start as usize;
                return Some(&self.ids[start..start + entry.ids_length as usize]);
            }
        }
        None
    }

    fn insert(&mut self, chunk: &[u8], ids: &[u32]) {
        if self.bytes.len() + chunk.len() > ARENA || self.ids.len() + ids.len() > ARENA {
            *self = Self::default();
        }
        if self.used * 2 >= self.entries.len() {
            let size = (self.entries.len() * 4).max(SMALLEST / 4);
            let entries = std::mem::replace(&mut self.entries, vec![LongEntry::default(); size]);
            entries.into_iter().filter(|entry| entry.length != 0).for_each(|entry| self.place(entry));
        }
        let entry = LongEntry {
            hash: hash(chunk),
            start: self.bytes.len() as u32,
            length: chunk.len() as u32,
            ids_start: self.ids.len() as u32,
            ids_length: ids.len() as u32,
        };
        self.bytes.extend_from_slice(chunk);
        self.ids.extend_from_slice(ids);
        self.used += 1;
        self.place(entry);
    }

    fn place(&mut self, entry: LongEntry) {
        let mask = self.entries.len() - 1;
        let slot = entry.hash as usize;
        let free = (0..PROBES).find(|probe| self.entries[slot.wrapping_add(*probe) & mask].length == 0);
        self.entries[slot.wrapping_add(free.unwrap_or(0)) & mask] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(chunk: &[u8]) -> Vec<u8> {
        [chunk, &[7; PADDING]].concat()
    }

    fn key(chunk: &[u8]) -> Key {
        Key::pack(&padded(chunk), 0, chunk.len())
    }

    fn short(cache: &ChunkCache, chunk: &[u8]) -> Option<Vec<u32>> {
        let mut ids = vec![9];
        let known = cache.append_short(key(chunk), &mut IdBuffer::new(&mut ids));
        known.then(|| ids[1..].to_vec())
    }

    #[test]
    fn chunks_that_differ_only_in_trailing_zeros_have_different_keys() {
        assert_ne!(key(b"a"), key(b"a\0"));
        assert_eq!(key(b"a"), Key::pack(b"baaaaaaaaaaaaaaaa", 1, 1));
    }

    #[test]
    fn any_number_of_ids_is_returned_as_stored() {
        let mut cache = ChunkCache::default();
        for count in 0..9 {
            let ids: Vec<u32> = (0..count).collect();
            let chunk = vec![b'a'; count as usize + 1];
            assert_eq!(short(&cache, &chunk), None);
            cache.insert_short(key(&chunk), &ids);
            assert_eq!(short(&cache, &chunk), Some(ids));
        }
    }

    #[test]
    fn chunks_stay_known_while_the_table_grows() {
        let mut cache = ChunkCache::default();
        let chunks: Vec<String> = (0..20_000).map(|number| format!("chunk{number}")).collect();
        for (id, chunk) in (0..).zip(&chunks) {
            cache.insert_short(key(chunk.as_bytes()), &[id]);
            cache.insert_long(chunk.as_bytes(), &[id, id]);
        }
        for (id, chunk) in (0..).zip(&chunks) {
            assert!(short(&cache, chunk.as_bytes()).is_none_or(|ids| ids == [id]));
            let mut ids = Vec::new();
            if cache.append_long(chunk.as_bytes(), &mut IdBuffer::new(&mut ids)) {
                assert_eq!(ids, [id, id]);
            }
        }
        let known = chunks.iter().filter(|chunk| short(&cache, chunk.as_bytes()).is_some()).count();
        assert!(known > 19_000, "only {known} are known");
    }
}

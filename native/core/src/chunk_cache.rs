//! Cache the ids of chunks of text.
//!
//! A chunk of up to 15 bytes is packed into one number, which is compared at once, and up to four ids are stored next to
//! it, so that most chunks cost one probe of a few bytes. Longer chunks have a table of their own.

use crate::hash::fold;
use crate::id_buffer::{INLINE, IdBuffer};
use crate::long_cache::LongCache;

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
/// The numbers of sets in the smallest and in the largest table.
const SMALLEST: usize = 1 << 11;
const LARGEST: usize = 1 << 17;
/// How many times as large a table becomes at once.
const GROWTH: usize = 4;
/// The number of ids after which the arena is emptied.
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

    /// Return the number of the slot where a table looks for the chunk.
    #[must_use]
    #[inline]
    pub fn slot(self, mask: usize) -> usize {
        self.hash as usize & mask
    }
}

/// A short chunk and its ids: the lower half of the key; the upper half, with the number of ids above it; and four ids, or
/// their start and end in the arena. An empty slot consists of zeros.
///
/// Tables of numbers, unlike those of structures, begin as memory that the operating system clears when it is used.
pub type Entry = [u64; 4];

#[inline]
fn is_of(entry: &Entry, key: Key) -> bool {
    (entry[0] ^ key.low) | ((entry[1] ^ key.high) & !COUNT_MASK) == 0
}

#[inline]
fn count(entry: &Entry) -> usize {
    ((entry[1] & COUNT_MASK) >> COUNT_SHIFT) as usize
}

#[inline]
fn ids_of(entry: &Entry) -> [u32; INLINE] {
    let [first, second] = [entry[2], entry[3]];
    [first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32]
}

fn entry_of(key: Key, count: u64, ids: [u32; INLINE]) -> Entry {
    let pair = |index: usize| u64::from(ids[index]) | u64::from(ids[index + 1]) << 32;
    [key.low, key.high | count, pair(0), pair(2)]
}

/// The ids of chunks by text.
#[derive(Debug, Default)]
pub struct ChunkCache {
    /// The two entries that a chunk can have.
    sets: Vec<[Entry; 2]>,
    /// The number of entries that made room for others since the table last grew.
    replaced: usize,
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
        if let Some(entry) = self.find(key) {
            self.append_entry(entry, ids);
        } else {
            encode(ids)?;
            self.insert_short(key, ids.since(first));
        }
        Ok(())
    }

    /// Return the entry of a short chunk if it is known.
    #[inline]
    pub fn find(&self, key: Key) -> Option<&Entry> {
        let [first, second] = self.sets.get(key.slot(self.sets.len().wrapping_sub(1)))?;
        let entry = if is_of(first, key) { first } else { second };
        is_of(entry, key).then_some(entry)
    }

    /// Append the ids of an entry of this cache.
    #[inline]
    pub fn append_entry(&self, entry: &Entry, ids: &mut IdBuffer<'_>) {
        let [start, end, ..] = ids_of(entry);
        if entry[1] & IN_ARENA == 0 {
            ids.append(ids_of(entry), count(entry));
        } else {
            ids.extend(&self.arena[start as usize..end as usize]);
        }
    }

    /// Store the ids of a short chunk that is not known yet.
    pub fn insert_short(&mut self, key: Key, ids: &[u32]) {
        if self.arena.len() + ids.len() > ARENA {
            self.sets.fill(Default::default());
            self.arena.clear();
        }
        // Growing takes about as long as encoding one word for each set: worth it if as many known words were lost.
        if self.replaced >= self.sets.len() && self.sets.len() < LARGEST {
            self.grow();
        }
        let mut stored = [0; INLINE];
        let count = if ids.len() <= INLINE {
            stored[..ids.len()].copy_from_slice(ids);
            (ids.len() as u64) << COUNT_SHIFT
        } else {
            stored[0] = self.arena.len() as u32;
            self.arena.extend_from_slice(ids);
            stored[1] = self.arena.len() as u32;
            IN_ARENA
        };
        self.place(entry_of(key, count, stored));
    }

    fn grow(&mut self) {
        let size = (self.sets.len() * GROWTH).clamp(SMALLEST, LARGEST);
        let sets = std::mem::replace(&mut self.sets, vec![[[0; 4]; 2]; size]);
        self.replaced = 0;
        // The newer entry of each set comes first, and stays the newer one by being placed last.
        let entries = sets.into_iter().flat_map(|[newer, older]| [older, newer]);
        entries.filter(|entry| entry[1] != 0).for_each(|entry| self.place(entry));
    }

    /// Store an entry in place of the older one of its set.
    fn place(&mut self, entry: Entry) {
        let slot = Key::new(entry[0], entry[1] & !COUNT_MASK).slot(self.sets.len() - 1);
        let set = &mut self.sets[slot];
        self.replaced += usize::from(set[1][1] != 0);
        *set = [entry, set[0]];
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
        cache.append_entry(cache.find(key(chunk))?, &mut IdBuffer::new(&mut ids));
        Some(ids.split_off(1))
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
    fn most_chunks_stay_known_while_the_table_grows() {
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
        // Tables of 2,048 and 8,192 sets each forgot one chunk for each set; the present one of 32,768 sets hardly any.
        assert!(known > 20_000 - 2_048 - 8_192, "only {known} are known");
    }
}

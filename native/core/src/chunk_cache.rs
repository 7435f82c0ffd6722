//! Cache the ids of short chunks of text: pre-tokens, words, and parts of words.
//!
//! A chunk of up to 15 bytes is packed into one integer, and up to four ids are stored next to it, so that most chunks
//! take one memory access. Ids are stored only after the model has produced them: a vocabulary entry may well encode to
//! other ids than its own.

/// A chunk of text, packed into an integer: its bytes, then its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u128);

impl Key {
    /// The length of the longest chunk that has a key, in bytes.
    pub const LONGEST: usize = 15;

    const WIDTH: usize = 16;
    const LENGTH_SHIFT: u32 = 120;
    const PART: u128 = 1 << 127;

    /// Pack the bytes from `start` to `end` of `text`; None if there are none or too many.
    #[must_use]
    #[inline]
    pub fn new(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let length = end - start;
        if length > Self::LONGEST || length == 0 {
            return None;
        }
        let bytes = match text.get(start..start + Self::WIDTH) {
            Some(bytes) => u128::from_le_bytes(bytes.try_into().expect("the length is right")),
            None => Self::pack_end(&text[start..end]),
        };
        let mask = u128::MAX >> (u128::BITS as usize - 8 * length);
        Some(Self(bytes & mask | (length as u128) << Self::LENGTH_SHIFT))
    }

    #[cold]
    fn pack_end(chunk: &[u8]) -> u128 {
        let mut bytes = [0; Self::WIDTH];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u128::from_le_bytes(bytes)
    }

    /// Return the key of the same bytes as a part of a longer chunk, which can encode differently.
    #[must_use]
    #[inline]
    pub fn as_part(self) -> Self {
        Self(self.0 | Self::PART)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the halves of a product")]
    fn hash(self) -> usize {
        const LOW: u64 = 0x9E37_79B9_7F4A_7C15;
        const HIGH: u64 = 0xD6E8_FEB8_6659_FD93;
        let product = u128::from(self.0 as u64 ^ LOW) * u128::from((self.0 >> 64) as u64 ^ HIGH);
        (product >> 64) as usize ^ product as usize
    }
}

const INLINE: usize = 4;
/// The upper bits of the first id hold the number of ids, or `IN_ARENA`.
const COUNT_SHIFT: u32 = 29;
const ID_MASK: u32 = (1 << COUNT_SHIFT) - 1;
const IN_ARENA: u32 = 7;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Zero if the entry is empty: no key is zero, because it contains a length.
    key: u128,
    ids: [u32; INLINE],
}

const EMPTY: Entry = Entry { key: 0, ids: [0; INLINE] };
const FIRST_SIZE: usize = 1 << 12;
const LARGEST_SIZE: usize = 1 << 18;

/// The ids of chunks by key, in an open-addressing hash table. When it is full, it is cleared.
#[derive(Debug, Default)]
pub struct ChunkCache {
    entries: Box<[Entry]>,
    used: usize,
    /// The ids of chunks with more than four.
    arena: Vec<u32>,
}

impl ChunkCache {
    /// Append the ids of a chunk; return false if they are unknown.
    #[inline]
    pub fn append(&self, key: Key, ids: &mut Vec<u32>) -> bool {
        let Some(mask) = self.entries.len().checked_sub(1) else { return false };
        let mut slot = key.hash() & mask;
        loop {
            let entry = &self.entries[slot];
            if entry.key == key.0 {
                self.append_entry(entry, ids);
                return true;
            }
            if entry.key == 0 {
                return false;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline]
    fn append_entry(&self, entry: &Entry, ids: &mut Vec<u32>) {
        let count = entry.ids[0] >> COUNT_SHIFT;
        if count == IN_ARENA {
            let start = entry.ids[1] as usize;
            ids.extend_from_slice(&self.arena[start..start + entry.ids[2] as usize]);
            return;
        }
        // A copy of fixed length is faster than one of the right length.
        let length = ids.len() + count as usize;
        ids.extend_from_slice(&[entry.ids[0] & ID_MASK, entry.ids[1], entry.ids[2], entry.ids[3]]);
        ids.truncate(length);
    }

    /// Store the ids of a chunk that is not in the cache.
    pub fn insert(&mut self, key: Key, ids: &[u32]) {
        if (self.used + 1) * 2 > self.entries.len() {
            self.make_room();
        }
        let mut entry = Entry { key: key.0, ..EMPTY };
        if ids.len() <= INLINE && ids.first().is_none_or(|&id| id <= ID_MASK) {
            entry.ids[..ids.len()].copy_from_slice(ids);
            entry.ids[0] |= u32::try_from(ids.len()).expect("small") << COUNT_SHIFT;
        } else {
            let number = |value: usize| u32::try_from(value).expect("the arena is small");
            entry.ids = [IN_ARENA << COUNT_SHIFT, number(self.arena.len()), number(ids.len()), 0];
            self.arena.extend_from_slice(ids);
        }
        self.place(entry);
    }

    fn place(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut slot = Key(entry.key).hash() & mask;
        while self.entries[slot].key != 0 {
            slot = (slot + 1) & mask;
        }
        self.entries[slot] = entry;
        self.used += 1;
    }

    fn make_room(&mut self) {
        self.used = 0;
        if self.entries.len() >= LARGEST_SIZE {
            self.entries.fill(EMPTY);
            self.arena.clear();
            return;
        }
        let size = (self.entries.len() * 4).max(FIRST_SIZE);
        let before = std::mem::replace(&mut self.entries, vec![EMPTY; size].into());
        for entry in before.into_iter().filter(|entry| entry.key != 0) {
            self.place(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &[u8]) -> Key {
        Key::new(text, 0, text.len()).unwrap()
    }

    fn look_up(cache: &ChunkCache, key: Key) -> Option<Vec<u32>> {
        let mut ids = vec![99];
        cache.append(key, &mut ids).then(|| ids[1..].to_vec())
    }

    #[test]
    fn only_short_chunks_have_keys() {
        assert_eq!(Key::new(b"", 0, 0), None);
        assert_eq!(Key::new(&[b'a'; 16], 0, 16), None);
        assert!(Key::new(&[b'a'; 16], 0, 15).is_some());
    }

    #[test]
    fn a_key_does_not_depend_on_what_follows() {
        assert_eq!(Key::new(b"ab", 0, 2), Key::new(b"abcdefghijklmnopqrst", 0, 2));
        assert_ne!(key(b"a\0"), key(b"a"));
        assert_ne!(key(b"a").as_part(), key(b"a"));
    }

    #[test]
    fn ids_of_any_number_are_stored() {
        let mut cache = ChunkCache::default();
        let values: [&[u32]; 4] = [&[], &[1], &[1, 2, 3, 4], &[1, 2, 3, 4, 5, 6]];
        let keys = [b"a", b"b", b"c", b"d"].map(|text| key(text));
        for (key, ids) in keys.iter().zip(values) {
            assert_eq!(look_up(&cache, *key), None);
            cache.insert(*key, ids);
        }
        for (key, ids) in keys.iter().zip(values) {
            assert_eq!(look_up(&cache, *key).as_deref(), Some(ids));
        }
    }

    #[test]
    fn a_full_cache_is_cleared_and_remains_correct() {
        let mut cache = ChunkCache::default();
        for number in 0..300_000_u32 {
            let key = key(&number.to_le_bytes());
            cache.insert(key, &[number; 5]);
            assert_eq!(look_up(&cache, key), Some(vec![number; 5]));
        }
        let first = look_up(&cache, key(&0_u32.to_le_bytes()));
        assert!(first.is_none_or(|ids| ids == [0; 5]));
    }
}

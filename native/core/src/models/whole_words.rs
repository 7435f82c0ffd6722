//! Look up the words that are pieces, and that encoding leads to.

use crate::chunk_cache::Key;

/// The longest word in the table, in bytes.
pub const LONGEST: usize = 13;
/// The id is where a key would have the bytes after the thirteenth.
const ID_SHIFT: u32 = 40;
const ID_BITS: u64 = 0xF_FFFF;
const ID_MASK: u64 = ID_BITS << ID_SHIFT;

/// A key, with the id in its upper half; zero if empty.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    low: u64,
    high: u64,
}

impl Slot {
    #[inline]
    fn id_of(self, key: Key) -> Option<u32> {
        let differs = (self.low ^ key.low) | ((self.high ^ key.high) & !ID_MASK);
        (differs == 0).then_some((self.high >> ID_SHIFT & ID_BITS) as u32)
    }
}

/// The ids of words, in an open-addressing hash table whose slots are small, because words are all over it.
#[derive(Debug)]
pub struct WholeWords(Box<[Slot]>);

impl WholeWords {
    /// Return an empty table with room for a number of words.
    #[must_use]
    pub fn with_room(count: usize) -> Self {
        Self(vec![Slot::default(); (count * 2).next_power_of_two()].into())
    }

    /// Add a word of up to `LONGEST` bytes; one whose id is very high is ignored.
    pub fn insert(&mut self, key: Key, id: u32) {
        if u64::from(id) > ID_BITS {
            return;
        }
        let mask = self.0.len() - 1;
        let mut slot = key.slot(mask);
        while self.0[slot].high != 0 {
            slot = (slot + 1) & mask;
        }
        self.0[slot] = Slot { low: key.low, high: key.high | u64::from(id) << ID_SHIFT };
    }

    /// Return the id of a word.
    #[must_use]
    pub fn find(&self, key: Key) -> Option<u32> {
        let mask = self.0.len() - 1;
        let mut slot = key.slot(mask);
        while self.0[slot].high != 0 {
            if let Some(id) = self.0[slot].id_of(key) {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(word: &str) -> Key {
        let padded = [word.as_bytes(), &[7; 16]].concat();
        Key::pack(&padded, 0, word.len())
    }

    #[test]
    fn words_are_found_with_their_ids() {
        let words: Vec<String> = (0..1000).map(|number| format!("{number}{}", "w".repeat(number % 10))).collect();
        let mut table = WholeWords::with_room(words.len());
        for (word, id) in words.iter().zip(0xF_FC00..) {
            assert_eq!(table.find(key(word)), None);
            table.insert(key(word), id);
        }
        for (word, id) in words.iter().zip(0xF_FC00..) {
            assert_eq!(table.find(key(word)), Some(id));
        }
    }

    #[test]
    fn longer_words_and_ids_that_do_not_fit_are_not_found() {
        let mut table = WholeWords::with_room(2);
        table.insert(key("thirteenbytes"), 5);
        table.insert(key("a"), 1 << 20);
        assert_eq!(table.find(key("thirteenbytes")), Some(5));
        assert_eq!(table.find(key("thirteenbytes!")), None);
        assert_eq!(table.find(key("a")), None);
    }
}

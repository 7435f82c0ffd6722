//! The merge list of byte-pair encoding as a table of pairs of symbols.
//!
//! Symbols are numbers: the ids of pieces, and further numbers for strings that occur only in merges.

use crate::hash::{FREE, fold, tag};
use crate::models::merge::{Merges, NO_RANK};
use crate::vocabulary::{Strings, Vocabulary, parts};
use rustc_hash::FxHashMap;

/// A string that is neither a piece nor part of a merge, and therefore can never be merged.
pub const UNKNOWN: u32 = u32::MAX;

/// A merge of two symbols.
#[derive(Debug, Clone, Copy)]
pub struct Merge {
    /// The symbol on the left.
    pub left: u32,
    /// The symbol on the right.
    pub right: u32,
    /// The place in the list of merges.
    pub rank: u32,
    /// The symbol that they become.
    pub merged: u32,
}

/// In place of a merge if there is none.
pub const NO_MERGE: Merge = Merge { left: UNKNOWN, right: UNKNOWN, rank: NO_RANK, merged: UNKNOWN };

/// The ranks of pairs, in an open-addressing hash table.
#[derive(Debug)]
pub struct MergeTable {
    slots: Box<[Merge]>,
    /// The tag of the pair in each slot, or `FREE`.
    tags: Box<[u8]>,
    /// The number of pieces: symbols from here on are in `others`.
    pieces: u32,
    /// The strings that are not pieces.
    others: Vec<Box<[u8]>>,
    numbers: FxHashMap<Box<[u8]>, u32>,
}

impl MergeTable {
    /// Index `merges`, each of which is a pair joined by a space; of equal ones, the first counts.
    ///
    /// No symbol contains a space, so a merge that does not consist of two parts is never looked up.
    #[must_use]
    pub fn new(vocabulary: &Vocabulary, merges: &Strings) -> Self {
        let size = (merges.len() * 3 / 2).next_power_of_two().max(16);
        let pieces = u32::try_from(vocabulary.len()).expect("ids fit in 32 bits");
        let mut table = Self {
            slots: vec![NO_MERGE; size].into(),
            tags: vec![FREE; size].into(),
            pieces,
            others: Vec::new(),
            numbers: FxHashMap::default(),
        };
        let mut rank = 0;
        let pairs = merges.iter().map(|merge| parts(merge).unwrap_or_default());
        vocabulary.for_each_join(pairs, |(left, right), ids| {
            if !left.is_empty() {
                let [known_left, known_right, merged] = ids;
                let left_symbol = known_left.unwrap_or_else(|| table.number(left));
                let right_symbol = known_right.unwrap_or_else(|| table.number(right));
                let merged = merged.unwrap_or_else(|| table.number(&[left, right].concat()));
                table.insert(Merge { left: left_symbol, right: right_symbol, rank, merged });
            }
            rank += 1;
        });
        table
    }

    /// Return the symbol of a string, which gets a number if it is not a piece.
    pub fn intern(&mut self, vocabulary: &Vocabulary, text: &[u8]) -> u32 {
        vocabulary.id(text).unwrap_or_else(|| self.number(text))
    }

    /// Return the number of a string that is not a piece, which gets one if it has none.
    fn number(&mut self, text: &[u8]) -> u32 {
        self.numbers.get(text).copied().unwrap_or_else(|| {
            let number = self.pieces + u32::try_from(self.others.len()).expect("symbols fit in 32 bits");
            self.others.push(text.into());
            self.numbers.insert(text.into(), number);
            number
        })
    }

    /// Return the symbol of a string; `UNKNOWN` if there is none.
    #[must_use]
    pub fn symbol(&self, vocabulary: &Vocabulary, text: &[u8]) -> u32 {
        vocabulary.id(text).or_else(|| self.numbers.get(text).copied()).unwrap_or(UNKNOWN)
    }

    /// Return the string of a symbol that is not a piece; None if it is one.
    #[must_use]
    pub fn other(&self, symbol: u32) -> Option<&[u8]> {
        let index = symbol.checked_sub(self.pieces)?;
        Some(self.others.get(index as usize).map_or(&[], |text| text))
    }

    /// Return the number of symbols.
    #[must_use]
    pub fn symbols(&self) -> usize {
        self.pieces as usize + self.others.len()
    }

    /// Return the merges that count, in order.
    #[must_use]
    pub fn by_rank(&self) -> Vec<Merge> {
        let listed = || self.slots.iter().filter(|merge| merge.rank != NO_RANK);
        let count = listed().map(|merge| merge.rank as usize + 1).max().unwrap_or_default();
        let mut merges = vec![NO_MERGE; count];
        listed().for_each(|merge| merges[merge.rank as usize] = *merge);
        merges.retain(|merge| merge.rank != NO_RANK);
        merges
    }

    fn insert(&mut self, slot: Merge) {
        let mask = self.slots.len() - 1;
        let hash = hash(slot.left, slot.right);
        let mut index = hash as usize & mask;
        while self.tags[index] != FREE {
            let is_likely = self.tags[index] == tag(hash);
            if is_likely && self.slots[index].left == slot.left && self.slots[index].right == slot.right {
                return;
            }
            index = (index + 1) & mask;
        }
        self.slots[index] = slot;
        self.tags[index] = tag(hash);
    }
}

impl Merges for MergeTable {
    #[inline]
    fn find(&self, left: u32, right: u32) -> (u32, u32) {
        let mask = self.slots.len() - 1;
        let hash = hash(left, right);
        let mut index = hash as usize & mask;
        loop {
            let known = self.tags[index];
            if known == tag(hash) {
                let slot = self.slots[index];
                if slot.left == left && slot.right == right {
                    return (slot.rank, slot.merged);
                }
            } else if known == FREE {
                return (NO_RANK, UNKNOWN);
            }
            index = (index + 1) & mask;
        }
    }
}

#[inline]
fn hash(left: u32, right: u32) -> u64 {
    fold(u64::from(left), u64::from(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_merges_counts_and_others_than_pairs_are_ignored() {
        let vocabulary = Vocabulary::new(Strings::from_joined(b"a\0b\0ab", 3).expect("strings"));
        let merges = Strings::from_joined(b"x y z\0a b\0a b\0ab c\0 a", 5).expect("strings");
        let table = MergeTable::new(&vocabulary, &merges);
        assert_eq!(table.find(0, 1), (1, 2));
        let (c, abc) = (table.symbol(&vocabulary, b"c"), table.symbol(&vocabulary, b"abc"));
        assert_eq!(table.find(2, c), (3, abc));
        assert_eq!(table.other(abc), Some(b"abc".as_slice()));
        assert_eq!(table.other(2), None);
        assert_eq!(table.find(1, 0).0, NO_RANK);
        assert_eq!(table.symbol(&vocabulary, b"x"), UNKNOWN);
    }
}

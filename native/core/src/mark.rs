//! Mark in tables what occurs in ids and texts, for statistics of a corpus.

use crate::utf8;
use std::cell::Cell;

/// The class of a character whose class is not known yet.
pub const UNKNOWN: u8 = u8::MAX;
/// The size of a table with a class for each character.
pub const CHARACTERS: usize = 0x11_0000;
/// The size of a table with a place for each pair of classes.
pub const PAIRS: usize = 1 << 16;

/// Set the place of each id to 1; return whether all of them are in the table.
#[must_use]
pub fn mark_ids(mut ids: impl Iterator<Item = u32>, table: &[Cell<u8>]) -> bool {
    ids.all(|id| table.get(id as usize).map(|place| place.set(1)).is_some())
}

/// Marks the pairs of classes of neighboring characters.
pub struct PairMarker<'tables> {
    /// The class of each character. All ASCII characters with a class have the same one; 0 is no class.
    pub classes: &'tables [Cell<u8>; CHARACTERS],
    /// A place for each pair, the class of the first character being the upper byte; 1 if it occurred.
    pub pairs: &'tables [Cell<u8>; PAIRS],
    /// The characters with an unknown class that occurred, which count as characters without one.
    pub unknown: Vec<u32>,
    /// Whether a pair occurred that was not marked.
    pub found_new: bool,
}

impl PairMarker<'_> {
    /// Mark the pairs of a text, except for those of two ASCII characters; class 0 is before the first character.
    pub fn mark(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let (mut before, mut place) = (0, 0);
        while place < bytes.len() {
            let (character, size) = utf8::decode(&bytes[place..]);
            let class = self.classify(character);
            self.mark_pair(before, class);
            (before, place) = (class, place + size);
            if size == 1 {
                place += count_ascii(&bytes[place..]);
                before = self.classify(bytes[place - 1].into());
            }
        }
    }

    #[inline]
    fn classify(&mut self, character: u32) -> u8 {
        let class = self.classes[character as usize].get();
        if class != UNKNOWN {
            return class;
        }
        self.unknown.push(character);
        0
    }

    #[inline]
    fn mark_pair(&mut self, before: u8, class: u8) {
        let place = &self.pairs[usize::from(u16::from_be_bytes([before, class]))];
        self.found_new |= place.replace(1) == 0;
    }
}

/// Count the ASCII characters at the start.
fn count_ascii(bytes: &[u8]) -> usize {
    const BLOCK: usize = 16;
    let blocks = bytes.chunks_exact(BLOCK).take_while(|block| block.is_ascii()).count() * BLOCK;
    blocks + bytes[blocks..].iter().take_while(|byte| byte.is_ascii()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<const SIZE: usize>(value: u8) -> Box<[Cell<u8>; SIZE]> {
        vec![Cell::new(value); SIZE].into_boxed_slice().try_into().expect("the size is right")
    }

    #[test]
    fn ids_are_marked_if_the_table_has_a_place_for_them() {
        let marks = table::<3>(0);
        assert!(mark_ids([2, 0, 2].into_iter(), &*marks));
        assert_eq!(marks.each_ref().map(Cell::get), [1, 0, 1]);
        assert!(!mark_ids([3].into_iter(), &*marks));
    }

    #[test]
    fn neighbors_of_different_classes_are_marked() {
        let (classes, pairs) = (table(0), table(0));
        for (character, class) in [('a', 1), ('é', 1), ('б', 2), ('漢', 3)] {
            classes[character as usize].set(class);
        }
        let mut marker = PairMarker { classes: &classes, pairs: &pairs, unknown: Vec::new(), found_new: false };
        marker.mark("----------------aéбб漢a----------------");
        assert!(marker.found_new);
        let marked: Vec<_> = (0..PAIRS).filter(|&pair| pairs[pair].get() == 1).collect();
        assert_eq!(marked, [0x0000, 0x0101, 0x0102, 0x0202, 0x0203, 0x0301]);
        marker.found_new = false;
        marker.mark("-aб");
        assert!(!marker.found_new);
    }

    #[test]
    fn characters_of_unknown_classes_are_listed() {
        let (classes, pairs) = (table(UNKNOWN), table(0));
        let mut marker = PairMarker { classes: &classes, pairs: &pairs, unknown: Vec::new(), found_new: false };
        marker.mark("漢б漢");
        assert_eq!(marker.unknown, ['漢', 'б', '漢'].map(u32::from));
    }
}

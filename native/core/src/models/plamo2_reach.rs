//! How far llama.cpp's table for PLaMo 2 looks ahead in texts with pieces that hide others.
//!
//! subtle: in the table, a piece with the score -1000 looks like the end of a list. It hides all shorter pieces at its
//! position, and what it hides is also missing from the lists of earlier positions. Such pieces are padding and rarely
//! occur in a text.

use crate::prefix_tree::PrefixTree;
use crate::utf8::character_size;
use rustc_hash::FxHashSet;

/// Knows the pieces that hide others.
#[derive(Debug)]
pub struct Reaches {
    hiding: FxHashSet<Box<[u8]>>,
    tree: PrefixTree,
    /// All endings of pieces; empty if no piece hides others.
    suffixes: FxHashSet<Box<[u8]>>,
}

impl Reaches {
    /// Prepare for the pieces `hiding`; `pieces` are all of them.
    pub fn new<'a, Pieces: Iterator<Item = &'a [u8]>>(
        hiding: impl Iterator<Item = &'a [u8]>,
        pieces: impl Fn() -> Pieces,
    ) -> Self {
        let hiding: FxHashSet<Box<[u8]>> = hiding.map(Box::from).collect();
        let tree = PrefixTree::new(hiding.iter().map(|piece| (&**piece, 0)));
        let mut suffixes = FxHashSet::default();
        if !hiding.is_empty() {
            for piece in pieces() {
                suffixes.extend((0..piece.len()).map(|start| Box::from(&piece[start..])));
            }
        }
        Self { hiding, tree, suffixes }
    }

    /// Return whether `text` contains a piece that hides others.
    #[must_use]
    pub fn matter(&self, text: &[u8]) -> bool {
        let mut candidates = self.tree.candidates(text);
        let mut start = 0;
        while let Some(place) = candidates.find(start) {
            if self.tree.longest(&text[place..]).is_some() {
                return true;
            }
            start = place + 1;
        }
        false
    }

    /// Return how many bytes the table looks ahead at each place of `text`, which is UTF-8.
    #[must_use]
    pub fn of(&self, text: &[u8]) -> Vec<u32> {
        let places: Vec<usize> =
            (0..text.len()).filter(|&place| text[place] & 0xC0 != 0x80).chain([text.len()]).collect();
        let mut reaches = vec![0; text.len() + 1];
        let mut reached = 0; // in characters
        for index in (0..places.len() - 1).rev() {
            reached = self.reach(text, &places[index..=index + 1 + reached]);
            reaches[places[index]] = (places[index + reached] - places[index]) as u32;
        }
        reaches
    }

    /// Return how many characters the table looks ahead at the first of `places`; the last one is the furthest possible.
    fn reach(&self, text: &[u8], places: &[usize]) -> usize {
        let start = places[0];
        let second = start + character_size(text[start]);
        for (length, &end) in places.iter().enumerate().skip(1).rev() {
            if self.suffixes.contains(&text[start..end]) {
                return length;
            }
            if self.hiding.contains(&text[second..end]) {
                break;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(pieces: &[&str], hiding: &[&str]) -> Reaches {
        Reaches::new(hiding.iter().map(|piece| piece.as_bytes()), || pieces.iter().map(|piece| piece.as_bytes()))
    }

    #[test]
    fn only_texts_with_a_hiding_piece_are_affected() {
        let reaches = reaches(&["ab", "b"], &["ab"]);
        assert!(reaches.matter(b"aab"));
        assert!(!reaches.matter(b"ba"));
        assert!(!self::reaches(&["a"], &[]).matter(b"a"));
    }

    #[test]
    fn the_table_looks_ahead_to_the_longest_ending_that_is_not_hidden() {
        let reaches = reaches(&["xbc", "bc", "c", "xb"], &["bc"]);
        assert_eq!(reaches.of(b"xbc"), [3, 2, 1, 0]);
        let hidden = self::reaches(&["xb", "bc", "b", "c"], &["bc"]);
        assert_eq!(hidden.of(b"xbc"), [0, 2, 1, 0]);
    }
}

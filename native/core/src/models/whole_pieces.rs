//! Find the pieces that byte-pair encoding makes of their own text.
//!
//! Not every piece is one: merges of other pairs that rank first can make it unreachable. If each string is the result of
//! one merge only, and of parts that earlier merges form, a piece is reachable if both parts of its merge are, and no
//! merge of lower rank joins the end of the left part with the start of the right part before they are complete.
//!
//! Source: the check of token pairs in the crate `bpe` of github/rust-gems.

use crate::models::merge::{Merges, NO_RANK};
use crate::models::merge_table::{Merge, MergeTable, NO_MERGE};

/// Decides whether symbols are whole, in the order in which merges form them.
#[derive(Debug)]
pub struct WholePieces<'a> {
    table: &'a MergeTable,
    /// The merge that forms each symbol; `NO_RANK` as the rank if none does.
    formed_by: Vec<Merge>,
    is_whole: Vec<bool>,
}

impl<'a> WholePieces<'a> {
    /// Decide for all symbols of a table; None if its merges are not ordered as described above.
    ///
    /// `original` are the symbols that texts are split into.
    #[must_use]
    pub fn new(table: &'a MergeTable, original: &[u32]) -> Option<Self> {
        let count = table.symbols();
        let mut whole = Self { table, formed_by: vec![NO_MERGE; count], is_whole: vec![false; count] };
        original.iter().for_each(|&symbol| whole.is_whole[symbol as usize] = true);
        let merges = table.by_rank();
        for merge in &merges {
            let formed = &mut whole.formed_by[merge.merged as usize];
            if formed.rank != NO_RANK {
                return None;
            }
            *formed = *merge;
        }
        for merge in &merges {
            if !whole.is_ordered(merge) {
                return None;
            }
            whole.is_whole[merge.merged as usize] = whole.forms_whole(merge);
        }
        Some(whole)
    }

    /// Return whether encoding the text of a symbol returns only the symbol.
    #[must_use]
    pub fn contains(&self, symbol: u32) -> bool {
        self.is_whole[symbol as usize]
    }

    fn rank(&self, symbol: u32) -> u32 {
        self.formed_by[symbol as usize].rank
    }

    fn is_ordered(&self, merge: &Merge) -> bool {
        let is_before = |symbol| self.rank(symbol) == NO_RANK || self.rank(symbol) < merge.rank;
        is_before(merge.left) && is_before(merge.right)
    }

    fn forms_whole(&self, merge: &Merge) -> bool {
        let Merge { left, right, rank, .. } = *merge;
        self.is_whole[left as usize] && self.is_whole[right as usize] && !self.is_crossed(left, right, rank)
    }

    /// Return whether, while `left` and `right` form, a merge that ranks before `limit` joins what is between them.
    ///
    /// This goes back in time: it takes apart the symbol that was formed last. A pair at the boundary is merged if it
    /// ranks before the merge that replaces one of its symbols next; of equal ranks, the leftmost is first.
    fn is_crossed(&self, mut left: u32, mut right: u32, limit: u32) -> bool {
        // Twice the rank, and one more for a pair that is still merged because it is further to the left.
        let mut limit = 2 * u64::from(limit);
        loop {
            let (rank, _) = self.table.find(left, right);
            if rank != NO_RANK && 2 * u64::from(rank) < limit {
                return true;
            }
            let last = |symbol| Some(self.rank(symbol)).filter(|&rank| rank != NO_RANK);
            match (last(left), last(right)) {
                (None, None) => return false,
                (Some(rank), other) if other.is_none_or(|other| rank > other) => {
                    limit = 2 * u64::from(rank);
                    left = self.formed_by[left as usize].right;
                }
                (_, Some(rank)) => {
                    limit = 2 * u64::from(rank) + 1;
                    right = self.formed_by[right as usize].left;
                }
                (Some(_), None) => unreachable!("the first case includes this one"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::merge::{MergeScratch, Symbol, merge};
    use crate::vocabulary::{Strings, Vocabulary};

    const LETTERS: &str = "abc";

    /// Build the table of merges and return it with the pieces: the letters, then the result of each merge.
    fn table(merges: &[&str]) -> (MergeTable, Vec<String>) {
        let letters = LETTERS.chars().map(String::from);
        let pieces: Vec<String> = letters.chain(merges.iter().map(|merge| merge.replace(' ', ""))).collect();
        let vocabulary = Vocabulary::new(Strings::collect(pieces.iter()));
        (MergeTable::new(&vocabulary, &Strings::collect(merges.iter())), pieces)
    }

    fn is_encoded_whole(table: &MergeTable, piece: &str, id: u32) -> bool {
        let symbol = |(letter, start)| Symbol { id: LETTERS.find(letter).expect("a letter") as u32, start };
        let mut scratch = MergeScratch::default();
        scratch.symbols.extend(piece.chars().zip(0..).map(symbol));
        merge(table, &mut scratch);
        matches!(scratch.symbols[..], [symbol] if symbol.id == id)
    }

    fn assert_same_as_encoding(merges: &[&str]) -> usize {
        let (table, pieces) = table(merges);
        let whole = WholePieces::new(&table, &[0, 1, 2]).expect("the merges are ordered");
        for (piece, id) in pieces.iter().zip(0..) {
            assert_eq!(whole.contains(id), is_encoded_whole(&table, piece, id), "{piece} with {merges:?}");
        }
        (0..pieces.len() as u32).filter(|&id| !whole.contains(id)).count()
    }

    #[test]
    fn a_merge_that_ranks_first_makes_a_piece_unreachable() {
        assert_eq!(assert_same_as_encoding(&["b c", "a b", "ab c"]), 1);
        assert_eq!(assert_same_as_encoding(&["a a", "aa a"]), 0);
    }

    #[test]
    fn merges_in_any_order_are_refused_or_treated_as_encoding_does() {
        assert!(WholePieces::new(&table(&["ab c", "a b"]).0, &[0, 1, 2]).is_none());
        assert!(WholePieces::new(&table(&["a b", "b c", "ab c", "a bc"]).0, &[0, 1, 2]).is_none());
    }

    #[test]
    fn random_merges_are_treated_as_encoding_does() {
        let mut state = 1_u32;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % limit
        };
        let mut unreachable = 0;
        for _ in 0..300 {
            let mut pieces: Vec<String> = LETTERS.chars().map(String::from).collect();
            let mut merges = Vec::new();
            for _ in 0..12 {
                let (left, right) = (pieces[random(pieces.len())].clone(), pieces[random(pieces.len())].clone());
                let joined = left.clone() + &right;
                if !pieces.contains(&joined) {
                    merges.push(format!("{left} {right}"));
                    pieces.push(joined);
                }
            }
            unreachable += assert_same_as_encoding(&merges.iter().map(String::as_str).collect::<Vec<_>>());
        }
        assert!(unreachable > 100, "only {unreachable} pieces were unreachable");
    }
}

//! Merge the adjacent pair with the lowest rank repeatedly, the leftmost first if ranks are equal: the loop of SPM.
//!
//! Unlike in `merge`, a pair is looked up by its text, because the symbols to begin with need not be pieces.
//!
//! Source: the work queue of `llm_tokenizer_spm_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::level_queue::LevelQueue;
use crate::pair_queue::{HeapQueue, MANY, PairQueue};
use crate::piece_table::{Found, MISSING, NONE};
use crate::utf8::character_size;

/// Up to this number of symbols, searching all pairs for the best one is fastest.
const FEW: usize = 48;

#[derive(Debug, Clone, Copy)]
struct Symbol {
    /// The offset into the text; the symbol ends where the next one starts.
    start: u32,
    /// The id of the piece that was formed; `NONE` for an original symbol.
    id: u32,
    /// The rank and the id of the piece that this symbol forms with the next one.
    pair: Found,
    /// The indexes of the symbols before and after this one, which only `merge_many` uses.
    before: u32,
    after: u32,
}

/// The symbols of a chunk, with room for reuse.
#[derive(Debug, Default)]
pub struct Symbols {
    /// The symbols, and one after them that marks the end.
    symbols: Vec<Symbol>,
    heap: HeapQueue,
    levels: LevelQueue,
}

impl Symbols {
    /// Remove all symbols.
    pub fn clear(&mut self) {
        self.symbols.clear();
    }

    /// Add a symbol that starts at an offset.
    #[inline]
    pub fn push(&mut self, start: usize) {
        let start = u32::try_from(start).expect("texts are smaller than 4 GiB");
        self.symbols.push(Symbol { start, id: NONE, pair: MISSING, before: NONE, after: NONE });
    }

    /// Mark the end of the last symbol, after which a text can be merged.
    pub fn finish(&mut self, end: usize) {
        self.push(end);
    }

    /// Make a symbol of each character of the chunk from `start` to `end`, which is UTF-8.
    pub fn split_characters(&mut self, text: &[u8], start: usize, end: usize) {
        self.clear();
        let mut place = start;
        while place < end {
            self.push(place);
            place += character_size(text[place]);
        }
        self.finish(end);
    }

    /// Iterate over the start, the end and the id of each symbol.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        self.symbols.windows(2).map(|pair| (pair[0].start as usize, pair[1].start as usize, pair[0].id))
    }
}

/// Merge finished `symbols` until no adjacent pair forms a piece; `find` looks up the piece between two offsets.
pub fn merge(symbols: &mut Symbols, find: impl Fn(usize, usize) -> Found) {
    let Symbols { symbols, heap, levels } = symbols;
    let mut merger = Merger { symbols, find };
    merger.find_pairs();
    match merger.symbols.len() {
        0..=FEW => merger.merge_few(),
        count if count < MANY => merger.merge_many(heap),
        _ => merger.merge_many(levels),
    }
}

struct Merger<'a, Find> {
    symbols: &'a mut Vec<Symbol>,
    find: Find,
}

impl<Find: Fn(usize, usize) -> Found> Merger<'_, Find> {
    fn find_pairs(&mut self) {
        for index in 0..self.symbols.len().saturating_sub(2) {
            self.symbols[index].pair = self.find_pair(index, index + 2);
        }
    }

    /// Look up the symbol at `index` together with all others before the symbol at `after`.
    #[inline]
    fn find_pair(&self, index: usize, after: usize) -> Found {
        (self.find)(self.symbols[index].start as usize, self.symbols[after].start as usize)
    }

    fn merge_few(&mut self) {
        while let Some(index) = self.lowest() {
            self.symbols[index].id = self.symbols[index].pair.id;
            self.symbols.remove(index + 1);
            self.update(index);
            if index > 0 {
                self.update(index - 1);
            }
        }
    }

    #[inline]
    fn lowest(&self) -> Option<usize> {
        let mut lowest = NONE;
        let mut found = None;
        for (index, symbol) in self.symbols.iter().enumerate() {
            if symbol.pair.rank < lowest {
                lowest = symbol.pair.rank;
                found = Some(index);
            }
        }
        found
    }

    #[inline]
    fn update(&mut self, index: usize) {
        let pair = if index + 2 < self.symbols.len() { self.find_pair(index, index + 2) } else { MISSING };
        self.symbols[index].pair = pair;
    }

    /// Merge with a linked list of symbols and a queue of pairs.
    fn merge_many(&mut self, queue: &mut impl PairQueue) {
        for index in 0..self.symbols.len() {
            self.symbols[index].before = (index as u32).wrapping_sub(1);
            self.symbols[index].after = index as u32 + 1;
            let rank = self.symbols[index].pair.rank;
            if rank != NONE {
                queue.push(rank, index as u32);
            }
        }
        while let Some((rank, index)) = queue.pop() {
            self.join_if_current(rank, index, queue);
        }
        self.symbols.retain(|symbol| symbol.after != NONE);
    }

    /// Merge the pair at `index` unless one of its symbols has been merged with another since it was queued.
    fn join_if_current(&mut self, rank: u32, index: u32, queue: &mut impl PairQueue) {
        let left = index as usize;
        if self.symbols[left].pair.rank != rank {
            return;
        }
        let right = self.symbols[left].after as usize;
        let after = self.symbols[right].after;
        self.symbols[left].id = self.symbols[left].pair.id;
        self.symbols[left].after = after;
        self.symbols[after as usize].before = index;
        self.symbols[right].after = NONE;
        self.symbols[right].pair = MISSING;
        self.renew(left, queue);
        let before = self.symbols[left].before;
        if before != NONE {
            self.renew(before as usize, queue);
        }
    }

    /// Look up the pair at `index` again, and queue it.
    fn renew(&mut self, index: usize, queue: &mut impl PairQueue) {
        let after = self.symbols[index].after as usize;
        let pair = match self.symbols[after].after as usize {
            end if end < self.symbols.len() => self.find_pair(index, end),
            _ => MISSING,
        };
        self.symbols[index].pair = pair;
        if pair.rank != NONE {
            queue.push(pair.rank, index as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Way {
        Few,
        Heap,
        Levels,
    }

    /// Merge the letters of `text`; of two pieces, the longer one or else the alphabetically first one is formed first.
    fn merge_letters(text: &str, pieces: &[&str], way: Way) -> Vec<String> {
        let mut symbols = Symbols::default();
        symbols.split_characters(text.as_bytes(), 0, text.len());
        let find = |start: usize, end: usize| {
            let rank = pieces.iter().position(|piece| *piece == &text[start..end]);
            rank.map_or(MISSING, |rank| Found { id: rank as u32, rank: rank as u32 / 2 })
        };
        let Symbols { symbols: letters, heap, levels } = &mut symbols;
        let mut merger = Merger { symbols: letters, find };
        merger.find_pairs();
        match way {
            Way::Few => merger.merge_few(),
            Way::Heap => merger.merge_many(heap),
            Way::Levels => merger.merge_many(levels),
        }
        symbols.iter().map(|(start, end, _)| text[start..end].to_owned()).collect()
    }

    #[test]
    fn the_lowest_rank_is_merged_first_and_the_leftmost_of_equal_ones() {
        for way in [Way::Few, Way::Heap, Way::Levels] {
            assert_eq!(merge_letters("abc", &["bc", "cd", "ab"], way), ["a", "bc"]);
            assert_eq!(merge_letters("aaa", &["aa"], way), ["aa", "a"]);
            assert_eq!(merge_letters("abc", &["ab", "bc"], way), ["ab", "c"]);
            assert_eq!(merge_letters("", &[], way), [""; 0]);
        }
    }

    #[test]
    fn all_ways_of_merging_agree() {
        let pieces = ["abab", "ba", "ab", "aab", "aa", "bb", "bab", "abba", "baba", "aaaa", "bbbb", "aabb", "abaab"];
        let mut state = 1_u32;
        for length in 0..40 {
            for _ in 0..50 {
                let mut letter = || {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if state >> 30 == 0 {
                        'a'
                    } else if state >> 31 == 0 {
                        'b'
                    } else {
                        'a'
                    }
                };
                let text: String = (0..length).map(|_| letter()).collect();
                let few = merge_letters(&text, &pieces, Way::Few);
                assert_eq!(few, merge_letters(&text, &pieces, Way::Heap), "{text}");
                assert_eq!(few, merge_letters(&text, &pieces, Way::Levels), "{text}");
            }
        }
    }
}

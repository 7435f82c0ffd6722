//! Merge the cheapest adjacent pair repeatedly: the loop of byte-pair encoding.
//!
//! Of pairs with equal ranks, the leftmost is merged first.
//!
//! Source: the work queue of `llm_tokenizer_bpe_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::level_queue::LevelQueue;
use crate::models::merge_few::{FEW, merge_few};
use crate::pair_queue::{HeapQueue, MANY, PairQueue};

/// The rank of a pair that cannot be merged.
pub const NO_RANK: u32 = u32::MAX;

/// Ranks pairs of symbols.
pub trait Merges {
    /// Return the rank of a pair and the symbol it becomes; `NO_RANK` and any symbol if it cannot be merged.
    fn find(&self, left: u32, right: u32) -> (u32, u32);
}

/// A symbol, and where the bytes it represents start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Symbol {
    /// The number of the symbol.
    pub id: u32,
    /// The offset of its first byte.
    pub start: u32,
}

/// Buffers for merging.
#[derive(Debug, Default)]
pub struct MergeScratch {
    /// The symbols before, and after merging.
    pub symbols: Vec<Symbol>,
    tables: Tables,
    heap: HeapQueue,
    levels: LevelQueue,
}

/// What is known of the symbol at each index.
#[derive(Debug, Default)]
struct Tables {
    /// The pair that it forms with the next symbol.
    pairs: Vec<Pair>,
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    rank: u32,
    merged: u32,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

/// Merge `scratch.symbols` until no adjacent pair can be merged.
pub fn merge(merges: &impl Merges, scratch: &mut MergeScratch) {
    match scratch.symbols.len() {
        0 | 1 => {}
        2..=FEW => merge_few(merges, &mut scratch.symbols),
        ..MANY => merge_many(merges, &mut scratch.symbols, &mut scratch.tables, &mut scratch.heap),
        _ => merge_many(merges, &mut scratch.symbols, &mut scratch.tables, &mut scratch.levels),
    }
}

fn find(merges: &impl Merges, left: Symbol, right: Symbol) -> Pair {
    let (rank, merged) = merges.find(left.id, right.id);
    Pair { rank, merged }
}

const NONE: u32 = u32::MAX;

/// Merge with a queue of pairs and a linked list of symbols, in O(n log n).
fn merge_many(merges: &impl Merges, symbols: &mut Vec<Symbol>, tables: &mut Tables, queue: &mut impl PairQueue) {
    let Tables { pairs, links } = tables;
    let count = u32::try_from(symbols.len()).expect("texts are smaller than 4 GiB");
    links.clear();
    links.extend((0..count).map(|index| Link { previous: index.wrapping_sub(1), next: index + 1 }));
    links[count as usize - 1].next = NONE;
    pairs.clear();
    pairs.extend(symbols.windows(2).map(|pair| find(merges, pair[0], pair[1])));
    pairs.push(Pair { rank: NO_RANK, merged: 0 });
    for (pair, index) in pairs.iter().zip(0..) {
        if pair.rank != NO_RANK {
            queue.push(pair.rank, index);
        }
    }
    while let Some((rank, index)) = queue.pop() {
        let Pair { rank: current, merged } = pairs[index as usize];
        // subtle: the pair is stale if one of its symbols has been merged with another since.
        if current != rank {
            continue;
        }
        symbols[index as usize].id = merged;
        let right = links[index as usize].next;
        let after = links[right as usize].next;
        pairs[right as usize].rank = NO_RANK;
        links[index as usize].next = after;
        links[right as usize].next = right; // marks the symbol as merged
        let mut update = |left: u32, right: u32| {
            let pair = find(merges, symbols[left as usize], symbols[right as usize]);
            pairs[left as usize] = pair;
            if pair.rank != NO_RANK {
                queue.push(pair.rank, left);
            }
        };
        let before = links[index as usize].previous;
        if before != NONE {
            update(before, index);
        }
        if after == NONE {
            pairs[index as usize].rank = NO_RANK;
        } else {
            links[after as usize].previous = index;
            update(index, after);
        }
    }
    let mut index = 0;
    symbols.retain(|_| {
        index += 1;
        links[index - 1].next != u32::try_from(index - 1).unwrap_or(NONE)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges two equal symbols to the next number, and 1 with 2 to 9, by an arbitrary rank.
    struct Doubling;

    impl Merges for Doubling {
        fn find(&self, left: u32, right: u32) -> (u32, u32) {
            match (left, right) {
                (1, 2) => (5, 9),
                _ if left == right && left < 6 => (10 - left, left + 1),
                _ => (NO_RANK, 0),
            }
        }
    }

    fn symbols(ids: &[u32]) -> Vec<Symbol> {
        ids.iter().zip(0..).map(|(&id, start)| Symbol { id, start }).collect()
    }

    fn run_few(ids: &[u32]) -> Vec<Symbol> {
        let mut symbols = symbols(ids);
        merge_few(&Doubling, &mut symbols);
        symbols
    }

    fn run_many(ids: &[u32], queue: &mut impl PairQueue) -> Vec<Symbol> {
        let mut symbols = symbols(ids);
        merge_many(&Doubling, &mut symbols, &mut Tables::default(), queue);
        symbols
    }

    #[test]
    fn the_cheapest_pair_is_merged_first_and_the_leftmost_of_equal_ones() {
        let ids = |text: &[u32]| run_few(text).iter().map(|symbol| symbol.id).collect::<Vec<_>>();
        assert_eq!(ids(&[1, 1, 1]), [2, 1]);
        assert_eq!(ids(&[1, 2, 2]), [9, 2]);
        assert_eq!(ids(&[7, 8]), [7, 8]);
    }

    #[test]
    fn all_ways_of_merging_agree() {
        let (mut heap, mut levels) = (HeapQueue::new(), LevelQueue::default());
        let mut state = 1_u32;
        for length in (1..=FEW).cycle().take(1000) {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                1 + (state >> 24) % 3
            };
            let ids: Vec<u32> = (0..length).map(|_| next()).collect();
            assert_eq!(run_few(&ids), run_many(&ids, &mut heap));
            assert_eq!(run_few(&ids), run_many(&ids, &mut levels));
        }
    }
}

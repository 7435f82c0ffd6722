//! A priority queue for the pairs of a long text, most of which have few different ranks.
//!
//! Pairs are removed by rank, and from left to right if ranks are equal. A heap jumps through its memory with each pair;
//! this queue goes through the pairs of one rank in the order of the text, so that long texts take no longer per byte.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::vec::IntoIter;

/// Pairs by rank. Those with the rank at hand are in order; others are sorted when they are needed.
#[derive(Debug, Default)]
pub struct LevelQueue {
    /// The indexes of pairs by rank.
    levels: FxHashMap<u32, Vec<u32>>,
    /// The ranks in `levels`.
    ranks: BinaryHeap<Reverse<u32>>,
    /// The rank at hand, and the pairs that have it.
    current: Option<(u32, Peekable<IntoIter<u32>>)>,
    /// The pairs that were added with the rank at hand or a lower one, as rank and index.
    urgent: BinaryHeap<Reverse<(u32, u32)>>,
}

impl LevelQueue {
    /// Add the pair at `index`.
    #[inline]
    pub fn push(&mut self, rank: u32, index: u32) {
        if self.current.as_ref().is_some_and(|(current, _)| rank <= *current) {
            self.urgent.push(Reverse((rank, index)));
            return;
        }
        let ranks = &mut self.ranks;
        let level = self.levels.entry(rank).or_insert_with(|| {
            ranks.push(Reverse(rank));
            Vec::new()
        });
        level.push(index);
    }

    /// Remove and return the rank and the index of the first pair.
    #[inline]
    pub fn pop(&mut self) -> Option<(u32, u32)> {
        loop {
            let urgent = self.urgent.peek().map(|Reverse(pair)| *pair);
            if let Some((rank, level)) = &mut self.current {
                let next = level.peek().map(|&index| (*rank, index));
                if urgent.is_some_and(|pair| next.is_none_or(|next| pair < next)) {
                    self.urgent.pop();
                    return urgent;
                }
                if next.is_some() {
                    level.next();
                    return next;
                }
            }
            self.current = self.next_level();
            self.current.as_ref()?;
        }
    }

    /// Remove and return the lowest rank and its pairs in order.
    fn next_level(&mut self) -> Option<(u32, Peekable<IntoIter<u32>>)> {
        let Reverse(rank) = self.ranks.pop()?;
        let mut level = self.levels.remove(&rank)?;
        level.sort(); // not `sort_unstable`: it is fast if parts of the level are in order
        Some((rank, level.into_iter().peekable()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_in_the_order_of_a_heap() {
        let (mut queue, mut heap) = (LevelQueue::default(), BinaryHeap::new());
        let mut state = 1_u32;
        for round in 0..10_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 || round > 9_000 {
                assert_eq!(queue.pop(), heap.pop().map(|Reverse(pair)| pair));
            } else {
                let (rank, index) = (state >> 20 & 7, state >> 10 & 1023);
                queue.push(rank, index);
                heap.push(Reverse((rank, index)));
            }
        }
        assert_eq!((queue.pop(), heap.len()), (None, 0));
    }
}

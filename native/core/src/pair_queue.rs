//! Queues of the pairs to be merged: by rank, and from left to right if ranks are equal.

use crate::level_queue::LevelQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From this number of symbols on, a heap is slower than a queue that keeps the order of the text.
pub const MANY: usize = 1 << 12;

/// A queue of pairs.
pub trait PairQueue {
    /// Add the pair at `index`.
    fn push(&mut self, rank: u32, index: u32);

    /// Remove and return the rank and the index of the first pair.
    fn pop(&mut self) -> Option<(u32, u32)>;
}

/// A queue for fewer than `MANY` symbols.
pub type HeapQueue = BinaryHeap<Reverse<(u32, u32)>>;

impl PairQueue for HeapQueue {
    #[inline]
    fn push(&mut self, rank: u32, index: u32) {
        self.push(Reverse((rank, index)));
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u32)> {
        self.pop().map(|Reverse(pair)| pair)
    }
}

impl PairQueue for LevelQueue {
    #[inline]
    fn push(&mut self, rank: u32, index: u32) {
        self.push(rank, index);
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u32)> {
        self.pop()
    }
}

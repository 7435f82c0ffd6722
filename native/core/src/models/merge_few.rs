//! Merge the few symbols of a word, by searching all pairs for the cheapest: quadratic, but fastest for words.

use crate::models::merge::{Merges, NO_RANK, Symbol};

/// Up to this number of symbols, searching all pairs for the cheapest is faster than a heap.
pub const FEW: usize = 32;

/// The pairs of up to `FEW` symbols, each at the index of its left symbol.
struct FewPairs {
    /// The rank in the upper half and the index in the lower one; `u64::MAX` if there is no pair.
    keys: [u64; FEW],
    merged: [u32; FEW],
}

impl FewPairs {
    #[inline]
    fn set(&mut self, index: usize, (rank, merged): (u32, u32)) {
        self.keys[index] = if rank == NO_RANK { u64::MAX } else { u64::from(rank) << 32 | index as u64 };
        self.merged[index] = merged;
    }

    /// Return the index of the cheapest of the pairs whose bits are set.
    #[inline]
    fn cheapest(&self, mut bits: u32) -> Option<usize> {
        let mut lowest = u64::MAX;
        while let Some(index) = first_bit(bits) {
            lowest = lowest.min(self.keys[index]);
            bits &= bits - 1;
        }
        (lowest != u64::MAX).then_some(lowest as usize % FEW)
    }
}

/// Merge two to `FEW` symbols until no adjacent pair can be merged.
///
/// A symbol that was merged with the one before it stays in its place, and its bit in `remaining` is cleared.
pub fn merge_few(merges: &impl Merges, symbols: &mut Vec<Symbol>) {
    let count = symbols.len();
    let mut pairs = FewPairs { keys: [u64::MAX; FEW], merged: [0; FEW] };
    for index in 0..count - 1 {
        pairs.set(index, merges.find(symbols[index].id, symbols[index + 1].id));
    }
    let mut remaining = u32::MAX >> (FEW - count);
    while let Some(index) = pairs.cheapest(remaining) {
        symbols[index].id = pairs.merged[index];
        let right = first_bit(remaining & above(index)).unwrap_or(index);
        remaining &= !(1 << right);
        pairs.keys[right] = u64::MAX;
        pairs.keys[index] = u64::MAX;
        if let Some(next) = first_bit(remaining & above(index)) {
            pairs.set(index, merges.find(symbols[index].id, symbols[next].id));
        }
        if let Some(previous) = last_bit(remaining & !above(index) & !(1 << index)) {
            pairs.set(previous, merges.find(symbols[previous].id, symbols[index].id));
        }
    }
    let mut bits = remaining;
    symbols.retain(|_| {
        let remains = bits & 1 != 0;
        bits >>= 1;
        remains
    });
}

/// Return the bits above the one at `index`.
#[inline]
fn above(index: usize) -> u32 {
    u32::MAX << index << 1
}

#[inline]
fn first_bit(bits: u32) -> Option<usize> {
    (bits != 0).then(|| bits.trailing_zeros() as usize)
}

#[inline]
fn last_bit(bits: u32) -> Option<usize> {
    (bits != 0).then(|| 31 - bits.leading_zeros() as usize)
}

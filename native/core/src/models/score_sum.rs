//! Decide when sums of scores are exact, so that the best segmentation of a part of a text does not depend on the sum for
//! the text before it. The Python engine's is `tokverify/engine/models/unigram.py`.
//!
//! All scores are multiples of one power of two. As long as no sum is too large to be represented as such a multiple,
//! addition is exact. Beyond that, rounding can decide between sums that are nearly equal.

use crate::utf8::character_size;
use crate::vocabulary::Strings;

/// Up to which magnitude sums of scores are exact.
#[derive(Debug)]
pub struct ScoreSums {
    /// The magnitude up to which sums are exact; negative if a score is not finite.
    limit: f64,
    /// The most that a step of the text can add to the magnitude of the best sum.
    most: f64,
    heaviest: f64,
}

impl ScoreSums {
    /// Prepare for the scores of pieces, by id, and that of an unknown character; an empty piece has none.
    pub fn new(pieces: &Strings, scores: &[f32], unknown: f64) -> Self {
        let scores = scores.iter().map(|&score| f64::from(score));
        let listed = || pieces.iter().zip(scores.clone()).filter(|(piece, _)| !piece.is_empty());
        let all = || listed().map(|(_, score)| score).chain([unknown]);
        if !all().all(f64::is_finite) {
            return Self { limit: -1.0, most: f64::INFINITY, heaviest: 0.0 };
        }
        let lightest = all().filter(|&score| score != 0.0).map(f64::abs).fold(f64::INFINITY, f64::min);
        let heaviest = all().map(f64::abs).fold(0.0, f64::max);
        // The best sum is at least that of single steps, and at most that of the best token for each step.
        let singles = listed().filter(|(piece, _)| piece.len() <= character_size(piece[0]));
        let most = singles.map(|(_, score)| score.abs()).chain(all().map(|score| score.max(0.0)));
        let most = most.fold(unknown.abs(), f64::max);
        Self { limit: exact_limit(lightest), most, heaviest }
    }

    /// Return whether all scores are finite.
    #[must_use]
    pub fn are_finite(&self) -> bool {
        self.limit > 0.0
    }

    /// Return whether no sum for a text of `length` bytes can be rounded.
    #[must_use]
    pub fn are_exact(&self, length: usize) -> bool {
        length as f64 * self.most + self.heaviest <= self.limit
    }
}

/// Return the limit for the smallest magnitude of a score, which has 24 of the 53 bits of a sum.
fn exact_limit(lightest: f64) -> f64 {
    if lightest.is_infinite() {
        return f64::MAX;
    }
    let power = (lightest.to_bits() >> 52) as i32 - 1023;
    // One bit is reserved for computing the bounds.
    2.0_f64.powi(power + 1 - 24 + 53 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_leaves_a_bit_for_the_bounds() {
        assert_eq!(exact_limit(2.0), f64::from(1 << 30));
        assert_eq!(exact_limit(3.99), f64::from(1 << 30));
        assert_eq!(exact_limit(1.0), f64::from(1 << 29));
    }
}

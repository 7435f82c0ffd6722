//! Look at the scores of all tokens without making Python objects of them.

use std::cmp::Ordering;

use pyo3::prelude::*;

const SIZE: usize = size_of::<f32>();

/// Return whether scores never ascend, apart from those that at least `shared` tokens have.
///
/// `scores` are 32-bit floats as this machine stores them; only those whose byte in `selected` is not 0 count.
#[pyfunction]
pub fn descends(scores: &[u8], selected: &[u8], shared: usize) -> bool {
    let counted = scores.chunks_exact(SIZE).zip(selected).filter(|&(_, &is_selected)| is_selected != 0);
    // Adding zero makes one score of both zeros.
    let scores: Vec<f32> =
        counted.filter_map(|(bytes, _)| Some(f32::from_ne_bytes(bytes.try_into().ok()?) + 0.0)).collect();
    if scores.is_sorted_by(does_not_ascend) {
        return true;
    }
    let shared = find_shared(scores.clone(), shared);
    let own = scores.iter().filter(|score| shared.binary_search_by(|other| other.total_cmp(score)).is_err());
    own.is_sorted_by(|left, right| does_not_ascend(left, right))
}

/// Return the scores that occur at least `least` times, in ascending order.
fn find_shared(mut scores: Vec<f32>, least: usize) -> Vec<f32> {
    scores.sort_by(f32::total_cmp);
    scores.chunk_by(|left, right| left == right).filter(|equal| equal.len() >= least).map(|equal| equal[0]).collect()
}

fn does_not_ascend(left: &f32, right: &f32) -> bool {
    left.partial_cmp(right) != Some(Ordering::Less)
}

//! Read the strings of a GGUF file.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The size of the length before each string.
const LENGTH: usize = 8;

/// Join up to `count` strings of `window` with NUL, from `position` on; return the position after the last one, their
/// number and the bytes.
///
/// Only strings that end inside the window are read.
#[pyfunction]
pub fn join_strings<'py>(
    window: &Bound<'py, PyBytes>,
    position: usize,
    is_big_endian: bool,
    count: usize,
) -> (usize, usize, Bound<'py, PyBytes>) {
    let mut rest = window.as_bytes().get(position..).unwrap_or_default();
    let mut joined = Vec::new();
    let mut taken = 0;
    while taken < count {
        let Some((string, after)) = split_string(rest, is_big_endian) else { break };
        if taken > 0 {
            joined.push(0);
        }
        joined.extend_from_slice(string);
        rest = after;
        taken += 1;
    }
    (window.as_bytes().len() - rest.len(), taken, PyBytes::new(window.py(), &joined))
}

/// Return the bytes of the first string and what follows it; None if it is not complete.
fn split_string(bytes: &[u8], is_big_endian: bool) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    let length = if is_big_endian { u64::from_be_bytes(*length) } else { u64::from_le_bytes(*length) };
    rest.split_at_checked(usize::try_from(length).ok()?)
}

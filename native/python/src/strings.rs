//! Read and pack the strings of tokenizer files.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokverify_core::tokenizer_json::{self, Joined};

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

/// Return strings that are joined with NUL, at least one, each after its length, as GGUF stores them.
#[pyfunction]
pub fn pack_strings<'py>(joined: &Bound<'py, PyBytes>, is_big_endian: bool) -> Bound<'py, PyBytes> {
    let mut packed = Vec::with_capacity(joined.as_bytes().len() * 2);
    for string in joined.as_bytes().split(|&byte| byte == 0) {
        let length = string.len() as u64;
        packed.extend_from_slice(&if is_big_endian { length.to_be_bytes() } else { length.to_le_bytes() });
        packed.extend_from_slice(string);
    }
    PyBytes::new(joined.py(), &packed)
}

/// Strings joined with NUL, and their number.
type PyJoined<'py> = (Bound<'py, PyBytes>, usize);

/// The rest of a tokenizer.json, its pieces, its merges, and the document as the library reads it faster.
type PyTables<'py> = (Bound<'py, PyBytes>, Option<PyJoined<'py>>, Option<PyJoined<'py>>, Option<Bound<'py, PyBytes>>);

/// Return the tables of a tokenizer.json; see `tokenizer_json::read_tables`.
#[pyfunction]
pub fn read_tables<'py>(document: &Bound<'py, PyBytes>) -> Option<PyTables<'py>> {
    let (py, bytes) = (document.py(), document.as_bytes());
    let tables = py.detach(|| tokenizer_json::read_tables(bytes))?;
    let bound = |joined: Joined| (PyBytes::new(py, &joined.bytes), joined.count);
    let prepared = tables.prepared.map(|bytes| PyBytes::new(py, &bytes));
    Some((PyBytes::new(py, &tables.rest), tables.pieces.map(bound), tables.merges.map(bound), prepared))
}

/// Return the indices at which two lists of strings differ, both joined with NUL, up to the end of the longer one.
#[pyfunction]
pub fn find_differing(left: &[u8], right: &[u8]) -> Vec<usize> {
    let (mut left, mut right) = (left.split(|&byte| byte == 0), right.split(|&byte| byte == 0));
    let mut differing = Vec::new();
    for index in 0.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (left, right) if left != right => differing.push(index),
            _ => {}
        }
    }
    differing
}

/// Return the bytes of the first string and what follows it; None if it is not complete.
fn split_string(bytes: &[u8], is_big_endian: bool) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    let length = if is_big_endian { u64::from_be_bytes(*length) } else { u64::from_le_bytes(*length) };
    rest.split_at_checked(usize::try_from(length).ok()?)
}

//! Mark what occurs in a corpus in tables of Python.

use crate::batch::take_texts;
use pyo3::buffer::{PyBuffer, ReadOnlyCell};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::Cell;
use tokverify_core::mark::{self, PairMarker};

/// Set the byte of each id to 1.
#[pyfunction]
pub fn mark_ids(py: Python<'_>, ids: PyBuffer<u32>, table: PyBuffer<u8>) -> PyResult<()> {
    let ids = ids.as_slice(py).ok_or_else(|| PyValueError::new_err("the ids must be in one piece"))?;
    let is_complete = mark::mark_ids(ids.iter().map(ReadOnlyCell::get), cells(py, &table)?);
    is_complete.then_some(()).ok_or_else(|| PyValueError::new_err("an id is outside of the table"))
}

/// Return the size of all texts in UTF-8, which a string that has been encoded keeps.
#[pyfunction]
pub fn count_bytes(texts: &Bound<'_, PyTuple>) -> PyResult<usize> {
    take_texts(texts)?.iter().map(|text| Ok(text.as_str()?.len())).sum()
}

/// Whether a pair is new, the characters of unknown classes, and the indices of the texts with them.
type Pairs = (bool, Vec<u32>, Vec<usize>);

/// Set a byte to 1 for each pair of classes of neighboring characters in texts, the first one being the upper byte.
///
/// Pairs of ASCII characters may be left out. The class before a text is 0, and so is that of a character with the
/// class 255, which is unknown.
#[pyfunction]
pub fn mark_class_pairs(
    py: Python<'_>,
    texts: &Bound<'_, PyTuple>,
    classes: PyBuffer<u8>,
    pairs: PyBuffer<u8>,
) -> PyResult<Pairs> {
    let wrong_size = |_| PyValueError::new_err("a table has another size");
    let mut marker = PairMarker {
        classes: cells(py, &classes)?.try_into().map_err(wrong_size)?,
        pairs: cells(py, &pairs)?.try_into().map_err(wrong_size)?,
        unknown: Vec::new(),
        found_new: false,
    };
    let mut incomplete = Vec::new();
    for (index, text) in take_texts(texts)?.iter().enumerate() {
        let known = marker.unknown.len();
        marker.mark(text.as_str()?);
        if marker.unknown.len() > known {
            incomplete.push(index);
        }
    }
    Ok((marker.found_new, marker.unknown, incomplete))
}

/// Return the bytes of a table, which must be writable.
pub fn cells<'table>(py: Python<'table>, table: &'table PyBuffer<u8>) -> PyResult<&'table [Cell<u8>]> {
    table.as_mut_slice(py).ok_or_else(|| PyValueError::new_err("a table must be writable bytes in one piece"))
}

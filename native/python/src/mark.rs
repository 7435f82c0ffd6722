//! Mark what occurs in a corpus in tables of Python.

use crate::batch::take_texts;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::Cell;
use tokverify_core::mark::{self, PairMarker};

/// Set the byte of each id to 1.
#[pyfunction]
pub fn mark_ids(py: Python<'_>, ids: PyBuffer<u32>, table: PyBuffer<u8>) -> PyResult<()> {
    let ids = ids.to_vec(py)?;
    let is_complete = mark::mark_ids(&ids, cells(py, &table)?);
    is_complete.then_some(()).ok_or_else(|| PyValueError::new_err("an id is outside of the table"))
}

/// Set a byte to 1 for each pair of classes of neighboring characters in texts, the first one being the upper byte.
///
/// Pairs of ASCII characters may be left out; the class before a text is 0. Returns whether a byte was 0, and the
/// characters of class 255, which are given class 0.
#[pyfunction]
pub fn mark_pairs(
    py: Python<'_>,
    texts: &Bound<'_, PyTuple>,
    classes: PyBuffer<u8>,
    pairs: PyBuffer<u8>,
) -> PyResult<(bool, Vec<u32>)> {
    let wrong_size = |_| PyValueError::new_err("a table has another size");
    let (classes, pairs) = (cells(py, &classes)?, cells(py, &pairs)?);
    let mut marker = PairMarker {
        classes: classes.try_into().map_err(wrong_size)?,
        pairs: pairs.try_into().map_err(wrong_size)?,
        unknown: Vec::new(),
        found_new: false,
    };
    for text in &take_texts(texts)? {
        marker.mark(text.as_str()?);
    }
    Ok((marker.found_new, marker.unknown))
}

fn cells<'table>(py: Python<'table>, table: &'table PyBuffer<u8>) -> PyResult<&'table [Cell<u8>]> {
    table.as_mut_slice(py).ok_or_else(|| PyValueError::new_err("a table must be writable bytes in one piece"))
}

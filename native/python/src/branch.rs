//! Find which alternatives of a pre-tokenizer match in the texts of a corpus.

use crate::batch::take_texts;
use crate::mark::cells;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tokverify_core::branch::BranchFinder;
use tokverify_core::pre_tokenizer::PreTokenizer;

/// The index of a text, the place of an alternative in the table, and where it matches, in bytes.
type Found = (usize, usize, usize, usize);

/// Set a byte to 1 for each alternative that matches in texts; return the first match of each whose byte was 0.
///
/// `rules` are the names of the rules of the pre-tokenizer. Byte 0 stands for text that no rule matches, and 16 bytes
/// for the alternatives of each rule follow.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn mark_branches(
    py: Python<'_>,
    rules: Vec<String>,
    texts: &Bound<'_, PyTuple>,
    table: PyBuffer<u8>,
) -> PyResult<Vec<Found>> {
    let pre_tokenizer = PreTokenizer::new(&rules).map_err(PyValueError::new_err)?;
    let finder = BranchFinder::new(&pre_tokenizer, cells(py, &table)?);
    let mut finder = finder.ok_or_else(|| PyValueError::new_err("the table is too small"))?;
    let mut found = Vec::new();
    for (index, text) in take_texts(texts)?.iter().enumerate() {
        let branches = finder.find(text.as_str()?.as_bytes());
        found.extend(branches.into_iter().map(|branch| (index, branch.place, branch.part.start, branch.part.end)));
    }
    Ok(found)
}

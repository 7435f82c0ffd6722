//! The pieces of a vocabulary, for lookups from Python that do not decode all of them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::Arc;
use tokverify_core::vocabulary::{Strings, Vocabulary};

/// More than the limits of files allow; tables of this size fit in memory, and their indices in 32 bits.
const MOST: usize = 1 << 24;

/// Split `count` strings that are joined with NUL.
pub fn split(joined: &[u8], count: usize) -> PyResult<Strings> {
    let is_small = count <= MOST && u32::try_from(joined.len()).is_ok();
    let strings = is_small.then(|| Strings::from_joined(joined, count)).flatten();
    strings.ok_or_else(|| PyValueError::new_err("the strings are too many, or not as many as declared"))
}

/// Pieces by id, and ids by piece. Encoders share it.
#[pyclass(frozen, module = "tokverify._native")]
pub struct Pieces(pub Arc<Vocabulary>);

#[pymethods]
impl Pieces {
    /// Index `count` pieces that are joined with NUL.
    #[new]
    #[allow(clippy::needless_pass_by_value)] // it must live while the interpreter is released
    fn new(py: Python<'_>, joined: PyBackedBytes, count: usize) -> PyResult<Self> {
        py.detach(|| Ok(Self(Arc::new(Vocabulary::new(split(&joined, count)?)))))
    }

    /// Return the number of different pieces.
    fn count_distinct(&self) -> usize {
        self.0.count_distinct()
    }

    /// Return whether a piece is empty.
    fn has_empty(&self) -> bool {
        self.0.pieces().has_empty()
    }

    /// Return the lowest id of a piece; None if there is no such piece.
    fn id(&self, piece: &[u8]) -> Option<u32> {
        self.0.id(piece)
    }

    /// Return the piece of an id; None if there is no such id.
    fn piece<'py>(&self, py: Python<'py>, id: usize) -> Option<Bound<'py, PyBytes>> {
        (id < self.0.len()).then(|| PyBytes::new(py, self.0.pieces().get(id)))
    }

    /// Return the ids of the pieces that no merge makes; None if a merge does not make one piece of two.
    ///
    /// The merges are joined with NUL, each with a space between its two pieces.
    fn unmade(&self, py: Python<'_>, merges: &[u8]) -> Option<Vec<usize>> {
        py.detach(|| self.0.find_unmade(merges))
    }

    /// Return the pieces of ids, joined with NUL; None if there is no such id.
    #[allow(clippy::needless_pass_by_value)] // PyO3 extracts a new list
    fn join<'py>(&self, py: Python<'py>, ids: Vec<usize>) -> Option<Bound<'py, PyBytes>> {
        let piece = |&id: &usize| (id < self.0.len()).then(|| self.0.pieces().get(id));
        let pieces: Vec<&[u8]> = ids.iter().map(piece).collect::<Option<_>>()?;
        Some(PyBytes::new(py, &pieces.join(&0)))
    }
}

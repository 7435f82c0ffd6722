//! Encode many Python strings in one call.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString, PyTuple};
use tokverify_core::batch::{Encodings, encode_batch};
use tokverify_core::encoder::{Encoder, Options};

/// After about this many bytes, the interpreter can handle signals such as Ctrl-C.
const ROUND: usize = 1 << 23;

/// A text from Python.
pub enum Text {
    /// A `str`.
    Str(PyBackedStr),
    /// UTF-8 `bytes`.
    Bytes(PyBackedBytes),
}

impl Text {
    fn new(text: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match text.cast::<PyString>() {
            Ok(text) => Ok(Self::Str(text.to_owned().try_into()?)),
            Err(_) => Ok(Self::Bytes(text.extract()?)),
        }
    }

    fn as_str(&self) -> PyResult<&str> {
        match self {
            Self::Str(text) => Ok(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|error| PyValueError::new_err(error.to_string())),
        }
    }
}

/// Return the texts of a tuple of `str` and UTF-8 `bytes`.
pub fn take_texts(texts: &Bound<'_, PyTuple>) -> PyResult<Vec<Text>> {
    texts.iter_borrowed().map(Text::new).collect()
}

/// Encode `texts`; see `Encoder.encode_batch`.
pub fn encode<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    texts: &[Text],
    options: Options,
    threads: usize,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<usize>)> {
    let texts = texts.iter().map(Text::as_str).collect::<PyResult<Vec<_>>>()?;
    let mut parts = Vec::new();
    let mut done = 0;
    let mut failed = None;
    while done < texts.len() && failed.is_none() {
        let round = &texts[done..done + count_texts(&texts[done..])];
        match py.detach(|| encode_batch(encoder, round, options, threads)) {
            Ok(encodings) => parts.extend(encodings),
            Err(failure) => failed = Some(done + failure.index),
        }
        done += round.len();
        py.check_signals()?;
    }
    Ok((join_ids(py, &parts)?, join_offsets(py, &parts)?, failed))
}

/// Return the number of texts of the next round.
fn count_texts(texts: &[&str]) -> usize {
    let mut size = 0;
    let fits = |text: &&&str| {
        let before = size;
        size += text.len();
        before < ROUND
    };
    texts.iter().take_while(fits).count()
}

fn join_ids<'py>(py: Python<'py>, parts: &[Encodings]) -> PyResult<Bound<'py, PyBytes>> {
    let ids = parts.iter().flat_map(|part| &part.ids).map(|id| id.to_ne_bytes());
    let count: usize = parts.iter().map(|part| part.ids.len()).sum();
    join(py, count, ids)
}

fn join_offsets<'py>(py: Python<'py>, parts: &[Encodings]) -> PyResult<Bound<'py, PyBytes>> {
    let mut offset = 0_i64;
    let counts = parts.iter().flat_map(|part| &part.counts);
    let ends = counts.map(|&count| {
        offset += i64::try_from(count).expect("counts are small");
        offset
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    join(py, offsets.len(), offsets.iter().map(|offset| offset.to_ne_bytes()))
}

/// Return `count` values, each given as its bytes, one after the other.
fn join<const SIZE: usize>(
    py: Python<'_>,
    count: usize,
    values: impl Iterator<Item = [u8; SIZE]>,
) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, count * SIZE, |bytes| {
        for (place, value) in bytes.chunks_exact_mut(SIZE).zip(values) {
            place.copy_from_slice(&value);
        }
        Ok(())
    })
}

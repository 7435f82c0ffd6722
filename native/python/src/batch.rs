//! Encode or decode many texts in one call.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString, PyTuple};
use tokverify_core::batch::{Failure, Results, decode_batch, encode_batch, reuse};
use tokverify_core::encoder::{Encoder, Options};

/// After about this many bytes or ids, the interpreter can handle signals such as Ctrl-C.
const ROUND: usize = 1 << 23;

/// The items and the offsets of all texts, as bytes; or the index of the first text that fails.
pub type Batch<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<usize>);

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

    /// Return the text; an error if bytes are not UTF-8.
    pub fn as_str(&self) -> PyResult<&str> {
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
) -> PyResult<Batch<'py>> {
    let texts = texts.iter().map(Text::as_str).collect::<PyResult<Vec<_>>>()?;
    let sizes: Vec<_> = texts.iter().map(|text| text.len()).collect();
    let (parts, failed) =
        in_rounds(py, &sizes, |start, end| encode_batch(encoder, &texts[start..end], options, threads))?;
    let batch = (join(py, &parts, u32::to_ne_bytes)?, join_offsets(py, &parts)?, failed);
    parts.into_iter().for_each(|part| reuse(encoder, part.items));
    Ok(batch)
}

/// Decode the ids between each offset and the next one; see `Encoder.decode_batch`.
pub fn decode<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    (ids, offsets): (PyBuffer<u32>, PyBuffer<i64>),
    clean_up: bool,
    threads: usize,
) -> PyResult<Batch<'py>> {
    let (ids, offsets) = (ids.to_vec(py)?, offsets.to_vec(py)?);
    let lists = offsets.windows(2).map(|pair| cut(&ids, pair[0], pair[1])).collect::<Option<Vec<_>>>();
    let lists = lists.ok_or_else(|| PyValueError::new_err("an offset is out of order or out of range"))?;
    let sizes: Vec<_> = lists.iter().map(|ids| ids.len()).collect();
    let (parts, failed) =
        in_rounds(py, &sizes, |start, end| decode_batch(encoder, &lists[start..end], clean_up, threads))?;
    Ok((join(py, &parts, |byte| [byte])?, join_offsets(py, &parts)?, failed))
}

fn cut(ids: &[u32], start: i64, end: i64) -> Option<&[u32]> {
    ids.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

/// Process texts of the given sizes in rounds, without the interpreter; return the results, and which text fails.
fn in_rounds<Item: Send, Error: Send>(
    py: Python<'_>,
    sizes: &[usize],
    process: impl Fn(usize, usize) -> Result<Vec<Results<Item>>, Failure<Error>> + Sync,
) -> PyResult<(Vec<Results<Item>>, Option<usize>)> {
    let mut parts = Vec::new();
    let mut done = 0;
    while done < sizes.len() {
        let end = done + count_texts(&sizes[done..]);
        match py.detach(|| process(done, end)) {
            Ok(results) => parts.extend(results),
            Err(failure) => return Ok((parts, Some(done + failure.index))),
        }
        done = end;
        py.check_signals()?;
    }
    Ok((parts, None))
}

/// Return the number of texts of the next round.
fn count_texts(sizes: &[usize]) -> usize {
    let mut total = 0;
    let fits = |size: &&usize| {
        let before = total;
        total += *size;
        before < ROUND
    };
    sizes.iter().take_while(fits).count()
}

/// Return the items of all texts, each as its bytes, one after the other.
fn join<'py, Item: Copy, const SIZE: usize>(
    py: Python<'py>,
    parts: &[Results<Item>],
    to_bytes: fn(Item) -> [u8; SIZE],
) -> PyResult<Bound<'py, PyBytes>> {
    let count: usize = parts.iter().map(|part| part.items.len()).sum();
    PyBytes::new_with(py, count * SIZE, |mut bytes| {
        for part in parts {
            let (places, rest) = bytes.split_at_mut(part.items.len() * SIZE);
            let places = places.chunks_exact_mut(SIZE).zip(&part.items);
            places.for_each(|(place, &item)| place.copy_from_slice(&to_bytes(item)));
            bytes = rest;
        }
        Ok(())
    })
}

fn join_offsets<'py, Item>(py: Python<'py>, parts: &[Results<Item>]) -> PyResult<Bound<'py, PyBytes>> {
    let mut offset = 0_i64;
    let mut bytes = offset.to_ne_bytes().to_vec();
    for count in parts.iter().flat_map(|part| &part.counts) {
        offset += i64::try_from(*count)?;
        bytes.extend(offset.to_ne_bytes());
    }
    Ok(PyBytes::new(py, &bytes))
}

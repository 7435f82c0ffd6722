//! Read the strings of a GGUF file.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

/// The size of the length before each string.
const LENGTH: usize = 8;

/// Append up to `count` strings of `window` to `result`, from `position` on; return the position after the last one.
///
/// Only strings that end inside the window are read. Bytes that are not UTF-8 become lone surrogates.
#[pyfunction]
pub fn read_strings(
    window: &Bound<'_, PyBytes>,
    position: usize,
    is_big_endian: bool,
    count: usize,
    result: &Bound<'_, PyList>,
) -> PyResult<usize> {
    let mut rest = window.as_bytes().get(position..).unwrap_or_default();
    for _ in 0..count {
        let Some((string, after)) = split_string(rest, is_big_endian) else { break };
        result.append(decode(window.py(), string)?)?;
        rest = after;
    }
    Ok(window.as_bytes().len() - rest.len())
}

/// Return the bytes of the first string and what follows it; None if it is not complete.
fn split_string(bytes: &[u8], is_big_endian: bool) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    let length = if is_big_endian { u64::from_be_bytes(*length) } else { u64::from_le_bytes(*length) };
    rest.split_at_checked(usize::try_from(length).ok()?)
}

fn decode<'py>(py: Python<'py>, string: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(string) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => PyString::from_encoded_object(&PyBytes::new(py, string), Some(c"utf-8"), Some(c"surrogateescape")),
    }
}

//! The Python module `tokverify._native`: a thin layer over `tokverify-core`.

mod batch;
mod branch;
mod declaration;
mod mark;
mod pieces;
mod scores;
mod stream;
mod strings;

use crate::batch::Batch;
use crate::declaration::Declaration;
use crate::stream::StreamDecoder;
use pyo3::buffer::PyBuffer;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use tokverify_core::decoder::decode;
use tokverify_core::encoder::{self, Options};
use tokverify_core::late;
use tokverify_core::token_bytes;

create_exception!(
    _native,
    NotSupportedError,
    PyException,
    "The native engine cannot encode with this tokenizer; the message completes `the native engine ...`."
);

/// Encodes and decodes texts.
#[pyclass(frozen, module = "tokverify._native")]
pub struct Encoder(encoder::Encoder);

#[pymethods]
impl Encoder {
    /// Build the encoder; tables that the declaration leaves out are those of `previous`.
    #[new]
    #[pyo3(signature = (declaration, previous = None))]
    fn new(py: Python<'_>, declaration: Declaration, previous: Option<&Self>) -> PyResult<Self> {
        let previous = previous.map(|encoder| &encoder.0);
        let spec = declaration.into_spec(previous.map(encoder::Encoder::spec))?;
        let built = py.detach(|| encoder::Encoder::new(spec, previous));
        built.map(Self).map_err(|error| NotSupportedError::new_err(error.to_string()))
    }

    /// Return the ids of a short text, without releasing the interpreter; None if llama.cpp aborts on it.
    fn encode(&self, text: &Bound<'_, PyString>, add_special: bool, parse_special: bool) -> PyResult<Option<Vec<u32>>> {
        let mut ids = Vec::new();
        let result = self.0.encode(text.to_str()?, Options { add_special, parse_special }, &mut ids);
        Ok(result.is_ok().then_some(ids))
    }

    /// Return the ids of many texts and the offsets of each, as bytes; or the index of a text on which llama.cpp aborts.
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyTuple>,
        add_special: bool,
        parse_special: bool,
        threads: usize,
    ) -> PyResult<Batch<'py>> {
        let options = Options { add_special, parse_special };
        batch::encode(py, &self.0, &batch::take_texts(texts)?, options, threads)
    }

    /// Return the bytes of a text; None if something is not an id of the vocabulary.
    fn decode<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyAny>, clean_up: bool) -> Option<Bound<'py, PyBytes>> {
        let ids: Vec<u32> = ids.extract().ok()?;
        let mut bytes = Vec::new();
        decode(self.0.spec(), &ids, clean_up, &mut bytes).ok()?;
        Some(PyBytes::new(py, &bytes))
    }

    /// Return the bytes of many texts and the offsets of each, as bytes; or the index of one with an unknown id.
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        ids: PyBuffer<u32>,
        offsets: PyBuffer<i64>,
        clean_up: bool,
        threads: usize,
    ) -> PyResult<Batch<'py>> {
        batch::decode(py, &self.0, (ids, offsets), clean_up, threads)
    }

    /// Return the bytes that each token represents, by id.
    fn token_bytes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let spec = self.0.spec();
        let mut bytes = Vec::new();
        let ids = 0..u32::try_from(spec.attributes.len())?;
        let of_each = ids.map(|id| {
            bytes.clear();
            token_bytes::append(spec, id, &mut bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(PyBytes::new(py, &bytes))
        });
        of_each.collect()
    }

    /// Return a decoder for the ids of one text.
    fn stream_decoder(slf: Py<Self>) -> StreamDecoder {
        StreamDecoder::new(slf)
    }
}

/// Wait until no encoder builds tables in another thread, as a process must before it forks.
#[pyfunction]
fn finish_tables(py: Python<'_>) {
    py.detach(late::wait_for_all);
}

/// The compiled engine of tokverify.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Encoder, NotSupportedError, StreamDecoder, finish_tables};
    #[pymodule_export]
    use crate::branch::mark_branches;
    #[pymodule_export]
    use crate::mark::{count_bytes, mark_class_pairs, mark_ids};
    #[pymodule_export]
    use crate::pieces::Pieces;
    #[pymodule_export]
    use crate::scores::descends;
    #[pymodule_export]
    use crate::strings::{find_differing, join_strings, pack_strings, read_tables};

    /// Compared with `INTERFACE` in `tokverify/engine/engine_choice.py`.
    #[pymodule_export]
    const INTERFACE: u32 = 13;
}

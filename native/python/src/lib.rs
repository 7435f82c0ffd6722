//! The Python module `tokverify._native`: a thin layer over `tokverify-core`.

mod batch;
mod declaration;

use crate::declaration::Declaration;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use tokverify_core::encoder::{self, Options};

create_exception!(
    _native,
    NotSupportedError,
    PyException,
    "The native engine cannot encode with this tokenizer; the message completes `the native engine ...`."
);

/// Encodes texts.
#[pyclass(frozen, module = "tokverify._native")]
struct Encoder(encoder::Encoder);

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

    /// Return the ids of a text; None if llama.cpp aborts on it.
    fn encode(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyString>,
        add_special: bool,
        parse_special: bool,
    ) -> PyResult<Option<Vec<u32>>> {
        /// Releasing the interpreter for shorter texts takes longer than encoding them.
        const LONG: usize = 1 << 14;
        let options = Options { add_special, parse_special };
        let text = text.to_str()?;
        let encode = || {
            let mut ids = Vec::new();
            self.0.encode(text, options, &mut ids).is_ok().then_some(ids)
        };
        Ok(if text.len() < LONG { encode() } else { py.detach(encode) })
    }

    /// Return the ids of many texts and the offsets of each, as bytes; or the index of a text on which llama.cpp aborts.
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyTuple>,
        add_special: bool,
        parse_special: bool,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<usize>)> {
        let options = Options { add_special, parse_special };
        batch::encode(py, &self.0, &batch::take_texts(texts)?, options, threads)
    }
}

/// The compiled engine of tokverify.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Encoder, NotSupportedError};

    /// Compared with `INTERFACE` in `tokverify/engine/engine_choice.py`.
    #[pymodule_export]
    const INTERFACE: u32 = 1;
}

//! Decode a stream of ids.

use crate::Encoder;
use pyo3::prelude::*;
use tokverify_core::decoder::Stream;

/// Decodes the ids of one text as they come.
#[pyclass(module = "tokverify._native")]
pub struct StreamDecoder {
    encoder: Py<Encoder>,
    stream: Stream,
}

impl StreamDecoder {
    /// Start at the beginning of a text.
    pub fn new(encoder: Py<Encoder>) -> Self {
        Self { encoder, stream: Stream::default() }
    }
}

#[pymethods]
impl StreamDecoder {
    /// Return the text that is complete with the next id; None for an id outside the vocabulary.
    fn push(&mut self, id: &Bound<'_, PyAny>) -> Option<String> {
        self.stream.push(self.encoder.get().0.spec(), id.extract().ok()?).ok()
    }

    /// Return the remaining text.
    fn finish(&mut self) -> String {
        self.stream.finish()
    }
}

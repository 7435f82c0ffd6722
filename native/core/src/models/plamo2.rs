//! To be written.

use crate::error::{BuildError, EncodeError};
use crate::scratch::Scratch;
use crate::spec::Spec;

/// To be written.
#[derive(Debug)]
pub struct Plamo2 {}

impl Plamo2 {
    /// Build the model.
    ///
    /// # Errors
    /// If the native engine does not support the tokenizer, or llama.cpp refuses it.
    pub fn new(_spec: &Spec) -> Result<Self, BuildError> {
        Err(BuildError::Unsupported("does not support this model yet".into()))
    }

    /// Append the ids of `text`.
    ///
    /// # Errors
    /// If llama.cpp aborts on this text.
    pub fn encode(&self, _text: &[u8], _scratch: &mut Scratch, _ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        unreachable!()
    }
}

//! Encode words between spaces with byte-pair encoding, and drop the spaces.
//!
//! The Python engine's is `tokverify/engine/models/whitespace.py`.
//!
//! Source: `llm_tokenizer_whitespace_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::character::{SPACE, classes, classify, to_lowercase};
use crate::error::{BuildError, EncodeError};
use crate::models::bpe::Bpe;
use crate::scratch::Scratch;
use crate::spec::Spec;

/// Encodes texts; each word is converted to lowercase if requested.
#[derive(Debug)]
pub struct Whitespace {
    bpe: Bpe,
    lowercase: bool,
}

impl Whitespace {
    /// Build the model. It shares the tables of `previous` if they are the same.
    ///
    /// # Errors
    /// As for byte-pair encoding.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        Ok(Self { bpe: Bpe::new(spec, previous.map(|previous| &previous.bpe))?, lowercase: spec.lowercase })
    }

    /// Append the ids of `text`, which is UTF-8; bytes that no token represents are dropped, as in llama.cpp.
    ///
    /// # Errors
    /// As for byte-pair encoding.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let mut word = std::mem::take(&mut scratch.word);
        let result = self.encode_words(text, &mut word, scratch, ids);
        scratch.word = word;
        result
    }

    fn encode_words(
        &self,
        text: &[u8],
        word: &mut Vec<u8>,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<(), EncodeError> {
        word.clear();
        let mut place = 0;
        while place < text.len() {
            let (character, class, size) = classify(classes(), text, place);
            if class & SPACE == 0 {
                self.write(character, word);
            } else if !word.is_empty() {
                self.bpe.encode(word, scratch, ids)?;
                word.clear();
            }
            place += size;
        }
        if word.is_empty() { Ok(()) } else { self.bpe.encode(word, scratch, ids) }
    }

    fn write(&self, character: u32, word: &mut Vec<u8>) {
        let written = if self.lowercase { to_lowercase(character) } else { character };
        let written = char::from_u32(written).unwrap_or(char::REPLACEMENT_CHARACTER);
        word.extend_from_slice(written.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

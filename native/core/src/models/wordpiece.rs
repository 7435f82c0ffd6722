//! WordPiece, BERT's algorithm: take the longest piece at each position of a word.
//!
//! The text is normalized and split into words. Each word gets a `▁` before it; from its beginning on, the longest
//! matching piece is taken repeatedly. If no piece matches, the whole word becomes one unknown token. The Python
//! engine's is `tokverify/engine/models/wordpiece.py`.
//!
//! Source: `llm_tokenizer_wpm_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::ascii::{BLOCK, count_before_space, load};
use crate::chunk_cache::PADDING;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::models::word_normalizer::WordNormalizer;
use crate::scratch::Scratch;
use crate::space::ESCAPED;
use crate::spec::Spec;
use crate::trie::Trie;
use crate::vocabulary::Vocabulary;
use std::convert::Infallible;
use std::sync::Arc;

/// Encodes texts.
#[derive(Debug)]
pub struct WordPiece {
    vocabulary: Arc<Vocabulary>,
    trie: Arc<Trie>,
    normalizer: WordNormalizer,
    unknown_id: u32,
}

impl WordPiece {
    /// Build the model. It shares the trie of `previous` if that has the same pieces.
    ///
    /// # Errors
    /// If there is no unknown token.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        let unknown_id = spec.unknown_id.ok_or_else(|| BuildError::Unsupported("needs an unknown token".into()))?;
        let previous = previous.filter(|previous| Arc::ptr_eq(&previous.vocabulary, &spec.vocabulary));
        // subtle: llama.cpp compares bytes, so a piece that is not UTF-8 can match a part of a character.
        let build = || Arc::new(Trie::new(spec.vocabulary.pieces().iter().zip(0..)));
        Ok(Self {
            vocabulary: spec.vocabulary.clone(),
            trie: previous.map_or_else(build, |previous| previous.trie.clone()),
            normalizer: WordNormalizer::new(spec.lowercase, spec.strip_accents),
            unknown_id,
        })
    }

    /// Append the ids of `text`, which is UTF-8.
    ///
    /// # Errors
    /// Never.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let Scratch { padded, word, cache, .. } = scratch;
        self.normalizer.normalize(text, padded);
        let length = padded.len();
        padded.resize(length + PADDING, 0);
        let mut ids = IdBuffer::new(ids);
        let mut start = 0;
        while start < length {
            let end = word_end(padded, start);
            let Ok(()) = cache.append(padded, (start, end), &mut ids, |ids| {
                self.encode_word(&padded[start..end], word, ids);
                Ok::<(), Infallible>(())
            });
            start = end + 1;
        }
        Ok(())
    }

    fn encode_word(&self, letters: &[u8], word: &mut Vec<u8>, ids: &mut IdBuffer<'_>) {
        word.clear();
        word.extend_from_slice(ESCAPED);
        word.extend_from_slice(letters);
        let first = ids.len();
        let mut rest = word.as_slice();
        while !rest.is_empty() {
            let Some((length, id)) = self.trie.longest(self.trie.root(), rest) else {
                ids.truncate(first);
                ids.push(self.unknown_id);
                return;
            };
            ids.push(id);
            rest = &rest[length..];
        }
    }
}

/// Return where the separator after the word at `start` is.
#[inline]
fn word_end(padded: &[u8], start: usize) -> usize {
    let mut end = start;
    loop {
        let count = count_before_space(load(padded, end));
        end += count;
        if count < BLOCK {
            return end;
        }
    }
}

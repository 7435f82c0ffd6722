//! RWKV's "world" tokenizer: take the longest token at each position, from left to right.
//!
//! Tokens are bytes and can begin or end inside a character; a GGUF file stores them escaped, like a Python literal
//! (`\n`, `\xe4`). The Python engine's is `tokverify/engine/models/rwkv.py`.
//!
//! Source: `llm_tokenizer_rwkv_session` and `llama_unescape_rwkv_token` in llama.cpp's `src/llama-vocab.cpp`.

use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::models::rwkv_lanes::Lanes;
use crate::scratch::Scratch;
use crate::spec::Spec;
use crate::trie::{Node, Trie};
use crate::trie_starts::TrieStarts;
use crate::vocabulary::{Strings, Vocabulary};
use std::sync::Arc;

/// Encodes texts.
#[derive(Debug)]
pub struct Rwkv {
    vocabulary: Arc<Vocabulary>,
    search: Arc<Search>,
    unknown_id: u32,
    /// Whether each byte is a token, so that there is one at every position.
    has_bytes: bool,
}

/// Finds the longest token at a position.
#[derive(Debug)]
struct Search {
    trie: Trie,
    starts: TrieStarts,
}

impl Rwkv {
    /// Build the model. It shares the search of `previous` if that has the same pieces.
    ///
    /// # Errors
    /// If llama.cpp never finishes loading such a vocabulary, or a byte needs an unknown token and there is none.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        let previous = previous.filter(|previous| Arc::ptr_eq(&previous.vocabulary, &spec.vocabulary));
        let search =
            previous.map_or_else(|| Arc::new(Search::new(&spec.vocabulary)), |previous| previous.search.clone());
        let child = |byte| search.trie.child(search.trie.root(), byte);
        let needs_unknown = (0..=255).any(|byte| child(byte).is_none());
        let has_bytes = (0..=255).all(|byte| child(byte).and_then(Node::value).is_some());
        if needs_unknown && spec.unknown_id.is_none() {
            return Err(BuildError::Unsupported("needs an unknown token".into()));
        }
        let unknown_id = spec.unknown_id.unwrap_or_default();
        let model = Self { vocabulary: spec.vocabulary.clone(), search, unknown_id, has_bytes };
        // As llama.cpp does when it loads a vocabulary.
        model
            .encode(b"\n", &mut Scratch::default(), &mut Vec::new())
            .map_err(|error| BuildError::Broken(format!("the vocabulary cannot encode a line feed: {error}")))?;
        Ok(model)
    }

    /// Append the ids of `text`, which can be any bytes.
    ///
    /// # Errors
    /// If llama.cpp never finishes encoding it.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let mut ids = IdBuffer::new(ids);
        let done = if self.has_bytes { self.encode_most(text, &mut scratch.lanes, &mut ids) } else { 0 };
        let mut rest = &text[done..];
        while let Some(&first) = rest.first() {
            let (length, id) = match self.longest(rest) {
                Some(found) => found,
                // subtle: if tokens begin like the text but none matches, llama.cpp goes back to the beginning of the
                // text, again and again until it runs out of memory.
                None if self.search.trie.child(self.search.trie.root(), first).is_some() => {
                    return Err(EncodeError::Endless(first));
                }
                None => (1, self.unknown_id),
            };
            ids.push(id);
            rest = &rest[length..];
        }
        Ok(())
    }

    /// Append the ids of all but the end of `text` if each byte is a token; return how many bytes these are.
    fn encode_most(&self, text: &[u8], lanes: &mut Lanes, ids: &mut IdBuffer<'_>) -> usize {
        lanes.encode(&self.search.trie, text, ids, |place, ids| {
            let (length, id) = self.longest(&text[place..]).unwrap_or((1, self.unknown_id));
            ids.push(id);
            place + length
        })
    }

    #[inline]
    fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        self.search.starts.longest(&self.search.trie, text)
    }

    /// Append the ids of `text`, which has bytes of cut characters at its ends.
    ///
    /// # Errors
    /// As for `encode`.
    pub fn encode_cut(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        self.encode(text, scratch, ids)
    }
}

impl Search {
    fn new(vocabulary: &Vocabulary) -> Self {
        let tokens = Strings::collect(vocabulary.pieces().iter().map(unescape));
        let trie = Trie::new(tokens.iter().zip(0..));
        Self { starts: TrieStarts::new(&trie), trie }
    }
}

/// Convert a stored token to bytes: `\t`, `\n`, `\r` and `\xNN` are escapes, and `\` quotes other characters.
///
/// subtle: llama.cpp treats any two bytes after `\x` as hexadecimal digits, and computes with them modulo 256.
#[must_use]
pub fn unescape(piece: &[u8]) -> Vec<u8> {
    let mut unescaped = Vec::with_capacity(piece.len());
    let mut stored = piece.iter().copied();
    while let Some(byte) = stored.next() {
        if byte != b'\\' {
            unescaped.push(byte);
            continue;
        }
        match stored.next() {
            Some(b't') => unescaped.push(b'\t'),
            Some(b'n') => unescaped.push(b'\n'),
            Some(b'r') => unescaped.push(b'\r'),
            Some(b'x') => unescaped.extend(hexadecimal(stored.next(), stored.next())),
            other => unescaped.extend(other),
        }
    }
    unescaped
}

fn hexadecimal(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    Some(digit(high?).wrapping_mul(16).wrapping_add(digit(low?)))
}

fn digit(byte: u8) -> u8 {
    // llama.cpp compares signed bytes, so those from 0x80 on are less than `a`.
    if (b'a'..0x80).contains(&byte) { byte - b'a' + 10 } else { byte.wrapping_sub(b'0') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_llama_cpp_reads_them() {
        assert_eq!(unescape(br"a\n\t\r\\\'"), b"a\n\t\r\\'");
        assert_eq!(unescape(br"\xe4\x0a"), b"\xe4\x0a");
        assert_eq!(unescape(br"\x4"), b"");
        assert_eq!(unescape(br"\xG1\"), [0x71]);
        assert_eq!(unescape(br"\x\x"), [(b'\\' - b'0').wrapping_mul(16).wrapping_add(b'x' - b'a' + 10)]);
    }
}

//! The path of a text: split at added tokens, normalize, run the model, return ids.
//!
//! Source: `llama_vocab::impl::tokenize` in llama.cpp's `src/llama-vocab.cpp`; the Python engine's is
//! `tokverify/engine/encoder.py`.

use crate::added_token::{Fragment, Splitter};
use crate::ascii::{BLOCK, count_before_space};
use crate::error::{BuildError, EncodeError};
use crate::model::Model;
use crate::scratch::{Pool, Scratch};
use crate::spec::Spec;
use crate::utf8;

/// `▁`, which stands for a space.
pub const ESCAPED_SPACE: &[u8] = "▁".as_bytes();

/// Which tokens an encoding includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Add BOS, EOS or SEP around the text.
    pub add_special: bool,
    /// Recognize control tokens inside the text.
    pub parse_special: bool,
}

/// Encodes texts as llama.cpp does. Threads can share it.
#[derive(Debug)]
pub struct Encoder {
    spec: Spec,
    model: Model,
    split_all: Splitter,
    split_user_defined: Splitter,
    /// Whether spaces are written as `▁` here.
    escapes_spaces: bool,
    /// Whether an added token can cut a character.
    cuts_characters: bool,
    pool: Pool,
}

impl Encoder {
    /// Build the encoder of `spec`. It shares unchanged tables with `previous`.
    ///
    /// # Errors
    /// If the native engine does not support the tokenizer, or llama.cpp refuses it.
    pub fn new(spec: Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        let model = Model::new(&spec, previous.map(|encoder| &encoder.model))?;
        let split_all = Splitter::new(spec.added_tokens.iter(), &spec.displayed);
        let user_defined = spec.added_tokens.iter().filter(|token| !token.special);
        let split_user_defined = Splitter::new(user_defined, &spec.displayed);
        let cuts_characters = split_all.cuts_characters();
        let escapes_spaces = spec.escapes_in_encoder && !model.takes_spaces();
        Ok(Self { spec, model, escapes_spaces, split_all, split_user_defined, cuts_characters, pool: Pool::default() })
    }

    /// Return what the encoder was built from.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Append the ids of `text`.
    ///
    /// # Errors
    /// If llama.cpp aborts on this text; `ids` then contains a part of them.
    pub fn encode(&self, text: &str, options: Options, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        self.with_scratch(|scratch| self.encode_with(text, options, scratch, ids))
    }

    /// Run `work` with buffers and caches that no other thread uses.
    pub fn with_scratch<Result>(&self, work: impl FnOnce(&mut Scratch) -> Result) -> Result {
        self.pool.with(work)
    }

    /// Append the ids of `text`, with the buffers and caches of the calling thread.
    ///
    /// # Errors
    /// If llama.cpp aborts on this text; `ids` then contains a part of them.
    pub fn encode_with(
        &self,
        text: &str,
        options: Options,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<(), EncodeError> {
        if options.add_special {
            ids.extend(self.spec.prefix.as_ref().ok_or(EncodeError::MissingAffix)?);
        }
        let splitter = if options.parse_special { &self.split_all } else { &self.split_user_defined };
        let mut fragments = std::mem::take(&mut scratch.fragments);
        splitter.split(text.as_bytes(), &mut fragments);
        let result = fragments.iter().try_for_each(|fragment| match fragment {
            Fragment::Token(id) => {
                ids.push(*id);
                Ok(())
            }
            Fragment::Text(range) => self.encode_stretch(&text.as_bytes()[range.clone()], scratch, ids),
        });
        scratch.fragments = fragments;
        result?;
        if options.add_special {
            ids.extend(self.spec.suffix.as_ref().ok_or(EncodeError::MissingAffix)?);
        }
        Ok(())
    }

    /// Encode a stretch, which begins the text or follows an added token: in both cases a space is added.
    fn encode_stretch(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let is_cut = self.cuts_characters && std::str::from_utf8(text).is_err();
        if !is_cut && !self.spec.prefixes_space && !self.escapes_spaces {
            return self.model.encode(text, scratch, ids);
        }
        let mut stretch = std::mem::take(&mut scratch.stretch);
        self.normalize(text, &mut stretch);
        let result =
            if is_cut { self.encode_cut(&stretch, scratch, ids) } else { self.model.encode(&stretch, scratch, ids) };
        scratch.stretch = stretch;
        result
    }

    fn encode_cut(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        if let Some(result) = self.model.encode_cut(text, scratch, ids) {
            return result;
        }
        let mut replaced = Vec::with_capacity(text.len() + 16);
        utf8::replace_lone_bytes(text, &mut replaced);
        self.model.encode(&replaced, scratch, ids)
    }

    fn normalize(&self, text: &[u8], stretch: &mut Vec<u8>) {
        stretch.clear();
        if self.spec.prefixes_space {
            stretch.extend_from_slice(if self.escapes_spaces { ESCAPED_SPACE } else { b" " });
        }
        if self.escapes_spaces { escape_spaces(text, stretch) } else { stretch.extend_from_slice(text) }
    }
}

/// Append `text` with `▁` in place of each space.
fn escape_spaces(text: &[u8], output: &mut Vec<u8>) {
    /// What a step can write after the end of the text.
    const ROOM: usize = BLOCK + ESCAPED_SPACE.len();
    let mut length = output.len();
    let spaces = memchr::memchr_iter(b' ', text).count();
    output.resize(length + text.len() + spaces * (ESCAPED_SPACE.len() - 1) + ROOM, 0);
    let mut place = 0;
    while let Some(block) = text[place..].first_chunk::<BLOCK>() {
        let count = count_before_space(u64::from_le_bytes(*block));
        let step = &mut output[length..length + ROOM];
        step[..BLOCK].copy_from_slice(block);
        step[count..count + ESCAPED_SPACE.len()].copy_from_slice(ESCAPED_SPACE);
        let is_space = usize::from(count < BLOCK);
        place += count + is_space;
        length += count + is_space * ESCAPED_SPACE.len();
    }
    output.truncate(length);
    for byte in &text[place..] {
        output.extend_from_slice(if *byte == b' ' { ESCAPED_SPACE } else { std::slice::from_ref(byte) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_is_escaped() {
        for text in ["", " ", "a b", "   ", "abcdefgh ijklmnopq  r", "abcdefghijklmnop", " abcdefg ", "é あ 😀  \n "]
        {
            let mut output = b"x".to_vec();
            escape_spaces(text.as_bytes(), &mut output);
            assert_eq!(std::str::from_utf8(&output), Ok(format!("x{}", text.replace(' ', "▁")).as_str()));
        }
    }
}

//! Encode the words of one text by byte-pair encoding: look them up, or split them into parts and merge those.

use crate::chunk_cache::{ChunkCache, Key, PADDING, SHORT};
use crate::encoder::ESCAPED_SPACE;
use crate::error::EncodeError;
use crate::id_buffer::IdBuffer;
use crate::models::bpe::Bpe;
use crate::models::merge::MergeScratch;
use crate::utf8::character_size;
use std::ops::Range;

/// Encodes the words of one text, which are ranges of a padded text.
pub(super) struct Words<'a, 'b> {
    pub(super) model: &'a Bpe,
    /// The ids of pre-tokens.
    pub(super) cache: &'a mut ChunkCache,
    /// The ids of parts of pre-tokens, to which rules for whole pre-tokens do not apply.
    pub(super) parts: &'a mut ChunkCache,
    pub(super) merge: &'a mut MergeScratch,
    pub(super) ids: IdBuffer<'b>,
}

/// Write `text` with bytes after it that may be read.
pub(super) fn pad(text: &[u8], padded: &mut Vec<u8>) {
    padded.clear();
    padded.reserve(text.len() + PADDING);
    padded.extend_from_slice(text);
    padded.resize(text.len() + PADDING, 0);
}

impl Words<'_, '_> {
    /// Append the ids of consecutive words, given by the start of the first and the end of each.
    pub(super) fn encode_group(&mut self, padded: &[u8], mut start: usize, ends: &[usize]) -> Result<(), EncodeError> {
        for &end in ends {
            let length = end - start;
            if length > SHORT {
                self.encode_long(padded, start..end)?;
            } else {
                let key = Key::pack(padded, start, length);
                if let Some(entry) = self.cache.find(key) {
                    self.cache.append_entry(entry, &mut self.ids);
                } else {
                    self.encode_short(padded, start..end, key)?;
                }
            }
            start = end;
        }
        Ok(())
    }

    #[inline(never)]
    fn encode_short(&mut self, padded: &[u8], word: Range<usize>, key: Key) -> Result<(), EncodeError> {
        let first = self.ids.len();
        match self.model.tables.whole.find(key) {
            Some(id) => self.ids.push(id),
            None => self.encode_new(padded, word)?,
        }
        self.cache.insert_short(key, self.ids.since(first));
        Ok(())
    }

    /// Append the ids of a long word. In byte-level vocabularies, indentation and identifiers recur; in those of characters,
    /// a long word is mostly a line, which does not, and only its parts are cached.
    #[inline(never)]
    fn encode_long(&mut self, padded: &[u8], word: Range<usize>) -> Result<(), EncodeError> {
        let text = &padded[word.clone()];
        let recurs = self.model.tables.alphabet.is_of_bytes() && text[..2].is_ascii();
        if recurs && self.cache.append_long(text, &mut self.ids) {
            return Ok(());
        }
        let first = self.ids.len();
        self.encode_new(padded, word)?;
        if recurs {
            self.cache.insert_long(text, self.ids.since(first));
        }
        Ok(())
    }

    /// Append the ids of a word that is not in the cache.
    #[inline(never)]
    fn encode_new(&mut self, padded: &[u8], word: Range<usize>) -> Result<(), EncodeError> {
        let model = self.model;
        let text = &padded[word.clone()];
        if let Some(id) = model.whole(text) {
            self.ids.push(id);
            return Ok(());
        }
        let alphabet = &model.tables.alphabet;
        if !alphabet.is_of_bytes() && memchr::memchr(b' ', text).is_some() && text.len() > character_size(text[0]) {
            return Err(EncodeError::SpaceInPreToken);
        }
        alphabet.for_each_part(padded, (word.start, word.end), |start, end, id| match id {
            Some(id) => {
                self.ids.push(id);
                Ok(())
            }
            None => self.encode_part(padded, start..end, end - start == word.len()),
        })
    }

    /// Append the ids of a part of a word; a short word that is a single part is not stored twice.
    #[inline]
    fn encode_part(&mut self, padded: &[u8], part: Range<usize>, is_word: bool) -> Result<(), EncodeError> {
        let Self { model, parts, merge, ids, .. } = self;
        let mut encode = |ids: &mut IdBuffer<'_>| {
            model.tables.encode_part(&padded[part.clone()], merge, ids);
            Ok(())
        };
        if is_word && part.len() <= SHORT {
            return encode(ids);
        }
        parts.append(padded, (part.start, part.end), ids, encode)
    }

    /// Append the ids of consecutive lines, given by the start of the first and the end of each.
    pub(super) fn encode_lines(&mut self, padded: &[u8], mut start: usize, ends: &[usize]) -> Result<(), EncodeError> {
        for &end in ends {
            self.encode_line(padded, start..end)?;
            start = end;
        }
        Ok(())
    }

    /// Encode a line before each `▁`, after prepending one if it has none; a run of newlines is not split.
    ///
    /// Source: the case of mmbert in `llm_tokenizer_bpe_session::tokenize`.
    fn encode_line(&mut self, padded: &[u8], line: Range<usize>) -> Result<(), EncodeError> {
        if padded[line.start] == b'\n' {
            return self.encode_group(padded, line.start, &[line.end]);
        }
        let text = &padded[line.clone()];
        let mut done = 0;
        if !text.starts_with(ESCAPED_SPACE) {
            done = memchr::memmem::find(text, ESCAPED_SPACE).unwrap_or(text.len());
            let mut first = Vec::new();
            pad(&[ESCAPED_SPACE, &text[..done]].concat(), &mut first);
            self.encode_group(&first, 0, &[ESCAPED_SPACE.len() + done])?;
        }
        while done < text.len() {
            let rest = &text[done + ESCAPED_SPACE.len()..];
            let end = memchr::memmem::find(rest, ESCAPED_SPACE).map_or(text.len(), |at| text.len() - rest.len() + at);
            self.encode_group(padded, line.start + done, &[line.start + end])?;
            done = end;
        }
        Ok(())
    }
}

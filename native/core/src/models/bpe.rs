//! BPE: byte-pair encoding by merge rank, as introduced by GPT-2.
//!
//! Each pre-token is split into characters: of the byte-level alphabet, or of the text itself. Of all adjacent pairs in
//! the merge list, the pair listed first is merged, its leftmost occurrence first, until no pair is listed. The Python
//! engine's is `tokverify/engine/models/bpe.py`.
//!
//! Source: `llm_tokenizer_bpe_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::byte_level;
use crate::chunk_cache::{ChunkCache, PADDING, SHORT};
use crate::encoder::ESCAPED_SPACE;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::merge::{MergeScratch, merge};
use crate::models::bpe_alphabet::{Alphabet, Bytes, Characters};
use crate::models::merge_table::{MergeTable, UNKNOWN};
use crate::pre_tokenizer::PreTokenizer;
use crate::scratch::Scratch;
use crate::spec::{PreTokenization, Spec};
use crate::utf8::character_size;
use crate::vocabulary::{Strings, Vocabulary};
use std::ops::Range;
use std::sync::Arc;

/// What depends only on the vocabulary and the merges.
#[derive(Debug)]
struct Tables {
    vocabulary: Arc<Vocabulary>,
    merge_list: Arc<Strings>,
    merges: MergeTable,
    alphabet: Alphabet,
    /// The piece for each byte of a symbol that is not a piece.
    spelled: Box<[Option<u32>; 256]>,
}

/// Encodes texts; bytes that no token represents are dropped, as in llama.cpp.
#[derive(Debug)]
pub struct Bpe {
    tables: Arc<Tables>,
    pre_tokenizer: PreTokenizer,
    ignore_merges: bool,
    newline_pieces: bool,
}

impl Bpe {
    /// Build the model. It shares the tables of `previous` if they are the same.
    ///
    /// # Errors
    /// If a rule of the pre-tokenizer is unknown.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        let pre = &spec.pre_tokenizer;
        let unknown = |name| BuildError::Unsupported(format!("does not support the rule {name} of this pre-tokenizer"));
        let pre_tokenizer = PreTokenizer::new(&pre.rules).map_err(unknown)?;
        let tables = match previous.filter(|previous| previous.tables.are_for(spec)) {
            Some(previous) => previous.tables.clone(),
            None => Arc::new(Tables::new(spec)),
        };
        let PreTokenization { ignore_merges, newline_pieces, .. } = *pre;
        Ok(Self { tables, pre_tokenizer, ignore_merges, newline_pieces })
    }

    /// Append the ids of `text`.
    ///
    /// # Errors
    /// If a pair to be merged contains a space, for which llama.cpp fails an assertion; only a pre-tokenizer that
    /// neither maps nor escapes spaces can produce one.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let Scratch { padded, cache, parts, merge, .. } = scratch;
        pad(text, padded);
        let mut ids = IdBuffer::new(ids);
        let mut words = Words { model: self, cache, parts, merge, ids: &mut ids };
        self.pre_tokenizer.split(text, |range| {
            if self.pre_tokenizer.splits_spaced_words {
                words.encode_line(padded, range)
            } else {
                words.encode(padded, range)
            }
        })
    }

    /// Return the piece that a whole pre-token becomes without merging.
    fn whole(&self, word: &[u8]) -> Option<u32> {
        let Tables { vocabulary, alphabet, .. } = &*self.tables;
        let is_newlines = || word.iter().all(|&byte| byte == b'\n');
        let is_whole = self.ignore_merges || (self.newline_pieces && is_newlines());
        if !is_whole {
            return None;
        }
        match alphabet {
            Alphabet::Bytes(_) => vocabulary.id(&byte_level::spell(word)),
            Alphabet::Characters(_) => vocabulary.id(word),
        }
    }
}

/// Write `text` with bytes after it that may be read.
fn pad(text: &[u8], padded: &mut Vec<u8>) {
    padded.clear();
    padded.reserve(text.len() + PADDING);
    padded.extend_from_slice(text);
    padded.resize(text.len() + PADDING, 0);
}

/// Encodes the words of one text.
struct Words<'a, 'b> {
    model: &'a Bpe,
    /// The ids of pre-tokens.
    cache: &'a mut ChunkCache,
    /// The ids of parts of pre-tokens, to which rules for whole pre-tokens do not apply.
    parts: &'a mut ChunkCache,
    merge: &'a mut MergeScratch,
    ids: &'a mut IdBuffer<'b>,
}

impl Words<'_, '_> {
    #[inline]
    fn encode(&mut self, padded: &[u8], word: Range<usize>) -> Result<(), EncodeError> {
        let Self { model, cache, parts, merge, ids } = self;
        if word.len() > SHORT {
            return model.encode_word(padded, word, parts, merge, ids);
        }
        let bounds = (word.start, word.end);
        cache.append(padded, bounds, ids, |ids| model.encode_word(padded, word, parts, merge, ids))
    }

    /// Encode a line before each `▁`, after prepending one if it has none; a run of newlines is not split.
    ///
    /// Source: the case of mmbert in `llm_tokenizer_bpe_session::tokenize`.
    fn encode_line(&mut self, padded: &[u8], line: Range<usize>) -> Result<(), EncodeError> {
        if padded[line.start] == b'\n' {
            return self.encode(padded, line);
        }
        let text = &padded[line.clone()];
        let mut done = 0;
        if !text.starts_with(ESCAPED_SPACE) {
            done = memchr::memmem::find(text, ESCAPED_SPACE).unwrap_or(text.len());
            let mut first = Vec::new();
            pad(&[ESCAPED_SPACE, &text[..done]].concat(), &mut first);
            self.encode(&first, 0..ESCAPED_SPACE.len() + done)?;
        }
        while done < text.len() {
            let rest = &text[done + ESCAPED_SPACE.len()..];
            let end = memchr::memmem::find(rest, ESCAPED_SPACE).map_or(text.len(), |at| text.len() - rest.len() + at);
            self.encode(padded, line.start + done..line.start + end)?;
            done = end;
        }
        Ok(())
    }
}

impl Bpe {
    #[inline(never)]
    fn encode_word(
        &self,
        padded: &[u8],
        word: Range<usize>,
        parts: &mut ChunkCache,
        merge: &mut MergeScratch,
        ids: &mut IdBuffer<'_>,
    ) -> Result<(), EncodeError> {
        if let Some(id) = self.whole(&padded[word.clone()]) {
            ids.push(id);
            return Ok(());
        }
        let mut encode_part = |start: usize, end: usize, ids: &mut IdBuffer<'_>| {
            if start == word.start && end == word.end && word.len() <= SHORT {
                self.tables.encode_part(&padded[start..end], merge, ids);
                return Ok(());
            }
            parts.append(padded, (start, end), ids, |ids| {
                self.tables.encode_part(&padded[start..end], merge, ids);
                Ok(())
            })
        };
        match &self.tables.alphabet {
            Alphabet::Bytes(bytes) => {
                let mut start = word.start;
                while start < word.end {
                    let end = bytes.part_end(padded, start, word.end);
                    encode_part(start, end, ids)?;
                    start = end;
                }
                Ok(())
            }
            Alphabet::Characters(characters) => {
                let text = &padded[word.clone()];
                if text.contains(&b' ') && text.len() > character_size(text[0]) {
                    return Err(EncodeError::SpaceInPreToken);
                }
                characters.for_each_part(padded, (word.start, word.end), |start, end, id| match id {
                    Some(id) => {
                        ids.push(id);
                        Ok(())
                    }
                    None => encode_part(start, end, ids),
                })
            }
        }
    }
}

impl Tables {
    fn new(spec: &Spec) -> Self {
        let (vocabulary, merge_list) = (spec.vocabulary.clone(), spec.merges.clone());
        let mut merges = MergeTable::new(&vocabulary, &merge_list);
        let is_byte_level = spec.pre_tokenizer.byte_level;
        let alphabet = if is_byte_level {
            Alphabet::Bytes(Bytes::new(&vocabulary, &merge_list, &mut merges))
        } else {
            Alphabet::Characters(Characters::new(&vocabulary, &merge_list))
        };
        let spell = |byte: u8| {
            if is_byte_level { vocabulary.id(&[byte]) } else { vocabulary.id(format!("<0x{byte:02X}>").as_bytes()) }
        };
        let spelled = Box::new(std::array::from_fn(|byte| spell(u8::try_from(byte).expect("a byte"))));
        Self { vocabulary, merge_list, merges, alphabet, spelled }
    }

    /// Return whether building the tables again would not change them.
    fn are_for(&self, spec: &Spec) -> bool {
        Arc::ptr_eq(&self.vocabulary, &spec.vocabulary)
            && Arc::ptr_eq(&self.merge_list, &spec.merges)
            && matches!(self.alphabet, Alphabet::Bytes(_)) == spec.pre_tokenizer.byte_level
    }

    fn encode_part(&self, part: &[u8], scratch: &mut MergeScratch, ids: &mut IdBuffer<'_>) {
        scratch.symbols.clear();
        match &self.alphabet {
            Alphabet::Bytes(bytes) => bytes.split(part, &mut scratch.symbols),
            Alphabet::Characters(characters) => {
                characters.split(part, &self.vocabulary, &self.merges, &mut scratch.symbols);
            }
        }
        merge(&self.merges, scratch);
        for (index, symbol) in scratch.symbols.iter().enumerate() {
            match self.merges.other(symbol.id) {
                None => ids.push(symbol.id),
                Some(_) if symbol.id == UNKNOWN => {
                    let end = scratch.symbols.get(index + 1).map_or(part.len(), |next| next.start as usize);
                    self.spell(&part[symbol.start as usize..end], ids);
                }
                Some(text) => self.spell(text, ids),
            }
        }
    }

    /// Append the pieces of the bytes of a symbol that is not a piece, as far as there are any.
    ///
    /// subtle: for a byte-level vocabulary, llama.cpp looks up the bytes of the *mapped* symbol, so most of them are not
    /// found and are dropped.
    fn spell(&self, symbol: &[u8], ids: &mut IdBuffer<'_>) {
        symbol.iter().filter_map(|&byte| self.spelled[usize::from(byte)]).for_each(|id| ids.push(id));
    }
}

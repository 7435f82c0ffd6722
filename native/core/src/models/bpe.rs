//! BPE: byte-pair encoding by merge rank, as introduced by GPT-2.
//!
//! Each pre-token is split into characters: of the byte-level alphabet, or of the text itself. Of all adjacent pairs in
//! the merge list, the pair listed first is merged, its leftmost occurrence first, until no pair is listed. The Python
//! engine's is `tokverify/engine/models/bpe.py`.
//!
//! Source: `llm_tokenizer_bpe_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::byte_level;
use crate::chunk_cache::Key;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::late::Late;
use crate::models::bpe_alphabet::Alphabet;
use crate::models::bpe_words::{Words, pad};
use crate::models::merge::{MergeScratch, merge};
use crate::models::merge_table::{MergeTable, UNKNOWN};
use crate::models::whole_pieces::WholePieces;
use crate::models::whole_words::{LONGEST, WholeWords};
use crate::pre_tokenizer::PreTokenizer;
use crate::scratch::Scratch;
use crate::spec::{PreTokenization, Spec};
use crate::vocabulary::{Strings, Vocabulary};
use std::sync::Arc;

/// What depends only on the vocabulary and the merges.
#[derive(Debug)]
pub(super) struct Tables {
    vocabulary: Arc<Vocabulary>,
    merge_list: Arc<Strings>,
    merges: MergeTable,
    pub(super) alphabet: Alphabet,
    /// The pieces of a byte-level vocabulary that merging their bytes leads to, by these bytes.
    pub(super) whole: WholeWords,
    /// The piece for each byte of a symbol that is not a piece.
    spelled: Box<[Option<u32>; 256]>,
}

/// Encodes texts; bytes that no token represents are dropped, as in llama.cpp.
#[derive(Debug)]
pub struct Bpe {
    pub(super) tables: Late<Tables>,
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
            None => Tables::start(spec),
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
        let mut words = Words { model: self, cache, parts, merge, ids: IdBuffer::new(ids) };
        if self.pre_tokenizer.splits_spaced_words {
            return self.pre_tokenizer.split(text, &mut |start, ends| words.encode_lines(padded, start, ends));
        }
        self.pre_tokenizer.split(text, &mut |start, ends| words.encode_group(padded, start, ends))
    }

    /// Return the piece that a whole pre-token becomes without merging.
    pub(super) fn whole(&self, word: &[u8]) -> Option<u32> {
        let is_newlines = || word.iter().all(|&byte| byte == b'\n');
        let is_whole = self.ignore_merges || (self.newline_pieces && is_newlines());
        if !is_whole {
            return None;
        }
        let Tables { vocabulary, alphabet, .. } = &*self.tables;
        if alphabet.is_of_bytes() { vocabulary.id(&byte_level::spell(word)) } else { vocabulary.id(word) }
    }
}

impl Tables {
    fn start(spec: &Spec) -> Late<Self> {
        let (vocabulary, merge_list) = (spec.vocabulary.clone(), spec.merges.clone());
        let is_byte_level = spec.pre_tokenizer.byte_level;
        Late::start(spec.in_background && vocabulary.is_large(), move || {
            Self::new(vocabulary, merge_list, is_byte_level)
        })
    }

    fn new(vocabulary: Arc<Vocabulary>, merge_list: Arc<Strings>, is_byte_level: bool) -> Self {
        let mut merges = MergeTable::new(&vocabulary, &merge_list);
        let alphabet = if is_byte_level {
            Alphabet::of_bytes(&vocabulary, &merge_list, &mut merges)
        } else {
            Alphabet::of_characters(&vocabulary, &merge_list)
        };
        let spell = |byte: u8| {
            if is_byte_level { vocabulary.id(&[byte]) } else { vocabulary.id(format!("<0x{byte:02X}>").as_bytes()) }
        };
        let spelled = Box::new(std::array::from_fn(|byte| spell(u8::try_from(byte).expect("a byte"))));
        let whole = WholeWords::with_room(if is_byte_level { vocabulary.len() } else { 0 });
        let mut tables = Self { vocabulary, merge_list, merges, alphabet, whole, spelled };
        if is_byte_level {
            tables.find_whole_pieces();
        }
        tables
    }

    /// Remember the short pieces that encoding their bytes leads to.
    fn find_whole_pieces(&mut self) {
        let original = self.alphabet.symbols().map(<[u32]>::to_vec).unwrap_or_default();
        let Some(whole) = WholePieces::new(&self.merges, &original) else { return };
        let (mut bytes, mut padded) = (Vec::new(), Vec::new());
        for id in (0..self.vocabulary.len() as u32).filter(|&id| whole.contains(id)) {
            if byte_level::read(self.vocabulary.piece(id), &mut bytes) && bytes.len() <= LONGEST {
                pad(&bytes, &mut padded);
                self.whole.insert(Key::pack(&padded, 0, bytes.len()), id);
                self.alphabet.set_id(&bytes, id);
            }
        }
    }

    /// Return whether building the tables again would not change them.
    fn are_for(&self, spec: &Spec) -> bool {
        Arc::ptr_eq(&self.vocabulary, &spec.vocabulary)
            && Arc::ptr_eq(&self.merge_list, &spec.merges)
            && self.alphabet.is_of_bytes() == spec.pre_tokenizer.byte_level
    }

    /// Append the ids of a part of a word that no merge crosses the ends of.
    pub(super) fn encode_part(&self, part: &[u8], scratch: &mut MergeScratch, ids: &mut IdBuffer<'_>) {
        scratch.symbols.clear();
        self.alphabet.split(part, &self.vocabulary, &self.merges, &mut scratch.symbols);
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

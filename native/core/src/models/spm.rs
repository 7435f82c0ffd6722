//! SPM, sentencepiece's byte-pair encoding: merge the pair whose piece has the highest score.
//!
//! The text is split into characters. Of all adjacent pairs that form a piece, the one with the highest score is merged,
//! the leftmost first if scores are equal, until no pair forms a piece. A character that is not a piece is encoded as
//! byte pieces such as `<0x0A>`. The Python engine's is `tokverify/engine/models/spm.py`.
//!
//! Source: `llm_tokenizer_spm_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::boundary::{self, Boundaries, Character};
use crate::chunk_cache::PADDING;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::late::Late;
use crate::models::spm_merge::{Symbols, merge};
use crate::piece_table::{Found, NONE, PieceTable};
use crate::scratch::Scratch;
use crate::space::Spaces;
use crate::spec::Spec;
use crate::vocabulary::Vocabulary;
use std::sync::Arc;

/// Encodes texts with spaces, which stand for `▁`.
#[derive(Debug)]
pub struct Spm {
    spaces: Spaces,
    tables: Late<Tables>,
}

/// What depends only on the pieces and their scores.
#[derive(Debug)]
struct Tables {
    vocabulary: Arc<Vocabulary>,
    scores: Arc<[f64]>,
    pieces: PieceTable,
    /// The pairs of characters inside pieces. The payload of a character is the id of its piece.
    boundaries: Boundaries,
    byte_ids: [Option<u32>; 256],
}

impl Spm {
    /// Build the model. It shares the tables of `previous` if it has the same pieces and scores.
    ///
    /// # Errors
    /// If a score is not a number.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        require_valid(spec)?;
        let spaces = Spaces::new(spec.escape_whitespaces);
        let same = previous.filter(|previous| previous.spaces.same(&spaces) && previous.tables.are_those_of(spec));
        let tables = same.map_or_else(|| Tables::start(spec), |previous| previous.tables.clone());
        Ok(Self { spaces, tables })
    }

    /// Append the ids of `text`.
    ///
    /// # Errors
    /// If a character is not a piece and the vocabulary lacks a byte piece for it.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let Scratch { padded, symbols, cache, .. } = scratch;
        self.spaces.write(text, padded);
        let mut ids = IdBuffer::new(ids);
        let length = padded.len();
        padded.resize(length + PADDING, 0);
        self.tables.boundaries.for_each_chunk(padded, (0, length), |start, end, single| {
            let payload = single.map_or(boundary::NONE, Character::payload);
            if payload != boundary::NONE {
                ids.push(payload);
                return Ok(());
            }
            cache.append(padded, (start, end), &mut ids, |ids| self.encode_new(padded, start, end, symbols, ids))
        })
    }

    #[cold]
    fn encode_new(
        &self,
        padded: &[u8],
        start: usize,
        end: usize,
        symbols: &mut Symbols,
        ids: &mut IdBuffer<'_>,
    ) -> Result<(), EncodeError> {
        symbols.split_characters(padded, start, end);
        self.merge(padded, symbols, ids)
    }

    /// Append the ids of `text`, which has bytes of cut characters at its ends.
    ///
    /// subtle: each lone byte before the first character is a symbol, but those after the last character form a single
    /// symbol (`unicode_len_utf8`).
    ///
    /// # Errors
    /// As for `encode`.
    pub fn encode_cut(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let Scratch { padded, symbols, .. } = scratch;
        symbols.clear();
        padded.clear();
        self.spaces.write_steps(text, padded, |start| symbols.push(start));
        symbols.finish(padded.len());
        padded.resize(padded.len() + PADDING, 0);
        self.merge(padded, symbols, &mut IdBuffer::new(ids))
    }

    fn merge(&self, padded: &[u8], symbols: &mut Symbols, ids: &mut IdBuffer<'_>) -> Result<(), EncodeError> {
        merge(symbols, |start, end| self.tables.pieces.find(padded, start, end));
        symbols.iter().try_for_each(|(start, end, id)| {
            let Found { id, .. } =
                if id == NONE { self.tables.pieces.find(padded, start, end) } else { Found { id, rank: 0 } };
            if id == NONE {
                return self.spell(&padded[start..end], ids);
            }
            ids.push(id);
            Ok(())
        })
    }

    /// Append the byte pieces of a symbol that is not a piece.
    fn spell(&self, symbol: &[u8], ids: &mut IdBuffer<'_>) -> Result<(), EncodeError> {
        for &byte in self.spaces.original(symbol) {
            ids.push(self.tables.byte_ids[usize::from(byte)].ok_or(EncodeError::MissingByte(byte))?);
        }
        Ok(())
    }
}

fn require_valid(spec: &Spec) -> Result<(), BuildError> {
    if spec.vocabulary.len() > PieceTable::ROOM {
        return Err(BuildError::Unsupported("does not support this many tokens".into()));
    }
    if spec.scores.iter().any(|score| score.is_nan()) {
        return Err(BuildError::Broken("tokenizer.ggml.scores contains NaN".into()));
    }
    Ok(())
}

impl Tables {
    fn start(spec: &Spec) -> Late<Self> {
        let (vocabulary, scores) = (spec.vocabulary.clone(), spec.scores.clone());
        let spaces = Spaces::new(spec.escape_whitespaces);
        Late::start(spec.in_background && vocabulary.is_large(), move || Self::new(vocabulary, scores, &spaces))
    }

    fn new(vocabulary: Arc<Vocabulary>, scores: Arc<[f64]>, spaces: &Spaces) -> Self {
        let pieces = spaces.convert_pieces(vocabulary.pieces().iter());
        Self {
            boundaries: Boundaries::with_characters(&pieces),
            pieces: PieceTable::new(pieces, &ranks(&scores, vocabulary.len())),
            byte_ids: std::array::from_fn(|byte| byte_id(&vocabulary, byte as u8)),
            vocabulary,
            scores,
        }
    }

    fn are_those_of(&self, spec: &Spec) -> bool {
        Arc::ptr_eq(&self.vocabulary, &spec.vocabulary) && Arc::ptr_eq(&self.scores, &spec.scores)
    }
}

fn byte_id(vocabulary: &Vocabulary, byte: u8) -> Option<u32> {
    let escaped = format!("<0x{byte:02X}>");
    vocabulary.id(escaped.as_bytes()).or_else(|| vocabulary.id(&[byte]))
}

/// Return the rank of each piece: the higher its score, the lower; equal scores have equal ranks.
fn ranks(scores: &[f64], count: usize) -> Vec<u32> {
    if scores.is_empty() {
        return vec![0; count];
    }
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&left, &right| scores[right as usize].total_cmp(&scores[left as usize]));
    let mut ranks = vec![0; scores.len()];
    let mut rank = 0;
    for pair in order.windows(2) {
        // Not by `total_cmp`, which distinguishes the two zeros.
        rank += u32::from(scores[pair[0] as usize] != scores[pair[1] as usize]);
        ranks[pair[1] as usize] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_have_equal_ranks() {
        let scores = [-1.0, 0.0, f64::NEG_INFINITY, -0.0, 5.0];
        assert_eq!(ranks(&scores, 5), [2, 1, 3, 1, 0]);
    }
}

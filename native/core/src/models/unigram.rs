//! The unigram model: find the most probable segmentation of a text with the Viterbi algorithm.
//!
//! The score of a piece is the logarithm of its probability, so the most probable segmentation is the one with the
//! greatest sum of scores. From left to right, the best sum for the text up to a position is the maximum, over all
//! pieces that end there, of the piece's score plus the best sum for the text before it. If sums are equal, the longest
//! last piece wins. A character that is not a piece is an unknown token with a score below all others; runs of these
//! become one token. The Python engine's is `tokverify/engine/models/unigram.py`.
//!
//! Source: `llm_tokenizer_ugm` and `llm_tokenizer_ugm_session::tokenize` in llama.cpp's `src/llama-vocab.cpp`.

use crate::boundary::{self, Boundaries};
use crate::charsmap::Charsmap;
use crate::chunk_cache::PADDING;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::models::score_sum::ScoreSums;
use crate::models::unigram_normalizer::Normalizer;
use crate::nfc;
use crate::scratch::Scratch;
use crate::space::Spaces;
use crate::spec::{Spec, attribute, token_type};
use crate::trie::{Node, Trie};
use crate::trie_starts::WholeCharacters;
use crate::utf8::character_size;
use crate::vocabulary::{Strings, Vocabulary};
use std::convert::Infallible;
use std::sync::Arc;

const UNKNOWN_PENALTY: f64 = 10.0;
/// Smaller vocabularies lack the default unknown token, with which llama.cpp encodes a newline on loading.
const SMALLEST: usize = 3;

/// Encodes texts.
#[derive(Debug)]
pub struct Unigram {
    nfc: bool,
    normalizer: Normalizer,
    tables: Arc<Tables>,
    /// The scores that count, by id.
    scores: Box<[f32]>,
    unknown_id: u32,
    unknown_score: f64,
    sums: ScoreSums,
}

/// What depends only on the pieces that are matched.
#[derive(Debug)]
struct Tables {
    vocabulary: Arc<Vocabulary>,
    /// Whether each piece is matched.
    is_matched: Vec<bool>,
    /// The matched pieces by id, with spaces for `▁`; the others are empty.
    matched: Strings,
    trie: Trie,
    characters: WholeCharacters,
    boundaries: Boundaries,
}

/// The best segmentation of a text up to some place.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    total: f64,
    /// Where its last piece starts.
    start: u32,
    id: u32,
}

impl Tables {
    fn new(spec: &Spec, is_matched: Vec<bool>, previous: Option<&Arc<Self>>) -> Arc<Self> {
        let is_same =
            |other: &&Arc<Self>| Arc::ptr_eq(&other.vocabulary, &spec.vocabulary) && other.is_matched == is_matched;
        if let Some(previous) = previous.filter(is_same) {
            return previous.clone();
        }
        let pieces = spec.vocabulary.pieces().iter().zip(&is_matched);
        let matched =
            Spaces::new(true).convert_pieces(pieces.map(|(piece, &is_matched)| if is_matched { piece } else { b"" }));
        let trie = Trie::new(matched.iter().zip(0..));
        Arc::new(Self {
            vocabulary: spec.vocabulary.clone(),
            is_matched,
            characters: WholeCharacters::new(&trie),
            trie,
            boundaries: Boundaries::with_characters(&matched),
            matched,
        })
    }
}

impl Unigram {
    /// Build the model. It shares the tables of `previous` if that matches the same pieces.
    ///
    /// # Errors
    /// If llama.cpp refuses the file, or the vocabulary is tiny.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        let count = spec.vocabulary.len();
        let unknown_id = spec.unknown_id.filter(|_| count >= SMALLEST);
        let unknown_id = unknown_id.ok_or_else(|| BuildError::Unsupported("needs an unknown token".into()))?;
        let charsmap = if spec.charsmap.is_empty() { None } else { Some(Charsmap::new(&spec.charsmap)?) };
        let type_of = |id: usize| spec.types.get(id).copied().unwrap_or(token_type::NORMAL);
        let score_of = |id: usize| spec.scores.get(id).map_or(0.0, |&score| score as f32);
        // subtle: declared types determine which pieces are used, and effective types which of them have the score 0.
        let is_matched =
            |id: usize| matches!(type_of(id), token_type::NORMAL | token_type::USER_DEFINED | token_type::UNUSED);
        let is_free = |id: usize| spec.attributes[id] & attribute::USER_DEFINED != 0;
        let scores: Box<[f32]> = (0..count).map(|id| if is_free(id) { 0.0 } else { score_of(id) }).collect();
        let normal = (0..count).filter(|&id| type_of(id) == token_type::NORMAL).map(score_of);
        // subtle: a minimum that begins with a number ignores NaN.
        let lowest = normal.fold(f32::MAX, |lowest, score| if score < lowest { score } else { lowest });
        let unknown_score = f64::from((f64::from(lowest) - UNKNOWN_PENALTY) as f32);

        let tables = Tables::new(spec, (0..count).map(is_matched).collect(), previous.map(|previous| &previous.tables));
        let user_defined = (0..count).filter(|&id| type_of(id) == token_type::USER_DEFINED);
        let user_defined = user_defined.map(|id| spec.vocabulary.pieces().get(id));
        let model = Self {
            nfc: spec.nfc,
            normalizer: Normalizer::new(charsmap, user_defined, spec.remove_extra_whitespaces, spec.add_space_prefix),
            sums: ScoreSums::new(&tables.matched, &scores, unknown_score),
            tables,
            scores,
            unknown_id,
            unknown_score,
        };
        model
            .encode(b"\n", &mut Scratch::default(), &mut Vec::new())
            .map_err(|error| BuildError::Broken(format!("{error}, on loading the file")))?;
        Ok(model)
    }

    /// Append the ids of `text`.
    ///
    /// # Errors
    /// If the needed part of the charsmap is damaged.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let composed = if self.nfc { nfc::normalize(text) } else { None };
        let mut padded = std::mem::take(&mut scratch.padded);
        let result = self.normalizer.normalize(composed.as_deref().unwrap_or(text), &mut padded).map(|is_utf8| {
            let length = padded.len();
            padded.resize(length + PADDING, 0);
            self.encode_normalized(&padded, length, is_utf8, scratch, &mut IdBuffer::new(ids));
        });
        scratch.padded = padded;
        result
    }

    /// Append the ids of `text`, which has bytes of cut characters at its ends.
    ///
    /// # Errors
    /// As for `encode`.
    pub fn encode_cut(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        self.encode(text, scratch, ids)
    }

    /// Append the ids of the first `length` bytes of `padded`, in as small parts as the scores permit.
    fn encode_normalized(
        &self,
        padded: &[u8],
        length: usize,
        is_utf8: bool,
        scratch: &mut Scratch,
        ids: &mut IdBuffer<'_>,
    ) {
        let first = ids.len();
        if !self.sums.are_finite() {
            // subtle: places without a sum, from which llama.cpp jumps to the beginning, hinder splitting.
            self.segment(&padded[..length], 0.0, &mut scratch.cells, ids);
            self.merge_unknown(first, first, ids);
        } else if self.sums.are_exact(length) {
            self.encode_independent(padded, length, is_utf8, scratch, ids);
        } else {
            self.encode_successive(padded, length, &mut scratch.cells, ids);
        }
    }

    /// Append the ids of chunks, each with the sum of those before it.
    fn encode_successive(&self, padded: &[u8], length: usize, cells: &mut Vec<Cell>, ids: &mut IdBuffer<'_>) {
        let first = ids.len();
        let mut total = 0.0;
        let Ok(()) = self.tables.boundaries.for_each_chunk(padded, (0, length), |start, end, _| {
            let joint = ids.len();
            total = self.segment(&padded[start..end], total, cells, ids);
            self.merge_unknown(first, joint, ids);
            Ok::<(), Infallible>(())
        });
    }

    /// Append the ids of chunks that do not depend on each other, and so can be cached.
    #[inline(never)] // so that the registers suffice for this loop: 2% fewer instructions
    fn encode_independent(
        &self,
        padded: &[u8],
        length: usize,
        is_utf8: bool,
        scratch: &mut Scratch,
        ids: &mut IdBuffer<'_>,
    ) {
        let Scratch { cache, cells, .. } = scratch;
        let first = ids.len();
        let Ok(()) = self.tables.boundaries.for_each_chunk(padded, (0, length), |start, end, single| {
            let joint = ids.len();
            if let Some(character) = single.filter(|_| is_utf8) {
                let payload = character.payload();
                ids.push(if payload == boundary::NONE { self.unknown_id } else { payload });
                self.join_unknown(first, joint, ids);
                return Ok::<(), Infallible>(());
            }
            let Ok(()) = cache.append(padded, (start, end), ids, |ids| {
                self.segment(&padded[start..end], 0.0, cells, ids);
                self.merge_unknown(joint, joint, ids);
                Ok::<(), Infallible>(())
            });
            self.join_unknown(first, joint, ids);
            Ok(())
        });
    }

    /// Append the ids of the best segmentation, with sums that begin with `total`; return its sum.
    fn segment(&self, chunk: &[u8], total: f64, cells: &mut Vec<Cell>, ids: &mut IdBuffer<'_>) -> f64 {
        if chunk.is_empty() {
            return total;
        }
        cells.clear();
        cells.resize(chunk.len() + 1, Cell { total: -f64::MAX, start: 0, id: self.unknown_id });
        cells[0].total = total;
        let mut start = 0;
        while start < chunk.len() {
            start += self.extend(chunk, start, cells);
        }
        self.trace_back(cells, ids);
        cells[chunk.len()].total
    }

    /// Try all pieces at `start`; return the size of the step to the next place.
    #[inline]
    fn extend(&self, chunk: &[u8], start: usize, cells: &mut [Cell]) -> usize {
        let before = cells[start].total;
        let size = character_size(chunk[start]).min(chunk.len() - start);
        let mut is_single_known = false;
        let mut take = |node: Node, end: usize| {
            if let Some(id) = node.value() {
                is_single_known |= end == start + size;
                challenge(&mut cells[end], before + f64::from(self.scores[id as usize]), start, id);
            }
        };
        let Tables { trie, characters, .. } = &*self.tables;
        let (mut node, mut end) = (trie.root(), start);
        if let Some(first) = characters.start(&chunk[start..]) {
            (node, end) = (first, start + size);
            take(node, end);
        }
        for &byte in &chunk[end..] {
            let Some(child) = trie.child(node, byte) else { break };
            (node, end) = (child, end + 1);
            take(node, end);
        }
        if !is_single_known {
            challenge(&mut cells[start + size], before + self.unknown_score, start, self.unknown_id);
        }
        size
    }

    /// Follow the best last pieces from the end to the beginning, and append their ids in order.
    fn trace_back(&self, cells: &[Cell], ids: &mut IdBuffer<'_>) {
        let first = ids.len();
        let mut cell = cells[cells.len() - 1];
        ids.push(cell.id);
        while cell.start != 0 {
            cell = cells[cell.start as usize];
            ids.push(cell.id);
        }
        ids.since_mut(first).reverse();
    }

    /// Reduce runs of unknown tokens from `from` on, and the run that continues there if it is after `first`.
    fn merge_unknown(&self, first: usize, from: usize, ids: &mut IdBuffer<'_>) {
        if !ids.since(from).contains(&self.unknown_id) {
            return;
        }
        let mut kept = from;
        for index in from..ids.len() {
            let id = ids.since(index)[0];
            let continues = kept > first && id == self.unknown_id && ids.since(kept - 1)[0] == id;
            if !continues {
                ids.since_mut(kept)[0] = id;
                kept += 1;
            }
        }
        ids.truncate(kept);
    }

    /// Remove the unknown token at `joint` if it continues a run that began after `first`.
    #[inline]
    fn join_unknown(&self, first: usize, joint: usize, ids: &mut IdBuffer<'_>) {
        if joint > first && ids.since(joint)[0] == self.unknown_id && ids.since(joint - 1)[0] == self.unknown_id {
            if ids.len() == joint + 1 {
                ids.truncate(joint);
            } else {
                self.merge_unknown(first, joint, ids);
            }
        }
    }
}

#[inline]
fn challenge(champion: &mut Cell, total: f64, start: usize, id: u32) {
    if total > champion.total {
        *champion = Cell { total, start: start as u32, id };
    }
}

//! PLaMo 2: find the cheapest segmentation of a text, from its end to its beginning.
//!
//! The cost of a piece is its negated score, multiplied by 10,000 and rounded. At every position, from the last to the
//! first, all matching pieces are tried; the total is the cost of the piece plus that of the text after it, which is
//! already known. If totals are equal, the longest piece is taken. A character can also be encoded as byte pieces such
//! as `<0x0A>`, at the cost of a piece with the score -1000. The Python engine's is `tokverify/engine/models/plamo2.py`.
//!
//! Source: `llm_tokenizer_plamo2` in llama.cpp's `src/llama-vocab.cpp`, which looks up pieces in a table of all
//! suffixes.

use crate::boundary::Boundaries;
use crate::chunk_cache::PADDING;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::models::plamo2_reach::Reaches;
use crate::scratch::Scratch;
use crate::spec::{Spec, token_type};
use crate::trie::Trie;
use crate::utf8::character_size;
use crate::vocabulary::{Strings, Vocabulary};
use std::convert::Infallible;
use std::sync::Arc;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const UNKNOWN_COST: i64 = 10_000_000;
/// A piece with this cost or more is never used.
const NEVER: i64 = 20_000_000;
/// In place of an id: the character is encoded as byte pieces.
const SPELLED: u32 = u32::MAX;

/// The largest sum of the squared sizes of all pieces, in bytes, of whose suffixes a table is built.
const MAX_SUFFIXES: usize = 1 << 27;

/// Encodes texts.
#[derive(Debug)]
pub struct Plamo2(Arc<Tables>);

/// What depends only on the pieces, their scores, and which of them are declared as bytes.
#[derive(Debug)]
struct Tables {
    vocabulary: Arc<Vocabulary>,
    scores: Arc<[f64]>,
    types: Arc<[u8]>,
    trie: Trie,
    /// By id.
    costs: Box<[i64]>,
    byte_ids: Box<[u32; 256]>,
    boundaries: Boundaries,
    reaches: Reaches,
}

/// The cheapest segmentation of the text from some place on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step {
    cost: i64,
    /// Its first piece.
    id: u32,
    length: u32,
}

impl Tables {
    fn new(spec: &Spec) -> Result<Self, BuildError> {
        // subtle: llama.cpp uses the declared types here, before the tokens' texts override any.
        let is_byte = |id: usize| spec.types.get(id) == Some(&token_type::BYTE);
        let cost_of = |id: usize| cost(spec.scores.get(id).copied().unwrap_or(0.0));
        let costs: Box<[i64]> = (0..spec.vocabulary.len()).map(cost_of).collect();
        let listed = || spec.vocabulary.pieces().iter().enumerate().filter(|&(id, _)| !is_byte(id));
        // A piece that is not UTF-8 never matches whole characters.
        let used = || listed().filter(|&(id, piece)| costs[id] < NEVER && std::str::from_utf8(piece).is_ok());
        let hiding = || listed().filter(|&(id, _)| costs[id] == UNKNOWN_COST).map(|(_, piece)| piece);
        let suffixes: usize = listed().map(|(_, piece)| piece.len().saturating_mul(piece.len())).sum();
        if suffixes > MAX_SUFFIXES && hiding().next().is_some() {
            return Err(BuildError::Unsupported(
                "does not support such long pieces next to one that hides others".into(),
            ));
        }
        Ok(Self {
            vocabulary: spec.vocabulary.clone(),
            scores: spec.scores.clone(),
            types: spec.types.clone(),
            trie: Trie::new(used().map(|(id, piece)| (piece, id as u32))),
            boundaries: Boundaries::new(Strings::collect(used().map(|(_, piece)| piece)).iter()),
            reaches: Reaches::new(hiding(), || listed().map(|(_, piece)| piece)),
            byte_ids: byte_ids(spec.vocabulary.pieces().iter().enumerate().filter(|&(id, _)| is_byte(id)))?,
            costs,
        })
    }

    /// Return whether building the tables again would not change them.
    fn are_for(&self, spec: &Spec) -> bool {
        let are_bytes = |types: &[u8]| types.iter().map(|&kind| kind == token_type::BYTE).collect::<Vec<_>>();
        Arc::ptr_eq(&self.vocabulary, &spec.vocabulary)
            && Arc::ptr_eq(&self.scores, &spec.scores)
            && (Arc::ptr_eq(&self.types, &spec.types) || are_bytes(&self.types) == are_bytes(&spec.types))
    }
}

impl Plamo2 {
    /// Build the model. It shares the tables of `previous` if they are the same.
    ///
    /// # Errors
    /// If a byte has no token, or its id is 0.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        match previous.filter(|previous| previous.0.are_for(spec)) {
            Some(previous) => Ok(Self(previous.0.clone())),
            None => Ok(Self(Arc::new(Tables::new(spec)?))),
        }
    }

    /// Append the ids of `text`, which is UTF-8, without a byte order mark at its beginning.
    ///
    /// # Errors
    /// Never.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let mut padded = std::mem::take(&mut scratch.padded);
        padded.clear();
        padded.extend_from_slice(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
        let length = padded.len();
        padded.resize(length + PADDING, 0);
        self.encode_segment(&padded, (0, length), scratch, &mut IdBuffer::new(ids));
        scratch.padded = padded;
        Ok(())
    }

    /// Append the ids of all of the text from `start` to `end`.
    pub fn encode_segment(
        &self,
        padded: &[u8],
        (start, end): (usize, usize),
        scratch: &mut Scratch,
        ids: &mut IdBuffer<'_>,
    ) {
        let Scratch { cache, steps, .. } = scratch;
        let text = &padded[start..end];
        if self.0.reaches.matter(text) {
            let reaches = self.0.reaches.of(text);
            self.encode_chunk(text, |place| reaches[place] as usize, steps, ids);
            return;
        }
        let Ok(()) = self.0.boundaries.for_each_chunk(padded, (start, end), |start, end, _| {
            cache.append(padded, (start, end), ids, |ids| {
                self.encode_chunk(&padded[start..end], |_| usize::MAX, steps, ids);
                Ok::<(), Infallible>(())
            })
        });
    }

    /// Append the ids of a chunk; `reach` is how many bytes can be looked ahead at a place.
    fn encode_chunk(
        &self,
        chunk: &[u8],
        reach: impl Fn(usize) -> usize,
        steps: &mut Vec<Step>,
        ids: &mut IdBuffer<'_>,
    ) {
        steps.clear();
        steps.resize(chunk.len() + 1, Step::default());
        for start in (0..chunk.len()).rev().filter(|&start| !is_continuation(chunk[start])) {
            let end = chunk.len().min(start.saturating_add(reach(start)));
            steps[start] = self.cheapest(chunk, start, end, steps);
        }
        let mut start = 0;
        while start < chunk.len() {
            let Step { id, length, .. } = steps[start];
            let end = start + length as usize;
            if id == SPELLED {
                chunk[start..end].iter().for_each(|&byte| ids.push(self.0.byte_ids[usize::from(byte)]));
            } else {
                ids.push(id);
            }
            start = end;
        }
    }

    /// Return the cheapest segmentation of the chunk from `start` on, whose first piece ends at `end` at the latest.
    #[inline]
    fn cheapest(&self, chunk: &[u8], start: usize, end: usize, steps: &[Step]) -> Step {
        let size = character_size(chunk[start]);
        let spelled = Step { cost: UNKNOWN_COST + steps[start + size].cost, id: SPELLED, length: size as u32 };
        let mut best: Option<Step> = None;
        let mut node = self.0.trie.root();
        for (length, &byte) in (1..).zip(&chunk[start..end]) {
            let Some(child) = self.0.trie.child(node, byte) else { break };
            node = child;
            let Some(id) = node.value() else { continue };
            let own = self.0.costs[id as usize];
            let cost = own + steps[start + length as usize].cost;
            // subtle: in llama.cpp's table, a piece that costs as much as spelling looks like the end of a list, and
            // hides what comes after it: shorter pieces and spelling.
            let hides = own == UNKNOWN_COST;
            if hides || best.unwrap_or(spelled).cost >= cost {
                best = Some(Step { cost, id, length });
            }
        }
        best.unwrap_or(spelled)
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Return the cost of a piece; a piece whose cost does not fit into 32 bits is never used.
fn cost(score: f64) -> i64 {
    let scaled = score.abs() * 1e4 + 0.5;
    if scaled.is_nan() || scaled >= f64::from(1_u32 << 31) {
        return NEVER;
    }
    let magnitude = scaled.floor() as i64;
    if score < 0.0 { magnitude } else { -magnitude }
}

/// Return the ids of the 256 bytes; ignore tokens of type BYTE that are not of the form `<0x0A>`.
fn byte_ids<'a>(tokens: impl Iterator<Item = (usize, &'a [u8])>) -> Result<Box<[u32; 256]>, BuildError> {
    let mut ids = Box::new([0; 256]);
    for (id, piece) in tokens {
        if let Some(byte) = byte_of(piece) {
            ids[usize::from(byte)] = id as u32;
        }
    }
    if ids.contains(&0) {
        return Err(BuildError::Broken("a byte has no token, or its id is 0".into()));
    }
    Ok(ids)
}

/// Return the byte that a piece such as `<0x0A>` represents.
#[must_use]
pub fn byte_of(piece: &[u8]) -> Option<u8> {
    let digits = piece.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    if digits.len() != 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_rounded_away_from_zero() {
        assert_eq!(cost(-1.0), 10_000);
        assert_eq!(cost(-0.000_05), 1);
        assert_eq!(cost(0.000_05), -1);
        assert_eq!(cost(f64::NEG_INFINITY), NEVER);
        assert_eq!(cost(f64::NAN), NEVER);
    }

    #[test]
    fn byte_pieces_are_recognized() {
        assert_eq!(byte_of(b"<0xaF>"), Some(0xAF));
        assert_eq!(byte_of(b"<0x+1>"), None);
        assert_eq!(byte_of(b"<0x1>"), None);
    }
}

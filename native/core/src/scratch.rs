//! What one thread needs to encode: reusable buffers and caches, kept in a pool between calls.

use crate::added_token::Fragment;
use crate::chunk_cache::ChunkCache;
use crate::models::merge::MergeScratch;
use crate::models::plamo2::Step;
use crate::models::rwkv_lanes::Lanes;
use crate::models::spm_merge::Symbols;
use crate::models::unigram::Cell;
use std::sync::{Mutex, PoisonError};

/// The buffers and caches of one thread. Models use the fields they need; an unused field allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The parts of the text; the encoder's own.
    pub(crate) fragments: Vec<Fragment>,
    /// The normalized stretch of text; the encoder's own.
    pub(crate) stretch: Vec<u8>,
    /// The text as the model needs it, with bytes after it that may be read.
    pub(crate) padded: Vec<u8>,
    /// The symbols to be merged.
    pub(crate) symbols: Symbols,
    /// The best segmentations up to each place.
    pub(crate) cells: Vec<Cell>,
    /// The cheapest segmentations from each place on.
    pub(crate) steps: Vec<Step>,
    /// The tokens of parts of the text.
    pub(crate) lanes: Lanes,
    /// The word at hand.
    pub(crate) word: Vec<u8>,
    /// The ids of chunks, by text.
    pub cache: ChunkCache,
    /// The ids of parts of chunks, by text.
    pub parts: ChunkCache,
    /// For merging pairs.
    pub merge: MergeScratch,
    /// Memory for the results of a batch; empty.
    pub spare: Vec<u32>,
}

/// The scratches that no thread uses at the moment.
#[derive(Debug, Default)]
pub struct Pool(Mutex<Vec<Scratch>>);

impl Pool {
    /// Run `work` with a scratch, which goes back to the pool afterwards.
    pub fn with<Result>(&self, work: impl FnOnce(&mut Scratch) -> Result) -> Result {
        let mut scratch = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let result = work(&mut scratch);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}

//! Encode many texts, with several threads.

use crate::encoder::{Encoder, Options};
use crate::error::EncodeError;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The ids of several texts, one after the other.
#[derive(Debug, Default)]
pub struct Encodings {
    /// The ids of all texts.
    pub ids: Vec<u32>,
    /// The number of ids of each text.
    pub counts: Vec<usize>,
}

/// A text that cannot be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Its index.
    pub index: usize,
    /// Why.
    pub error: EncodeError,
}

/// Texts are handed to threads in groups of about this many bytes.
const GROUP: usize = 1 << 16;

/// Encode `texts` with up to `threads` threads; the parts of the result are in the order of the texts.
///
/// # Errors
/// If a text cannot be encoded: the first such text.
pub fn encode_batch(
    encoder: &Encoder,
    texts: &[&str],
    options: Options,
    threads: usize,
) -> Result<Vec<Encodings>, Failure> {
    let groups = if threads > 1 { group(texts) } else { Vec::new() };
    if groups.len() < 2 {
        return Ok(Vec::from([encode_group(encoder, texts, 0..texts.len(), options)?]));
    }
    let next = AtomicUsize::new(0);
    let results: Vec<_> = groups.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)).cloned() {
            let index = groups.partition_point(|other| other.start < group.start);
            let result = encode_group(encoder, texts, group, options);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(groups.len()) {
            scope.spawn(work);
        }
        work();
    });
    let take = |result: Mutex<Option<_>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(|result| take(result).expect("every group is encoded")).collect()
}

fn group(texts: &[&str]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = 0;
    let mut size = 0;
    for (index, text) in texts.iter().enumerate() {
        size += text.len() + 1;
        if size >= GROUP {
            groups.push(start..index + 1);
            start = index + 1;
            size = 0;
        }
    }
    if start < texts.len() {
        groups.push(start..texts.len());
    }
    groups
}

fn encode_group(
    encoder: &Encoder,
    texts: &[&str],
    group: Range<usize>,
    options: Options,
) -> Result<Encodings, Failure> {
    let mut encodings = Encodings::default();
    encoder.with_scratch(|scratch| {
        for index in group {
            let before = encodings.ids.len();
            let result = encoder.encode_with(texts[index], options, scratch, &mut encodings.ids);
            result.map_err(|error| Failure { index, error })?;
            encodings.counts.push(encodings.ids.len() - before);
        }
        Ok(())
    })?;
    Ok(encodings)
}

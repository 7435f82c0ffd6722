//! Encode or decode many texts, with several threads.

use crate::decoder::decode;
use crate::encoder::{Encoder, Options};
use crate::error::{EncodeError, UnknownId};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The results of several texts, one after the other.
#[derive(Debug)]
pub struct Results<Item> {
    /// The ids or the bytes of all texts.
    pub items: Vec<Item>,
    /// The number of items of each text.
    pub counts: Vec<usize>,
}

/// A text that cannot be encoded or decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<Error> {
    /// Its index.
    pub index: usize,
    /// Why.
    pub error: Error,
}

/// Texts are handed to threads in groups of about this many bytes or ids.
const GROUP: usize = 1 << 16;
/// About how many bytes an id represents; determines only how much room is made for results.
const BYTES_PER_ID: usize = 4;
/// The largest memory of results, in ids, that a thread keeps.
const LARGEST_SPARE: usize = 1 << 23;

/// Encode `texts` with up to `threads` threads; the parts of the result are in the order of the texts.
///
/// # Errors
/// If a text cannot be encoded: the first such text.
pub fn encode_batch(
    encoder: &Encoder,
    texts: &[&str],
    options: Options,
    threads: usize,
) -> Result<Vec<Results<u32>>, Failure<EncodeError>> {
    let groups = group(texts.iter().map(|text| text.len()), threads);
    in_groups(&groups, threads, |group| {
        let room = texts[group.clone()].iter().map(|text| text.len()).sum::<usize>() / BYTES_PER_ID;
        encoder.with_scratch(|scratch| {
            let mut items = std::mem::take(&mut scratch.spare);
            items.reserve(room);
            in_turn(texts, group, items, |text, ids| encoder.encode_with(text, options, scratch, ids))
        })
    })
}

/// Keep the memory of ids that are no longer needed for the next batch.
///
/// Touching new memory takes almost as long as encoding into it.
pub fn reuse(encoder: &Encoder, mut ids: Vec<u32>) {
    ids.clear();
    encoder.with_scratch(|scratch| {
        if (scratch.spare.capacity()..=LARGEST_SPARE).contains(&ids.capacity()) {
            scratch.spare = ids;
        }
    });
}

/// Decode lists of ids with up to `threads` threads; the parts of the result are in the order of the lists.
///
/// # Errors
/// If an id is outside the vocabulary: the first such list.
pub fn decode_batch(
    encoder: &Encoder,
    lists: &[&[u32]],
    clean_up: bool,
    threads: usize,
) -> Result<Vec<Results<u8>>, Failure<UnknownId>> {
    let groups = group(lists.iter().map(|ids| ids.len()), threads);
    in_groups(&groups, threads, |group| {
        let room = lists[group.clone()].iter().map(|ids| ids.len()).sum::<usize>() * BYTES_PER_ID;
        let items = Vec::with_capacity(room);
        in_turn(lists, group, items, |ids, bytes| decode(encoder.spec(), ids, clean_up, bytes))
    })
}

/// Process groups with up to `threads` threads.
fn in_groups<Item: Send, Error: Send>(
    groups: &[Range<usize>],
    threads: usize,
    process: impl Fn(Range<usize>) -> Result<Results<Item>, Failure<Error>> + Sync,
) -> Result<Vec<Results<Item>>, Failure<Error>> {
    if let [group] = groups {
        return Ok(Vec::from([process(group.clone())?]));
    }
    let next = AtomicUsize::new(0);
    let results: Vec<_> = groups.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((group, result)) = claim(&next, groups, &results) {
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(process(group.clone()));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(groups.len()) {
            scope.spawn(work);
        }
        work();
    });
    let take = |result: Mutex<Option<_>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(|result| take(result).expect("every group is processed")).collect()
}

/// Return the next group that no thread has taken, and the place for its result.
fn claim<'a, Result>(
    next: &AtomicUsize,
    groups: &'a [Range<usize>],
    results: &'a [Result],
) -> Option<(&'a Range<usize>, &'a Result)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((groups.get(index)?, results.get(index)?))
}

/// Divide texts, given by their sizes, into groups; one thread takes all of them.
fn group(sizes: impl ExactSizeIterator<Item = usize>, threads: usize) -> Vec<Range<usize>> {
    let count = sizes.len();
    let mut groups = Vec::new();
    let mut start = 0;
    let mut size_of_group = 0;
    for (size, end) in sizes.zip(1..) {
        size_of_group += size + 1;
        if size_of_group >= GROUP && threads > 1 {
            groups.push(start..end);
            start = end;
            size_of_group = 0;
        }
    }
    if start < count || groups.is_empty() {
        groups.push(start..count);
    }
    groups
}

/// Process the inputs of a group one after the other; `process` appends the items of one to `items`, which is empty.
fn in_turn<Input: Copy, Item, Error>(
    inputs: &[Input],
    group: Range<usize>,
    items: Vec<Item>,
    mut process: impl FnMut(Input, &mut Vec<Item>) -> Result<(), Error>,
) -> Result<Results<Item>, Failure<Error>> {
    let mut results = Results { items, counts: Vec::with_capacity(group.len()) };
    for index in group {
        let before = results.items.len();
        process(inputs[index], &mut results.items).map_err(|error| Failure { index, error })?;
        results.counts.push(results.items.len() - before);
    }
    Ok(results)
}

//! PLaMo 3: the pieces and costs of PLaMo 2, in segments that no piece crosses.
//!
//! A marker such as `<|plamo:bos|>` is a segment even if it is not parsed as a token, and so is a run of two or more
//! spaces, or of four or more of any other character except a line feed. U+EE00 ends a segment and is dropped. The
//! Python engine's is `tokverify/engine/models/plamo3.py`.
//!
//! Source: `llm_tokenizer_plamo2::encode` in llama.cpp's `src/llama-vocab.cpp`.

use crate::chunk_cache::PADDING;
use crate::error::{BuildError, EncodeError};
use crate::id_buffer::IdBuffer;
use crate::models::plamo2::Plamo2;
use crate::scratch::Scratch;
use crate::spec::Spec;
use crate::utf8::{character_size, decode};
use memchr::memmem;

const MARKER_START: &[u8] = b"<|plamo:";
const MARKER_END: &[u8] = b"|>";
const LONGEST_NAME: usize = 64;
const BOUNDARY: &[u8] = "\u{ee00}".as_bytes();
/// The lengths from which runs of spaces, and of other characters, are segments.
const SPACES: usize = 2;
const OTHERS: usize = 4;

/// Encodes texts.
#[derive(Debug)]
pub struct Plamo3 {
    plamo2: Plamo2,
}

impl Plamo3 {
    /// Build the model. It shares the tables of `previous` if they are the same.
    ///
    /// # Errors
    /// As for PLaMo 2.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        Ok(Self { plamo2: Plamo2::new(spec, previous.map(|previous| &previous.plamo2))? })
    }

    /// Append the ids of `text`, which is UTF-8; unlike for PLaMo 2, this includes a byte order mark at its beginning.
    ///
    /// # Errors
    /// Never.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        let mut padded = std::mem::take(&mut scratch.padded);
        padded.clear();
        padded.extend_from_slice(text);
        padded.resize(text.len() + PADDING, 0);
        let mut ids = IdBuffer::new(ids);
        for_each_segment(text, |start, end| self.plamo2.encode_segment(&padded, (start, end), scratch, &mut ids));
        scratch.padded = padded;
        Ok(())
    }
}

/// Call `visit` with the start and the end of each segment of `text`, none of them empty.
fn for_each_segment(text: &[u8], mut visit: impl FnMut(usize, usize)) {
    let mut done = 0;
    for marker in memmem::find_iter(text, MARKER_START) {
        let Some(end) = marker_end(text, marker).filter(|_| marker >= done) else { continue };
        split_at_runs(text, done, marker, &mut visit);
        split_at_boundaries(text, marker, end, &mut visit);
        done = end;
    }
    split_at_runs(text, done, text.len(), &mut visit);
}

/// Return the end of the marker at `start`; None if it is not complete, or its name is too long or contains a space.
fn marker_end(text: &[u8], start: usize) -> Option<usize> {
    let mut place = start + MARKER_START.len();
    for _ in 0..=LONGEST_NAME {
        let rest = &text[place..];
        if rest.first()? == &b'|' {
            return rest.starts_with(MARKER_END).then_some(place + MARKER_END.len());
        }
        let (character, size) = decode(rest);
        if is_space(character) {
            return None;
        }
        place += size;
    }
    None
}

/// Return whether Python treats the character as a space.
fn is_space(character: u32) -> bool {
    matches!(character, 0x1C..=0x1F) || char::from_u32(character).is_some_and(char::is_whitespace)
}

fn split_at_runs(text: &[u8], start: usize, end: usize, visit: &mut impl FnMut(usize, usize)) {
    let mut done = start;
    let mut place = start;
    while place < end {
        let size = character_size(text[place]);
        let character = &text[place..place + size];
        let mut run_end = place + size;
        while text[run_end..end].starts_with(character) {
            run_end += size;
        }
        let least = if character == b" " { SPACES } else { OTHERS };
        if (run_end - place) / size >= least && character != b"\n" {
            split_at_boundaries(text, done, place, visit);
            split_at_boundaries(text, place, run_end, visit);
            done = run_end;
        }
        place = run_end;
    }
    split_at_boundaries(text, done, end, visit);
}

fn split_at_boundaries(text: &[u8], start: usize, end: usize, visit: &mut impl FnMut(usize, usize)) {
    let mut done = start;
    for place in memmem::find_iter(&text[start..end], BOUNDARY) {
        if done < start + place {
            visit(done, start + place);
        }
        done = start + place + BOUNDARY.len();
    }
    if done < end {
        visit(done, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(text: &str) -> Vec<&str> {
        let mut segments = Vec::new();
        for_each_segment(text.as_bytes(), |start, end| segments.push(&text[start..end]));
        segments
    }

    #[test]
    fn runs_and_markers_are_segments() {
        assert_eq!(segments("a  bcccc"), ["a", "  ", "b", "cccc"]);
        assert_eq!(segments("ccc\n\n\n\n ああああい"), ["ccc\n\n\n\n ", "ああああ", "い"]);
        assert_eq!(segments("a<|plamo:bos|>b"), ["a", "<|plamo:bos|>", "b"]);
        assert_eq!(segments("<|plamo:b s|><|plamo:<|plamo:|>"), ["<|plamo:b s|><|plamo:", "<|plamo:|>"]);
        assert_eq!(segments("a\u{ee00}b\u{ee00}"), ["a", "b"]);
        assert_eq!(segments(""), [""; 0]);
    }
}

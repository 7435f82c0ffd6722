//! sentencepiece's precompiled normalizer, the charsmap, which maps short byte strings to their replacements.
//!
//! The strings form a trie, stored as one array of numbers (an XOR-compressed double array). A node is an index into it.
//! Its children share a base: the child for the byte `c` is at `base ^ c`, and exists if its entry has the label `c`.
//! Where a string of the map ends, the entry at the base itself contains the offset of its replacement among the
//! NUL-terminated strings that follow the array. The Python engine's is `tokverify/engine/charsmap.py`.
//!
//! Source: `xcda_array_view` and `normalize_prefix` in llama.cpp's `src/llama-vocab.cpp`.

use crate::error::{BuildError, EncodeError};

const WORD: usize = 4;
/// The bits that must equal the byte; the highest one marks entries that contain offsets, which match no byte.
const LABEL: u32 = 1 << 31 | 0xFF;
const ENDS: u32 = 1 << 8;
const FAR: u32 = 1 << 9;
const OFFSET: u32 = (1 << 31) - 1;

/// Finds replacements.
#[derive(Debug)]
pub struct Charsmap {
    entries: Box<[u32]>,
    strings: Box<[u8]>,
}

/// How a charsmap can affect a character, from what it maps the character's bytes and those after them to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// No string of the map begins with it.
    None,
    /// All strings of the map that begin with it are longer, and continue with a byte that is not ASCII.
    BeforeOthers,
    /// Anything else.
    Any,
}

impl Charsmap {
    /// Read the blob as stored in a file.
    ///
    /// # Errors
    /// If llama.cpp refuses to load it. It does load one that is damaged elsewhere.
    pub fn new(data: &[u8]) -> Result<Self, BuildError> {
        let broken = || BuildError::Broken("tokenizer.ggml.precompiled_charsmap is truncated".into());
        let (size, rest) = data.split_first_chunk::<WORD>().ok_or_else(broken)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size >= rest.len() {
            return Err(broken());
        }
        let words = rest[..size].chunks_exact(WORD);
        let entries = words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        Ok(Self { entries, strings: rest[size..].into() })
    }

    /// Find the longest string of the map that `text` begins with; return its length and its replacement.
    ///
    /// # Errors
    /// If the search leaves the array, or the replacement the blob.
    pub fn find(&self, text: &[u8]) -> Result<Option<(usize, &[u8])>, EncodeError> {
        let Some(&root) = self.entries.first() else { return Ok(None) };
        let mut node = step(root);
        let mut found = None;
        for (index, &byte) in text.iter().enumerate() {
            node ^= u32::from(byte);
            let entry = if byte == 0 { 0 } else { self.entry(node)? };
            // subtle: the label 0 would lead to an offset, so a NUL ends the search.
            if byte == 0 || entry & LABEL != u32::from(byte) {
                break;
            }
            node ^= step(entry);
            if entry & ENDS != 0 {
                found = Some((index + 1, self.entry(node)? & OFFSET));
            }
        }
        found.map(|(length, offset)| Ok((length, self.replacement(offset)?))).transpose()
    }

    fn entry(&self, index: u32) -> Result<u32, EncodeError> {
        self.entries.get(index as usize).copied().ok_or(EncodeError::DamagedCharsmap)
    }

    fn replacement(&self, offset: u32) -> Result<&[u8], EncodeError> {
        let string = self.strings.get(offset as usize..).ok_or(EncodeError::DamagedCharsmap)?;
        let end = memchr::memchr(0, string).ok_or(EncodeError::DamagedCharsmap)?;
        Ok(&string[..end])
    }

    /// Return how the map can affect the character that begins with `bytes`, if these are not a part of it only.
    #[must_use]
    pub fn effect(&self, bytes: &[u8]) -> Effect {
        let Some(&root) = self.entries.first() else { return Effect::None };
        let mut node = step(root);
        for &byte in bytes {
            node ^= u32::from(byte);
            match self.entry(node) {
                Err(_) => return Effect::Any,
                Ok(entry) if byte == 0 || entry & LABEL != u32::from(byte) => return Effect::None,
                Ok(entry) if entry & ENDS != 0 => return Effect::Any,
                Ok(entry) => node ^= step(entry),
            }
        }
        let is_child = |byte: u32| self.entry(node ^ byte).map_or(true, |entry| entry & LABEL == byte);
        if (1..0x80).any(is_child) { Effect::Any } else { Effect::BeforeOthers }
    }
}

/// Return the XOR distance from a node to the base of its children.
fn step(entry: u32) -> u32 {
    (entry >> 10) << (if entry & FAR == 0 { 0 } else { 8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lay out a map of single bytes to strings.
    fn map(pairs: &[(u8, &str)]) -> Vec<u8> {
        let mut entries = vec![0_u32; 1024];
        let mut strings = Vec::new();
        entries[0] = 256 << 10;
        for (index, &(byte, replacement)) in pairs.iter().enumerate() {
            let place = 256 ^ u32::from(byte);
            let base = 512 + index as u32;
            entries[place as usize] = (place ^ base) << 10 | ENDS | u32::from(byte);
            entries[base as usize] = 1 << 31 | strings.len() as u32;
            strings.extend_from_slice(replacement.as_bytes());
            strings.push(0);
        }
        let blob: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        [&(blob.len() as u32).to_le_bytes(), &blob[..], &strings].concat()
    }

    #[test]
    fn mapped_strings_are_found_with_their_replacements() {
        let charsmap = Charsmap::new(&map(&[(b'a', "bc"), (b'\t', " ")])).expect("valid");
        assert_eq!(charsmap.find(b"ax"), Ok(Some((1, b"bc".as_slice()))));
        assert_eq!(charsmap.find(b"\ta"), Ok(Some((1, b" ".as_slice()))));
        assert_eq!(charsmap.find(b"b"), Ok(None));
        assert_eq!(charsmap.find(b"\0"), Ok(None));
        assert_eq!(charsmap.effect(b"a"), Effect::Any);
        assert_eq!(charsmap.effect(b"b"), Effect::None);
    }

    #[test]
    fn a_damaged_blob_is_an_error_where_it_is_used() {
        let mut blob = map(&[(b'a', "bc")]);
        blob.pop();
        let charsmap = Charsmap::new(&blob).expect("loads");
        assert_eq!(charsmap.find(b"a"), Err(EncodeError::DamagedCharsmap));
        assert!(Charsmap::new(&blob[..4000]).is_err());
        assert!(Charsmap::new(b"\0\0").is_err());
    }
}

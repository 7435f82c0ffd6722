//! Normalize texts for unigram tokenizers: keep user-defined pieces, apply a charsmap, and reduce spaces.
//!
//! At each position, from left to right, llama.cpp takes the first of these that exists: bytes that match a user-defined
//! piece, the longest string of the charsmap, a single character. Most characters can be copied without a search. The
//! Python engine's is `tokverify/engine/models/unigram_normalizer.py`.
//!
//! Source: `llm_tokenizer_ugm_session::normalize` and `normalize_prefix` in llama.cpp's `src/llama-vocab.cpp`.

use crate::charsmap::{Charsmap, Effect};
use crate::error::EncodeError;
use crate::space::ESCAPED;
use crate::trie::Trie;
use crate::utf8::{REPLACEMENT, character_size};

const TABLE: usize = 0x10000;

/// What can happen to a text at a byte that begins a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// The byte is a character that is kept.
    Kept,
    /// The byte is a character that is kept if an ASCII character follows it.
    KeptBeforeAscii,
    Space,
    /// The byte begins a character of two or three bytes, which has an entry in the table.
    Listed,
    /// A search is needed.
    Searched,
}

/// Normalizes texts. In the result, a space stands for `▁`.
#[derive(Debug)]
pub struct Normalizer {
    charsmap: Option<Charsmap>,
    user_defined: Trie,
    classes: Box<[Class; 256]>,
    /// A bit for each character of two or three bytes: whether a search is needed.
    searched: Box<[u64]>,
    merges_spaces: bool,
    prefixes_space: bool,
}

impl Normalizer {
    /// Prepare to normalize; the pieces `user_defined` are kept as they are.
    pub fn new<'a>(
        charsmap: Option<Charsmap>,
        user_defined: impl Iterator<Item = &'a [u8]>,
        merges_spaces: bool,
        prefixes_space: bool,
    ) -> Self {
        let user_defined = Trie::new(user_defined.map(|piece| (piece, 0)));
        let effect = |bytes: &[u8]| charsmap.as_ref().map_or(Effect::None, |charsmap| charsmap.effect(bytes));
        let class = |byte: u8| match (byte, effect(&[byte])) {
            _ if let Some(node) = user_defined.child(user_defined.root(), byte) => {
                // A piece of one character is kept, whatever follows.
                if byte < 0x80 && byte != b' ' && node.is_leaf() { Class::Kept } else { Class::Searched }
            }
            (b' ', Effect::None) => Class::Space,
            (0..0x80, Effect::None) => Class::Kept,
            (0..0x80, Effect::BeforeOthers) if byte != b' ' => Class::KeptBeforeAscii,
            (0xC2..0xF0, _) => Class::Listed,
            _ => Class::Searched,
        };
        let classes = Box::new(std::array::from_fn(|byte| class(byte as u8)));
        let mut searched = vec![0; TABLE / 64];
        for character in ('\u{80}'..'\u{10000}').filter(|&character| character != '▁') {
            let mut utf8 = [0; 4];
            if effect(character.encode_utf8(&mut utf8).as_bytes()) != Effect::None {
                searched[character as usize >> 6] |= 1 << (character as u32 & 63);
            }
        }
        searched['▁' as usize >> 6] |= 1 << ('▁' as u32 & 63);
        Self { charsmap, user_defined, classes, searched: searched.into(), merges_spaces, prefixes_space }
    }

    /// Normalize any bytes to `output`; return whether the result is certain to be UTF-8.
    ///
    /// # Errors
    /// If the needed part of the charsmap is damaged.
    pub fn normalize(&self, text: &[u8], output: &mut Vec<u8>) -> Result<bool, EncodeError> {
        output.clear();
        let mut writer = Writer {
            output,
            step_start: 0,
            missing: 0,
            is_utf8: true,
            in_word: false,
            needs_prefix: self.prefixes_space,
            merges_spaces: self.merges_spaces,
        };
        let mut start = 0;
        while start < text.len() {
            start = self.normalize_next(text, start, &mut writer)?;
        }
        Ok(writer.is_utf8)
    }

    /// Normalize a part of `text` from `start` on; return its end.
    #[inline]
    fn normalize_next(&self, text: &[u8], start: usize, writer: &mut Writer<'_>) -> Result<usize, EncodeError> {
        match self.classes[usize::from(text[start])] {
            Class::Space => {
                writer.space();
                return Ok(start + 1);
            }
            Class::Listed => {
                let end = self.normalize_listed(text, start, writer)?;
                if start < end {
                    return Ok(end);
                }
            }
            Class::Kept | Class::KeptBeforeAscii => {
                let end = self.kept_end(text, start);
                if start < end {
                    writer.word(&text[start..end]);
                    return Ok(end);
                }
            }
            _ => {}
        }
        self.search(text, start, writer)
    }

    /// Return the end of the characters from `start` on that are kept.
    #[inline]
    fn kept_end(&self, text: &[u8], start: usize) -> usize {
        let kept = |byte: &u8| self.classes[usize::from(*byte)] <= Class::KeptBeforeAscii;
        let end = text[start..].iter().position(|byte| !kept(byte)).map_or(text.len(), |length| start + length);
        let is_followed = text.get(end).is_some_and(|byte| *byte >= 0x80);
        let last = self.classes[usize::from(text[end - 1])];
        end - usize::from(is_followed && last == Class::KeptBeforeAscii)
    }

    /// Normalize characters of two or three bytes from `start` on, up to one that the charsmap replaces; return their
    /// end, which is `start` if the first one needs another search.
    #[inline]
    fn normalize_listed(&self, text: &[u8], start: usize, writer: &mut Writer<'_>) -> Result<usize, EncodeError> {
        let mut end = start;
        while end < text.len() && self.classes[usize::from(text[end])] == Class::Listed {
            let size = character_size(text[end]);
            let Some(character) = text.get(end..end + size) else { break };
            if self.is_searched(character) {
                // Most of these are mapped only together with a mark that follows, such as か.
                if let Some((length, replacement)) = self.find_replacement(&text[end..])? {
                    writer.replace_after(&text[start..end], replacement);
                    return Ok(end + length);
                }
                if character == ESCAPED {
                    break;
                }
            }
            end += size;
        }
        if start < end {
            writer.word(&text[start..end]);
        }
        Ok(end)
    }

    #[inline]
    fn is_searched(&self, bytes: &[u8]) -> bool {
        let tail = |index: usize| usize::from(bytes[index]) & 0x3F;
        let first = usize::from(bytes[0]);
        let character = match bytes.len() {
            2 => (first & 0x1F) << 6 | tail(1),
            _ => (first & 0x0F) << 12 | tail(1) << 6 | tail(2),
        };
        self.searched[character >> 6] >> (character & 63) & 1 != 0
    }

    /// Find the string of the charsmap that `text` begins with; return its length and its replacement.
    #[inline]
    fn find_replacement(&self, text: &[u8]) -> Result<Option<(usize, &[u8])>, EncodeError> {
        self.charsmap.as_ref().map_or(Ok(None), |charsmap| charsmap.find(text))
    }

    #[cold]
    fn search(&self, text: &[u8], start: usize, writer: &mut Writer<'_>) -> Result<usize, EncodeError> {
        let rest = &text[start..];
        let kept = self.user_defined_length(rest);
        if kept > 0 {
            writer.write(&rest[..kept]);
            return Ok(start + kept);
        }
        if let Some((length, replacement)) = self.find_replacement(rest)? {
            writer.write(replacement);
            return Ok(start + length);
        }
        // subtle: even in a valid text, the rest of a character can follow a user-defined piece or an added token.
        let Some(character) = first_character(rest) else {
            writer.write(REPLACEMENT);
            return Ok(start + 1);
        };
        writer.write(character);
        Ok(start + character.len())
    }

    /// Return how many bytes of `text` match the beginning of a user-defined piece.
    ///
    /// subtle: they need not be a whole piece. llama.cpp intends to find one, but its `naive_trie::get_longest_prefix`
    /// counts how far it gets. So if `–` is user-defined, two bytes of `—` are kept, and the third is left over.
    fn user_defined_length(&self, text: &[u8]) -> usize {
        let mut node = self.user_defined.root();
        for (length, &byte) in text.iter().enumerate() {
            let Some(child) = self.user_defined.child(node, byte) else { return length };
            node = child;
        }
        text.len()
    }
}

/// Return the first bytes of `text` that have the form of a character in UTF-8.
fn first_character(text: &[u8]) -> Option<&[u8]> {
    let character = text.get(..character_size(text[0]))?;
    let is_whole = character[1..].iter().all(|byte| byte & 0xC0 == 0x80);
    (is_whole && text[0] & 0xC0 != 0x80 && text[0] < 0xF8).then_some(character)
}

/// Writes normalized bytes, with a space for every step of llama.cpp that is a `▁`.
struct Writer<'a> {
    output: &'a mut Vec<u8>,
    /// Where the last step starts.
    step_start: usize,
    /// How many bytes the last step lacks, because it includes bytes of the following characters.
    missing: usize,
    is_utf8: bool,
    in_word: bool,
    needs_prefix: bool,
    merges_spaces: bool,
}

impl Writer<'_> {
    #[inline]
    fn space(&mut self) {
        self.in_word = false;
        if !self.merges_spaces {
            self.escaped_space();
        }
    }

    /// Write the space before a word if there is none yet.
    ///
    /// subtle: if spaces are merged, every word gets a space before it, even the first one if no prefix is requested.
    #[inline]
    fn begin_word(&mut self) {
        if !self.in_word {
            self.in_word = true;
            if self.needs_prefix || self.merges_spaces {
                self.escaped_space();
                self.needs_prefix = false;
            }
        }
    }

    #[inline]
    fn escaped_space(&mut self) {
        if self.missing == 0 {
            self.output.push(b' ');
        } else {
            ESCAPED.iter().for_each(|&byte| self.step(byte));
        }
    }

    /// Write whole characters, none of them a space or `▁`.
    #[inline]
    fn word(&mut self, characters: &[u8]) {
        self.begin_word();
        if self.missing == 0 {
            self.output.extend_from_slice(characters);
        } else {
            characters.iter().for_each(|&byte| self.step(byte));
        }
    }

    /// Write whole characters, as `word` does if there are any, and then any bytes.
    #[cold]
    fn replace_after(&mut self, characters: &[u8], replacement: &[u8]) {
        if !characters.is_empty() {
            self.word(characters);
        }
        self.write(replacement);
    }

    /// Write any bytes.
    fn write(&mut self, bytes: &[u8]) {
        self.is_utf8 &= std::str::from_utf8(bytes).is_ok();
        for &byte in bytes {
            if byte == b' ' {
                self.space();
            } else {
                self.begin_word();
                self.step(byte);
            }
        }
    }

    fn step(&mut self, byte: u8) {
        if self.missing == 0 {
            self.missing = character_size(byte);
            self.step_start = self.output.len();
        }
        self.output.push(byte);
        self.missing -= 1;
        if self.missing == 0 && &self.output[self.step_start..] == ESCAPED {
            self.output.truncate(self.step_start);
            self.output.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalize(text: &[u8], user_defined: &[&str], merges_spaces: bool, prefixes_space: bool) -> Vec<u8> {
        let pieces = user_defined.iter().map(|piece| piece.as_bytes());
        let mut output = Vec::new();
        let normalizer = Normalizer::new(None, pieces, merges_spaces, prefixes_space);
        normalizer.normalize(text, &mut output).expect("no charsmap");
        output
    }

    #[test]
    fn spaces_are_merged_or_kept() {
        assert_eq!(normalize(b"  a  b ", &[], true, false), b" a b");
        assert_eq!(normalize(b"  a  b ", &[], false, true), b"   a  b ");
        assert_eq!(normalize(b"  a  b ", &[], false, false), b"  a  b ");
        assert_eq!(normalize("▁ 你▁".as_bytes(), &[], true, true), "   你 ".as_bytes());
    }

    #[test]
    fn the_beginning_of_a_user_defined_piece_is_kept_even_if_it_is_not_a_whole_character() {
        // The step over the first two bytes of `—` includes the first byte of U+FFFD.
        assert_eq!(normalize("a—b".as_bytes(), &["–"], false, false), b"a\xe2\x80\xef\xbf\xbdb");
    }

    #[test]
    fn a_step_over_a_cut_character_includes_bytes_of_the_next_space() {
        assert_eq!(normalize("é b".as_bytes(), &["è"], false, false), b"\xc3\xef\xbf\xbd b");
        assert_eq!(normalize(b"\xa9a \xe2", &[], false, false), "\u{fffd}a \u{fffd}".as_bytes());
    }
}

//! BERT's cleanup: drop control characters, split at spaces, and make words of punctuation and Chinese characters.
//!
//! Without accents, a character is reduced to the first one of its canonical decomposition, and combining marks are
//! dropped. The Python engine's is `word_normalizer` in `tokverify/engine/normalizer.py`.
//!
//! Source: `llm_tokenizer_wpm_session::preprocess` in llama.cpp's `src/llama-vocab.cpp`.

use crate::ascii::{BLOCK, count_letters};
use crate::character::{DROPPED, MARK, PUNCTUATION, SPACE, SYMBOL, classes, to_base, to_lowercase};
use crate::utf8::decode;

/// What follows each word of a normalized text.
pub const SEPARATOR: u8 = b' ';

const TABLE: usize = 0x10000;
const ASCII: usize = 0x80;

/// What becomes of a character: a kind, and in the lower bits the character that replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fate(u32);

const KIND: u32 = 0b11 << 30;
/// It is a part of a word.
const LETTER: u32 = 0;
/// It is a word.
const WORD: u32 = 1 << 30;
/// It ends a word.
const END: u32 = 2 << 30;
/// Nothing becomes of it.
const NOTHING: u32 = 3 << 30;

/// What becomes of an ASCII character: what is written, and whether that ends the word before it.
#[derive(Debug, Clone, Copy)]
struct Written {
    bytes: u32,
    length: usize,
    ends_word: bool,
}

/// Normalizes texts.
#[derive(Debug)]
pub struct WordNormalizer {
    lowercase: bool,
    strip_accents: bool,
    /// By character; those not in the table are rare.
    fates: Box<[Fate]>,
    /// By ASCII character.
    ascii: Box<[Written; ASCII]>,
    /// The bits that make eight ASCII letters lowercase; 0 if case is kept.
    case_bits: u64,
}

impl WordNormalizer {
    /// Prepare to normalize.
    #[must_use]
    pub fn new(lowercase: bool, strip_accents: bool) -> Self {
        let case_bits = if lowercase { u64::from_le_bytes([0x20; BLOCK]) } else { 0 };
        let nothing = Written { bytes: 0, length: 0, ends_word: false };
        let ascii = Box::new([nothing; ASCII]);
        let mut normalizer = Self { lowercase, strip_accents, fates: Box::default(), ascii, case_bits };
        normalizer.fates = (0..TABLE as u32).map(|character| normalizer.compute(character)).collect();
        normalizer.ascii = Box::new(std::array::from_fn(|byte| normalizer.fates[byte].written()));
        normalizer
    }

    /// Write the words of `text`, which is UTF-8, to `output`, with a separator after each.
    pub fn normalize(&self, text: &[u8], output: &mut Vec<u8>) {
        output.clear();
        output.reserve(text.len() + text.len() / 4);
        let mut place = 0;
        while place < text.len() {
            if let Some(block) = text[place..].first_chunk::<BLOCK>() {
                let block = u64::from_le_bytes(*block);
                let count = count_letters(block);
                let length = output.len() + count;
                output.extend_from_slice(&(block | self.case_bits).to_le_bytes());
                output.truncate(length);
                place += count;
                if count == BLOCK {
                    continue;
                }
            }
            if let Some(&written) = self.ascii.get(usize::from(text[place])) {
                write_ascii(written, output);
                place += 1;
            } else {
                let (character, size) = decode(&text[place..]);
                self.write(character, output);
                place += size;
            }
        }
        end_word(output);
    }

    #[inline]
    fn write(&self, character: u32, output: &mut Vec<u8>) {
        let fate = self.fates.get(character as usize).copied().unwrap_or_else(|| self.compute(character)).0;
        match fate & KIND {
            LETTER => write_character(fate & !KIND, output),
            WORD => {
                end_word(output);
                write_character(fate & !KIND, output);
                output.push(SEPARATOR);
            }
            END => end_word(output),
            _ => {}
        }
    }

    fn compute(&self, character: u32) -> Fate {
        let character = if self.strip_accents { to_base(character) } else { character };
        let class = classes()[character as usize];
        // subtle: the kind of a character is determined before it is converted to lowercase.
        let written = if self.lowercase { to_lowercase(character) } else { character };
        // Chinese characters are recognized by code point, assigned or not.
        let is_word = class & PUNCTUATION != 0 || character < ASCII as u32 && class & SYMBOL != 0;
        Fate(if is_chinese(character) {
            WORD | written
        } else if class & SPACE != 0 {
            END
        } else if class & DROPPED != 0 || self.strip_accents && class & MARK != 0 {
            NOTHING
        } else if is_word {
            WORD | written
        } else {
            LETTER | written
        })
    }
}

impl Fate {
    /// Return what is written for an ASCII character, with a separator after a word.
    fn written(self) -> Written {
        let character = self.0 & !KIND;
        match self.0 & KIND {
            LETTER => Written { bytes: character, length: 1, ends_word: false },
            WORD => Written { bytes: character | u32::from(SEPARATOR) << 8, length: 2, ends_word: true },
            END => Written { bytes: 0, length: 0, ends_word: true },
            _ => Written { bytes: 0, length: 0, ends_word: false },
        }
    }
}

/// Write what becomes of an ASCII character, without branches: which one it is, cannot be predicted.
#[inline]
fn write_ascii(written: Written, output: &mut Vec<u8>) {
    let in_word = output.last().is_some_and(|&last| last != SEPARATOR);
    let is_ended = written.ends_word & in_word;
    let bytes = if is_ended { written.bytes << 8 | u32::from(SEPARATOR) } else { written.bytes };
    let length = output.len() + usize::from(is_ended) + written.length;
    output.extend_from_slice(&bytes.to_le_bytes());
    output.truncate(length);
}

#[inline]
fn end_word(output: &mut Vec<u8>) {
    if output.last().is_some_and(|&last| last != SEPARATOR) {
        output.push(SEPARATOR);
    }
}

#[inline]
fn write_character(character: u32, output: &mut Vec<u8>) {
    let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
    output.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Return whether llama.cpp treats the character as Chinese.
///
/// subtle: one range begins 0x100 too late, as in the HF library, and the later blocks are missing.
fn is_chinese(character: u32) -> bool {
    matches!(
        character,
        0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0x2_F800..=0x2_FA1F
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, lowercase: bool, strip_accents: bool) -> String {
        let mut output = Vec::new();
        WordNormalizer::new(lowercase, strip_accents).normalize(text.as_bytes(), &mut output);
        String::from_utf8(output).expect("UTF-8")
    }

    #[test]
    fn punctuation_and_chinese_characters_are_words() {
        assert_eq!(words("Ab, c.你好€$ \u{85}x", false, false), "Ab , c . 你 好 € $ x ");
        assert_eq!(words("", true, true), "");
        assert_eq!(words(" \0\u{200b}\n", true, true), "");
    }

    #[test]
    fn case_and_accents_are_removed_if_requested() {
        assert_eq!(words("ÄÖé\u{301}", true, true), "aoe ");
        assert_eq!(words("Äe\u{301}", true, false), "äe\u{301} ");
        assert_eq!(words("Äe\u{301}", false, true), "Ae ");
        assert_eq!(words("한", true, true), "\u{1112} ");
    }
}

//! Unicode's normalization form C, as llama.cpp computes it with tables of Unicode 16.0.
//!
//! The Python engine's is `tokverify/engine/nfc.py`.

use crate::character_table::{CANONICAL_CLASSES, DECOMPOSITIONS};
use crate::utf8::{decode, replace_lone_bytes};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const CHARACTERS: usize = 0x11_0000;
/// The consonants, vowels and final consonants of Hangul, and the syllables that they compose.
const CONSONANTS: std::ops::Range<u32> = 0x1100..0x1113;
const VOWELS: std::ops::Range<u32> = 0x1161..0x1176;
const FINALS: std::ops::Range<u32> = 0x11A8..0x11C3;
const SYLLABLES: std::ops::Range<u32> = 0xAC00..0xD7A4;
/// How many syllables begin with the same consonant and vowel.
const PER_VOWEL: u32 = 28;
const PER_CONSONANT: u32 = 588;

struct Tables {
    classes: Box<[u8]>,
    decompositions: FxHashMap<u32, (u32, u32)>,
    compositions: FxHashMap<(u32, u32), u32>,
    /// A bit for each character that can make another text of the one that contains it.
    relevant: Box<[u64]>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut classes = vec![0; CHARACTERS].into_boxed_slice();
    let ends = CANONICAL_CLASSES[1..].iter().map(|run| run.0 as usize).chain([CHARACTERS]);
    for (&(start, class), end) in CANONICAL_CLASSES.iter().zip(ends) {
        classes[start as usize..end].fill(class);
    }
    let composing = DECOMPOSITIONS.iter().filter(|row| row.3);
    let mut relevant = vec![0_u64; CHARACTERS / 64].into_boxed_slice();
    let marks = (0..CHARACTERS as u32).filter(|&character| classes[character as usize] > 0);
    let seconds = composing.clone().map(|row| row.2);
    let replaced = DECOMPOSITIONS.iter().filter(|row| !row.3).map(|row| row.0);
    for character in marks.chain(seconds).chain(replaced).chain(VOWELS).chain(FINALS) {
        relevant[character as usize >> 6] |= 1 << (character & 63);
    }
    Tables {
        decompositions: DECOMPOSITIONS.iter().map(|row| (row.0, (row.1, row.2))).collect(),
        compositions: composing.map(|row| ((row.1, row.2), row.0)).collect(),
        classes,
        relevant,
    }
});

/// Return `text` in normalization form C, if that is another text; each byte that belongs to no character is U+FFFD.
#[must_use]
pub fn normalize(text: &[u8]) -> Option<Vec<u8>> {
    if text.is_ascii() {
        return None;
    }
    let Ok(whole) = std::str::from_utf8(text) else {
        let mut replaced = Vec::new();
        replace_lone_bytes(text, &mut replaced);
        return Some(normalize(&replaced).unwrap_or(replaced));
    };
    let tables = &*TABLES;
    let is_relevant = |character: char| tables.relevant[character as usize >> 6] >> (character as u32 & 63) & 1 != 0;
    if !whole.chars().any(is_relevant) {
        return None;
    }
    let mut characters = tables.decompose(text);
    tables.sort(&mut characters);
    let composed = tables.compose(&characters);
    Some(composed.into_iter().filter_map(char::from_u32).collect::<String>().into_bytes())
}

impl Tables {
    fn class(&self, character: u32) -> u8 {
        self.classes[character as usize]
    }

    fn decompose(&self, text: &[u8]) -> Vec<u32> {
        let mut characters = Vec::with_capacity(text.len());
        let mut waiting = Vec::new();
        let mut place = 0;
        while place < text.len() {
            let (character, size) = decode(&text[place..]);
            place += size;
            waiting.push(character);
            while let Some(next) = waiting.pop() {
                if SYLLABLES.contains(&next) {
                    let index = next - SYLLABLES.start;
                    characters.push(CONSONANTS.start + index / PER_CONSONANT);
                    characters.push(VOWELS.start + index % PER_CONSONANT / PER_VOWEL);
                    characters.extend((index % PER_VOWEL > 0).then(|| FINALS.start - 1 + index % PER_VOWEL));
                } else if let Some(&(first, second)) = self.decompositions.get(&next) {
                    waiting.extend((second > 0).then_some(second));
                    waiting.push(first);
                } else {
                    characters.push(next);
                }
            }
        }
        characters
    }

    /// Sort each run of marks by class.
    fn sort(&self, characters: &mut [u32]) {
        for run in characters.split_mut(|&character| self.class(character) == 0) {
            run.sort_by_key(|&character| self.class(character));
        }
    }

    fn compose(&self, characters: &[u32]) -> Vec<u32> {
        let mut composed: Vec<u32> = Vec::with_capacity(characters.len());
        let (mut start, mut last_class) = (0, 0);
        for &character in characters {
            let class = self.class(character);
            // A mark of the same or a higher class between them hinders composition.
            if !composed.is_empty() && (last_class == 0 || last_class < class) {
                if let Some(joined) = self.compose_pair(composed[start], character) {
                    composed[start] = joined;
                    continue;
                }
            }
            if class == 0 {
                start = composed.len();
            }
            composed.push(character);
            last_class = class;
        }
        composed
    }

    fn compose_pair(&self, first: u32, second: u32) -> Option<u32> {
        if CONSONANTS.contains(&first) && VOWELS.contains(&second) {
            let syllable = (first - CONSONANTS.start) * PER_CONSONANT + (second - VOWELS.start) * PER_VOWEL;
            return Some(SYLLABLES.start + syllable);
        }
        let is_open = SYLLABLES.contains(&first) && (first - SYLLABLES.start) % PER_VOWEL == 0;
        if is_open && FINALS.contains(&second) {
            return Some(first + second - (FINALS.start - 1));
        }
        self.compositions.get(&(first, second)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(text: &str) -> String {
        let normalized = normalize(text.as_bytes()).unwrap_or_else(|| text.as_bytes().to_vec());
        String::from_utf8(normalized).expect("the result is UTF-8")
    }

    #[test]
    fn letters_and_marks_are_composed() {
        assert_eq!(normalize("plain, été".as_bytes()), None);
        assert_eq!(composed("cafe\u{301}"), "café");
        assert_eq!(composed("a\u{301}\u{323}"), "ạ\u{301}");
        assert_eq!(composed("\u{1112}\u{1161}\u{11ab}"), "한");
        assert_eq!(composed("\u{212b}"), "Å");
        assert_eq!(composed("\u{958}"), "\u{915}\u{93c}", "excluded from composition");
    }

    #[test]
    fn characters_are_those_of_unicode_16() {
        assert_eq!(composed("\u{105d2}\u{307}"), "\u{105c9}");
        assert_eq!(composed("\u{16121}\u{1611f}"), "\u{16126}");
        assert_eq!(composed("a\u{897}\u{323}"), "ạ\u{897}");
    }

    #[test]
    fn lone_bytes_are_replaced() {
        assert_eq!(normalize(b"e\xcc\x81\xcc"), Some("é\u{fffd}".as_bytes().to_vec()));
    }
}

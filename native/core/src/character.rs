//! Classes of characters as llama.cpp sees them: Unicode 15.1, in which later characters are unassigned.
//!
//! The Python engine's counterpart is `tokverify/engine/unicode_version.py`.

use crate::character_table::{BASE, LOWERCASE, RUNS};
use crate::utf8;
use std::sync::LazyLock;

/// Letters (`\p{L}`).
pub const LETTER: u8 = 1;
/// Numbers (`\p{N}`).
pub const NUMBER: u8 = 1 << 1;
/// Combining marks (`\p{M}`).
pub const MARK: u8 = 1 << 2;
/// Punctuation (`\p{P}`).
pub const PUNCTUATION: u8 = 1 << 3;
/// Symbols (`\p{S}`).
pub const SYMBOL: u8 = 1 << 4;
/// Whitespace (`\s`).
pub const SPACE: u8 = 1 << 5;
/// Control and format characters, and U+FFFD, which BERT's cleanup drops.
pub const DROPPED: u8 = 1 << 6;
/// What llama.cpp treats as a Chinese character in Kimi K2's pre-tokenizer, whether assigned or not.
pub const HAN: u8 = 1 << 7;

const CHARACTERS: usize = 0x11_0000;

/// The classes of every character, as bits.
pub type Classes = [u8; CHARACTERS];

static CLASSES: LazyLock<Box<Classes>> = LazyLock::new(|| {
    let mut classes = vec![0; CHARACTERS].into_boxed_slice();
    let ends = RUNS[1..].iter().map(|run| run.0 as usize).chain([CHARACTERS]);
    for (&(start, value), end) in RUNS.iter().zip(ends) {
        classes[start as usize..end].fill(value);
    }
    classes.try_into().expect("the length is right")
});

/// Return the table of classes; look it up once for many characters.
#[must_use]
pub fn classes() -> &'static Classes {
    &CLASSES
}

/// Return the character at `place`, its classes and its size in bytes; `text` is UTF-8 and `place` inside it.
#[must_use]
#[inline]
pub fn classify(classes: &Classes, text: &[u8], place: usize) -> (u32, u8, usize) {
    let first = text[place];
    if first < 0x80 {
        return (u32::from(first), classes[usize::from(first)], 1);
    }
    let (character, size) =
        if place + 4 <= text.len() { utf8::step(text, place) } else { utf8::decode(&text[place..]) };
    (character, classes.get(character as usize).copied().unwrap_or_default(), size)
}

/// Return the single character that llama.cpp uses as the lowercase of `character`.
#[must_use]
pub fn to_lowercase(character: u32) -> u32 {
    LOWERCASE.binary_search_by_key(&character, |pair| pair.0).map_or(character, |index| LOWERCASE[index].1)
}

/// Return the first character of the canonical decomposition of `character`; llama.cpp keeps nothing else.
#[must_use]
pub fn to_base(character: u32) -> u32 {
    const FIRST_SYLLABLE: u32 = 0xAC00;
    const LAST_SYLLABLE: u32 = 0xD7A3;
    const FIRST_CONSONANT: u32 = 0x1100;
    const SYLLABLES_PER_CONSONANT: u32 = 588;
    if (FIRST_SYLLABLE..=LAST_SYLLABLE).contains(&character) {
        return FIRST_CONSONANT + (character - FIRST_SYLLABLE) / SYLLABLES_PER_CONSONANT;
    }
    BASE.binary_search_by_key(&character, |pair| pair.0).map_or(character, |index| BASE[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_the_classes_of_unicode_15_1() {
        let class = |character: char| classes()[character as usize];
        assert_eq!(class('a'), LETTER);
        assert_eq!(class('½'), NUMBER);
        assert_eq!(class('\u{301}'), MARK);
        assert_eq!(class('$'), SYMBOL);
        assert_eq!(class('!'), PUNCTUATION);
        assert_eq!(class('\u{3000}'), SPACE);
        assert_eq!(class('\n'), SPACE | DROPPED);
        assert_eq!(class('你'), LETTER | HAN);
        assert_eq!(class('\u{1c89}'), 0, "assigned in Unicode 16");
    }

    #[test]
    fn case_and_accents_are_removed() {
        assert_eq!(to_lowercase('Ä' as u32), 'ä' as u32);
        assert_eq!(to_base('ä' as u32), 'a' as u32);
        assert_eq!(to_base('한' as u32), 0x1112);
    }
}

//! The patterns of GPT-4o and Tekken: words that change from uppercase to lowercase at most once.

use super::Scanner;
use super::classified::Classified;
use super::words::{Tail, is_before_word, other, whitespace, whitespace_alternative};
use crate::character::NUMBER;

/// `FIRST?UPPER*LOWER+C?|FIRST?UPPER+LOWER*C?|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
///
/// `FIRST` is `[^\r\n\p{L}\p{N}]`, `UPPER` any letter except `[a-z]`, `LOWER` any letter except `[A-Z]`, `C` a contraction.
#[derive(Debug, Clone, Copy)]
pub struct CasedWords {
    /// The classes of letters: `LETTER`, perhaps with `MARK`.
    pub letters: u8,
    /// Whether contractions belong to the word before them.
    pub contractions: bool,
    /// The length of the longest number.
    pub digits: usize,
}

impl Scanner for CasedWords {
    #[inline]
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let (class, size) = text.class(start);
        let after_first = if is_before_word(text, start, class) { start + size } else { start };
        let end = self.word(text, start, after_first);
        if end > start {
            return if self.contractions { text.contraction(end, true) } else { end };
        }
        if class & NUMBER != 0 {
            return text.numbers(start, self.digits);
        }
        let end = other(text, start, Tail::LineEndsAndSlashes);
        if end > start { end } else { whitespace(text, start) }
    }

    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize> {
        let (class, size) = text.class(start);
        let after_first = if is_before_word(text, start, class) { start + size } else { start };
        if self.lower_word(text, after_first) > after_first || self.lower_word(text, start) > start {
            return Some(0);
        }
        if self.word(text, start, after_first) > start {
            return Some(1);
        }
        if class & NUMBER != 0 {
            return Some(2);
        }
        let is_other = other(text, start, Tail::LineEndsAndSlashes) > start;
        Some(if is_other { 3 } else { 4 + whitespace_alternative(text, start, end) })
    }
}

impl CasedWords {
    /// Return the end of a word without its contraction; `start` if there is none. Alternatives are tried in order.
    #[inline]
    fn word(&self, text: Classified<'_>, start: usize, after_first: usize) -> usize {
        let with_first = self.lower_word(text, after_first);
        if with_first > after_first {
            return with_first;
        }
        let without_first = if after_first > start { self.lower_word(text, start) } else { start };
        if without_first > start {
            return without_first;
        }
        let upper = |place| text.run(place, |character, class| self.is_upper(character, class));
        let with_first = upper(after_first);
        if with_first > after_first { with_first } else { upper(start) }
    }

    /// Return the end of `UPPER*LOWER+`; `start` if it does not match.
    #[inline]
    fn lower_word(&self, text: Classified<'_>, start: usize) -> usize {
        let mut upper_end = start;
        // The end of the last letter that is in `UPPER` and `LOWER`; without a lowercase letter after it, the match
        // ends there.
        let mut both_end = start;
        loop {
            let (character, class, size) = text.character(upper_end);
            if !self.is_upper(character, class) {
                break;
            }
            upper_end += size;
            if self.is_lower(character, class) {
                both_end = upper_end;
            }
        }
        let end = text.run(upper_end, |character, class| self.is_lower(character, class));
        if end > upper_end { end } else { both_end }
    }

    #[inline]
    fn is_upper(&self, character: u32, class: u8) -> bool {
        class & self.letters != 0 && !(0x61..=0x7A).contains(&character)
    }

    #[inline]
    fn is_lower(&self, character: u32, class: u8) -> bool {
        class & self.letters != 0 && !(0x41..=0x5A).contains(&character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> &str {
        let scanner = CasedWords { letters: crate::character::LETTER, contractions: true, digits: 3 };
        &text[..scanner.part_end(Classified::new(text.as_bytes()), 0)]
    }

    #[test]
    fn a_word_ends_where_uppercase_follows_lowercase() {
        assert_eq!(first("camelCase"), "camel");
        assert_eq!(first("FOOBar"), "FOOBar");
        assert_eq!(first("HTTP"), "HTTP");
    }

    #[test]
    fn a_letter_beyond_ascii_counts_as_both_cases() {
        assert_eq!(first("ABéCD"), "ABé");
        assert_eq!(first("ABécd"), "ABécd");
    }

    #[test]
    fn contractions_belong_to_the_word() {
        assert_eq!(first(" it's"), " it's");
    }
}

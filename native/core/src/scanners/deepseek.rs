//! The patterns of DeepSeek V3 and Spark.

use super::Matcher;
use super::classified::Classified;
use super::words::{is_space, whitespace};
use crate::character::{LETTER, MARK, PUNCTUATION, SYMBOL};

/// `PUNCTUATION[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+` and what follows; the first part matches
/// ASCII punctuation.
#[derive(Debug, Clone, Copy)]
pub struct Deepseek {
    /// With `[\r\n]*|\s*[\r\n]+` after punctuation; otherwise `|[\r\n]`. Then `|\s+(?!\S)|\s+`.
    pub joins_line_ends: bool,
}

impl Matcher for Deepseek {
    #[inline]
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        let end = word(text, start);
        if end > start {
            return end;
        }
        let place = start + usize::from(text.byte(start) == Some(b' '));
        let mut end = text.run_of(place, PUNCTUATION | SYMBOL);
        if end > place {
            while self.joins_line_ends && is_line_end(text, end) {
                end += 1;
            }
            return end;
        }
        if !is_space(text, start) {
            return start;
        }
        if self.joins_line_ends {
            return whitespace(text, start);
        }
        if is_line_end(text, start) { start + 1 } else { text.spaces(start) }
    }
}

fn word(text: Classified<'_>, start: usize) -> usize {
    let (class, size) = text.class(start);
    let is_letter = |byte: u8| byte.is_ascii_alphabetic();
    if text.byte(start).is_some_and(|byte| byte.is_ascii_punctuation()) && text.byte(start + 1).is_some_and(is_letter) {
        let letters = text.bytes()[start + 1..].iter().take_while(|byte| is_letter(**byte));
        return start + 1 + letters.count();
    }
    let can_precede = class & (LETTER | PUNCTUATION | SYMBOL) == 0 && !is_line_end(text, start);
    let place = if can_precede { start + size } else { start };
    let end = text.letters(place, LETTER | MARK);
    if end > place { end } else { text.letters(start, LETTER | MARK) }
}

fn is_line_end(text: Classified<'_>, place: usize) -> bool {
    matches!(text.byte(place), Some(b'\r' | b'\n'))
}

//! The patterns of DeepSeek V3 and Spark.

use super::Matcher;
use super::classified::Classified;
use super::words::{is_space, whitespace, whitespace_alternative};
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

    fn matching_alternative(&self, text: Classified<'_>, start: usize) -> usize {
        let place = start + usize::from(text.byte(start) == Some(b' '));
        if starts_with_punctuation(text, start) {
            0
        } else if word(text, start) > start {
            1
        } else if text.run_of(place, PUNCTUATION | SYMBOL) > place {
            2
        } else if !self.joins_line_ends && is_line_end(text, start) {
            3
        } else {
            let end = self.match_end(text, start);
            let alternative = whitespace_alternative(text, start, end);
            3 + if self.joins_line_ends { alternative } else { 1 + usize::from(text.is_before_word(end)) }
        }
    }
}

fn word(text: Classified<'_>, start: usize) -> usize {
    let (class, size) = text.class(start);
    if starts_with_punctuation(text, start) {
        let letters = text.bytes()[start + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic());
        return start + 1 + letters.count();
    }
    let can_precede = class & (LETTER | PUNCTUATION | SYMBOL) == 0 && !is_line_end(text, start);
    let place = if can_precede { start + size } else { start };
    let end = text.letters(place, LETTER | MARK);
    if end > place { end } else { text.letters(start, LETTER | MARK) }
}

/// Return whether `PUNCTUATION[A-Za-z]` matches.
fn starts_with_punctuation(text: Classified<'_>, start: usize) -> bool {
    text.byte(start).is_some_and(|byte| byte.is_ascii_punctuation())
        && text.byte(start + 1).is_some_and(|byte| byte.is_ascii_alphabetic())
}

fn is_line_end(text: Classified<'_>, place: usize) -> bool {
    matches!(text.byte(place), Some(b'\r' | b'\n'))
}

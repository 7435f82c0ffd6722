//! The patterns of Llama 3 and its relatives: words with one character before them, short numbers, line ends.

use super::Scanner;
use super::classified::{Classified, NOT_OTHER};
use crate::character::{HAN, LETTER, MARK, NUMBER, SPACE};

/// Contractions such as `'s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contractions {
    /// They are not recognized.
    None,
    /// They are separate, in any case.
    Separate,
    /// They are separate, in any case, and `'ſ` is one as well.
    SeparateWithLongS,
    /// They belong to the word before them.
    InWord,
}

/// What words consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    /// `\p{L}`
    Plain,
    /// `[\p{L}\p{M}]`
    Marked,
    /// `[\p{L}\p{M}\u200c\u200d]`
    Joined,
    /// `[\p{L}--Han]`; runs of Han characters are separate.
    WithoutHan,
    /// `(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+`
    Spaced,
}

/// What belongs to a run of other characters besides them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// ` ?[^\s\p{L}\p{N}]+[\r\n]*`
    LineEnds,
    /// ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
    LineEndsAndSlashes,
    /// ` ?[^\s\p{L}\p{N}]+[\r\n/]?`
    OneLineEnd,
    /// ` ?[^\s\p{L}\p{N}\r\n]+`
    None,
    /// ` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*`
    LineEndsWithoutMarks,
}

/// `CONTRACTION|[^\r\n\p{L}\p{N}]?LETTERS+|\p{N}{1,DIGITS}|OTHER|\s*[\r\n]+|\s+(?!\S)|\s+`
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// Which contractions are recognized.
    pub contractions: Contractions,
    /// What words consist of.
    pub letters: Letters,
    /// The length of the longest number.
    pub digits: usize,
    /// What follows other characters.
    pub tail: Tail,
}

impl Scanner for Words {
    #[inline]
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let (_, class, size) = text.character(start);
        if class & LETTER != 0 && self.letters == Letters::Plain && self.contractions != Contractions::InWord {
            return text.letters(start + size, LETTER);
        }
        let end = self.separate_contraction(text, start);
        if end > start {
            return end;
        }
        if self.letters == Letters::WithoutHan && class & HAN != 0 {
            return text.run_of(start, HAN);
        }
        let end = self.word(text, start, class, size);
        if end > start {
            return end;
        }
        if class & NUMBER != 0 {
            return text.numbers(start, self.digits);
        }
        let end = other(text, start, self.tail);
        if end > start {
            return end;
        }
        let end = text.line_ends(start);
        if end > start { end } else { text.spaces(start) }
    }

    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize> {
        let (_, class, size) = text.character(start);
        let is_separate = matches!(self.contractions, Contractions::Separate | Contractions::SeparateWithLongS);
        let is_han = self.letters == Letters::WithoutHan && class & HAN != 0;
        let word = usize::from(is_separate || self.letters == Letters::WithoutHan);
        if is_han || self.separate_contraction(text, start) > start {
            return Some(0);
        }
        if self.word(text, start, class, size) > start {
            return Some(word);
        }
        if class & NUMBER != 0 {
            return Some(word + 1);
        }
        let is_other = other(text, start, self.tail) > start;
        Some(word + if is_other { 2 } else { 3 + whitespace_alternative(text, start, end) })
    }
}

impl Words {
    #[inline]
    fn separate_contraction(&self, text: Classified<'_>, start: usize) -> usize {
        if text.byte(start) != Some(b'\'') {
            return start;
        }
        let long_s = "'ſ".as_bytes();
        match self.contractions {
            Contractions::None | Contractions::InWord => start,
            Contractions::SeparateWithLongS if text.bytes()[start..].starts_with(long_s) => start + long_s.len(),
            Contractions::Separate | Contractions::SeparateWithLongS => text.contraction(start, true),
        }
    }

    #[inline]
    fn word(&self, text: Classified<'_>, start: usize, class: u8, size: usize) -> usize {
        let place = if is_before_word(text, start, class) { start + size } else { start };
        let mut end = self.run(text, place);
        if end == place {
            end = self.run(text, start);
            if end == start {
                return start;
            }
        }
        if self.contractions == Contractions::InWord { text.contraction(end, true) } else { end }
    }

    #[inline]
    fn run(&self, text: Classified<'_>, place: usize) -> usize {
        match self.letters {
            Letters::Plain => text.letters(place, LETTER),
            Letters::Marked => text.letters(place, LETTER | MARK),
            Letters::Joined => {
                text.run(place, |character, class| class & (LETTER | MARK) != 0 || matches!(character, 0x200C | 0x200D))
            }
            Letters::WithoutHan => text.run(place, |_, class| class & (LETTER | HAN) == LETTER),
            Letters::Spaced => spaced_letters(text, place),
        }
    }
}

/// Return whether a word can include the character before it: `[^\r\n\p{L}\p{N}]`.
#[inline]
pub(super) fn is_before_word(text: Classified<'_>, place: usize, class: u8) -> bool {
    class & (LETTER | NUMBER) == 0 && !matches!(text.byte(place), Some(b'\r' | b'\n'))
}

fn spaced_letters(text: Classified<'_>, start: usize) -> usize {
    let mut end = text.run_of(start, LETTER);
    while end > start {
        let after_marks = text.run_of(end, LETTER | MARK);
        end = after_marks;
        if text.byte(after_marks) != Some(b' ') {
            break;
        }
        let (class, size) = text.class(after_marks + 1);
        if class & LETTER == 0 {
            break;
        }
        end += 1 + size;
    }
    end
}

/// Return the end of a run of other characters, which a space can precede; `start` if there is none.
#[inline]
pub(super) fn other(text: Classified<'_>, start: usize, tail: Tail) -> usize {
    let excluded = if tail == Tail::LineEndsWithoutMarks { NOT_OTHER | MARK } else { NOT_OTHER };
    let place = start + usize::from(text.byte(start) == Some(b' '));
    let mut end = text.run_without(place, excluded);
    if end == place {
        return start;
    }
    let is_line_end = |byte: u8| matches!(byte, b'\r' | b'\n');
    let mut extend = |accepts: fn(u8) -> bool, limit: usize| {
        let from = end;
        while end - from < limit && text.byte(end).is_some_and(accepts) {
            end += 1;
        }
    };
    match tail {
        Tail::LineEnds | Tail::LineEndsWithoutMarks => extend(is_line_end, usize::MAX),
        Tail::LineEndsAndSlashes => extend(|byte| matches!(byte, b'\r' | b'\n' | b'/'), usize::MAX),
        Tail::OneLineEnd => extend(|byte| matches!(byte, b'\r' | b'\n' | b'/'), 1),
        Tail::None => {}
    }
    end
}

/// Return the end of whitespace: `\s*[\r\n]+|\s+(?!\S)|\s+`.
#[inline]
pub(super) fn whitespace(text: Classified<'_>, start: usize) -> usize {
    let end = text.line_ends(start);
    if end > start { end } else { text.spaces(start) }
}

/// Return which alternative of `\s*[\r\n]+|\s+(?!\S)|\s+` matches whitespace.
pub(super) fn whitespace_alternative(text: Classified<'_>, start: usize, end: usize) -> usize {
    if text.line_ends(start) > start { 0 } else { 1 + usize::from(text.is_before_word(end)) }
}

/// Return whether there is whitespace at `place`.
#[inline]
pub(super) fn is_space(text: Classified<'_>, place: usize) -> bool {
    text.class(place).0 & SPACE != 0
}

//! Find the end of each pre-token, one file per class of patterns.
//!
//! A scanner does what one of the regular expressions in `tokverify/engine/pre_pattern.py` does, which a comment quotes.
//! It splits a text into matches and the text between them.

pub mod cased_words;
pub mod classified;
pub mod deepseek;
pub mod digits;
pub mod gpt2;
pub mod gpt2_block;
pub mod jais2;
pub mod lines;
pub mod literals;
pub mod runs;
pub mod words;

use classified::Classified;

/// Splits a text into consecutive parts that cover it.
pub trait Scanner {
    /// Return the end of the part that starts at `start`, which is inside the text; always greater than `start`.
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize;

    /// Write the ends of the parts from `start` on to `ends`, as many as fit; return their number.
    #[inline(always)]
    fn part_ends(&self, text: Classified<'_>, mut start: usize, ends: &mut [usize]) -> usize {
        let mut count = 0;
        for end in ends {
            if start >= text.len() {
                break;
            }
            start = self.part_end(text, start);
            *end = start;
            count += 1;
        }
        count
    }

    /// Return which alternative of the pattern matches the part from `start` to `end`; None if it is between matches.
    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize>;
}

/// Does not split a text.
#[derive(Debug, Clone, Copy)]
pub struct Whole;

impl Scanner for Whole {
    fn part_end(&self, text: Classified<'_>, _start: usize) -> usize {
        text.len()
    }

    fn alternative(&self, _text: Classified<'_>, _start: usize, _end: usize) -> Option<usize> {
        None
    }
}

/// Matches some parts of a text; the text between two matches is a part, too.
pub trait Matcher {
    /// Return the end of the match that starts at `start`, which is inside the text; `start` itself if none does.
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize;

    /// Return which alternative of the pattern matches at `start`, where one does.
    fn matching_alternative(&self, _text: Classified<'_>, _start: usize) -> usize {
        0
    }
}

/// Splits a text into the matches of a [`Matcher`] and the text between them.
#[derive(Debug, Clone, Copy)]
pub struct Between<M>(pub M);

impl<M: Matcher> Scanner for Between<M> {
    #[inline]
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let end = self.0.match_end(text, start);
        if end > start {
            return end;
        }
        let mut place = start;
        loop {
            place += text.class(place).1;
            if place >= text.len() || self.0.match_end(text, place) > place {
                return place;
            }
        }
    }
    fn alternative(&self, text: Classified<'_>, start: usize, _end: usize) -> Option<usize> {
        (self.0.match_end(text, start) > start).then(|| self.0.matching_alternative(text, start))
    }
}

//! The pattern of GPT-2.

use super::Scanner;
use super::classified::{Classified, NOT_OTHER};
use crate::character::{LETTER, NUMBER, SPACE};

/// `'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
#[derive(Debug, Clone, Copy)]
pub struct Gpt2;

impl Scanner for Gpt2 {
    #[inline(always)]
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let first = text.bytes()[start];
        let place = start + usize::from(first == b' ');
        let end = text.letters(place, LETTER);
        if end > place {
            return end;
        }
        let (class, size) = text.class(place);
        if class & NUMBER != 0 {
            return text.run_of(place + size, NUMBER);
        }
        if class & SPACE != 0 || size == 0 {
            return text.spaces(start);
        }
        let end = text.contraction(start, false);
        if end > start { end } else { text.run_without(place + size, NOT_OTHER) }
    }
}

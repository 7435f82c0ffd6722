//! The pattern of Jais 2.

use super::Scanner;
use super::classified::{Classified, NOT_OTHER};
use super::words::{Contractions, Letters, Tail, Words, is_space};
use crate::character::LETTER;

/// The pattern of Llama 3, with long runs of spaces in parts of 512, 256, ..., 4, 2 or 1 characters.
#[derive(Debug, Clone, Copy)]
pub struct Jais2;

const WORDS: Words =
    Words { contractions: Contractions::Separate, letters: Letters::Plain, digits: 3, tail: Tail::LineEnds };
const LENGTHS: [usize; 10] = [512, 256, 128, 64, 32, 16, 8, 4, 2, 1];

impl Scanner for Jais2 {
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        if !starts_spaces(text, start) {
            return WORDS.part_end(text, start);
        }
        // `(?<![^\S\r\n])\s*[\r\n]+`: the look-behind keeps the search for a line end from being repeated.
        if !follows_plain_space(text, start) {
            let end = text.line_ends(start);
            if end > start {
                return end;
            }
        }
        spaces_part(text, start)
    }

    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize> {
        /// The alternatives for words and line ends.
        const OTHERS: usize = 5;
        if !starts_spaces(text, start) {
            return WORDS.alternative(text, start, end);
        }
        if !follows_plain_space(text, start) && text.line_ends(start) > start {
            return Some(OTHERS - 1);
        }
        let count = text.bytes()[start..end].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let lengths = LENGTHS.len() - 1; // 2 and 1 are the same alternative
        let index = LENGTHS.iter().position(|&length| length == count)?;
        Some(OTHERS + if count == 1 && text.is_before_word(end) { lengths } else { index.min(lengths - 1) })
    }
}

/// Return whether there is whitespace at `start` that does not begin a word.
fn starts_spaces(text: Classified<'_>, start: usize) -> bool {
    let (class, size) = text.class(start);
    let after = start + size;
    let begins_word =
        class & LETTER == 0 && !matches!(text.byte(start), Some(b'\r' | b'\n')) && text.class(after).0 & LETTER != 0;
    let begins_other = text.byte(start) == Some(b' ') && after < text.len() && text.class(after).0 & NOT_OTHER == 0;
    is_space(text, start) && !begins_word && !begins_other
}

fn follows_plain_space(text: Classified<'_>, start: usize) -> bool {
    let is_plain_space = |place| is_space(text, place) && !matches!(text.byte(place), Some(b'\r' | b'\n'));
    text.before(start).is_some_and(is_plain_space)
}

/// Return the end of `\s{512}(?!\S)|\s{256}(?!\S)|...|\s{1,2}(?!\S)|\s`.
fn spaces_part(text: Classified<'_>, start: usize) -> usize {
    let mut ends = vec![start];
    while ends.len() <= LENGTHS[0] + 1 && is_space(text, ends[ends.len() - 1]) {
        let place = ends[ends.len() - 1];
        ends.push(place + text.class(place).1);
    }
    let count = ends.len() - 1;
    let is_at_end = ends[count] == text.len();
    let fits = |length: &&usize| count > **length || (count == **length && is_at_end);
    LENGTHS.iter().find(fits).map_or(ends[1], |&length| ends[length])
}

//! The pattern of GPT-2.

use super::Scanner;
use super::classified::{Classified, NOT_OTHER};
use super::gpt2_block::starts_in_block;
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

    #[inline]
    fn part_ends(&self, text: Classified<'_>, mut start: usize, ends: &mut [usize]) -> usize {
        let mut count = 0;
        while count < ends.len() && start < text.len() {
            let block = start;
            let mut starts = starts_in_block(text.bytes(), block);
            if starts == 0 {
                start = self.part_end(text, start);
                ends[count] = start;
                count += 1;
            }
            for end in &mut ends[count..] {
                if starts == 0 {
                    break;
                }
                start = block + starts.trailing_zeros() as usize;
                starts &= starts - 1;
                *end = start;
                count += 1;
            }
        }
        count
    }

    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize> {
        let place = start + usize::from(text.byte(start) == Some(b' '));
        let (class, _) = if place < end { text.class(place) } else { (SPACE, 0) };
        Some(match class {
            class if class & LETTER != 0 => 1,
            class if class & NUMBER != 0 => 2,
            class if class & SPACE != 0 => 4 + usize::from(text.is_before_word(end)),
            _ if text.contraction(start, false) > start => 0,
            _ => 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of all parts, found one by one.
    fn ends_one_by_one(text: Classified<'_>) -> Vec<usize> {
        let mut ends = vec![0];
        while ends[ends.len() - 1] < text.len() {
            ends.push(Gpt2.part_end(text, ends[ends.len() - 1]));
        }
        ends.split_off(1)
    }

    /// The ends of all parts, found in groups.
    fn ends_in_groups(text: Classified<'_>) -> Vec<usize> {
        let mut group = [0; 50];
        let mut ends = vec![0];
        while ends[ends.len() - 1] < text.len() {
            let count = Gpt2.part_ends(text, ends[ends.len() - 1], &mut group);
            ends.extend(&group[..count]);
        }
        ends.split_off(1)
    }

    #[test]
    fn blocks_are_split_like_single_parts() {
        let words = ["a", "word", "Z", "5", "1066", " ", " ", ".", "...", "_", "(", "The"];
        let spaces = ["a", "5", "-", " ", " ", "  ", "\n", "\t", "\r\n", "\x0b", "\x1c", "\x1f", "\x7f", "\0"];
        let quotes = ["a", "1", " ", "'", "'s", "'re", "'ll", "'l", "'D", "'t", "''", "s"];
        let others = [
            "a", "word", "5", "the", ". ", " ", "é", "’", "\u{a0}", "\u{3000}", "你", "½", "😀", "'ve", "“", "”", "—",
            "\u{2027}", "\u{2028}", "\u{200f}",
        ];
        let mut state = 1_u32;
        for parts in [&words[..], &spaces, &quotes, &others] {
            for length in 0..6000 {
                let mut next = || {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    parts[(state >> 16) as usize % parts.len()]
                };
                let text: String = (0..length % 120).map(|_| next()).collect();
                let text = Classified::new(text.as_bytes());
                assert_eq!(ends_in_groups(text), ends_one_by_one(text), "{:?}", std::str::from_utf8(text.bytes()));
            }
        }
    }
}

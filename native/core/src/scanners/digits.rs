//! Split numbers off, or into groups.

use super::classified::Classified;
use super::{Matcher, Scanner};
use crate::character::NUMBER;

/// `\p{N}{1,N}`
#[derive(Debug, Clone, Copy)]
pub struct Numbers(pub usize);

impl Matcher for Numbers {
    #[inline]
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        text.numbers(start, self.0)
    }
}

/// `[0-9][0-9][0-9]`
#[derive(Debug, Clone, Copy)]
pub struct ThreeAsciiDigits;

impl Matcher for ThreeAsciiDigits {
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        match text.bytes().get(start..start + 3) {
            Some(digits) if digits.iter().all(u8::is_ascii_digit) => start + 3,
            _ => start,
        }
    }
}

/// `(?=(?:[0-9]{3})+(?![0-9]))`: a part ends before a multiple of three ASCII digits.
#[derive(Debug, Clone, Copy)]
pub struct AsciiThousands;

impl Scanner for AsciiThousands {
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let bytes = text.bytes();
        let count_digits = |place: usize| bytes[place..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_digit = |place: usize| bytes[place].is_ascii_digit();
        let mut place = start;
        // The parts of a number after the first are groups; counting its digits again would take quadratic time.
        if place > 0 && is_digit(place - 1) && is_digit(place) {
            place += 3;
            if place < bytes.len() && is_digit(place) {
                return place;
            }
        } else if is_digit(place) {
            let digits = count_digits(place);
            let first_group = (digits - 1) % 3 + 1;
            if first_group < digits {
                return place + first_group;
            }
            place += digits;
        }
        while place < bytes.len() {
            if is_digit(place) {
                let digits = count_digits(place);
                if digits >= 3 {
                    return place + digits % 3;
                }
                place += digits;
            } else {
                place += 1;
            }
        }
        place
    }

    fn alternative(&self, _text: Classified<'_>, _start: usize, _end: usize) -> Option<usize> {
        None // it only looks ahead
    }
}

/// Numbers in groups of three digits, counted from the right (`unicode_regex_split_custom_afmoe`).
///
/// subtle: text before a number stays with its first group.
#[derive(Debug, Clone, Copy)]
pub struct DigitGroups;

impl Scanner for DigitGroups {
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        if is_inside_number(text, start) {
            return text.numbers(start, 3);
        }
        let number = text.run_without(start, NUMBER);
        let mut count = 0;
        let mut place = number;
        while text.numbers(place, 1) > place {
            place = text.numbers(place, 1);
            count += 1;
        }
        if count == 0 { number } else { text.numbers(number, (count - 1) % 3 + 1) }
    }

    /// A text that is not split counts as not matched.
    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize> {
        (start > 0 || end < text.len()).then_some(0)
    }
}

/// Return whether `start` is between two numbers, and therefore between two groups.
fn is_inside_number(text: Classified<'_>, start: usize) -> bool {
    let is_number = |place: usize| text.class(place).0 & NUMBER != 0;
    is_number(start) && text.before(start).is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(scanner: &impl Scanner, text: &'a str) -> Vec<&'a str> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = scanner.part_end(Classified::new(text.as_bytes()), start);
            parts.push(&text[start..end]);
            start = end;
        }
        parts
    }

    #[test]
    fn groups_are_counted_from_the_right() {
        assert_eq!(split(&DigitGroups, "a12345 1"), ["a12", "345", " 1"]);
        assert_eq!(split(&AsciiThousands, "1234567a123456b12"), ["1", "234", "567a", "123", "456b12"]);
    }
}

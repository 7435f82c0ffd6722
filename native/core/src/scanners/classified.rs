//! A text together with the classes of its characters, and the steps that scanners share.

use crate::ascii::{count_spaces, mark_other_than_letters};
use crate::character::{self, Classes, LETTER, NUMBER, SPACE};

/// A text, in UTF-8, whose characters can be classified.
#[derive(Debug, Clone, Copy)]
pub struct Classified<'a> {
    bytes: &'a [u8],
    classes: &'static Classes,
}

impl<'a> Classified<'a> {
    /// Classify the characters of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, classes: character::classes() }
    }

    /// Return the text up to `end`.
    #[must_use]
    #[inline]
    pub fn until(self, end: usize) -> Self {
        Self { bytes: &self.bytes[..end], ..self }
    }

    /// Return the bytes of the text.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Return the length in bytes.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        self.bytes.len()
    }

    /// Return whether the text is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Return the byte at `place`; None at the end.
    #[must_use]
    #[inline]
    pub fn byte(self, place: usize) -> Option<u8> {
        self.bytes.get(place).copied()
    }

    /// Return where the character before `place` starts; None at the start of the text.
    #[must_use]
    pub fn before(self, place: usize) -> Option<usize> {
        let is_boundary = |&place: &usize| self.bytes[place] & 0xC0 != 0x80;
        (0..place).rev().find(is_boundary)
    }

    /// Return the classes and the size of the character at `place`; none and zero at the end.
    #[must_use]
    #[inline]
    pub fn class(self, place: usize) -> (u8, usize) {
        match self.bytes.get(place) {
            Some(&byte) if byte < 0x80 => (self.classes[usize::from(byte)], 1),
            Some(_) => self.wide_class(place),
            None => (0, 0),
        }
    }

    #[inline(never)]
    fn wide_class(self, place: usize) -> (u8, usize) {
        let (_, class, size) = character::classify(self.classes, self.bytes, place);
        (class, size)
    }

    /// Return the character at `place`, its classes and its size; a character outside Unicode and zeros at the end.
    #[must_use]
    #[inline]
    pub fn character(self, place: usize) -> (u32, u8, usize) {
        if place < self.len() { character::classify(self.classes, self.bytes, place) } else { (u32::MAX, 0, 0) }
    }

    /// Return the end of the characters from `place` on for which `accepts` is true.
    #[inline]
    pub fn run(self, place: usize, accepts: impl Fn(u32, u8) -> bool) -> usize {
        let mut end = place;
        while end < self.len() {
            let (character, class, size) = character::classify(self.classes, self.bytes, end);
            if !accepts(character, class) {
                break;
            }
            end += size;
        }
        end
    }

    /// Return the end of the characters from `place` on that have one of the classes in `mask`.
    #[must_use]
    #[inline]
    pub fn run_of(self, place: usize, mask: u8) -> usize {
        self.run(place, |_, class| class & mask != 0)
    }

    /// Return the end of the characters from `place` on that have none of the classes in `mask`.
    #[must_use]
    #[inline]
    pub fn run_without(self, place: usize, mask: u8) -> usize {
        self.run(place, |_, class| class & mask == 0)
    }

    /// Return the end of the characters from `place` on that have one of the classes in `mask`, which has `LETTER`.
    #[must_use]
    #[inline]
    pub fn letters(self, place: usize, mask: u8) -> usize {
        let mut end = place;
        while let Some(bytes) = self.eight_bytes(end) {
            let others = mark_other_than_letters(bytes);
            if others == 0 {
                end += 8;
                continue;
            }
            end += others.trailing_zeros() as usize / 8;
            // The lowest mark is the first byte that is no ASCII letter.
            if bytes & others & others.wrapping_neg() == 0 {
                return end;
            }
            break;
        }
        self.wide_letters(end, mask)
    }

    #[inline(never)]
    fn wide_letters(self, place: usize, mask: u8) -> usize {
        self.run_of(place, mask)
    }

    #[inline]
    fn eight_bytes(self, place: usize) -> Option<u64> {
        let bytes = self.bytes.get(place..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Return the end of the run of up to `limit` numbers from `place` on.
    #[must_use]
    #[inline]
    pub fn numbers(self, place: usize, limit: usize) -> usize {
        let mut end = place;
        for _ in 0..limit {
            let (class, size) = self.class(end);
            if class & NUMBER == 0 {
                break;
            }
            end += size;
        }
        end
    }

    /// Return the end of the match of `\s+(?!\S)|\s+` at `place`, where there is whitespace.
    #[must_use]
    #[inline]
    pub fn spaces(self, place: usize) -> usize {
        let mut end = place;
        let mut last = place;
        loop {
            while let Some(bytes) = self.eight_bytes(end) {
                let count = count_spaces(bytes);
                if count == 0 {
                    break;
                }
                end += count;
                last = end - 1;
            }
            let (class, size) = self.class(end);
            if class & SPACE == 0 {
                break;
            }
            last = end;
            end += size;
        }
        // Of several, the last one before other characters belongs to what follows.
        if end == self.len() || last == place { end } else { last }
    }

    /// Return whether anything other than whitespace follows at `place`: `(?=\S)`.
    #[must_use]
    pub fn is_before_word(self, place: usize) -> bool {
        place < self.len() && self.class(place).0 & SPACE == 0
    }

    /// Return the end of the match of `\s*[\r\n]+` at `place`; `place` if there is none.
    #[must_use]
    #[inline]
    pub fn line_ends(self, place: usize) -> usize {
        let mut end = place;
        let mut found = place;
        loop {
            let (class, size) = self.class(end);
            if class & SPACE == 0 {
                return found;
            }
            end += size;
            if matches!(self.bytes[end - size], b'\r' | b'\n') {
                found = end;
            }
        }
    }

    /// Return the end of the match of `'(?:[stmd]|re|ve|ll)` at `place`; `place` if there is none.
    #[must_use]
    #[inline]
    pub fn contraction(self, place: usize, any_case: bool) -> usize {
        if self.byte(place) != Some(b'\'') {
            return place;
        }
        let fold = if any_case { 0x20 } else { 0 };
        let letter = |index| self.byte(place + index).map_or(0, |byte| if byte < 0x80 { byte | fold } else { 0 });
        match (letter(1), letter(2)) {
            (b's' | b't' | b'm' | b'd', _) => place + 2,
            (b'r' | b'v', b'e') | (b'l', b'l') => place + 3,
            _ => place,
        }
    }
}

/// Neither whitespace nor letters nor numbers.
pub const NOT_OTHER: u8 = SPACE | LETTER | NUMBER;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_spaces_is_left_to_the_next_word() {
        assert_eq!(Classified::new(b"  a").spaces(0), 1);
        assert_eq!(Classified::new(b" a").spaces(0), 1);
        assert_eq!(Classified::new(b"   ").spaces(0), 3);
        assert_eq!(Classified::new("\u{3000} a".as_bytes()).spaces(0), 3);
    }

    #[test]
    fn line_ends_include_the_spaces_before_them() {
        assert_eq!(Classified::new(b" \n \r\n  a").line_ends(0), 5);
        assert_eq!(Classified::new(b"  a\n").line_ends(0), 0);
    }
}

//! Find hard boundaries: places between two characters that no piece crosses, so that splitting a text there does not
//! change its ids.
//!
//! The first merge, or the edge of a lattice, that crosses the boundary between two characters forms a piece in which
//! the first is followed by the second. If no piece contains the two in this order, nothing can cross. To be small and
//! quick to build, the table of pairs is a bitmap indexed by a hash: a collision only makes a chunk longer.

use crate::ascii::{BLOCK, count_letters, load};
use crate::hash::fold;
use crate::utf8::step;
use crate::vocabulary::Strings;

/// No payload.
pub const NONE: u32 = (1 << 29) - 1;
/// The character is followed by another one in some piece.
const CONTINUED: u32 = 1 << 31;
/// The character follows another one in some piece.
const CONTINUING: u32 = 1 << 30;
/// Whatever is next to the character, a piece may contain both.
const JOINED: u32 = 1 << 29;
/// The number of characters with an entry of their own; others are rare.
const TABLE: usize = 0x10000;
const ASCII: usize = 0x80;
/// Up to this length, a chunk is not split between two ASCII letters: most of these pairs occur in pieces.
const WORD: usize = 32;

/// What is known about a character: whether pieces connect it to others, and a number of the model's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character(u32);

impl Character {
    /// Return the number given to [`Boundaries::set_payload`], or `NONE`.
    #[must_use]
    #[inline]
    pub fn payload(self) -> u32 {
        self.0 & NONE
    }
}

/// The pairs of characters that occur in pieces.
#[derive(Debug)]
pub struct Boundaries {
    characters: Box<[Character]>,
    /// Whether a piece contains a pair of ASCII characters: the right ones by the left one.
    ascii: Box<[[bool; ASCII]; ASCII]>,
    /// A bit for each hash of a pair.
    pairs: Box<[u64]>,
    /// What is known about characters without an entry of their own.
    unlisted: Character,
}

impl Boundaries {
    /// Collect the pairs of `pieces`.
    pub fn new<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let bytes: usize = pieces.clone().map(<[u8]>::len).sum();
        let mut boundaries = Self::empty(bytes);
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            boundaries.add(piece);
        }
        boundaries
    }

    /// Collect the pairs of pieces. The payload of each character that is a piece is its index.
    #[must_use]
    pub fn with_characters(pieces: &Strings) -> Self {
        let mut boundaries = Self::new(pieces.iter());
        for (id, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.len() <= 3) {
            if let Some(character) = single_character(piece) {
                boundaries.set_payload(character, id as u32);
            }
        }
        boundaries
    }

    /// Use the pairs given; `count` is about their number.
    pub fn from_pairs(pairs: impl Iterator<Item = (u32, u32)>, count: usize) -> Self {
        let mut boundaries = Self::empty(count * 8);
        pairs.for_each(|(left, right)| boundaries.add_pair(left, right));
        boundaries
    }

    /// Return boundaries without pairs, with room for a number of pairs.
    fn empty(room: usize) -> Self {
        Self {
            characters: vec![Character(NONE); TABLE].into(),
            ascii: Box::new([[false; ASCII]; ASCII]),
            pairs: vec![0; room.next_power_of_two().clamp(1 << 12, 1 << 22) / 64].into(),
            unlisted: Character(CONTINUED | CONTINUING | NONE),
        }
    }

    /// Assume that pieces connect a character to any other one.
    pub fn join(&mut self, character: u32) {
        if let Some(known) = self.characters.get_mut(character as usize) {
            known.0 |= JOINED;
        }
    }

    /// Assume that pieces connect each character above U+FFFF to any other one.
    pub fn join_unlisted(&mut self) {
        self.unlisted.0 |= JOINED;
    }

    fn add(&mut self, piece: &[u8]) {
        let step = |place: usize| {
            let bytes = std::array::from_fn::<_, 4, _>(|index| piece.get(place + index).copied().unwrap_or_default());
            step(&bytes, 0)
        };
        let (mut left, mut place) = step(0);
        while place < piece.len() {
            let (right, size) = step(place);
            self.add_pair(left, right);
            left = right;
            place += size;
        }
    }

    /// Add a pair of characters that a piece connects.
    pub fn add_pair(&mut self, left: u32, right: u32) {
        if (left | right) < ASCII as u32 {
            self.ascii[left as usize][right as usize] = true;
        }
        if let Some(character) = self.characters.get_mut(left as usize) {
            character.0 |= CONTINUED;
        }
        if let Some(character) = self.characters.get_mut(right as usize) {
            character.0 |= CONTINUING;
        }
        let bit = self.bit(left, right);
        self.pairs[bit >> 6] |= 1 << (bit & 63);
    }

    #[inline]
    fn bit(&self, left: u32, right: u32) -> usize {
        fold(u64::from(left) << 32 | u64::from(right), 0) as usize & (self.pairs.len() * 64 - 1)
    }

    /// Attach a number below `NONE` to a character; ignored for characters above U+FFFF.
    ///
    /// Bytes that are no character can have the number of one.
    pub fn set_payload(&mut self, character: u32, payload: u32) {
        if let Some(known) = self.characters.get_mut(character as usize) {
            known.0 = known.0 & !NONE | payload;
        }
    }

    /// Return what is known about a character.
    #[must_use]
    #[inline]
    pub fn character(&self, character: u32) -> Character {
        self.characters.get(character as usize).copied().unwrap_or(self.unlisted)
    }

    /// Call `visit` with the start and the end of each chunk of a text, and with its character if it is only one.
    ///
    /// Characters above U+FFFF are left out.
    ///
    /// The text is from `start` to `end` in `padded`. It need not be UTF-8: what llama.cpp steps over counts as a
    /// character.
    ///
    /// # Errors
    /// The first error of `visit`.
    #[inline]
    pub fn for_each_chunk<Error>(
        &self,
        padded: &[u8],
        range: (usize, usize),
        visit: impl FnMut(usize, usize, Option<Character>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.for_each_chunk_where(padded, range, |_, _| true, visit)
    }

    /// Call `visit` as `for_each_chunk` does, but also split between two bytes for which `may_join` is false.
    ///
    /// # Errors
    /// The first error of `visit`.
    #[inline]
    pub fn for_each_chunk_where<Error>(
        &self,
        padded: &[u8],
        (mut start, end): (usize, usize),
        may_join: impl Fn(u8, u8) -> bool,
        mut visit: impl FnMut(usize, usize, Option<Character>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if start >= end {
            return Ok(());
        }
        let (mut left, size) = step(padded, start);
        let mut place = start + size;
        let mut is_single = true;
        let single = |is_single, left| (is_single && (left as usize) < TABLE).then(|| self.character(left));
        while place < end {
            if is_letter(left) && place - start < WORD {
                let letters = count_letters(load(padded, place)).min(end - place);
                if letters > 0 {
                    place += letters;
                    left = u32::from(padded[place - 1]);
                    is_single = false;
                    if letters == BLOCK || place == end {
                        continue;
                    }
                }
            }
            let (right, size) = step(padded, place);
            if may_join(padded[place - 1], padded[place]) && self.is_crossed(left, right) {
                is_single = false;
            } else {
                visit(start, place, single(is_single, left))?;
                start = place;
                is_single = true;
            }
            left = right;
            place += size;
        }
        visit(start, end, single(is_single, left))
    }

    /// Return whether a piece may cross the boundary between two characters.
    #[inline]
    fn is_crossed(&self, left: u32, right: u32) -> bool {
        if (left | right) < ASCII as u32 {
            return self.ascii[left as usize][right as usize];
        }
        let (before, after) = (self.character(left), self.character(right));
        if (before.0 | after.0) & JOINED != 0 {
            return true;
        }
        if before.0 & CONTINUED == 0 || after.0 & CONTINUING == 0 {
            return false;
        }
        let bit = self.bit(left, right);
        self.pairs[bit >> 6] >> (bit & 63) & 1 != 0
    }
}

#[inline]
fn is_letter(character: u32) -> bool {
    (character | 0x20).wrapping_sub(u32::from(b'a')) < 26
}

fn single_character(piece: &[u8]) -> Option<u32> {
    let mut characters = std::str::from_utf8(piece).ok()?.chars();
    let character = characters.next()?;
    characters.next().is_none().then_some(u32::from(character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk_cache::PADDING;

    fn chunks<'a>(pieces: &[&str], text: &'a str) -> Vec<&'a str> {
        let boundaries = Boundaries::new(pieces.iter().map(|piece| piece.as_bytes()));
        let mut chunks = Vec::new();
        let padded = [text.as_bytes(), &[0; PADDING]].concat();
        let visit = |start: usize, end: usize, single: Option<Character>| {
            chunks.push(&text[start..end]);
            let is_listed = |character: char| u32::from(character) < TABLE as u32;
            assert_eq!(
                single.is_some(),
                text[start..end].chars().count() == 1 && text[start..end].chars().all(is_listed)
            );
            Ok::<(), ()>(())
        };
        boundaries.for_each_chunk(&padded, (0, text.len()), visit).expect("no error");
        chunks
    }

    #[test]
    fn a_text_is_split_between_characters_that_no_piece_joins() {
        assert_eq!(chunks(&["12", "23", "é你"], "12313é你你é"), ["123", "1", "3", "é你", "你", "é"]);
        assert_eq!(chunks(&["2é", "é2"], "12é21"), ["1", "2é2", "1"]);
        assert_eq!(chunks(&[], "a😀"), ["a", "😀"]);
    }

    #[test]
    fn only_long_runs_of_letters_are_split() {
        assert_eq!(chunks(&["ab", "c-", "-d"], "xyabc-dx.y"), ["xyabc-dx", ".", "y"]);
        assert_eq!(chunks(&[" a"], "abcdefghijkl a b"), ["abcdefghijkl", " a", " ", "b"]);
        let letters = "ab".repeat(WORD);
        assert_eq!(chunks(&["ab"], &letters), [&letters[..WORD + 2], &letters[WORD + 2..]]);
    }

    #[test]
    fn single_characters_have_their_payload() {
        let mut boundaries = Boundaries::new(std::iter::once(b"ab".as_slice()));
        boundaries.set_payload(u32::from(b'a'), 7);
        assert_eq!(boundaries.character(u32::from(b'a')).payload(), 7);
        assert_eq!(boundaries.character(u32::from(b'b')).payload(), NONE);
    }
}

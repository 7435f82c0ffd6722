//! Find hard boundaries: places between two characters that no piece crosses, so that splitting a text there does not
//! change its ids.
//!
//! The first merge, or the edge of a lattice, that crosses the boundary between two characters forms a piece in which
//! the first is followed by the second. If no piece contains the two in this order, nothing can cross. To be small and
//! quick to build, the table of pairs is a bitmap indexed by a hash: a collision only makes a chunk longer.

use crate::hash::fold;
use crate::utf8::character_size;

/// No payload.
pub const NONE: u32 = (1 << 30) - 1;
/// The character is followed by another one in some piece.
const CONTINUED: u32 = 1 << 31;
/// The character follows another one in some piece.
const CONTINUING: u32 = 1 << 30;
/// The number of characters with an entry of their own; others are rare.
const TABLE: usize = 0x10000;
const ASCII: usize = 0x80;

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
    /// A bit for each pair of ASCII characters: the right ones by the left one.
    ascii: Box<[[u64; 2]; ASCII]>,
    /// A bit for each hash of a pair.
    pairs: Box<[u64]>,
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
            ascii: Box::new([[0; 2]; ASCII]),
            pairs: vec![0; room.next_power_of_two().clamp(1 << 12, 1 << 22) / 64].into(),
        }
    }

    fn add(&mut self, piece: &[u8]) {
        let byte = |index: usize| piece.get(index).copied().unwrap_or_default();
        let (mut left, mut place) = step(byte, 0);
        while place < piece.len() {
            let (right, end) = step(byte, place);
            self.add_pair(left, right);
            (left, place) = (right, end);
        }
    }

    fn add_pair(&mut self, left: u32, right: u32) {
        if (left | right) < ASCII as u32 {
            self.ascii[left as usize][right as usize >> 6] |= 1 << (right & 63);
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
        self.characters.get(character as usize).copied().unwrap_or(Character(CONTINUED | CONTINUING | NONE))
    }

    /// Return whether a piece may cross the boundary between two ASCII characters.
    #[must_use]
    #[inline]
    pub fn is_crossed_ascii(&self, left: u8, right: u8) -> bool {
        self.ascii[usize::from(left & 0x7F)][usize::from(right >> 6 & 1)] >> (right & 63) & 1 != 0
    }

    /// Return whether a piece may cross the boundary between two characters, given with what is known about them.
    #[must_use]
    #[inline]
    pub fn is_crossed(&self, left: (u32, Character), right: (u32, Character)) -> bool {
        if left.1.0 & CONTINUED == 0 || right.1.0 & CONTINUING == 0 {
            return false;
        }
        let bit = self.bit(left.0, right.0);
        self.pairs[bit >> 6] >> (bit & 63) & 1 != 0
    }

    /// Call `visit` with the start and the end of each chunk of a text, and with its character if it is only one.
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
        (mut start, end): (usize, usize),
        mut visit: impl FnMut(usize, usize, Option<Character>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while start < end {
            let (chunk_end, single) = self.chunk(padded, start, end);
            // The last step can be incomplete.
            let chunk_end = chunk_end.min(end);
            visit(start, chunk_end, single)?;
            start = chunk_end;
        }
        Ok(())
    }

    /// Return the end of the chunk at `start`, and its character if there is only one.
    #[inline]
    fn chunk(&self, padded: &[u8], start: usize, length: usize) -> (usize, Option<Character>) {
        let mut left = padded[start];
        if left >= ASCII as u8 {
            return self.mixed_chunk(padded, start, start, length);
        }
        let mut end = start + 1;
        while end < length {
            let right = padded[end];
            if right >= ASCII as u8 {
                return self.mixed_chunk(padded, start, end - 1, length);
            }
            if !self.is_crossed_ascii(left, right) {
                break;
            }
            left = right;
            end += 1;
        }
        (end, (end - start == 1).then(|| self.character(u32::from(left))))
    }

    /// Return what `chunk` does, if there is no boundary before the character at `last`.
    #[inline]
    fn mixed_chunk(&self, padded: &[u8], start: usize, last: usize, length: usize) -> (usize, Option<Character>) {
        let (code_point, first_end) = step(|index| padded[index], last);
        let mut left = (code_point, self.character(code_point));
        let mut end = first_end;
        while end < length {
            let (code_point, next) = step(|index| padded[index], end);
            let right = (code_point, self.character(code_point));
            if !self.is_crossed(left, right) {
                break;
            }
            left = right;
            end = next;
        }
        (end, (start == last && end == first_end).then_some(left.1))
    }
}

/// Return a number for the bytes that llama.cpp steps over at `start`, the code point of a character; and their end.
#[inline]
fn step(byte: impl Fn(usize) -> u8, start: usize) -> (u32, usize) {
    let size = character_size(byte(start));
    let first = u32::from(byte(start));
    let tail = |index: usize| u32::from(byte(start + index)) & 0x3F;
    let code_point = match size {
        1 => first,
        2 => (first & 0x1F) << 6 | tail(1),
        3 => (first & 0x0F) << 12 | tail(1) << 6 | tail(2),
        _ => (first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3),
    };
    (code_point, start + size)
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
            assert_eq!(single.is_some(), text[start..end].chars().count() == 1);
            Ok::<(), ()>(())
        };
        boundaries.for_each_chunk(&padded, (0, text.len()), visit).expect("no error");
        chunks
    }

    #[test]
    fn a_text_is_split_between_characters_that_no_piece_joins() {
        assert_eq!(chunks(&["ab", "bc", "é你"], "abcacé你你é"), ["abc", "a", "c", "é你", "你", "é"]);
        assert_eq!(chunks(&["bé", "éb"], "abéba"), ["a", "béb", "a"]);
        assert_eq!(chunks(&[], "a😀"), ["a", "😀"]);
    }

    #[test]
    fn single_characters_have_their_payload() {
        let mut boundaries = Boundaries::new(std::iter::once(b"ab".as_slice()));
        boundaries.set_payload(u32::from(b'a'), 7);
        assert_eq!(boundaries.character(u32::from(b'a')).payload(), 7);
        assert_eq!(boundaries.character(u32::from(b'b')).payload(), NONE);
        assert!(boundaries.is_crossed_ascii(b'a', b'b'));
    }
}

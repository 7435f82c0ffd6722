//! Which bytes, and which characters, the merges of a byte-level vocabulary can join.
//!
//! The first merge that crosses the boundary between two characters joins a left part that ends there with a right part
//! that begins there. The left part can begin inside the character before the boundary, and the right part can end
//! inside the one after it, so that one merge can join many pairs of characters.

use crate::boundary::Boundaries;
use crate::byte_level;
use crate::utf8::character_size;
use crate::vocabulary::{Strings, parts};
use std::ops::Range;

/// For each byte, the bytes that merges can join it with, as bits.
pub type JoinedBytes = [[u64; 4]; 256];

/// The first character of two bytes, of three, and of four.
const FIRST: [u32; 3] = [0x80, 0x800, 0x1_0000];

/// Return the bytes that merges can join.
pub fn joined_bytes(merges: &Strings) -> Box<JoinedBytes> {
    let mut joined = Box::new([[0; 4]; 256]);
    for (left, right) in text_parts(merges) {
        if let (Some(left), Some(right)) = (bytes(left).next_back().flatten(), bytes(right).next().flatten()) {
            joined[usize::from(left)][usize::from(right >> 6)] |= 1 << (right & 63);
        }
    }
    joined
}

/// Add the pairs of characters that merges can join. Characters of four bytes are not distinguished.
pub fn add_joins(boundaries: &mut Boundaries, merges: &Strings) {
    boundaries.join_unlisted();
    for (left, right) in text_parts(merges) {
        let right = first_characters(right);
        match last_character(left) {
            Some(Last::Character(left)) => right.for_each(|right| boundaries.add_pair(left, right)),
            Some(Last::Ending(ending)) if right.len() == 1 => {
                ending.characters().for_each(|left| boundaries.add_pair(left, right.start));
            }
            Some(Last::Ending(ending)) if right.len() > 1 => {
                ending.characters().for_each(|left| boundaries.join(left));
            }
            _ => {}
        }
    }
}

fn text_parts(merges: &Strings) -> impl Iterator<Item = (&str, &str)> {
    let text = |part| std::str::from_utf8(part).ok();
    merges.iter().filter_map(parts).filter_map(move |(left, right)| Some((text(left)?, text(right)?)))
}

/// Iterate over the bytes that the characters of a part stand for; None for others than those of the GPT-2 alphabet.
fn bytes(part: &str) -> impl DoubleEndedIterator<Item = Option<u8>> {
    part.chars().map(|character| byte_level::byte(u32::from(character)))
}

/// What a left part ends with.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    Character(u32),
    /// Only the last bytes of a character.
    Ending(Ending),
}

/// The bits of the last one or two bytes of a character of up to three bytes.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    bits: u32,
    count: u32,
}

impl Ending {
    /// Iterate over the characters that end so.
    fn characters(&self) -> impl Iterator<Item = u32> {
        let step = 1 << (6 * self.count);
        let first = FIRST[self.count as usize - 1];
        let start = first & !(step - 1) | self.bits;
        (start..FIRST[2]).step_by(step as usize).filter(move |&character| character >= first)
    }
}

/// Return what a left part ends with; None if UTF-8 does not allow it before a character.
fn last_character(part: &str) -> Option<Last> {
    let (mut bits, mut count) = (0, 0);
    for byte in bytes(part).rev() {
        let byte = byte?;
        if !is_continuation(byte) {
            let is_complete = character_size(byte) == count as usize + 1;
            return is_complete.then(|| Last::Character(first_bits(byte) << (6 * count) | bits));
        }
        bits |= u32::from(byte & 0x3F) << (6 * count);
        count += 1;
        if count > 3 {
            return None;
        }
    }
    matches!(count, 1 | 2).then_some(Last::Ending(Ending { bits, count }))
}

/// Return the characters that a right part can begin with, of up to three bytes if it contains only some of them.
fn first_characters(part: &str) -> Range<u32> {
    let mut bytes = bytes(part);
    let Some(first) = bytes.next().flatten().filter(|&byte| !is_continuation(byte)) else { return 0..0 };
    let mut bits = first_bits(first);
    let mut missing = character_size(first) - 1;
    while missing > 0 {
        match bytes.next() {
            Some(Some(byte)) if is_continuation(byte) => bits = bits << 6 | u32::from(byte & 0x3F),
            Some(_) => return 0..0,
            None => break,
        }
        missing -= 1;
    }
    match missing {
        0 => bits..bits + 1,
        _ if character_size(first) > 3 => 0..0,
        _ => bits << (6 * missing)..(bits + 1) << (6 * missing),
    }
}

/// Return the bits that the first byte of a character contributes.
fn first_bits(byte: u8) -> u32 {
    let size = character_size(byte);
    u32::from(byte) & if size == 1 { 0x7F } else { 0x7F >> size }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(bytes: &[u8]) -> String {
        String::from_utf8(byte_level::spell(bytes)).expect("the alphabet is UTF-8")
    }

    #[test]
    fn a_left_part_ends_with_a_character_or_some_of_its_bytes() {
        let last = |bytes: &[u8]| last_character(&spell(bytes));
        assert_eq!(last(b" a"), Some(Last::Character(0x61)));
        assert_eq!(last("あ😀".as_bytes()), Some(Last::Character(0x1F600)));
        assert_eq!(last(b"\x81\x82"), Some(Last::Ending(Ending { bits: 0x42, count: 2 })));
        assert_eq!(last(b"a\xE3"), None, "no character ends here");
        assert_eq!(last(b"\xE3\x81"), None);
        assert_eq!(last(b"\x80\x80\x80"), None, "only a character of four bytes ends so");
    }

    #[test]
    fn an_ending_is_that_of_all_characters_with_these_bytes() {
        for (bits, count) in [(5, 1), (0x42, 2)] {
            let characters: Vec<_> = Ending { bits, count }.characters().collect();
            let size = |character| if character < FIRST[1] { 2 } else { 3 };
            let ends_so = |character: &u32| character % (1 << (6 * count)) == bits && size(*character) > count;
            assert_eq!(characters, (FIRST[0]..FIRST[2]).filter(ends_so).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_right_part_begins_with_one_character_or_with_many() {
        let first = |bytes: &[u8]| first_characters(&spell(bytes));
        assert_eq!(first(b"ab"), 0x61..0x62);
        assert_eq!(first("あ".as_bytes()), 0x3042..0x3043);
        assert_eq!(first(b"\xE3\x81"), 0x3040..0x3080);
        assert_eq!(first(b"\xC3"), 0xC0..0x100);
        assert!(first(b"\x81a").is_empty(), "inside a character");
        assert!(first(b"\xE3a").is_empty());
        assert!(first(b"\xF0\x9F").is_empty(), "such characters are joined anyway");
    }
}

//! The symbols that byte-pair encoding starts with, and the places in a word that no merge can cross.

use crate::boundary::{self, Boundaries, Character};
use crate::byte_level;
use crate::merge::Symbol;
use crate::models::merge_table::{MergeTable, parts};
use crate::utf8::{character_size, decode};
use crate::vocabulary::{Strings, Vocabulary};

/// The symbols that words are split into.
#[derive(Debug)]
pub enum Alphabet {
    /// One for each byte.
    Bytes(Bytes),
    /// One for each character.
    Characters(Characters),
}

/// One symbol for each byte, which stands for a character of the GPT-2 alphabet.
#[derive(Debug)]
pub struct Bytes {
    symbols: Box<[u32; 256]>,
    /// For each byte, the bytes that a merge can join it with, as bits.
    joined: Box<[[u64; 4]; 256]>,
}

/// One symbol for each character; the boundaries know the symbols of most.
#[derive(Debug)]
pub struct Characters(Boundaries);

impl Bytes {
    /// Number the alphabet, and find out which bytes merges can join.
    pub fn new(vocabulary: &Vocabulary, merges: &Strings, table: &mut MergeTable) -> Self {
        let symbols = std::array::from_fn(|byte| {
            table.intern(vocabulary, byte_level::character(u8::try_from(byte).expect("a byte")).as_bytes())
        });
        let mut joined = Box::new([[0; 4]; 256]);
        for (left, right) in joined_characters(merges) {
            if let (Some(left), Some(right)) = (byte_level::byte(left), byte_level::byte(right)) {
                joined[usize::from(left)][usize::from(right >> 6)] |= 1 << (right & 63);
            }
        }
        Self { symbols: Box::new(symbols), joined }
    }

    /// Return the end of the part that starts at `start`.
    #[inline]
    pub fn part_end(&self, text: &[u8], start: usize, end: usize) -> usize {
        let mut place = start + 1;
        while place < end {
            let (left, right) = (text[place - 1], text[place]);
            if self.joined[usize::from(left)][usize::from(right >> 6)] >> (right & 63) & 1 == 0 {
                break;
            }
            place += 1;
        }
        place
    }

    /// Split a part into symbols, whose places are relative to it.
    #[inline]
    pub fn split(&self, part: &[u8], symbols: &mut Vec<Symbol>) {
        symbols
            .extend(part.iter().zip(0..).map(|(&byte, start)| Symbol { id: self.symbols[usize::from(byte)], start }));
    }
}

impl Characters {
    /// Find out which characters merges can join, and the symbols of the characters.
    pub fn new(vocabulary: &Vocabulary, merges: &Strings) -> Self {
        let mut boundaries = Boundaries::from_pairs(joined_characters(merges), merges.len());
        for (piece, id) in vocabulary.pieces().iter().zip(0..) {
            if let Some(character) = single_character(piece) {
                boundaries.set_payload(character, id);
            }
        }
        Self(boundaries)
    }

    /// Call `visit` with the start and end of each part of a range of `padded`, and the piece of a single character.
    ///
    /// # Errors
    /// The first error of `visit`.
    #[inline]
    pub fn for_each_part<Error>(
        &self,
        padded: &[u8],
        range: (usize, usize),
        mut visit: impl FnMut(usize, usize, Option<u32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.0.for_each_chunk(padded, range, |start, end, single| {
            visit(start, end, single.map(Character::payload).filter(|&id| id != boundary::NONE))
        })
    }

    /// Split a part into symbols, whose places are relative to it.
    pub fn split(&self, part: &[u8], vocabulary: &Vocabulary, table: &MergeTable, symbols: &mut Vec<Symbol>) {
        let mut place = 0;
        while place < part.len() {
            let size = character_size(part[place]);
            let known = self.0.character(decode(&part[place..]).0).payload();
            let look_up = || table.symbol(vocabulary, &part[place..place + size]);
            let id = if known == boundary::NONE { look_up() } else { known };
            symbols.push(Symbol { id, start: u32::try_from(place).expect("texts are smaller than 4 GiB") });
            place += size;
        }
    }
}

/// Iterate over the last character of the left and the first of the right part of each merge.
fn joined_characters(merges: &Strings) -> impl Iterator<Item = (u32, u32)> {
    merges.iter().filter_map(parts).filter_map(|(left, right)| {
        let last = std::str::from_utf8(left).ok()?.chars().next_back()?;
        let first = std::str::from_utf8(right).ok()?.chars().next()?;
        Some((u32::from(last), u32::from(first)))
    })
}

fn single_character(piece: &[u8]) -> Option<u32> {
    if piece.len() > 4 {
        return None;
    }
    let mut characters = std::str::from_utf8(piece).ok()?.chars();
    let character = characters.next()?;
    characters.next().is_none().then_some(u32::from(character))
}

//! The symbols that byte-pair encoding starts with, and the places in a word that no merge can cross.

use crate::boundary::{self, Boundaries, Character};
use crate::byte_level;
use crate::models::byte_joins::{JoinedBytes, add_joins, joined_bytes};
use crate::models::merge::Symbol;
use crate::models::merge_table::MergeTable;
use crate::utf8::{character_size, decode};
use crate::vocabulary::{Strings, Vocabulary, parts};

/// The symbols that words are split into, and where words can be split into parts.
#[derive(Debug)]
pub struct Alphabet {
    kind: Kind,
    /// The pairs of characters that merges can join. A character's payload is its id, if encoding it returns only one.
    boundaries: Boundaries,
}

#[derive(Debug)]
enum Kind {
    /// One symbol for each byte, which stands for a character of the GPT-2 alphabet.
    Bytes(Bytes),
    /// One symbol for each character.
    Characters,
}

#[derive(Debug)]
struct Bytes {
    symbols: Box<[u32; 256]>,
    joined: Box<JoinedBytes>,
}

impl Bytes {
    #[inline]
    fn may_join(&self, left: u8, right: u8) -> bool {
        self.joined[usize::from(left)][usize::from(right >> 6)] >> (right & 63) & 1 != 0
    }
}

impl Alphabet {
    /// Number the bytes, and find out which of them, and of the characters they form, merges can join.
    pub fn of_bytes(vocabulary: &Vocabulary, merges: &Strings, table: &mut MergeTable) -> Self {
        let symbols = std::array::from_fn(|byte| {
            table.intern(vocabulary, byte_level::character(u8::try_from(byte).expect("a byte")).as_bytes())
        });
        let mut boundaries = Boundaries::from_pairs(std::iter::empty(), merges.len());
        add_joins(&mut boundaries, merges);
        let bytes = Bytes { symbols: Box::new(symbols), joined: joined_bytes(merges) };
        Self { kind: Kind::Bytes(bytes), boundaries }
    }

    /// Find out which characters merges can join, and the symbols of the characters.
    pub fn of_characters(vocabulary: &Vocabulary, merges: &Strings) -> Self {
        let mut boundaries = Boundaries::from_pairs(joined_characters(merges), merges.len());
        for (piece, id) in vocabulary.pieces().iter().zip(0..) {
            if let Some(character) = single_character(piece) {
                boundaries.set_payload(character, id);
            }
        }
        Self { kind: Kind::Characters, boundaries }
    }

    /// Return whether there is a symbol for each byte.
    pub fn is_of_bytes(&self) -> bool {
        self.symbols().is_some()
    }

    /// Return the symbols of the bytes; None if there is a symbol for each character.
    pub fn symbols(&self) -> Option<&[u32]> {
        match &self.kind {
            Kind::Bytes(bytes) => Some(&*bytes.symbols),
            Kind::Characters => None,
        }
    }

    /// Set the id of a text, which has no effect if that is not a single character.
    pub fn set_id(&mut self, text: &[u8], id: u32) {
        if let Some(character) = single_character(text) {
            self.boundaries.set_payload(character, id);
        }
    }

    /// Call `visit` with the start and end of each part of a range of `padded`, and the id of a single character.
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
        let visit = |start, end, single: Option<Character>| {
            visit(start, end, single.map(Character::payload).filter(|&id| id != boundary::NONE))
        };
        match &self.kind {
            Kind::Bytes(bytes) => {
                self.boundaries.for_each_chunk_where(padded, range, |left, right| bytes.may_join(left, right), visit)
            }
            Kind::Characters => self.boundaries.for_each_chunk(padded, range, visit),
        }
    }

    /// Split a part into symbols, whose places are relative to it.
    #[inline]
    pub fn split(&self, part: &[u8], vocabulary: &Vocabulary, table: &MergeTable, symbols: &mut Vec<Symbol>) {
        match &self.kind {
            Kind::Bytes(bytes) => {
                let symbol = |(&byte, start)| Symbol { id: bytes.symbols[usize::from(byte)], start };
                symbols.extend(part.iter().zip(0..).map(symbol));
            }
            Kind::Characters => self.split_characters(part, vocabulary, table, symbols),
        }
    }

    fn split_characters(&self, part: &[u8], vocabulary: &Vocabulary, table: &MergeTable, symbols: &mut Vec<Symbol>) {
        let mut place = 0;
        while place < part.len() {
            let size = character_size(part[place]);
            let known = self.boundaries.character(decode(&part[place..]).0).payload();
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
        let last = &left[left.iter().rposition(|&byte| byte & 0xC0 != 0x80)?..];
        let first = right.get(..character_size(*right.first()?))?;
        Some((joined_character(last)?, joined_character(first)?))
    })
}

/// Decode bytes that are as many as a character has that begins so.
fn joined_character(bytes: &[u8]) -> Option<u32> {
    let begins = bytes.first().is_some_and(|&byte| byte & 0xC0 != 0x80 && character_size(byte) == bytes.len());
    begins.then(|| decode(bytes).0)
}

fn single_character(piece: &[u8]) -> Option<u32> {
    if piece.len() > 4 {
        return None;
    }
    let mut characters = std::str::from_utf8(piece).ok()?.chars();
    let character = characters.next()?;
    characters.next().is_none().then_some(u32::from(character))
}

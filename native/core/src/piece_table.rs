//! Look up the pieces of a text by its bytes, to merge neighbors that form a piece.

use crate::hash::{FREE, fold, hash, pack, tag};
use crate::vocabulary::Strings;

/// No piece; also the rank of a pair that is not a piece.
pub const NONE: u32 = u32::MAX;
/// The longest piece that is compared as one number.
const PACKED: usize = 8;
/// The number of ASCII characters.
const ASCII: usize = 0x80;
const LENGTH_SHIFT: u32 = 28;
const ID_MASK: u32 = (1 << LENGTH_SHIFT) - 1;

/// A piece that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: u32,
    /// Its rank: the lower, the earlier it is merged.
    pub rank: u32,
}

/// What is returned if there is no such piece.
pub const MISSING: Found = Found { id: NONE, rank: NONE };

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The bytes of a short piece, the hash of a long one.
    key: u64,
    /// The id, and above it the length, or 9 for a long piece.
    id: u32,
    rank: u32,
}

const EMPTY: Slot = Slot { key: 0, id: NONE, rank: NONE };

/// The ids and ranks of pieces, in an open-addressing hash table.
#[derive(Debug)]
pub struct PieceTable {
    slots: Box<[Slot]>,
    /// The tag of the piece in each slot, or `FREE`.
    tags: Box<[u8]>,
    /// The pieces of two ASCII characters, with which most merges begin: by the second character and the first.
    pairs: Box<[[Found; ASCII]; ASCII]>,
    pieces: Strings,
}

impl PieceTable {
    /// The highest number of pieces.
    pub const ROOM: usize = ID_MASK as usize;

    /// Index `pieces`, whose ranks are `ranks`; empty ones are left out.
    #[must_use]
    pub fn new(pieces: Strings, ranks: &[u32]) -> Self {
        let size = (pieces.len() * 2).next_power_of_two().max(16);
        let mut table = Self {
            slots: vec![EMPTY; size].into(),
            tags: vec![FREE; size].into(),
            pairs: Box::new([[MISSING; ASCII]; ASCII]),
            pieces,
        };
        for (id, &rank) in ranks.iter().enumerate() {
            table.insert(id, rank);
        }
        table
    }

    fn insert(&mut self, id: usize, rank: u32) {
        let piece = self.pieces.get(id);
        if piece.is_empty() {
            return;
        }
        if let &[first @ ..0x80, second @ ..0x80] = piece {
            let pair = &mut self.pairs[usize::from(second)][usize::from(first)];
            *pair = if *pair == MISSING { Found { id: id as u32, rank } } else { *pair };
        }
        let key = key_of(piece);
        let (hash, mask) = (fold(key, 0), self.slots.len() - 1);
        let mut slot = hash as usize & mask;
        while self.tags[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = Slot { key, id: id as u32 | length_bits(piece.len()), rank };
        self.tags[slot] = tag(hash);
    }

    /// Look up the bytes from `start` to `end`; eight bytes must be readable at `start`.
    #[must_use]
    #[inline]
    pub fn find(&self, padded: &[u8], start: usize, end: usize) -> Found {
        let length = end - start;
        if let &[first @ ..0x80, second @ ..0x80] = &padded[start..end] {
            return self.pairs[usize::from(second)][usize::from(first)];
        }
        let key = if length <= PACKED { load(padded, start, length) } else { hash(&padded[start..end]) };
        let length_bits = length_bits(length);
        let (hash, mask) = (fold(key, 0), self.slots.len() - 1);
        let mut slot = hash as usize & mask;
        loop {
            if self.tags[slot] == FREE {
                return MISSING;
            }
            if self.tags[slot] == tag(hash) {
                let known = self.slots[slot];
                let id = known.id & ID_MASK;
                let is_equal = known.key == key && known.id & !ID_MASK == length_bits;
                if is_equal && (length <= PACKED || self.pieces.get(id as usize) == &padded[start..end]) {
                    return Found { id, rank: known.rank };
                }
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// Return the bits of a slot for the length of its piece.
fn length_bits(length: usize) -> u32 {
    (length.min(PACKED + 1) as u32) << LENGTH_SHIFT
}

fn key_of(piece: &[u8]) -> u64 {
    if piece.len() <= PACKED { pack(piece) } else { hash(piece) }
}

#[inline]
fn load(padded: &[u8], start: usize, length: usize) -> u64 {
    let mut bytes = [0; PACKED];
    bytes.copy_from_slice(&padded[start..start + PACKED]);
    u64::from_le_bytes(bytes) & (u64::MAX >> (64 - 8 * length as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_length_are_found() {
        let pieces: Vec<Vec<u8>> = (1..20).map(|length| vec![b'x'; length]).collect();
        let ranks: Vec<u32> = (100..119).collect();
        let table = PieceTable::new(Strings::from_joined(&pieces.join(&0), pieces.len()).expect("strings"), &ranks);
        let text = [b'x'; 40];
        for length in 1..20 {
            let found = Found { id: length - 1, rank: 99 + length };
            assert_eq!(table.find(&text, 3, 3 + length as usize), found);
        }
        assert_eq!(table.find(&text, 0, 20), MISSING);
        assert_eq!(table.find(b"x\0xxxxxxxxx", 0, 2), MISSING);
    }
}

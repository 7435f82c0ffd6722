//! Many strings in one allocation, and the ids of pieces by their bytes.

use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::OnceLock;

/// Strings by index, stored one after the other.
#[derive(Debug, Default, Clone)]
pub struct Strings {
    data: Box<[u8]>,
    /// The start of each string, and the end of the last one.
    bounds: Box<[u32]>,
}

impl Strings {
    /// Split `joined` at NUL into `count` strings; missing ones are empty.
    #[must_use]
    pub fn from_joined(joined: &[u8], count: usize) -> Self {
        let mut data = Vec::with_capacity(joined.len());
        let mut bounds = Vec::with_capacity(count + 1);
        bounds.push(0);
        let mut parts = joined.split(|&byte| byte == 0);
        for _ in 0..count {
            data.extend_from_slice(parts.next().unwrap_or_default());
            bounds.push(u32::try_from(data.len()).expect("vocabularies are smaller than 4 GiB"));
        }
        Self { data: data.into(), bounds: bounds.into() }
    }

    /// Collect strings.
    pub fn collect<String: AsRef<[u8]>>(strings: impl Iterator<Item = String>) -> Self {
        Self::write(strings, |string, data| data.extend_from_slice(string.as_ref()))
    }

    /// Collect strings, each of which `write` appends to a buffer.
    pub fn write<Item>(items: impl Iterator<Item = Item>, mut write: impl FnMut(Item, &mut Vec<u8>)) -> Self {
        let mut data = Vec::new();
        let mut bounds = vec![0];
        for item in items {
            write(item, &mut data);
            bounds.push(u32::try_from(data.len()).expect("vocabularies are smaller than 4 GiB"));
        }
        Self { data: data.into(), bounds: bounds.into() }
    }

    /// Return the number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    /// Return whether there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the string at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> &[u8] {
        &self.data[self.bounds[index] as usize..self.bounds[index + 1] as usize]
    }

    /// Return whether one of the strings is empty.
    #[must_use]
    pub fn has_empty(&self) -> bool {
        self.bounds.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Iterate over the strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.bounds.windows(2).map(|pair| &self.data[pair[0] as usize..pair[1] as usize])
    }
}

const EMPTY: u32 = u32::MAX;

/// The pieces by id, and the ids by piece.
#[derive(Debug, Default)]
pub struct Vocabulary {
    pieces: Strings,
    /// Made when a piece is first looked up.
    index: OnceLock<Index>,
}

#[derive(Debug)]
struct Index {
    /// Ids in an open-addressing hash table whose size is a power of two; at most half of it is used.
    slots: Box<[u32]>,
    distinct: usize,
}

impl Index {
    /// Index `pieces`; if two are equal, the first one counts.
    fn new(pieces: &Strings) -> Self {
        let size = (pieces.len() * 2).next_power_of_two().max(16);
        let mut index = Self { slots: vec![EMPTY; size].into(), distinct: 0 };
        for (id, piece) in pieces.iter().enumerate() {
            let slot = index.slot(piece, pieces);
            if index.slots[slot] == EMPTY {
                index.slots[slot] = u32::try_from(id).expect("ids fit in 32 bits");
                index.distinct += 1;
            }
        }
        index
    }

    /// Return the slot that holds the id of `piece`, or the empty slot where it belongs.
    fn slot(&self, piece: &[u8], pieces: &Strings) -> usize {
        let mask = self.slots.len() - 1;
        let mut hasher = FxHasher::default();
        hasher.write(piece);
        let mut slot = hasher.finish() as usize & mask;
        while self.slots[slot] != EMPTY && pieces.get(self.slots[slot] as usize) != piece {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

impl Vocabulary {
    /// Take `pieces` by id; if two are equal, their id is that of the first one.
    #[must_use]
    pub fn new(pieces: Strings) -> Self {
        Self { pieces, index: OnceLock::new() }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(&self.pieces))
    }

    /// Return the number of pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Return whether there are no pieces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Return whether building tables of the pieces takes much longer than starting a thread.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.len() > 1 << 14
    }

    /// Return the number of different pieces.
    #[must_use]
    pub fn count_distinct(&self) -> usize {
        self.index().distinct
    }

    /// Return the ids of the pieces that no merge makes; None if a merge does not make one piece of two.
    ///
    /// The merges are joined with NUL, each with a space between its two pieces.
    #[must_use]
    pub fn find_unmade(&self, merges: &[u8]) -> Option<Vec<usize>> {
        let mut is_made = vec![false; self.len()];
        let mut made = Vec::new();
        for merge in merges.split(|&byte| byte == 0) {
            let (left, right) = merge.split_at(memchr::memchr(b' ', merge)?);
            let right = &right[1..];
            let are_pieces = !right.contains(&b' ') && self.id(left).is_some() && self.id(right).is_some();
            made.clear();
            made.extend_from_slice(left);
            made.extend_from_slice(right);
            is_made[are_pieces.then(|| self.id(&made)).flatten()? as usize] = true;
        }
        let is_first = |id: usize| self.id(self.pieces.get(id)).is_some_and(|first| first as usize == id);
        Some((0..self.len()).filter(|&id| !is_made[id] && is_first(id)).collect())
    }

    /// Return the id of a piece.
    #[must_use]
    pub fn id(&self, piece: &[u8]) -> Option<u32> {
        let index = self.index();
        let id = index.slots[index.slot(piece, &self.pieces)];
        (id != EMPTY).then_some(id)
    }

    /// Return the piece of an id inside the vocabulary.
    #[must_use]
    pub fn piece(&self, id: u32) -> &[u8] {
        self.pieces.get(id as usize)
    }

    /// Return the pieces by id.
    #[must_use]
    pub fn pieces(&self) -> &Strings {
        &self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_piece() {
        let vocabulary = Vocabulary::new(Strings::from_joined(b"a\0ab\0\xff", 3));
        assert_eq!(vocabulary.id(b"ab"), Some(1));
        assert_eq!(vocabulary.id(b"\xff"), Some(2));
        assert_eq!(vocabulary.id(b"b"), None);
        assert_eq!(vocabulary.piece(0), b"a");
    }

    #[test]
    fn an_empty_string_is_found_anywhere() {
        for (joined, count) in [(&b"\0a"[..], 2), (b"a\0\0b", 3), (b"a\0", 2), (b"", 1)] {
            assert!(Strings::from_joined(joined, count).has_empty());
        }
        assert!(!Strings::from_joined(b"a\0b", 2).has_empty() && !Strings::default().has_empty());
    }

    #[test]
    fn a_repeated_piece_has_its_first_id_and_counts_once() {
        let vocabulary = Vocabulary::new(Strings::from_joined(b"a\0b\0a", 3));
        assert_eq!((vocabulary.id(b"a"), vocabulary.len(), vocabulary.count_distinct()), (Some(0), 3, 2));
    }
}

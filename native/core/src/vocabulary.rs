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
    /// Split `joined` at NUL; None if it does not contain `count` strings.
    #[must_use]
    pub fn from_joined(joined: &[u8], count: usize) -> Option<Self> {
        if count == 0 {
            return joined.is_empty().then(Self::default);
        }
        let mut data = Vec::with_capacity(joined.len());
        let mut bounds = Vec::with_capacity(count + 1);
        bounds.push(0);
        let mut start = 0;
        for end in memchr::memchr_iter(0, joined).chain([joined.len()]) {
            data.extend_from_slice(&joined[start..end]);
            bounds.push(u32::try_from(data.len()).expect("vocabularies are smaller than 4 GiB"));
            start = end + 1;
        }
        (bounds.len() == count + 1).then(|| Self { data: data.into(), bounds: bounds.into() })
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

/// Split a merge into its two parts; None if it does not consist of two.
#[must_use]
pub fn parts(merge: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = memchr::memchr(b' ', merge)?;
    let (left, right) = (&merge[..space], &merge[space + 1..]);
    let is_pair = !left.is_empty() && !right.is_empty() && !right.contains(&b' ');
    is_pair.then_some((left, right))
}

const EMPTY: u64 = u64::MAX;

/// How many pairs are looked up at a time.
const BLOCK: usize = 16;

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
    ///
    /// Above each id is the upper half of the hash, so that hardly any other piece than the right one is compared.
    slots: Box<[u64]>,
    distinct: usize,
}

impl Index {
    /// Index `pieces`; if two are equal, the first one counts.
    fn new(pieces: &Strings) -> Self {
        let size = (pieces.len() * 2).next_power_of_two().max(16);
        let mut index = Self { slots: vec![EMPTY; size].into(), distinct: 0 };
        for (piece, id) in pieces.iter().zip(0_u64..) {
            let hash = hash(piece);
            let slot = index.slot(hash, piece, pieces);
            if index.slots[slot] == EMPTY {
                index.slots[slot] = hash & TAG | id;
                index.distinct += 1;
            }
        }
        index
    }

    /// Return the slot that holds a piece, or the empty slot where it belongs, given its hash.
    fn slot(&self, hash: u64, piece: &[u8], pieces: &Strings) -> usize {
        let mut slot = self.first_slot(hash);
        loop {
            let known = self.slots[slot];
            if known == EMPTY || (known & TAG == hash & TAG && pieces.get(id_of(known) as usize) == piece) {
                return slot;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn first_slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
}

fn hash(piece: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(piece);
    hasher.finish()
}

/// The upper half of a hash.
const TAG: u64 = !0 << 32;

/// Return the id in a slot that is not empty.
fn id_of(slot: u64) -> u32 {
    (slot & !TAG) as u32
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
        let mut are_pieces = true;
        let pairs = merges.split(|&byte| byte == 0).map(|merge| parts(merge).unwrap_or_default());
        self.for_each_join(pairs, |(left, _), ids| match ids {
            [Some(_), Some(_), Some(made)] if !left.is_empty() => is_made[made as usize] = true,
            _ => are_pieces = false,
        });
        if !are_pieces {
            return None;
        }
        let is_first = |id: usize| self.id(self.pieces.get(id)).is_some_and(|first| first as usize == id);
        Some((0..self.len()).filter(|&id| !is_made[id] && is_first(id)).collect())
    }

    /// Return the id of a piece.
    #[must_use]
    pub fn id(&self, piece: &[u8]) -> Option<u32> {
        let index = self.index();
        let slot = index.slots[index.slot(hash(piece), piece, &self.pieces)];
        (slot != EMPTY).then(|| id_of(slot))
    }

    /// Visit pairs of strings, each with the ids of the two and of what they make together, as far as these are pieces.
    pub fn for_each_join<'a>(
        &self,
        mut pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        mut visit: impl FnMut((&'a [u8], &'a [u8]), [Option<u32>; 3]),
    ) {
        let (mut made, mut last) = (Vec::new(), 0);
        loop {
            let block: Vec<_> = pairs.by_ref().take(BLOCK).collect();
            if block.is_empty() {
                return;
            }
            let part = |at: usize| block.get(at / 2).map_or(&[][..], |pair| if at % 2 == 0 { pair.0 } else { pair.1 });
            let ids = self.ids::<{ 2 * BLOCK }>(std::array::from_fn(part));
            for (&pair, parts) in block.iter().zip(ids.chunks_exact(2)) {
                made.clear();
                made.extend_from_slice(pair.0);
                made.extend_from_slice(pair.1);
                let id = self.id_from(last, &made);
                last = id.unwrap_or(last);
                visit(pair, [parts[0], parts[1], id]);
            }
        }
    }

    /// Return the ids of several pieces; while one waits for memory, the others are looked up.
    fn ids<const N: usize>(&self, pieces: [&[u8]; N]) -> [Option<u32>; N] {
        let index = self.index();
        let known = pieces.map(|piece| index.slots[index.first_slot(hash(piece))]);
        let likely = known.map(|slot| if slot == EMPTY { &[] } else { self.pieces.get(id_of(slot) as usize) });
        std::array::from_fn(|at| {
            let is_likely_one = known[at] != EMPTY && likely[at] == pieces[at];
            if is_likely_one { Some(id_of(known[at])) } else { self.id(pieces[at]) }
        })
    }

    /// Return the id of a piece that probably has the id `last` or the next one, as the results of merges do.
    fn id_from(&self, last: u32, piece: &[u8]) -> Option<u32> {
        let is_it = |&id: &u32| (id as usize) < self.len() && self.piece(id) == piece;
        let near = [last.saturating_add(1), last].into_iter().find(is_it);
        // If a piece is repeated, its id is the first one.
        near.filter(|_| self.count_distinct() == self.len()).or_else(|| self.id(piece))
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

    fn strings(joined: &[u8], count: usize) -> Strings {
        Strings::from_joined(joined, count).expect("as many strings as given")
    }

    #[test]
    fn other_numbers_of_strings_than_given_are_refused() {
        for (joined, count) in [(&b"a\0b"[..], 1), (b"a\0b", 3), (b"a", 0), (b"", 2)] {
            assert!(Strings::from_joined(joined, count).is_none());
        }
        assert!(strings(b"", 0).is_empty());
    }

    #[test]
    fn ids_are_found_by_piece() {
        let vocabulary = Vocabulary::new(strings(b"a\0ab\0\xff", 3));
        assert_eq!(vocabulary.id(b"ab"), Some(1));
        assert_eq!(vocabulary.id(b"\xff"), Some(2));
        assert_eq!(vocabulary.id(b"b"), None);
        assert_eq!(vocabulary.piece(0), b"a");
    }

    #[test]
    fn an_empty_string_is_found_anywhere() {
        for (joined, count) in [(&b"\0a"[..], 2), (b"a\0\0b", 3), (b"a\0", 2), (b"", 1)] {
            assert!(strings(joined, count).has_empty());
        }
        assert!(!strings(b"a\0b", 2).has_empty() && !Strings::default().has_empty());
    }

    #[test]
    fn a_repeated_piece_has_its_first_id_and_counts_once() {
        let vocabulary = Vocabulary::new(strings(b"a\0b\0a", 3));
        assert_eq!((vocabulary.id(b"a"), vocabulary.len(), vocabulary.count_distinct()), (Some(0), 3, 2));
    }

    #[test]
    fn ids_near_another_are_those_of_the_table() {
        let (distinct, repeated) = (b"a\0b\0c\0ab", b"a\0b\0a\0ab");
        for joined in [&distinct[..], repeated] {
            let vocabulary = Vocabulary::new(strings(joined, 4));
            for (last, piece) in (0..5).flat_map(|last| [&b"a"[..], b"b", b"c", b"ab", b"d"].map(|piece| (last, piece)))
            {
                assert_eq!(vocabulary.id_from(last, piece), vocabulary.id(piece), "{last} {piece:?}");
            }
        }
    }
}

//! A trie over byte strings for searching at every position of a text, as a double array.
//!
//! A node is a base. Its child for a byte is in the slot `base ^ byte`, if the label there is this byte. All children of
//! a node are in one block of 256 slots, and no two nodes have the same base.

use crate::hash::pack;

const BLOCK: usize = 256;
/// How many blocks are searched for room before a new one is added.
const OPEN: usize = 16;
const LABEL_BITS: u32 = 9;
const BASE_BITS: u32 = 28;
const LABEL_MASK: u64 = (1 << LABEL_BITS) - 1;
const BASE_MASK: u64 = (1 << BASE_BITS) - 1;
const VALUE_SHIFT: u32 = LABEL_BITS + BASE_BITS;
/// The label of a slot without a node, which equals no byte.
const FREE: u64 = 0x100;

/// No node of a trie: the label of a byte is below `FREE`.
pub const MISSING: Node = Node(FREE);

/// A place in the trie: the label of the byte that leads to it, its base, and its value plus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node(u64);

impl Node {
    /// Return the value of the string that ends here, if any.
    #[must_use]
    #[inline]
    pub fn value(self) -> Option<u32> {
        self.value_or_zero().checked_sub(1)
    }

    /// Return the value plus one, or 0.
    #[must_use]
    #[inline]
    pub fn value_or_zero(self) -> u32 {
        (self.0 >> VALUE_SHIFT) as u32
    }

    /// Return whether no longer string continues here.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        self.base() == 0
    }

    #[inline]
    fn base(self) -> usize {
        (self.0 >> LABEL_BITS & BASE_MASK) as usize
    }
}

/// Maps byte strings to values below 2^27 - 1.
#[derive(Debug)]
pub struct Trie {
    slots: Box<[Node]>,
    root: Node,
}

impl Trie {
    /// Build the trie of `strings`; of equal ones, the last counts. Empty strings are left out.
    pub fn new<'a>(strings: impl Iterator<Item = (&'a [u8], u32)>) -> Self {
        let mut entries: Vec<_> = strings.filter(|(string, _)| !string.is_empty()).map(Entry::new).collect();
        // A stable sort keeps equal strings in order.
        entries.sort_by(|left, right| left.head.cmp(&right.head).then_with(|| left.string.cmp(right.string)));
        Builder::default().build(&entries)
    }

    /// Return the node of the empty string.
    #[must_use]
    #[inline]
    pub fn root(&self) -> Node {
        self.root
    }

    /// Return the node after `node` for a byte.
    #[must_use]
    #[inline]
    pub fn child(&self, node: Node, byte: u8) -> Option<Node> {
        let (child, exists) = self.slot(node, byte);
        exists.then_some(child)
    }

    /// Return what is in the place of the node after `node` for a byte, and whether it is that node.
    #[must_use]
    #[inline]
    pub fn slot(&self, node: Node, byte: u8) -> (Node, bool) {
        let child = self.slots[node.base() ^ usize::from(byte)];
        (child, child.0 & LABEL_MASK == u64::from(byte))
    }

    /// Return the node at the end of `string`.
    #[must_use]
    pub fn descend(&self, string: &[u8]) -> Option<Node> {
        string.iter().try_fold(self.root, |node, &byte| self.child(node, byte))
    }

    /// Return the length and the value of the longest string after `node` that `text` begins with.
    #[must_use]
    #[inline]
    pub fn longest(&self, mut node: Node, text: &[u8]) -> Option<(usize, u32)> {
        let mut found = None;
        for (index, &byte) in text.iter().enumerate() {
            let Some(child) = self.child(node, byte) else { break };
            node = child;
            if let Some(value) = node.value() {
                found = Some((index + 1, value));
            }
            if node.is_leaf() {
                break;
            }
        }
        found
    }
}

/// A string with its first bytes in front, which makes sorting fast.
struct Entry<'a> {
    head: u64,
    string: &'a [u8],
    value: u32,
}

impl<'a> Entry<'a> {
    fn new((string, value): (&'a [u8], u32)) -> Self {
        Self { head: pack(&string[..string.len().min(8)]).swap_bytes(), string, value }
    }
}

#[derive(Default)]
struct Builder {
    slots: Vec<Node>,
    blocks: Vec<Block>,
}

/// Which slots and bases of a block are in use: a bit each.
#[derive(Clone, Default)]
struct Block {
    slots: [u64; 4],
    bases: [u64; 4],
    free: usize,
}

impl Builder {
    fn build(mut self, entries: &[Entry<'_>]) -> Trie {
        // Nodes without children have the base 0, whose block stays free.
        self.add_block();
        let mut root = Node(FREE);
        let mut labels = Vec::new();
        // The slot of a node, if it is not the root; its strings; and the length that they have in common.
        let mut open = vec![(None::<usize>, entries, 0_usize)];
        while let Some((slot, entries, depth)) = open.pop() {
            let ended = entries.iter().take_while(|entry| entry.string.len() == depth).count();
            let longer = &entries[ended..];
            let base = if longer.is_empty() { 0 } else { self.find_base(longer, depth, &mut labels) };
            let value = entries[..ended].last().map_or(0, |entry| u64::from(entry.value) + 1);
            let node = slot.map_or(&mut root, |slot| &mut self.slots[slot]);
            node.0 = node.0 & LABEL_MASK | (base as u64) << LABEL_BITS | value << VALUE_SHIFT;
            for group in longer.chunk_by(|left, right| left.string[depth] == right.string[depth]) {
                let byte = group[0].string[depth];
                let slot = base ^ usize::from(byte);
                self.slots[slot] = Node(u64::from(byte));
                open.push((Some(slot), group, depth + 1));
            }
        }
        Trie { slots: self.slots.into(), root }
    }

    /// Reserve slots for the bytes at `depth` of sorted strings, and return their base.
    fn find_base(&mut self, entries: &[Entry<'_>], depth: usize, labels: &mut Vec<u8>) -> usize {
        labels.clear();
        labels.extend(entries.iter().map(|entry| entry.string[depth]));
        labels.dedup();
        let oldest = self.blocks.len().saturating_sub(OPEN).max(1);
        let found = (oldest..self.blocks.len()).find_map(|block| Some((block, self.blocks[block].find(labels)?)));
        let (block, base) = found.unwrap_or_else(|| (self.add_block(), 0));
        self.blocks[block].reserve(base, labels);
        block * BLOCK + usize::from(base)
    }

    fn add_block(&mut self) -> usize {
        self.slots.resize(self.slots.len() + BLOCK, Node(FREE));
        self.blocks.push(Block { free: BLOCK, ..Block::default() });
        assert!(self.slots.len() as u64 <= BASE_MASK, "vocabularies have fewer nodes");
        self.blocks.len() - 1
    }
}

impl Block {
    /// Return a base, relative to the block, whose slots for `labels` are free.
    fn find(&self, labels: &[u8]) -> Option<u8> {
        if self.free < labels.len() {
            return None;
        }
        for (index, used) in self.slots.iter().enumerate() {
            let mut free = !used;
            while free != 0 {
                let slot = (index * 64) as u8 + free.trailing_zeros() as u8;
                let base = slot ^ labels[0];
                if !has(&self.bases, base) && labels[1..].iter().all(|label| !has(&self.slots, base ^ label)) {
                    return Some(base);
                }
                free &= free - 1;
            }
        }
        None
    }

    fn reserve(&mut self, base: u8, labels: &[u8]) {
        set(&mut self.bases, base);
        labels.iter().for_each(|label| set(&mut self.slots, base ^ label));
        self.free -= labels.len();
    }
}

fn has(bits: &[u64; 4], index: u8) -> bool {
    bits[usize::from(index >> 6)] >> (index & 63) & 1 != 0
}

fn set(bits: &mut [u64; 4], index: u8) {
    bits[usize::from(index >> 6)] |= 1 << (index & 63);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trie(strings: &[&[u8]]) -> Trie {
        Trie::new(strings.iter().copied().zip(0..))
    }

    #[test]
    fn the_longest_string_is_found() {
        let trie = trie(&[b"a", b"abc", b"b", b"\xff\x00", b"a"]);
        assert_eq!(trie.longest(trie.root(), b"abd"), Some((1, 4)));
        assert_eq!(trie.longest(trie.root(), b"abcd"), Some((3, 1)));
        assert_eq!(trie.longest(trie.root(), b"\xff\x00"), Some((2, 3)));
        assert_eq!(trie.longest(trie.root(), b"cab"), None);
        assert_eq!(trie.longest(trie.root(), b"\0"), None);
        assert_eq!(trie.descend(b"ab").map(Node::value), Some(None));
        assert_eq!(trie.descend(b"abcd"), None);
    }

    #[test]
    fn an_empty_trie_finds_nothing() {
        let trie = trie(&[b""]);
        assert_eq!(trie.longest(trie.root(), b"a"), None);
    }

    #[test]
    fn every_string_of_a_large_trie_is_found_and_no_other() {
        let strings: Vec<Vec<u8>> = (0..30_000_u32)
            .map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[..1 + number as usize % 4].to_vec())
            .collect();
        let trie = Trie::new(strings.iter().map(Vec::as_slice).zip(0..));
        let last: std::collections::HashMap<&[u8], u32> = strings.iter().map(Vec::as_slice).zip(0..).collect();
        for string in &strings {
            assert_eq!(trie.descend(string).and_then(Node::value), last.get(string.as_slice()).copied());
        }
        for number in 0..30_000_u32 {
            let other = number.to_be_bytes();
            assert_eq!(trie.descend(&other).and_then(Node::value), last.get(other.as_slice()).copied());
        }
    }
}

//! A prefix tree over byte strings, for few strings and fast rejection of texts without any.

use memchr::memmem::Finder;

const NONE: u32 = u32::MAX;
/// The highest number of different first bytes that are searched for one by one.
const FEW: usize = 6;
/// In place of a position: there is none.
const NOWHERE: usize = usize::MAX;

/// Maps byte strings to values.
#[derive(Debug)]
pub struct PrefixTree {
    nodes: Vec<Node>,
    /// The children of the root by byte.
    roots: Box<[u32; 256]>,
    /// What the strings with each first byte begin with, one byte or two; None if there are many first bytes.
    ///
    /// Spaces are frequent, but tokens that begin with them often consist of several.
    starts: Option<Vec<Finder<'static>>>,
}

#[derive(Debug, Default)]
struct Node {
    value: Option<u32>,
    /// The edges to the children, in order.
    children: Vec<(u8, u32)>,
}

impl PrefixTree {
    /// Build the tree of `strings`, none of which may be empty; of equal ones, the first counts.
    pub fn new<'a>(strings: impl Iterator<Item = (&'a [u8], u32)>) -> Self {
        let mut tree = Self { nodes: Vec::new(), roots: Box::new([NONE; 256]), starts: None };
        for (string, value) in strings {
            tree.insert(string, value);
        }
        let first_bytes: Vec<u8> = (0..=255).filter(|&byte| tree.roots[usize::from(byte)] != NONE).collect();
        if first_bytes.len() <= FEW {
            tree.starts = Some(first_bytes.into_iter().map(|byte| tree.start(byte)).collect());
        }
        tree
    }

    fn start(&self, first: u8) -> Finder<'static> {
        let start = match &self.nodes[self.roots[usize::from(first)] as usize] {
            Node { value: None, children } if children.len() == 1 => vec![first, children[0].0],
            _ => vec![first],
        };
        Finder::new(&start).into_owned()
    }

    fn insert(&mut self, string: &[u8], value: u32) {
        let Some((&first, rest)) = string.split_first() else { return };
        let mut node = self.roots[usize::from(first)];
        if node == NONE {
            node = self.add_node();
            self.roots[usize::from(first)] = node;
        }
        for &byte in rest {
            let children = &self.nodes[node as usize].children;
            node = match children.binary_search_by_key(&byte, |edge| edge.0) {
                Ok(index) => children[index].1,
                Err(index) => {
                    let child = self.add_node();
                    self.nodes[node as usize].children.insert(index, (byte, child));
                    child
                }
            };
        }
        self.nodes[node as usize].value.get_or_insert(value);
    }

    fn add_node(&mut self) -> u32 {
        self.nodes.push(Node::default());
        u32::try_from(self.nodes.len() - 1).expect("trees are smaller than 4 GiB")
    }

    /// Find the positions in `text` where a string can begin, going by one byte or two.
    #[must_use]
    pub fn candidates<'a>(&'a self, text: &'a [u8]) -> Candidates<'a> {
        let mut next = [NOWHERE; FEW];
        for (next, start) in next.iter_mut().zip(self.starts.iter().flatten()) {
            *next = start.find(text).unwrap_or(NOWHERE);
        }
        Candidates { tree: self, text, next }
    }

    /// Call `visit` with the length and the value of each string that `text` begins with, shortest first.
    pub fn for_each_prefix(&self, text: &[u8], mut visit: impl FnMut(usize, u32)) {
        let mut node = NONE;
        for (length, &byte) in (1..).zip(text) {
            node = self.child(node, byte, length == 1);
            if node == NONE {
                return;
            }
            if let Some(value) = self.nodes[node as usize].value {
                visit(length, value);
            }
        }
    }

    /// Return the length and the value of the longest string that `text` begins with.
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        let mut found = None;
        self.for_each_prefix(text, |length, value| found = Some((length, value)));
        found
    }

    /// Call `visit` with the value of each string that begins with `prefix`, which must not be empty, while it returns
    /// true.
    pub fn for_each_with_prefix(&self, prefix: &[u8], mut visit: impl FnMut(u32) -> bool) {
        let mut node = NONE;
        for (index, &byte) in prefix.iter().enumerate() {
            node = self.child(node, byte, index == 0);
            if node == NONE {
                return;
            }
        }
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let node = &self.nodes[node as usize];
            if node.value.is_some_and(|value| !visit(value)) {
                return;
            }
            open.extend(node.children.iter().map(|edge| edge.1));
        }
    }

    fn child(&self, node: u32, byte: u8, is_root: bool) -> u32 {
        if is_root {
            return self.roots[usize::from(byte)];
        }
        let children = &self.nodes[node as usize].children;
        children.binary_search_by_key(&byte, |edge| edge.0).map_or(NONE, |index| children[index].1)
    }
}

/// The positions in a text where a string can begin.
#[derive(Debug)]
pub struct Candidates<'a> {
    tree: &'a PrefixTree,
    text: &'a [u8],
    /// The next position of each start.
    next: [usize; FEW],
}

impl Candidates<'_> {
    /// Return the first position from `from` on; each call must be for the same or a later one.
    #[inline]
    pub fn find(&mut self, from: usize) -> Option<usize> {
        let rest = self.text.get(from..)?;
        let Some(starts) = &self.tree.starts else {
            let is_start = |&byte: &u8| self.tree.roots[usize::from(byte)] != NONE;
            return rest.iter().position(is_start).map(|offset| from + offset);
        };
        for (next, start) in self.next.iter_mut().zip(starts) {
            if *next < from {
                *next = start.find(rest).map_or(NOWHERE, |offset| from + offset);
            }
        }
        self.next.into_iter().min().filter(|&next| next != NOWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(strings: &[&str], text: &str) -> Vec<usize> {
        let tree = PrefixTree::new(strings.iter().map(|string| (string.as_bytes(), 0)));
        let mut candidates = tree.candidates(text.as_bytes());
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(place) = candidates.find(from) {
            found.push(place);
            from = place + 1;
        }
        found
    }

    #[test]
    fn candidates_begin_like_a_string() {
        assert_eq!(candidates(&["  ", "   ", "<s>"], "a b  c   <s <"), [3, 6, 7, 9]);
        assert_eq!(candidates(&["<s>", "<t>", "a"], "<<a"), [0, 1, 2]);
        assert_eq!(candidates(&["a", "b", "c", "d", "e", "f", "g"], "xdcx"), [1, 2]);
        assert_eq!(candidates(&[], "a"), [0_usize; 0]);
    }
}

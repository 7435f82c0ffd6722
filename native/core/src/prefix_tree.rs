//! A prefix tree over byte strings, for few strings and fast rejection of texts without any.

const NONE: u32 = u32::MAX;

/// Maps byte strings to values.
#[derive(Debug)]
pub struct PrefixTree {
    nodes: Vec<Node>,
    /// The children of the root by byte.
    roots: Box<[u32; 256]>,
    /// The bytes that strings begin with.
    first_bytes: Vec<u8>,
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
        let mut tree = Self { nodes: Vec::new(), roots: Box::new([NONE; 256]), first_bytes: Vec::new() };
        for (string, value) in strings {
            tree.insert(string, value);
        }
        tree.first_bytes = (0..=255).filter(|&byte| tree.roots[usize::from(byte)] != NONE).collect();
        tree
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

    /// Return the first position from `from` on where a string can begin, going by its first byte.
    #[must_use]
    pub fn find_candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let offset = match self.first_bytes[..] {
            [] => None,
            [a] => memchr::memchr(a, rest),
            [a, b] => memchr::memchr2(a, b, rest),
            [a, b, c] => memchr::memchr3(a, b, c, rest),
            _ => rest.iter().position(|&byte| self.roots[usize::from(byte)] != NONE),
        };
        offset.map(|offset| from + offset)
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

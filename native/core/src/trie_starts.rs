//! The nodes of a trie for how strings usually begin, so that a search takes them in one step.
//!
//! The steps of a search wait for each other's memory. Tables by two bytes, and by characters of three bytes (most
//! letters of East Asian texts), save one or two of them.

use crate::trie::{MISSING, Node, Trie};

/// The code points with at most three bytes.
const TABLE: u32 = 0x10000;

/// The node for each character of three bytes.
#[derive(Debug)]
pub struct Characters {
    /// By code point; `MISSING` if no string begins with the character.
    nodes: Box<[Node]>,
}

impl Characters {
    fn new(trie: &Trie) -> Self {
        let node = |character: u32| trie.descend(&encode(character)).unwrap_or(MISSING);
        Self { nodes: (0..TABLE).map(node).collect() }
    }

    /// Return the node for the first three bytes of a text; None if they do not have the form of a character.
    #[inline]
    fn start(&self, text: &[u8]) -> Option<Node> {
        let &[first @ 0xE0..0xF0, second @ 0x80..0xC0, third @ 0x80..0xC0, ..] = text else { return None };
        let bits = |byte: u8| usize::from(byte & 0x3F);
        Some(self.nodes[usize::from(first & 0xF) << 12 | bits(second) << 6 | bits(third)])
    }
}

/// The node for each character of three bytes, if all strings that begin with a part of one contain it as a whole.
#[derive(Debug)]
pub struct WholeCharacters(Option<Characters>);

impl WholeCharacters {
    /// Collect the nodes of a trie.
    #[must_use]
    pub fn new(trie: &Trie) -> Self {
        let has_value = |bytes: &[u8]| trie.descend(bytes).and_then(Node::value).is_some();
        let ends_inside = |character: u32| {
            let bytes = encode(character);
            has_value(&bytes[..1]) || has_value(&bytes[..2])
        };
        Self((!(0..TABLE).step_by(0x40).any(ends_inside)).then(|| Characters::new(trie)))
    }

    /// Return the node for the first three bytes of a text, before which no string ends; None if it is not known.
    #[must_use]
    #[inline]
    pub fn start(&self, text: &[u8]) -> Option<Node> {
        self.0.as_ref()?.start(text)
    }
}

/// Nodes by the first bytes of a text.
#[derive(Debug)]
pub struct TrieStarts {
    /// By two bytes, the first one being the upper half; `MISSING` if the trie has no such string.
    pairs: Box<[Node]>,
    /// The value of each string of one byte.
    singles: Box<[Option<u32>]>,
    characters: Characters,
}

impl TrieStarts {
    /// Collect the nodes of a trie.
    #[must_use]
    pub fn new(trie: &Trie) -> Self {
        let first = |byte| trie.child(trie.root(), byte);
        let after = |node: Node| (0..=255).map(move |byte| trie.child(node, byte).unwrap_or(MISSING));
        let children =
            (0..=255).map(|byte| first(byte).map_or_else(|| vec![MISSING; 256], |node| after(node).collect()));
        Self {
            pairs: children.flatten().collect(),
            singles: (0..=255).map(|byte| first(byte).and_then(Node::value)).collect(),
            characters: Characters::new(trie),
        }
    }

    /// Return the same as `trie.longest(trie.root(), text)`.
    #[must_use]
    #[inline]
    pub fn longest(&self, trie: &Trie, text: &[u8]) -> Option<(usize, u32)> {
        if let Some(node) = self.characters.start(text)
            && let Some(value) = node.value()
        {
            return longest_after(trie, node, 3, &text[3..]).or(Some((3, value)));
        }
        let (&first, rest) = text.split_first()?;
        let single = self.singles[usize::from(first)].map(|value| (1, value));
        let Some((&second, rest)) = rest.split_first() else { return single };
        let node = self.pairs[usize::from(first) << 8 | usize::from(second)];
        if node == MISSING {
            return single;
        }
        longest_after(trie, node, 2, rest).or_else(|| node.value().map(|value| (2, value))).or(single)
    }
}

/// Return three bytes for a code point, as UTF-8 has them for those from U+0800 on.
fn encode(character: u32) -> [u8; 3] {
    let tail = |bits: u32| 0x80 | (bits & 0x3F) as u8;
    [0xE0 | (character >> 12) as u8, tail(character >> 6), tail(character)]
}

/// Return the longest string that continues after `node`, at the end of `length` bytes.
#[inline]
fn longest_after(trie: &Trie, node: Node, length: usize, rest: &[u8]) -> Option<(usize, u32)> {
    if node.is_leaf() {
        return None;
    }
    trie.longest(node, rest).map(|(more, value)| (length + more, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_strings_are_found() {
        let ascii = [&b"a"[..], b"abc", b"ab\xff", b"bc", b"\0", b"\0\0"];
        let others = ["\u{3042}".as_bytes(), "\u{3042}\u{3044}".as_bytes(), b"\xe3", b"\xe3\x81\x86a", b"\xe3\x81"];
        let texts = ["", "a", "ab", "abc", "abcd", "abd", "bc", "bd", "xy", "xyz", "\0\0\0", "é", "ab\u{ff}"];
        let characters =
            ["\u{3042}", "\u{3042}\u{3044}", "\u{3042}\u{3046}", "\u{3046}", "\u{3046}a", "\u{3083}", "漢"];
        let cut = [&b"ab\xff"[..], b"\xe3", b"\xe3\x81", b"\xe3\x81a", b"\xe3\x82\x82", b"\xe0\x80\x80"];
        for strings in [&ascii[..], &others, &[b"ab", b"xyz"], &[]] {
            let trie = Trie::new(strings.iter().copied().zip(0..));
            let starts = TrieStarts::new(&trie);
            for text in texts.iter().chain(&characters).map(|text| text.as_bytes()).chain(cut) {
                assert_eq!(starts.longest(&trie, text), trie.longest(trie.root(), text), "{text:?}");
            }
        }
    }

    #[test]
    fn characters_are_skipped_only_if_no_string_ends_inside_one() {
        let trie = |strings: &[&'static [u8]]| Trie::new(strings.iter().copied().zip(0..));
        let whole = trie(&["\u{3042}b".as_bytes(), b"a", b"\xc3", b"\xf0\x90"]);
        let characters = WholeCharacters::new(&whole);
        assert_eq!(characters.start("\u{3042}".as_bytes()), whole.descend("\u{3042}".as_bytes()));
        assert_eq!(characters.start("\u{3044}".as_bytes()), Some(MISSING));
        assert_eq!(characters.start(b"abc"), None);
        for cut in [&b"\xe3"[..], b"\xe3\x81", b"\xef\xbf"] {
            let characters = WholeCharacters::new(&trie(&["\u{3042}".as_bytes(), cut]));
            assert_eq!(characters.start("\u{3042}".as_bytes()), None);
        }
    }
}

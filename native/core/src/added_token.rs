//! Split a text at its added tokens, before any other stage.
//!
//! One prefix tree finds all tokens in one pass. If a token can begin inside another one that is not longer, taking the
//! longest token at each position is not what llama.cpp does, and its own algorithm runs with the tokens that occur.
//!
//! Source: `llama_vocab::impl::tokenizer_st_partition` in llama.cpp's `src/llama-vocab.cpp`.

use crate::prefix_tree::PrefixTree;
use crate::spec::AddedToken;
use crate::vocabulary::Vocabulary;
use std::ops::Range;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fragment {
    /// A stretch of text, never empty, as byte offsets.
    Text(Range<usize>),
    /// The id of an added token.
    Token(u32),
}

/// Splits texts at a set of added tokens.
#[derive(Debug)]
pub struct Splitter {
    /// The tokens with their texts, longest first.
    tokens: Vec<(AddedToken, Vec<u8>)>,
    /// The texts of tokens that are not very long; their values are indices into `tokens`.
    tree: PrefixTree,
    /// Whether llama.cpp's own algorithm is necessary.
    is_literal: bool,
}

impl Splitter {
    /// Prepare to split texts at `tokens`, which must be sorted longest first, in bytes.
    pub fn new<'a>(tokens: impl Iterator<Item = &'a AddedToken>, pieces: &Vocabulary) -> Self {
        let tokens: Vec<_> = tokens.map(|token| (token.clone(), pieces.piece(token.id).to_vec())).collect();
        let texts = tokens.iter().zip(0..).map(|((_, text), index)| (text.as_slice(), index));
        let texts = texts.filter(|(text, _)| text.len() <= LONGEST);
        let tree = PrefixTree::new(texts);
        let strips = tokens.iter().any(|(token, _)| token.lstrip || token.rstrip);
        let cuts_characters = tokens.iter().any(|(_, text)| std::str::from_utf8(text).is_err());
        let is_literal = strips || cuts_characters || can_overlap(&tokens, &tree);
        Self { tokens, tree, is_literal }
    }

    /// Return whether a token is not UTF-8, so that a match can cut a character.
    pub fn cuts_characters(&self) -> bool {
        self.tokens.iter().any(|(_, text)| std::str::from_utf8(text).is_err())
    }

    /// Split `text`, in order.
    pub fn split(&self, text: &[u8], fragments: &mut Vec<Fragment>) {
        fragments.clear();
        if self.is_literal {
            self.split_longest_first(text, fragments);
        } else {
            self.scan(text, fragments);
        }
    }

    fn scan(&self, text: &[u8], fragments: &mut Vec<Fragment>) {
        let mut done = 0;
        let mut from = 0;
        let mut candidates = self.tree.candidates(text);
        while let Some(start) = candidates.find(from) {
            let Some((length, index)) = self.tree.longest(&text[start..]) else {
                from = start + 1;
                continue;
            };
            push_text(done..start, fragments);
            fragments.push(Fragment::Token(self.tokens[index as usize].0.id));
            done = start + length;
            from = done;
        }
        push_text(done..text.len(), fragments);
    }

    fn split_longest_first(&self, text: &[u8], fragments: &mut Vec<Fragment>) {
        push_text(0..text.len(), fragments);
        for index in self.occurring(text) {
            let before = std::mem::take(fragments);
            for fragment in before {
                match fragment {
                    Fragment::Text(range) => self.split_stretch(text, range, index, fragments),
                    Fragment::Token(_) => fragments.push(fragment),
                }
            }
        }
    }

    /// Return the indices of the tokens that occur in `text`, in order.
    fn occurring(&self, text: &[u8]) -> Vec<u32> {
        let is_long = |token_text: &[u8]| token_text.len() > LONGEST;
        let occurs_long = |token_text: &[u8]| is_long(token_text) && memchr::memmem::find(text, token_text).is_some();
        let mut occurs: Vec<bool> = self.tokens.iter().map(|(_, token_text)| occurs_long(token_text)).collect();
        let mut from = 0;
        let mut candidates = self.tree.candidates(text);
        while let Some(start) = candidates.find(from) {
            self.tree.for_each_prefix(&text[start..], |_, index| occurs[index as usize] = true);
            from = start + 1;
        }
        (0..).zip(occurs).filter_map(|(index, occurs)| occurs.then_some(index)).collect()
    }

    fn split_stretch(&self, text: &[u8], stretch: Range<usize>, index: u32, fragments: &mut Vec<Fragment>) {
        let (token, token_text) = &self.tokens[index as usize];
        let mut done = stretch.start;
        while let Some(offset) = memchr::memmem::find(&text[done..stretch.end], token_text) {
            let start = done + offset;
            let mut left_end = start;
            while token.lstrip && left_end > done && is_space(text[left_end - 1]) {
                left_end -= 1;
            }
            push_text(done..left_end, fragments);
            fragments.push(Fragment::Token(token.id));
            done = start + token_text.len();
            while token.rstrip && done < stretch.end && is_space(text[done]) {
                done += 1;
            }
        }
        push_text(done..stretch.end, fragments);
    }
}

fn push_text(range: Range<usize>, fragments: &mut Vec<Fragment>) {
    if !range.is_empty() {
        fragments.push(Fragment::Text(range));
    }
}

/// Return whether C's `isspace` accepts a byte.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// In bytes; longer tokens are searched for one by one, and whether they overlap with others is not examined.
const LONGEST: usize = 256;
/// The number of pairs of tokens to examine; with more, it is faster to assume an overlap.
const PAIRS: usize = 100_000;

/// Check whether a token can begin inside another one that is not longer, so that the two algorithms differ.
///
/// An overlap for which an even longer token takes precedence anyway, as in runs of one character, does not count.
fn can_overlap(tokens: &[(AddedToken, Vec<u8>)], tree: &PrefixTree) -> bool {
    let mut examined = 0;
    tokens.iter().any(|(_, text)| {
        text.len() > LONGEST
            || (1..text.len()).any(|start| {
                let mut overlaps = false;
                tree.for_each_with_prefix(&text[start..], |index| {
                    examined += 1;
                    let rival = &tokens[index as usize].1;
                    let is_longer = rival.len() >= text.len() && rival != text;
                    overlaps |= is_longer && !begins_longer(&text[..start], rival, text, tree);
                    !overlaps && examined < PAIRS
                });
                overlaps || examined >= PAIRS
            })
    })
}

/// Check whether `head` followed by `tail` begins with a token that is longer than `text`.
fn begins_longer(head: &[u8], tail: &[u8], text: &[u8], tree: &PrefixTree) -> bool {
    let union = [head, tail].concat();
    tree.longest(&union).is_some_and(|(length, _)| length > text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Strings;

    fn split(pieces: &[&str], text: &str, strip: (bool, bool)) -> Vec<Fragment> {
        let vocabulary =
            Vocabulary::new(Strings::from_joined(pieces.join("\0").as_bytes(), pieces.len()).expect("strings"));
        let (lstrip, rstrip) = strip;
        let tokens: Vec<_> =
            (0..pieces.len() as u32).map(|id| AddedToken { id, special: true, lstrip, rstrip }).collect();
        let mut fragments = Vec::new();
        Splitter::new(tokens.iter(), &vocabulary).split(text.as_bytes(), &mut fragments);
        fragments
    }

    #[test]
    fn the_longest_token_at_each_position_is_taken() {
        let expected = [Fragment::Text(0..1), Fragment::Token(0), Fragment::Token(1), Fragment::Text(8..9)];
        assert_eq!(split(&["<ab>", "<a>"], "x<ab><a>y", (false, false)), expected);
    }

    #[test]
    fn a_longer_token_wins_over_an_earlier_one() {
        let expected = [Fragment::Text(0..1), Fragment::Token(0)];
        assert_eq!(split(&["bcd", "ab"], "abcd", (false, false)), expected);
    }

    #[test]
    fn whitespace_around_a_match_is_removed() {
        let expected = [Fragment::Text(0..1), Fragment::Token(0), Fragment::Text(7..8)];
        assert_eq!(split(&["<m>"], "a <m> \nb", (true, true)), expected);
    }

    #[test]
    fn runs_of_one_character_do_not_count_as_overlaps() {
        let expected = [Fragment::Token(0), Fragment::Token(1)];
        assert_eq!(split(&["---", "--"], "-----", (false, false)), expected);
    }
}

//! Find the alternatives of a pre-tokenizer's patterns that match in texts, for statistics of a corpus.

use crate::encoder::ESCAPED_SPACE;
use crate::pre_tokenizer::PreTokenizer;
use crate::scanners::classified::Classified;
use std::cell::Cell;
use std::ops::Range;

/// The number of places in a table for the alternatives of each rule.
pub const ALTERNATIVES: usize = 16;
/// The place of text that no rule matches; those of the alternatives follow, by rule.
pub const UNMATCHED: usize = 0;

/// The first match of an alternative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its place in the table.
    pub place: usize,
    /// Where it matches, in bytes.
    pub part: Range<usize>,
}

/// Finds alternatives.
pub struct BranchFinder<'a> {
    pre_tokenizer: &'a PreTokenizer,
    /// 1 for each alternative that has been found, or need not be found.
    table: &'a [Cell<u8>],
    /// How many are left.
    missing: usize,
    found: Vec<Branch>,
}

impl<'a> BranchFinder<'a> {
    /// Look for the alternatives whose places in `table` are 0; None if it is too small for the pre-tokenizer.
    #[must_use]
    pub fn new(pre_tokenizer: &'a PreTokenizer, table: &'a [Cell<u8>]) -> Option<Self> {
        let rules = pre_tokenizer.rules.len() + usize::from(pre_tokenizer.splits_spaced_words);
        let missing = table.iter().filter(|seen| seen.get() == 0).count();
        let is_large_enough = table.len() > rules * ALTERNATIVES;
        is_large_enough.then_some(Self { pre_tokenizer, table, missing, found: Vec::new() })
    }

    /// Return the alternatives that match in `text`, and have not been found before.
    pub fn find(&mut self, text: &[u8]) -> Vec<Branch> {
        if self.missing > 0 {
            self.apply(0, Classified::new(text), 0, false);
        }
        std::mem::take(&mut self.found)
    }

    /// Apply a rule, and those after it, to a part of the text that starts at `start`.
    fn apply(&mut self, index: usize, text: Classified<'_>, mut start: usize, is_matched: bool) {
        let Some(rule) = self.pre_tokenizer.rules.get(index) else {
            return self.finish(index, text, start, is_matched);
        };
        while start < text.len() && self.missing > 0 {
            let (end, alternative) = rule.next_part(text, start);
            if let Some(alternative) = alternative {
                self.mark(1 + index * ALTERNATIVES + alternative, start..end);
            }
            if end > start {
                self.apply(index + 1, text.until(end), start, is_matched || alternative.is_some());
            }
            start = end;
        }
    }

    fn finish(&mut self, index: usize, text: Classified<'_>, start: usize, is_matched: bool) {
        if !is_matched {
            self.mark(UNMATCHED, start..text.len());
        }
        if self.pre_tokenizer.splits_spaced_words && has_several_words(&text.bytes()[start..]) {
            self.mark(1 + index * ALTERNATIVES, start..text.len());
        }
    }

    fn mark(&mut self, place: usize, part: Range<usize>) {
        if self.table[place].replace(1) == 0 {
            self.missing -= 1;
            self.found.push(Branch { place, part });
        }
    }
}

/// Return whether a line contains a space, which may be escaped, after its first character.
fn has_several_words(line: &[u8]) -> bool {
    let first = if line.starts_with(ESCAPED_SPACE) { ESCAPED_SPACE.len() } else { 1 };
    let rest = &line[first.min(line.len())..];
    !line.starts_with(b"\n") && (rest.contains(&b' ') || rest.windows(3).any(|bytes| bytes == ESCAPED_SPACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(rules: &[&str], texts: &[&str]) -> Vec<(usize, String)> {
        let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
        let pre_tokenizer = PreTokenizer::new(&names).unwrap();
        let table = vec![Cell::new(0); 1 + rules.len() * ALTERNATIVES];
        let mut finder = BranchFinder::new(&pre_tokenizer, &table).unwrap();
        let mut found = Vec::new();
        for text in texts {
            found.extend(
                finder.find(text.as_bytes()).into_iter().map(|branch| (branch.place, text[branch.part].into())),
            );
        }
        found
    }

    #[test]
    fn an_alternative_is_found_where_it_matches_first() {
        let expected =
            [(2, "it"), (1, "'s"), (3, " 1"), (6, " "), (5, "  ")].map(|(place, part)| (place, part.to_string()));
        assert_eq!(find(&["GPT2"], &["it's 1", " 12\t3 a", "\t1  "])[..3], expected[..3]);
    }

    #[test]
    fn every_rule_is_applied_to_the_parts_of_the_one_before() {
        let found = find(&["DIGIT", "GPT2"], &["a1 ", "b2"]);
        assert_eq!(found, [(18, "a"), (1, "1"), (19, "1"), (21, " ")].map(|(place, part)| (place, part.into())));
    }

    #[test]
    fn text_that_no_rule_matches_is_found() {
        assert_eq!(find(&["DIGIT"], &["1", "1a", "b"]), [(1, "1".into()), (UNMATCHED, "a".into())]);
    }

    #[test]
    fn a_table_that_is_too_small_is_refused() {
        let pre_tokenizer = PreTokenizer::new(&["GPT2".to_string()]).unwrap();
        assert!(BranchFinder::new(&pre_tokenizer, &[Cell::new(0)]).is_none());
    }
}

//! Split a text into the pre-tokens that byte-pair encoding works on.
//!
//! A pre-tokenizer is a list of rules that are applied one after the other, each to the parts produced by the previous
//! one. Python names the rules; `tokverify/engine/pre_pattern.py` defines them, and `scanners` finds the parts.

use crate::character::{self, LETTER, MARK};
use crate::scanners::cased_words::CasedWords;
use crate::scanners::classified::Classified;
use crate::scanners::deepseek::Deepseek;
use crate::scanners::digits::{AsciiThousands, DigitGroups, Numbers, ThreeAsciiDigits};
use crate::scanners::gpt2::Gpt2;
use crate::scanners::jais2::Jais2;
use crate::scanners::lines::{LineEnd, Lines};
use crate::scanners::literals::{ChameleonSpace, Image, Sentinel};
use crate::scanners::runs::{self, Run, Scripts, TrailingSpace};
use crate::scanners::words::{Contractions, Letters, Tail, Words};
use crate::scanners::{Between, Scanner, Whole};

/// One rule, as the scanner that applies it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    Gpt2,
    Words(Words),
    CasedWords(CasedWords),
    Deepseek(Deepseek),
    Jais2,
    Lines,
    LineEnd,
    Numbers(Numbers),
    ThreeAsciiDigits,
    AsciiThousands,
    DigitGroups,
    Run(Run),
    Scripts,
    TrailingSpace,
    Sentinel,
    Image,
    ChameleonSpace,
}

/// Evaluate an expression with the scanner of a rule, whose type is known at compile time.
macro_rules! with_scanner {
    ($rule:expr, $scanner:ident => $result:expr) => {{
        macro_rules! with {
            ($value:expr) => {{
                let $scanner = &$value;
                $result
            }};
        }
        match $rule {
            Rule::Gpt2 => with!(Gpt2),
            Rule::Words(words) => with!(words),
            Rule::CasedWords(words) => with!(words),
            Rule::Deepseek(deepseek) => with!(Between(deepseek)),
            Rule::Jais2 => with!(Jais2),
            Rule::Lines => with!(Lines),
            Rule::LineEnd => with!(Between(LineEnd)),
            Rule::Numbers(numbers) => with!(Between(numbers)),
            Rule::ThreeAsciiDigits => with!(Between(ThreeAsciiDigits)),
            Rule::AsciiThousands => with!(AsciiThousands),
            Rule::DigitGroups => with!(DigitGroups),
            Rule::Run(run) => with!(Between(run)),
            Rule::Scripts => with!(Between(Scripts)),
            Rule::TrailingSpace => with!(TrailingSpace),
            Rule::Sentinel => with!(Between(Sentinel)),
            Rule::Image => with!(Between(Image)),
            Rule::ChameleonSpace => with!(Between(ChameleonSpace)),
        }
    }};
}

impl Rule {
    /// Return the end of the part of `text` from `start` on, and the alternative that matches it, if any does.
    pub fn next_part(self, text: Classified<'_>, start: usize) -> (usize, Option<usize>) {
        with_scanner!(self, scanner => {
            let end = scanner.part_end(text, start);
            (end, scanner.alternative(text, start, end))
        })
    }

    /// Find the rule that applies a pattern, by the name of its constant in `pre_pattern.py` or of its function.
    fn from_name(name: &str) -> Option<Self> {
        use Contractions::{InWord, Separate, SeparateWithLongS};
        let words = |contractions, letters, digits, tail| Self::Words(Words { contractions, letters, digits, tail });
        let cased = |letters, contractions, digits| Self::CasedWords(CasedWords { letters, contractions, digits });
        Some(match name {
            "GPT2" => Self::Gpt2,
            "LLAMA3" => words(Separate, Letters::Plain, 3, Tail::LineEnds),
            "JAIS2" => Self::Jais2,
            "QWEN2" | "BAILINGMOE" => words(Separate, Letters::Plain, 1, Tail::LineEnds),
            "QWEN35" => words(Separate, Letters::Marked, 1, Tail::LineEndsWithoutMarks),
            "UFAKZEKA" => words(Contractions::None, Letters::Plain, 1, Tail::LineEnds),
            "MINICPM5" => words(Separate, Letters::Plain, usize::MAX, Tail::LineEnds),
            "SEED_CODER" => words(Separate, Letters::Plain, 1, Tail::None),
            "EXAONE_MOE" => words(Separate, Letters::Spaced, 1, Tail::OneLineEnd),
            "KIMI_K2" => words(InWord, Letters::WithoutHan, 3, Tail::LineEnds),
            "K2_HORIZON" => words(SeparateWithLongS, Letters::Joined, 3, Tail::LineEnds),
            "TINY_AYA" => words(InWord, Letters::Marked, 3, Tail::LineEndsAndSlashes),
            "YOUTU" => words(InWord, Letters::Marked, 1, Tail::LineEndsAndSlashes),
            "TEKKEN" => cased(LETTER, false, 1),
            "GPT4O" => cased(LETTER, true, 3),
            "GRANITE_EMBED" => cased(LETTER | MARK, true, 3),
            "DEEPSEEK3" => Self::Deepseek(Deepseek { joins_line_ends: true }),
            "SPARK2_5" => Self::Deepseek(Deepseek { joins_line_ends: false }),
            "LINES" => Self::Lines,
            "LINE_END" => Self::LineEnd,
            "DIGIT" => Self::Numbers(Numbers(1)),
            "UP_TO_3_DIGITS" => Self::Numbers(Numbers(3)),
            "DIGITS" => Self::Numbers(Numbers(usize::MAX)),
            "THREE_ASCII_DIGITS" => Self::ThreeAsciiDigits,
            "BEFORE_ASCII_THOUSANDS" => Self::AsciiThousands,
            "split_digit_groups" => Self::DigitGroups,
            "YOUTU_SCRIPTS" => Self::Scripts,
            "TRAILING_SPACE" => Self::TrailingSpace,
            "CHAMELEON_SENTINEL" => Self::Sentinel,
            "CHAMELEON_IMAGE" => Self::Image,
            "CHAMELEON_SPACE" => Self::ChameleonSpace,
            _ => Self::Run(run_from_name(name)?),
        })
    }
}

fn run_from_name(name: &str) -> Option<Run> {
    Some(match name {
        "DEFAULT_PUNCTUATION" => runs::DEFAULT_PUNCTUATION,
        "FALCON_PUNCTUATION" => runs::FALCON_PUNCTUATION,
        "CHAMELEON_PUNCTUATION" => runs::CHAMELEON_PUNCTUATION,
        "SPACE_AND_LETTERS" => runs::SPACE_AND_LETTERS,
        "SPACE_AND_PUNCTUATION" => runs::SPACE_AND_PUNCTUATION,
        "BLOOM" => runs::BLOOM,
        "NOT_SPACE" => runs::NOT_SPACE,
        "DEEPSEEK_CJK" => runs::DEEPSEEK_CJK,
        "DEEPSEEK3_CJK" => runs::DEEPSEEK3_CJK,
        "DEEPSEEK_WORD" => runs::DEEPSEEK_WORD,
        "DEEPSEEK_PUNCTUATION" => runs::DEEPSEEK_PUNCTUATION,
        "AFMOE_SCRIPTS" => runs::AFMOE_SCRIPTS,
        _ => return None,
    })
}

/// The name of the rule, always the last one, that inserts spaces, so that its parts do not cover the text.
const SPACED_WORDS: &str = "split_spaced_words";

/// Splits texts into pre-tokens.
#[derive(Debug, Clone)]
pub struct PreTokenizer {
    pub(crate) rules: Vec<Rule>,
    /// Whether lines are then split before each `▁`, after one is prepended to those without.
    pub splits_spaced_words: bool,
}

impl PreTokenizer {
    /// Find the rules by their names; the error is the first name that is unknown.
    ///
    /// # Errors
    /// If a rule is unknown.
    pub fn new(names: &[String]) -> Result<Self, String> {
        let _ = character::classes(); // builds the table now and not during the first text
        let splits_spaced_words = names.last().is_some_and(|name| name == SPACED_WORDS);
        let names = &names[..names.len() - usize::from(splits_spaced_words)];
        let rules = names.iter().map(|name| Rule::from_name(name).ok_or_else(|| name.clone()));
        Ok(Self { rules: rules.collect::<Result<_, _>>()?, splits_spaced_words })
    }

    /// Find the pre-tokens of `text`, before lines are split into spaced words; call `visit` with groups of them.
    ///
    /// # Errors
    /// If `visit` fails.
    pub fn split<E>(&self, text: &[u8], visit: &mut Visit<'_, E>) -> Result<(), E> {
        let mut groups = Groups { start: 0, ends: [0; GROUP], count: 0, visit };
        split(&self.rules, Classified::new(text), 0, &mut groups)?;
        groups.hand_over()
    }
}

/// The number of pre-tokens in a group.
const GROUP: usize = 128;

/// Receives the start of the first of several consecutive pre-tokens and the end of each.
pub type Visit<'a, E> = dyn FnMut(usize, &[usize]) -> Result<(), E> + 'a;

/// Collects pre-tokens and hands them over in groups: scanning and encoding are faster in loops of their own.
struct Groups<'a, E> {
    start: usize,
    ends: [usize; GROUP],
    count: usize,
    visit: &'a mut Visit<'a, E>,
}

impl<E> Groups<'_, E> {
    /// Add the parts of `text` from `start` on.
    #[inline]
    fn add(&mut self, scanner: &impl Scanner, text: Classified<'_>, mut start: usize) -> Result<(), E> {
        while start < text.len() {
            self.count += scanner.part_ends(text, start, &mut self.ends[self.count..]);
            start = self.ends[self.count - 1];
            if self.count == GROUP {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), E> {
        let ends = &self.ends[..self.count];
        (self.visit)(self.start, ends)?;
        self.start = ends.last().copied().unwrap_or(self.start);
        self.count = 0;
        Ok(())
    }
}

fn split<E>(rules: &[Rule], text: Classified<'_>, start: usize, groups: &mut Groups<'_, E>) -> Result<(), E> {
    let Some((rule, rest)) = rules.split_first() else { return groups.add(&Whole, text, start) };
    with_scanner!(*rule, scanner => apply(scanner, rest, text, start, groups))
}

/// Split each part that the scanner finds by the remaining rules.
#[inline]
fn apply<E>(
    scanner: &impl Scanner,
    rest: &[Rule],
    text: Classified<'_>,
    mut start: usize,
    groups: &mut Groups<'_, E>,
) -> Result<(), E> {
    if rest.is_empty() {
        return groups.add(scanner, text, start);
    }
    while start < text.len() {
        let end = scanner.part_end(text, start);
        split(rest, text.until(end), start, groups)?;
        start = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pre_tokens<'a>(rules: &[&str], text: &'a str) -> Vec<&'a str> {
        let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
        let mut parts = Vec::new();
        let mut visit = |mut start: usize, ends: &[usize]| {
            for &end in ends {
                parts.push(&text[start..end]);
                start = end;
            }
            Ok::<(), ()>(())
        };
        PreTokenizer::new(&names).unwrap().split(text.as_bytes(), &mut visit).unwrap();
        parts
    }

    #[test]
    fn gpt2_splits_words_contractions_and_spaces() {
        assert_eq!(
            pre_tokens(&["GPT2"], "Hello we'll  go 12!\n"),
            ["Hello", " we", "'ll", " ", " go", " 12", "!", "\n"]
        );
    }

    #[test]
    fn rules_are_applied_one_after_the_other() {
        assert_eq!(pre_tokens(&["DIGIT", "GPT2"], "ab 12 c"), ["ab", " ", "1", "2", " c"]);
        assert_eq!(pre_tokens(&["LINES"], "a b\n\nc"), ["a b", "\n\n", "c"]);
    }

    #[test]
    fn an_unknown_rule_is_named() {
        assert_eq!(PreTokenizer::new(&["NEW".into()]).unwrap_err(), "NEW");
    }
}

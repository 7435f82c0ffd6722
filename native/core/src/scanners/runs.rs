//! Runs of characters of a set, perhaps after a space.

use super::classified::Classified;
use super::{Matcher, Scanner};
use crate::character::{LETTER, PUNCTUATION, SPACE};
use crate::character_table as table;

/// A set of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// The classes in a mask.
    Classes(u8),
    /// Punctuation, and the ASCII characters given.
    PunctuationAnd(&'static [u8]),
    /// The ranges given, with both ends.
    Ranges(&'static [(u32, u32)]),
    /// Everything except whitespace.
    NotSpace,
}

impl Set {
    fn contains(self, character: u32, class: u8) -> bool {
        match self {
            Self::Classes(mask) => class & mask != 0,
            Self::PunctuationAnd(others) => {
                class & PUNCTUATION != 0 || u8::try_from(character).is_ok_and(|byte| others.contains(&byte))
            }
            Self::Ranges(ranges) => {
                let index = ranges.partition_point(|range| range.0 <= character);
                index > 0 && character <= ranges[index - 1].1
            }
            Self::NotSpace => class & SPACE == 0,
        }
    }
}

/// What can precede a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// ` ?`
    Space,
    /// `\s?`
    AnySpace,
}

/// A run of characters of a set.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    before: Before,
    set: Set,
    longest: usize,
}

impl Run {
    const fn new(before: Before, set: Set) -> Self {
        Self { before, set, longest: usize::MAX }
    }
}

const ASCII_PUNCTUATION: &[u8] = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// `[\p{P}$+<=>^~|]+`
pub const DEFAULT_PUNCTUATION: Run = Run::new(Before::Nothing, Set::PunctuationAnd(b"$+<=>^~|"));
/// ``[\p{P}$+<=>^~|`]+``
pub const FALCON_PUNCTUATION: Run = Run::new(Before::Nothing, Set::PunctuationAnd(b"$+<=>^~|`"));
/// One character of `[\p{P}!-/:-@\[-`{-~]`
pub const CHAMELEON_PUNCTUATION: Run =
    Run { before: Before::Nothing, set: Set::PunctuationAnd(ASCII_PUNCTUATION), longest: 1 };
/// `\s?\p{L}+`
pub const SPACE_AND_LETTERS: Run = Run::new(Before::AnySpace, Set::Classes(LETTER));
/// `\s?\p{P}+`
pub const SPACE_AND_PUNCTUATION: Run = Run::new(Before::AnySpace, Set::Classes(PUNCTUATION));
/// ` ?[^(\s|.,!?...)]+`
pub const BLOOM: Run = Run::new(Before::Space, Set::Ranges(table::BLOOM));
/// `\S+`
pub const NOT_SPACE: Run = Run::new(Before::Nothing, Set::NotSpace);
/// The Chinese, Japanese and Korean characters of DeepSeek LLM.
pub const DEEPSEEK_CJK: Run = Run::new(Before::Nothing, Set::Ranges(table::DEEPSEEK_CJK));
/// The Chinese and Japanese characters of DeepSeek V3.
pub const DEEPSEEK3_CJK: Run = Run::new(Before::Nothing, Set::Ranges(table::DEEPSEEK3_CJK));
/// The words of DeepSeek LLM.
pub const DEEPSEEK_WORD: Run = Run::new(Before::AnySpace, Set::Ranges(table::DEEPSEEK_LETTERS));
/// The punctuation of DeepSeek LLM.
pub const DEEPSEEK_PUNCTUATION: Run = Run::new(Before::AnySpace, Set::Ranges(table::DEEPSEEK_PUNCTUATION));
/// The scripts of AFMoE.
pub const AFMOE_SCRIPTS: Run = Run::new(Before::Nothing, Set::Ranges(table::AFMOE_SCRIPTS));

impl Matcher for Run {
    #[inline]
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        let (character, class, size) = text.character(start);
        let is_space = match self.before {
            Before::Nothing => false,
            Before::Space => character == u32::from(b' '),
            Before::AnySpace => class & SPACE != 0,
        };
        let place = if is_space { start + size } else { start };
        let end = self.run(text, place);
        if end > place { end } else { start }
    }
}

impl Run {
    fn run(&self, text: Classified<'_>, place: usize) -> usize {
        if self.longest == 1 {
            let (character, class, size) = text.character(place);
            return if self.set.contains(character, class) { place + size } else { place };
        }
        text.run(place, |character, class| self.set.contains(character, class))
    }
}

/// A run of characters of one of several sets that do not overlap.
#[derive(Debug, Clone, Copy)]
pub struct Scripts;

const YOUTU: [Run; 4] = [
    Run::new(Before::Nothing, Set::Ranges(table::YOUTU_SCRIPT_1)),
    Run::new(Before::Nothing, Set::Ranges(table::YOUTU_SCRIPT_2)),
    Run::new(Before::Nothing, Set::Ranges(table::YOUTU_SCRIPT_3)),
    Run::new(Before::Nothing, Set::Ranges(table::YOUTU_SCRIPT_4)),
];

impl Matcher for Scripts {
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        YOUTU.iter().map(|run| run.match_end(text, start)).max().unwrap_or(start)
    }

    fn matching_alternative(&self, text: Classified<'_>, start: usize) -> usize {
        YOUTU.iter().position(|run| run.match_end(text, start) > start).unwrap_or(0)
    }
}

/// `\s+\Z`: whitespace at the end of the text.
#[derive(Debug, Clone, Copy)]
pub struct TrailingSpace;

impl Scanner for TrailingSpace {
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let is_boundary = |place: usize| text.byte(place).is_none_or(|byte| byte & 0xC0 != 0x80);
        let boundaries = (start..text.len()).rev().filter(|&place| is_boundary(place));
        let first = boundaries.take_while(|&place| text.class(place).0 & SPACE != 0).last();
        first.filter(|&first| first > start).unwrap_or(text.len())
    }

    fn alternative(&self, text: Classified<'_>, start: usize, end: usize) -> Option<usize> {
        (text.run_of(start, SPACE) == end && end == text.len()).then_some(0)
    }
}

//! Split lines.

use super::classified::Classified;
use super::{Matcher, Scanner};

/// `[^\n]+|\n+`
#[derive(Debug, Clone, Copy)]
pub struct Lines;

impl Scanner for Lines {
    #[inline]
    fn part_end(&self, text: Classified<'_>, start: usize) -> usize {
        let rest = &text.bytes()[start..];
        if rest[0] == b'\n' {
            return start + rest.iter().take_while(|&&byte| byte == b'\n').count();
        }
        start + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
    }

    fn alternative(&self, text: Classified<'_>, start: usize, _end: usize) -> Option<usize> {
        Some(usize::from(text.byte(start) == Some(b'\n')))
    }
}

/// `[\r\n]`
#[derive(Debug, Clone, Copy)]
pub struct LineEnd;

impl Matcher for LineEnd {
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        start + usize::from(matches!(text.byte(start), Some(b'\r' | b'\n')))
    }
}

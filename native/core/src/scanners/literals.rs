//! The patterns of Chameleon, which consist of fixed texts.

use super::Matcher;
use super::classified::Classified;

/// `<sentinel:[0-9]+>`
#[derive(Debug, Clone, Copy)]
pub struct Sentinel;

impl Matcher for Sentinel {
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        const OPEN: &[u8] = b"<sentinel:";
        let rest = &text.bytes()[start..];
        if !rest.starts_with(OPEN) {
            return start;
        }
        let digits = rest[OPEN.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = OPEN.len() + digits;
        if digits > 0 && rest.get(end) == Some(&b'>') { start + end + 1 } else { start }
    }
}

/// `IMGIMG[A-I]{1,4}Z`
#[derive(Debug, Clone, Copy)]
pub struct Image;

impl Matcher for Image {
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        const OPEN: &[u8] = b"IMGIMG";
        let rest = &text.bytes()[start..];
        if !rest.starts_with(OPEN) {
            return start;
        }
        let letters = rest[OPEN.len()..].iter().take_while(|byte| (b'A'..=b'I').contains(byte)).count();
        let end = OPEN.len() + letters;
        if (1..=4).contains(&letters) && rest.get(end) == Some(&b'Z') { start + end + 1 } else { start }
    }
}

/// `[\t\n]|    |  `
#[derive(Debug, Clone, Copy)]
pub struct ChameleonSpace;

impl Matcher for ChameleonSpace {
    fn match_end(&self, text: Classified<'_>, start: usize) -> usize {
        let rest = &text.bytes()[start..];
        match rest {
            [b'\t' | b'\n', ..] => start + 1,
            [b' ', b' ', b' ', b' ', ..] => start + 4,
            [b' ', b' ', ..] => start + 2,
            _ => start,
        }
    }

    fn matching_alternative(&self, text: Classified<'_>, start: usize) -> usize {
        match self.match_end(text, start) - start {
            1 => 0,
            4 => 1,
            _ => 2,
        }
    }
}

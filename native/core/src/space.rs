//! Write `▁`, which stands for a space, as a space: shorter, and the way it is in most texts.
//!
//! In texts, a literal `▁` and a space become the same. A piece that contains a literal space never matches.

use crate::utf8::character_size;
use crate::vocabulary::Strings;
use memchr::memmem::Finder;

/// `▁`.
pub const ESCAPED: &[u8] = "▁".as_bytes();

/// Converts texts and pieces, if the tokenizer escapes spaces at all.
#[derive(Debug)]
pub struct Spaces {
    escapes: bool,
    finder: Finder<'static>,
}

impl Spaces {
    /// Prepare to convert; `escapes` is whether the tokenizer writes spaces as `▁`.
    #[must_use]
    pub fn new(escapes: bool) -> Self {
        Self { escapes, finder: Finder::new(ESCAPED) }
    }

    /// Return whether `other` converts in the same way.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.escapes == other.escapes
    }

    /// Convert pieces; one that never matches becomes empty.
    pub fn convert_pieces<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) -> Strings {
        Strings::write(pieces, |piece, output| {
            if !self.escapes || !piece.iter().any(|byte| matches!(byte, b' ' | 0xE2)) {
                output.extend_from_slice(piece);
            } else if !piece.contains(&b' ') {
                self.write_escaped_steps(piece, output, |_| ());
            }
        })
    }

    /// Write `text`, which is UTF-8, to `output`.
    pub fn write(&self, text: &[u8], output: &mut Vec<u8>) {
        output.clear();
        let mut done = 0;
        if self.escapes {
            for place in self.finder.find_iter(text) {
                output.extend_from_slice(&text[done..place]);
                output.push(b' ');
                done = place + ESCAPED.len();
            }
        }
        output.extend_from_slice(&text[done..]);
    }

    /// Append any bytes to `output` as llama.cpp steps over them, and call `visit` with the start of each step there.
    ///
    /// subtle: a step over a part of a character includes some of the following bytes, even those of a `▁`.
    pub fn write_steps(&self, text: &[u8], output: &mut Vec<u8>, visit: impl FnMut(usize)) {
        let mut escaped = Vec::new();
        self.write_escaped_steps(if self.escapes { escape(text, &mut escaped) } else { text }, output, visit);
    }

    /// Do what `write_steps` does with bytes without spaces.
    fn write_escaped_steps(&self, text: &[u8], output: &mut Vec<u8>, mut visit: impl FnMut(usize)) {
        let mut start = 0;
        while start < text.len() {
            let step = &text[start..text.len().min(start + character_size(text[start]))];
            visit(output.len());
            output.extend_from_slice(if self.escapes && step == ESCAPED { b" " } else { step });
            start += step.len();
        }
    }

    /// Return the bytes that a converted symbol stands for.
    #[must_use]
    pub fn original<'a>(&self, symbol: &'a [u8]) -> &'a [u8] {
        if self.escapes && symbol == b" " { ESCAPED } else { symbol }
    }
}

fn escape<'a>(text: &[u8], escaped: &'a mut Vec<u8>) -> &'a [u8] {
    for &byte in text {
        if byte == b' ' { escaped.extend_from_slice(ESCAPED) } else { escaped.push(byte) }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spaces_of_a_text_become_one() {
        let mut output = Vec::new();
        Spaces::new(true).write("▁a b▁▁".as_bytes(), &mut output);
        assert_eq!(output, b" a b  ");
        Spaces::new(false).write("▁a b".as_bytes(), &mut output);
        assert_eq!(output, "▁a b".as_bytes());
    }

    #[test]
    fn a_piece_with_a_literal_space_never_matches() {
        let pieces = ["▁a▁", "a b", "–"].map(str::as_bytes);
        let convert = |escapes: bool| Spaces::new(escapes).convert_pieces(pieces.into_iter());
        assert!(convert(true).iter().eq([b" a ".as_slice(), b"", "–".as_bytes()]));
        assert!(convert(false).iter().eq(pieces));
    }

    #[test]
    fn a_step_over_a_cut_character_includes_a_part_of_the_next() {
        let mut output = Vec::new();
        let mut starts = Vec::new();
        Spaces::new(true).write_steps(b"\x96a \xf0 b", &mut output, |start| starts.push(start));
        assert_eq!(output, b"\x96a \xf0\xe2\x96\x81b");
        assert_eq!(starts, [0, 1, 2, 3, 7]);
    }
}

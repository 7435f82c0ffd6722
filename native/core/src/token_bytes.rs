//! The bytes that each token represents.
//!
//! Source: `token_to_piece` in llama.cpp's `src/llama-vocab.cpp`; the Python engine's are the methods `token_bytes` of
//! the families in `tokverify/engine/families/`.

use crate::byte_level;
use crate::encoder::ESCAPED_SPACE;
use crate::error::UnknownId;
use crate::models::plamo2::byte_of;
use crate::models::rwkv::unescape;
use crate::spec::{Family, Spec, attribute};
use crate::utf8::REPLACEMENT;
use memchr::memchr;
use std::fmt::Write;

/// The attributes of tokens that represent their own text.
const VERBATIM: u8 = attribute::UNKNOWN | attribute::CONTROL | attribute::USER_DEFINED;

/// Append the bytes of a token.
///
/// # Errors
/// If the id is outside the vocabulary.
pub fn append(spec: &Spec, id: u32, output: &mut Vec<u8>) -> Result<(), UnknownId> {
    let attributes = *spec.attributes.get(id as usize).ok_or(UnknownId(id))?;
    let piece = spec.displayed.piece(id);
    match spec.family {
        Family::Rwkv => output.extend(unescape(piece)),
        Family::Plamo2 | Family::Plamo3 => match byte_of(piece) {
            Some(byte) if attributes & attribute::BYTE != 0 => output.push(byte),
            _ => output.extend_from_slice(piece),
        },
        _ if attributes & VERBATIM != 0 => output.extend_from_slice(piece),
        _ if attributes & attribute::NORMAL != 0 => write_ordinary(spec, piece, output),
        _ if attributes & attribute::BYTE != 0 => output.push(hexadecimal_byte(piece)),
        _ => {}
    }
    Ok(())
}

fn write_ordinary(spec: &Spec, piece: &[u8], output: &mut Vec<u8>) {
    let has_byte_alphabet = matches!(spec.family, Family::Bpe | Family::HybridDna | Family::Whitespace);
    if has_byte_alphabet && !spec.escape_whitespaces {
        write_byte_level(piece, output);
    } else {
        write_unescaped(piece, output);
    }
}

/// Write a space for each `▁`.
fn write_unescaped(piece: &[u8], output: &mut Vec<u8>) {
    let mut rest = piece;
    while let Some(place) = memchr(ESCAPED_SPACE[0], rest) {
        let (before, from) = rest.split_at(place);
        output.extend_from_slice(before);
        let (next, size) = if from.starts_with(ESCAPED_SPACE) { (b' ', ESCAPED_SPACE.len()) } else { (from[0], 1) };
        output.push(next);
        rest = &from[size..];
    }
    output.extend_from_slice(rest);
}

/// Write the bytes of a piece in the GPT-2 alphabet.
fn write_byte_level(piece: &[u8], output: &mut Vec<u8>) {
    let unspaced = piece.strip_prefix(byte_level::character(b' ').as_bytes());
    output.extend(unspaced.map(|_| b' '));
    let mut rest = unspaced.unwrap_or(piece);
    if rest.iter().all(u8::is_ascii_graphic) {
        output.extend_from_slice(rest);
        return;
    }
    while let Some(chunk) = rest.utf8_chunks().next() {
        for character in chunk.valid().chars() {
            match byte_level::byte(u32::from(character)) {
                Some(byte) => output.push(byte),
                None => write_placeholder(character.encode_utf8(&mut [0; 4]).as_bytes(), piece, output),
            }
        }
        rest = &rest[chunk.valid().len()..];
        // llama.cpp reads a surrogate as a character.
        if let [0xed, 0xa0..=0xbf, 0x80..=0xbf, tail @ ..] = rest {
            write_placeholder(&rest[..3], piece, output);
            rest = tail;
        } else if let [_, tail @ ..] = rest {
            write_placeholder(REPLACEMENT, piece, output);
            rest = tail;
        }
    }
}

/// Write what llama.cpp shows for a character outside the alphabet (`llama_decode_text`).
fn write_placeholder(character: &[u8], piece: &[u8], output: &mut Vec<u8>) {
    let mut digits = String::new();
    character.iter().for_each(|byte| write!(digits, "{byte:02x}").expect("a string can always grow"));
    output.extend_from_slice(b"[UNK_BYTE_0x");
    output.extend_from_slice(digits.as_bytes());
    output.extend_from_slice(piece);
    output.push(b']');
}

/// Read the fourth and fifth byte of a piece as C's `strtol` does, which reads zero if there is no number.
fn hexadecimal_byte(piece: &[u8]) -> u8 {
    let mut rest = piece.get(3..piece.len().min(5)).unwrap_or_default();
    while let [b' ' | b'\t'..=b'\r', tail @ ..] = rest {
        rest = tail;
    }
    let is_negative = rest.first() == Some(&b'-');
    if let [b'+' | b'-', tail @ ..] = rest {
        rest = tail;
    }
    let digits = rest.iter().map_while(|&byte| char::from(byte).to_digit(16));
    let value = digits.fold(0_u8, |value, digit| value << 4 | digit as u8);
    if is_negative { value.wrapping_neg() } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: fn(&[u8], &mut Vec<u8>), piece: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        write(piece, &mut output);
        output
    }

    #[test]
    fn byte_pieces_are_read_as_strtol_would() {
        let cases: [(&[u8], u8); 7] =
            [(b"<0x41>", 0x41), (b"<0x4>", 4), (b"<0xzz>", 0), (b"abc", 0), (b"abc-1", 0xFF), (b"abc 7", 7), (b"a", 0)];
        for (piece, byte) in cases {
            assert_eq!(hexadecimal_byte(piece), byte);
        }
    }

    #[test]
    fn pieces_are_read_back_to_bytes() {
        assert_eq!(written(write_byte_level, "Ġé".as_bytes()), b" \xe9");
        assert_eq!(written(write_byte_level, "a b".as_bytes()), b"a[UNK_BYTE_0x20a b]b");
        assert_eq!(written(write_byte_level, b"\xff"), b"[UNK_BYTE_0xefbfbd\xff]");
        assert_eq!(written(write_byte_level, b"\xed\xa0\x80x"), b"[UNK_BYTE_0xeda080\xed\xa0\x80x]x");
        assert_eq!(written(write_unescaped, "▁a▁▁".as_bytes()), b" a  ");
        assert_eq!(written(write_unescaped, "▂▁\u{2580}".as_bytes()), "▂ \u{2580}".as_bytes());
    }
}

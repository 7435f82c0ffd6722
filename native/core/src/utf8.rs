//! Text as bytes: mostly UTF-8, but added tokens can cut characters.

/// The UTF-8 of U+FFFD.
pub const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Append `text` with U+FFFD for each byte that belongs to no character, as `unicode_cpts_from_utf8` does.
pub fn replace_lone_bytes(text: &[u8], output: &mut Vec<u8>) {
    for chunk in text.utf8_chunks() {
        output.extend_from_slice(chunk.valid().as_bytes());
        for _ in chunk.invalid() {
            output.extend_from_slice(REPLACEMENT);
        }
    }
}

/// Return the number of bytes that llama.cpp takes for one character (`unicode_len_utf8`).
#[must_use]
#[inline]
pub fn character_size(first: u8) -> usize {
    const SIZES: [u8; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4];
    SIZES[usize::from(first >> 4)] as usize
}

/// Return a number for the bytes that llama.cpp takes for one character, the code point of a character; and their size.
///
/// Four bytes must be readable at `place`.
#[must_use]
#[inline]
pub fn step(padded: &[u8], place: usize) -> (u32, usize) {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&padded[place..place + 4]);
    let [first, second, third, fourth] = bytes.map(u32::from);
    match first {
        0..0xC0 => (first, 1),
        0xC0..0xE0 => ((first & 0x1F) << 6 | second & 0x3F, 2),
        0xE0..0xF0 => ((first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F, 3),
        _ => ((first & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F, 4),
    }
}

/// Decode the character at the start of `text`, which must be UTF-8 and not empty; return it and its size.
#[must_use]
#[inline]
pub fn decode(text: &[u8]) -> (u32, usize) {
    let first = u32::from(text[0]);
    let tail = |index: usize| u32::from(text[index]) & 0x3F;
    match first {
        0..0x80 => (first, 1),
        0x80..0xE0 => ((first & 0x1F) << 6 | tail(1), 2),
        0xE0..0xF0 => ((first & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
        _ => ((first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lone_byte_is_replaced() {
        let mut output = Vec::new();
        replace_lone_bytes(b"\xbd\xbda\xe4\xbd", &mut output);
        assert_eq!(output, "\u{fffd}\u{fffd}a\u{fffd}\u{fffd}".as_bytes());
    }

    #[test]
    fn a_lone_byte_is_a_step() {
        assert_eq!(step(b"\xbdabc", 0), (0xBD, 1));
    }

    #[test]
    fn characters_of_every_size_are_decoded() {
        for character in ['a', 'é', '你', '😀', '\u{10ffff}'] {
            let text = character.to_string();
            assert_eq!(decode(text.as_bytes()), (character as u32, text.len()));
            assert_eq!(character_size(text.as_bytes()[0]), text.len());
            assert_eq!(step(format!("{text}   ").as_bytes(), 0), (character as u32, text.len()));
        }
    }
}

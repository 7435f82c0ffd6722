//! The GPT-2 alphabet, which writes each byte as a printable character.

use std::sync::LazyLock;

/// The character of each byte, in UTF-8.
static ALPHABET: LazyLock<[String; 256]> = LazyLock::new(|| {
    let mut next = 0x100;
    std::array::from_fn(|byte| {
        let is_printable = matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
        let code_point = if is_printable { u32::try_from(byte).expect("a byte") } else { next };
        next += u32::from(!is_printable);
        char::from_u32(code_point).expect("a character").to_string()
    })
});

/// Return the character of a byte, in UTF-8.
#[must_use]
pub fn character(byte: u8) -> &'static str {
    &ALPHABET[usize::from(byte)]
}

/// Return the byte that a character stands for.
#[must_use]
pub fn byte(character: u32) -> Option<u8> {
    match character {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => u8::try_from(character).ok(),
        0x100..0x144 => (0..=255)
            .filter(|byte| self::character(*byte).chars().any(|own| own >= '\u{100}'))
            .nth(usize::try_from(character - 0x100).expect("small")),
        _ => None,
    }
}

/// Write each byte as a character.
#[must_use]
pub fn spell(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|&byte| character(byte).bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_character() {
        assert_eq!(spell(b" a\n"), "ĠaĊ".as_bytes());
        for value in 0..=255 {
            let character = character(value).chars().next().map(u32::from);
            assert_eq!(character.and_then(byte), Some(value));
        }
        assert_eq!(byte(0x144), None);
        assert_eq!(byte(u32::from(' ')), None);
    }
}

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

/// The byte that each of the first characters stands for.
static BYTES: LazyLock<Box<[Option<u8>]>> = LazyLock::new(|| {
    let mut bytes = vec![None; 0x144].into_boxed_slice();
    for byte in 0..=255 {
        let code_point = character(byte).chars().next().map_or(0, u32::from);
        bytes[code_point as usize] = Some(byte);
    }
    bytes
});

/// Return the byte that a character stands for.
#[must_use]
pub fn byte(character: u32) -> Option<u8> {
    BYTES.get(character as usize).copied().flatten()
}

/// Write each byte as a character.
#[must_use]
pub fn spell(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|&byte| character(byte).bytes()).collect()
}

/// Read bytes from the characters that `spell` writes; return whether there are no others.
pub fn read(spelled: &[u8], bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let Ok(spelled) = std::str::from_utf8(spelled) else { return false };
    for character in spelled.chars() {
        let Some(byte) = byte(u32::from(character)) else { return false };
        bytes.push(byte);
    }
    true
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
        let mut bytes = Vec::new();
        assert!(read("ĠaĊ".as_bytes(), &mut bytes));
        assert_eq!(bytes, b" a\n");
        assert!(!read("你".as_bytes(), &mut bytes));
        assert_eq!(byte(0x144), None);
        assert_eq!(byte(u32::from(' ')), None);
    }
}

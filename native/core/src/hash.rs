//! Hash short byte strings.

const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xD1B5_4A32_D192_ED03;

/// Mix two numbers into one whose bits all depend on all bits of both, except for a few unlikely pairs.
#[must_use]
#[inline]
pub fn fold(low: u64, high: u64) -> u64 {
    let product = u128::from(low ^ FIRST) * u128::from(high ^ SECOND);
    product as u64 ^ (product >> 64) as u64
}

/// The tag of a slot of a hash table that is free.
pub const FREE: u8 = 0;

/// Return the tag of what is stored under a hash.
///
/// Most of what is looked up in the tables of large vocabularies is not there. Tags in an array of their own tell this
/// without loading the slots, and fit into a processor's cache.
#[must_use]
#[inline]
pub fn tag(hash: u64) -> u8 {
    (hash >> 56) as u8 | 1
}

/// Hash bytes, eight at a time.
#[must_use]
#[inline]
pub fn hash(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(8);
    let rest = pack(words.remainder());
    let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    fold(words.fold(bytes.len() as u64, fold), rest)
}

/// Pack up to eight bytes into a number, the first one lowest.
#[must_use]
#[inline]
pub fn pack(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |packed, &byte| packed << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_and_the_length_count() {
        let texts: [&[u8]; 6] = [b"", b"\0", b"12345678", b"12345678\0", b"02345678\0", b"123456780"];
        let hashes: std::collections::HashSet<u64> = texts.iter().map(|text| hash(text)).collect();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn the_first_byte_is_packed_lowest() {
        assert_eq!(pack(b"ab"), 0x6261);
    }
}

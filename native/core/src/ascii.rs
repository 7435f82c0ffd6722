//! Examine eight bytes at a time, as the bytes of one number.

/// The number of bytes that are examined at once.
pub const BLOCK: usize = 8;

const LOW_BITS: u64 = repeated(0x7F);
const HIGH_BITS: u64 = !LOW_BITS;

/// Return a number whose bytes are all `byte`.
const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; BLOCK])
}

/// Load the eight bytes at `place`, which must be readable, the first one lowest.
#[must_use]
#[inline]
pub fn load(bytes: &[u8], place: usize) -> u64 {
    let mut block = [0; BLOCK];
    block.copy_from_slice(&bytes[place..place + BLOCK]);
    u64::from_le_bytes(block)
}

/// Return eight bytes in which the highest bit of each one that is not an ASCII letter is set, and no other bit.
#[must_use]
#[inline]
pub fn mark_other_than_letters(block: u64) -> u64 {
    // With bit 5 set, letters are lowercase; adding to seven bits carries into the eighth from 'a' on, or after 'z'.
    let lowered = (block | repeated(0x20)) & LOW_BITS;
    let from_a = lowered + repeated(0x80 - b'a');
    let after_z = lowered + repeated(0x7F - b'z');
    !(from_a & !after_z & !block) & HIGH_BITS
}

/// Return the number of ASCII letters at the start of eight bytes.
#[must_use]
#[inline]
pub fn count_letters(block: u64) -> usize {
    mark_other_than_letters(block).trailing_zeros() as usize / BLOCK
}

/// Return the number of spaces at the start of eight bytes.
#[must_use]
#[inline]
pub fn count_spaces(block: u64) -> usize {
    (block ^ repeated(b' ')).trailing_zeros() as usize / BLOCK
}

/// Return the number of bytes before the first space of eight bytes.
#[must_use]
#[inline]
pub fn count_before_space(block: u64) -> usize {
    let differences = block ^ repeated(b' ');
    // Above the first zero, the marks can be wrong.
    let zeros = differences.wrapping_sub(repeated(1)) & !differences & HIGH_BITS;
    zeros.trailing_zeros() as usize / BLOCK
}

/// The number of bytes that a mask describes.
pub const MASK: usize = 64;

/// Return a bit for each byte: whether `test` accepts it.
#[must_use]
#[inline]
pub fn mask(bytes: &[u8; MASK], test: impl Fn(u8) -> bool) -> u64 {
    let mut accepted = [0; MASK];
    for (accepted, &byte) in accepted.iter_mut().zip(bytes) {
        *accepted = if test(byte) { 0xFF } else { 0 };
    }
    highest_bits(&accepted)
}

/// Return the highest bit of each byte; with it, splitting ASCII text takes a third fewer instructions than without.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, unused_unsafe, reason = "these instructions are safe, but became so only in Rust 1.87")]
#[inline]
fn highest_bits(bytes: &[u8; MASK]) -> u64 {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};
    let mut mask = 0;
    for place in (0..MASK).step_by(2 * BLOCK) {
        let [low, high] = [place, place + BLOCK].map(|place| load(bytes, place) as i64);
        // SAFETY: all x86-64 processors have SSE2, to which both instructions belong.
        let bits = unsafe { _mm_movemask_epi8(_mm_set_epi64x(high, low)) };
        mask |= u64::from(bits as u32) << place;
    }
    mask
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn highest_bits(bytes: &[u8; MASK]) -> u64 {
    /// Multiplying by it moves the lowest bits of eight bytes into the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let bits = |place| (load(bytes, place) >> 7 & repeated(1)).wrapping_mul(GATHER) >> (MASK - BLOCK) << place;
    (0..MASK).step_by(BLOCK).map(bits).fold(0, |mask, bits| mask | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_than_letters_are_marked() {
        for byte in 0..=255_u8 {
            for place in 0..8 {
                let mut bytes = *b"AZazMmbY";
                bytes[place] = byte;
                let expected = if byte.is_ascii_alphabetic() { 0 } else { 0x80 << (8 * place) };
                assert_eq!(mark_other_than_letters(u64::from_le_bytes(bytes)), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn a_mask_has_a_bit_for_each_byte() {
        let bytes = std::array::from_fn(|place| place as u8);
        assert_eq!(mask(&bytes, |byte| byte % 3 == 1), (0..MASK).step_by(3).map(|place| 2 << place).sum::<u64>());
        assert_eq!(mask(&bytes, |byte| byte == 63), 1 << 63);
    }

    #[test]
    fn bytes_are_counted_up_to_the_first_other_one() {
        for place in 0..=8 {
            let block = |before: u8, first: u8| {
                let bytes = [[before; 8], [first; 8]].concat();
                load(&bytes, 8 - place)
            };
            for other in [b'.', 0x80, b'@', b'['] {
                assert_eq!(count_letters(block(b'x', other)), place);
            }
            for other in [b'!', 0, 0xA0] {
                assert_eq!(count_spaces(block(b' ', other)), place);
                assert_eq!(count_before_space(block(other, b' ')), place);
            }
        }
    }
}

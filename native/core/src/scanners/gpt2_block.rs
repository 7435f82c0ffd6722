//! Split ASCII text, with typographic punctuation, by the pattern of GPT-2, 64 bytes at once: one bit for each byte.

use crate::ascii::{MASK, mask};

/// What seems to follow a text: whitespace, so that a part that ends with the text ends there.
const AFTER: u8 = b'\n';
/// Shorter texts are faster to split part by part.
const SHORTEST: usize = 16;
/// The last apostrophe that matters: a contraction of a later one ends after the block.
const LAST_QUOTE: usize = MASK - 4;
/// The last start that does not depend on later apostrophes.
const LAST_START: usize = LAST_QUOTE + 1;

/// Return where parts start after `start`, where one does, or the text ends, as bits.
///
/// 0 means that they have to be found one by one.
#[inline]
pub fn starts_in_block(text: &[u8], start: usize) -> u64 {
    let rest = &text[start..];
    if let Some(block) = rest.first_chunk::<MASK>() {
        return find_starts(block, LAST_START);
    }
    if rest.len() < SHORTEST {
        return 0;
    }
    let mut block = [AFTER; MASK];
    block[..rest.len()].copy_from_slice(rest);
    find_starts(&block, rest.len().min(LAST_START))
}

/// Return the starts up to the one at `last`.
#[inline]
fn find_starts(block: &[u8; MASK], last: usize) -> u64 {
    if [block[0], block[1]].iter().any(|&first| first >= 0x80 && first != 0xE2) {
        return 0;
    }
    let letters = mask(block, |byte| (byte | 0x20).wrapping_sub(b'a') < 26);
    let numbers = mask(block, |byte| byte.wrapping_sub(b'0') < 10);
    let spaces = mask(block, |byte| byte == b' ' || byte.wrapping_sub(b'\t') < 5);
    let blanks = mask(block, |byte| byte == b' ');
    let quotes = mask(block, |byte| byte == b'\'');
    let wide = mark_wide(block);
    // In invalid UTF-8, or in other characters, nothing can be said about the first part.
    if wide & 0b11 != 0 {
        return 0;
    }
    let others = !(letters | numbers | spaces);
    // A run of one class is a part, and so is whitespace without its last character, which begins a part of its own.
    let after = |bits: u64| bits << 1;
    let first = letters & !after(letters) | numbers & !after(numbers) | others & !after(others);
    let whitespace = spaces & !after(spaces) | spaces & !(spaces >> 1);
    let starts = first & !after(blanks) | whitespace | 1;
    separate_contractions(block, starts, quotes) & certain(wide, last) & !1
}

/// Return the bytes that are neither ASCII nor belong to punctuation such as dashes and quotation marks, U+2010 to U+2027.
#[inline]
fn mark_wide(block: &[u8; MASK]) -> u64 {
    let wide = mask(block, |byte| byte >= 0x80);
    if wide == 0 {
        return 0;
    }
    let second = mask(block, |byte| byte == 0x80) >> 1;
    let third = mask(block, |byte| byte.wrapping_sub(0x90) <= 0xA7 - 0x90) >> 2;
    let first = mask(block, |byte| byte == 0xE2) & second & third;
    wide & !(first | first << 1 | first << 2)
}

/// Return the bits up to `last` that do not depend on wide bytes.
#[inline]
fn certain(wide: u64, last: usize) -> u64 {
    let up_to_last = u64::MAX >> (MASK - 1 - last);
    if wide == 0 {
        return up_to_last;
    }
    // Whether the last one of several spaces starts a part depends on what follows it.
    up_to_last & ((1 << wide.trailing_zeros() >> 1) - 1)
}

/// Start a part after each contraction, and not after its apostrophe.
#[inline]
fn separate_contractions(block: &[u8; MASK], mut starts: u64, quotes: u64) -> u64 {
    let mut quotes = quotes & starts;
    while quotes != 0 {
        let quote = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        if quote > LAST_QUOTE {
            break;
        }
        let length = match (block[quote + 1], block[quote + 2]) {
            (b's' | b't' | b'm' | b'd', _) => 2,
            (b'r' | b'v', b'e') | (b'l', b'l') => 3,
            _ => continue,
        };
        starts &= !(2 << quote);
        starts |= 1 << (quote + length);
    }
    starts
}

//! Take the longest token at each position, in several parts of a text at once.
//!
//! Each step of a search waits for the memory that the step before it leads to, but not for the steps in other parts of
//! the text. A part may begin inside a token. But the token at a position depends only on the text from there on, so as
//! soon as the tokens before a part end where one of its tokens starts, all further tokens are the same.

use crate::id_buffer::IdBuffer;
use crate::trie::{Node, Trie};

/// The number of parts.
const LANES: usize = 4;
/// The sizes of the smallest parts that are worth it, and of the largest, whose tokens fit into a processor's cache.
const SHORTEST: usize = 64;
const LONGEST: usize = 1 << 12;
/// Once a part has fewer bytes left, the others wait no longer for the rest.
const REST: usize = 8;
/// In a run of one character, the tokens of two parts may never meet. The next blocks, up to this number, then have no
/// parts.
const LONGEST_PAUSE: usize = 64;

/// The tokens of each part, in the order of the text: the end of a token in the upper half, its id plus one in the
/// lower half.
#[derive(Debug, Default)]
pub struct Lanes([Vec<u64>; LANES]);

/// The search in a part.
#[derive(Clone, Copy)]
struct Lane {
    node: Node,
    /// The place of the next byte.
    place: usize,
    /// The longest token so far, or the one before it.
    longest: u64,
    /// The number of tokens that were taken.
    count: usize,
}

impl Lane {
    /// Go on by a byte, or take the longest token and return to its end. There are no branches to be predicted.
    #[inline]
    fn step(&mut self, trie: &Trie, text: &[u8], tokens: &mut [u64]) {
        let (child, exists) = trie.slot(self.node, text[self.place]);
        tokens[self.count] = self.longest;
        self.count += usize::from(!exists);
        let after = self.place + 1;
        let value = child.value_or_zero();
        let is_token = exists & (value != 0);
        self.longest = if is_token { (after as u64) << 32 | u64::from(value) } else { self.longest };
        self.place = if exists { after } else { end_of(self.longest) };
        self.node = if exists { child } else { trie.root() };
    }
}

impl Lanes {
    /// Append the ids of the beginning of `text`, and return its length; the rest is short.
    ///
    /// Each byte must be a token. `take` appends the id of the token at a place, and returns its end.
    pub fn encode(
        &mut self,
        trie: &Trie,
        text: &[u8],
        ids: &mut IdBuffer<'_>,
        take: impl Fn(usize, &mut IdBuffer<'_>) -> usize,
    ) -> usize {
        let (mut done, mut pause, mut waiting) = (0, 0, 0);
        while text.len() - done >= LANES * SHORTEST {
            let size = (text.len() - done).min(LANES * LONGEST) / LANES;
            let end = done + LANES * size;
            if waiting > 0 {
                waiting -= 1;
                while done < end {
                    done = take(done, ids);
                }
                continue;
            }
            let counts = self.search(trie, &text[done..end], size);
            let (length, joined) = self.join(size, counts, ids, |place, ids| take(done + place, ids) - done);
            done += length;
            pause = if joined * 2 > LANES { 0 } else { LONGEST_PAUSE.min(pause * 2 + 1) };
            waiting = pause;
        }
        done
    }

    /// Find the tokens of each part of `block`, except for the last ones; return their numbers.
    fn search(&mut self, trie: &Trie, block: &[u8], size: usize) -> [usize; LANES] {
        let lane = |index: usize| Lane { node: trie.root(), place: index * size, longest: 0, count: 0 };
        let mut lanes: [Lane; LANES] = std::array::from_fn(lane);
        // A step also writes after the tokens that were taken.
        let [first, second, third, fourth] = self.0.each_mut().map(|tokens| {
            tokens.resize(tokens.len().max(size + 1), 0);
            &mut tokens[..=size]
        });
        loop {
            let left = (1..).zip(&lanes).map(|(number, lane)| number * size - lane.place).min().unwrap_or(0);
            if left < REST {
                return lanes.map(|lane| lane.count);
            }
            for _ in 0..left {
                lanes[0].step(trie, block, first);
                lanes[1].step(trie, block, second);
                lanes[2].step(trie, block, third);
                lanes[3].step(trie, block, fourth);
            }
        }
    }

    /// Append the ids of all parts; return the end of the last token, and how many parts were of use.
    ///
    /// Between the last token of a part and the first one of the next that begins where another one ends, `take` is used.
    fn join(
        &self,
        size: usize,
        counts: [usize; LANES],
        ids: &mut IdBuffer<'_>,
        take: impl Fn(usize, &mut IdBuffer<'_>) -> usize,
    ) -> (usize, usize) {
        let (mut place, mut joined) = (0, 0);
        for (index, (tokens, count)) in self.0.iter().zip(counts).enumerate() {
            let mut tokens = &tokens[..count];
            let mut start = index * size;
            while start != place {
                if place < start {
                    place = take(place, ids);
                } else if let Some((&token, rest)) = tokens.split_first() {
                    (start, tokens) = (end_of(token), rest);
                } else {
                    break;
                }
            }
            if let Some(&last) = tokens.last() {
                tokens.iter().for_each(|&token| ids.push(token as u32 - 1));
                place = end_of(last);
                joined += 1;
            }
        }
        (place, joined)
    }
}

#[inline]
fn end_of(token: u64) -> usize {
    (token >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_are_those_of_a_search_from_the_beginning() {
        let strings = ["ab", "abab", "ba", "aab", "abc", "cabba", "ccc", "bbbbbbbb"];
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let strings = bytes.iter().map(|byte| byte.as_slice()).chain(strings.iter().map(|string| string.as_bytes()));
        let trie = Trie::new(strings.zip(0..));
        let longest = |text: &[u8]| trie.longest(trie.root(), text).expect("each byte is a token");
        let (mut lanes, mut state) = (Lanes::default(), 1_u32);
        for size in (0..40_000).step_by(1_997) {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"abc"[(state >> 24) as usize % 3]
            };
            let run = b"b".repeat(size % 5 * 20_011);
            let text: Vec<u8> = (0..size).map(|_| next()).chain(run).collect();
            let (mut ids, mut expected, mut place) = (Vec::new(), Vec::new(), 0);
            let done = lanes.encode(&trie, &text, &mut IdBuffer::new(&mut ids), |place, ids| {
                let (length, id) = longest(&text[place..]);
                ids.push(id);
                place + length
            });
            while place < done {
                let (length, id) = longest(&text[place..]);
                expected.push(id);
                place += length;
            }
            assert_eq!((&ids, done), (&expected, place));
            assert!(text.len() - done < LANES * SHORTEST);
        }
    }
}

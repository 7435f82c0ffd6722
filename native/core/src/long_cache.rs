//! Cache the ids of chunks of any length, whose bytes are stored one after the other.

use crate::hash::hash;

/// How many slots from its own a chunk may be stored.
const PROBES: usize = 8;
const SMALLEST: usize = 1 << 10;
/// The numbers of bytes and of ids after which the cache is emptied.
const ARENA: usize = 1 << 19;

/// The ids of chunks by text.
#[derive(Debug, Default)]
pub struct LongCache {
    entries: Vec<LongEntry>,
    used: usize,
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

/// The places of a chunk and of its ids; an empty slot has the length zero.
#[derive(Debug, Clone, Copy, Default)]
struct LongEntry {
    hash: u64,
    start: u32,
    length: u32,
    ids_start: u32,
    ids_length: u32,
}

impl LongCache {
    /// Return the ids of a chunk if they are known.
    #[must_use]
    pub fn find(&self, chunk: &[u8]) -> Option<&[u32]> {
        let hash = hash(chunk);
        let mask = self.entries.len().wrapping_sub(1);
        for probe in 0..PROBES {
            let entry = self.entries.get((hash as usize).wrapping_add(probe) & mask)?;
            if entry.length == 0 {
                return None;
            }
            let start = entry.start as usize;
            if entry.hash == hash && &self.bytes[start..start + entry.length as usize] == chunk {
                let start = entry.ids_start as usize;
                return Some(&self.ids[start..start + entry.ids_length as usize]);
            }
        }
        None
    }

    /// Store the ids of a chunk that is not known yet.
    pub fn insert(&mut self, chunk: &[u8], ids: &[u32]) {
        if self.bytes.len() + chunk.len() > ARENA || self.ids.len() + ids.len() > ARENA {
            *self = Self::default();
        }
        if self.used * 2 >= self.entries.len() {
            let size = (self.entries.len() * 4).max(SMALLEST);
            let entries = std::mem::replace(&mut self.entries, vec![LongEntry::default(); size]);
            entries.into_iter().filter(|entry| entry.length != 0).for_each(|entry| self.place(entry));
        }
        let entry = LongEntry {
            hash: hash(chunk),
            start: self.bytes.len() as u32,
            length: chunk.len() as u32,
            ids_start: self.ids.len() as u32,
            ids_length: ids.len() as u32,
        };
        self.bytes.extend_from_slice(chunk);
        self.ids.extend_from_slice(ids);
        self.used += 1;
        self.place(entry);
    }

    fn place(&mut self, entry: LongEntry) {
        let mask = self.entries.len() - 1;
        let slot = entry.hash as usize;
        let free = (0..PROBES).find(|probe| self.entries[slot.wrapping_add(*probe) & mask].length == 0);
        self.entries[slot.wrapping_add(free.unwrap_or(0)) & mask] = entry;
    }
}

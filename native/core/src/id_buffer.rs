//! Append ids fast.

/// The number of ids that are written at once.
pub const INLINE: usize = 4;
/// For how many ids room is made at first, and at most.
const ROOM: (usize, usize) = (16, 1024);

/// Ids to be appended to a vector. Room is reserved ahead, so that four can be written at once, whatever their number.
#[derive(Debug)]
pub struct IdBuffer<'a> {
    ids: &'a mut Vec<u32>,
    length: usize,
    room: usize,
}

impl<'a> IdBuffer<'a> {
    /// Append to `ids`, which is complete when the buffer is dropped.
    pub fn new(ids: &'a mut Vec<u32>) -> Self {
        let length = ids.len();
        Self { ids, length, room: ROOM.0 }
    }

    /// Append the first `count` of four ids.
    #[inline]
    pub fn append(&mut self, ids: [u32; INLINE], count: usize) {
        if self.length + INLINE > self.ids.len() {
            self.make_room();
        }
        self.ids[self.length..self.length + INLINE].copy_from_slice(&ids);
        self.length += count;
    }

    #[cold]
    fn make_room(&mut self) {
        self.ids.resize(self.length + self.room, 0);
        self.room = (self.room * 2).min(ROOM.1);
    }

    /// Append an id.
    #[inline]
    pub fn push(&mut self, id: u32) {
        self.append([id, 0, 0, 0], 1);
    }

    /// Append ids.
    pub fn extend(&mut self, ids: &[u32]) {
        let end = self.length + ids.len();
        if end > self.ids.len() {
            self.ids.resize(end, 0);
        }
        self.ids[self.length..end].copy_from_slice(ids);
        self.length = end;
    }

    /// Return the last id, of those before the buffer as well.
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        self.length.checked_sub(1).map(|last| self.ids[last])
    }

    /// Return the number of ids, including those before the buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Return whether there are no ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Return the ids from an index on.
    #[must_use]
    pub fn since(&self, start: usize) -> &[u32] {
        &self.ids[start..self.length]
    }

    /// Return the ids from an index on, to be changed.
    pub fn since_mut(&mut self, start: usize) -> &mut [u32] {
        &mut self.ids[start..self.length]
    }

    /// Keep only the first `length` ids.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl Drop for IdBuffer<'_> {
    fn drop(&mut self) {
        self.ids.truncate(self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_leaves_earlier_ids_in_place() {
        let mut ids = vec![1, 2];
        let mut buffer = IdBuffer::new(&mut ids);
        buffer.append([3, 4, 5, 6], 2);
        buffer.push(7);
        buffer.extend(&[8, 9]);
        assert_eq!(buffer.since(2), [3, 4, 7, 8, 9]);
        buffer.truncate(6);
        assert_eq!(buffer.last(), Some(8));
        drop(buffer);
        assert_eq!(ids, [1, 2, 3, 4, 7, 8]);
    }
}

//! Append ids fast.

/// The number of ids that are written at once.
pub const INLINE: usize = 4;

/// Ids to be appended to a vector, four at once, whatever their number.
#[derive(Debug)]
pub struct IdBuffer<'a>(&'a mut Vec<u32>);

impl<'a> IdBuffer<'a> {
    /// Append to `ids`.
    pub fn new(ids: &'a mut Vec<u32>) -> Self {
        Self(ids)
    }

    /// Append the first `count` of four ids.
    #[inline]
    pub fn append(&mut self, ids: [u32; INLINE], count: usize) {
        let length = self.0.len() + count;
        self.0.extend_from_slice(&ids);
        self.0.truncate(length);
    }

    /// Append an id.
    #[inline]
    pub fn push(&mut self, id: u32) {
        self.0.push(id);
    }

    /// Append ids.
    #[inline(never)]
    pub fn extend(&mut self, ids: &[u32]) {
        self.0.extend_from_slice(ids);
    }

    /// Return the last id, of those before the buffer as well.
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// Return the number of ids, including those before the buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Return whether there are no ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Return the ids from an index on.
    #[must_use]
    pub fn since(&self, start: usize) -> &[u32] {
        &self.0[start..]
    }

    /// Return the ids from an index on, to be changed.
    pub fn since_mut(&mut self, start: usize) -> &mut [u32] {
        &mut self.0[start..]
    }

    /// Keep only the first `length` ids.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
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
        assert_eq!(ids, [1, 2, 3, 4, 7, 8]);
    }
}

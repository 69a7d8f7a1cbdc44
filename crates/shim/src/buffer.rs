//! Bytes on their way, in a piece of memory that never grows.

/// A queue of bytes with a fixed size.
#[derive(Debug)]
pub struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// An empty one.
    pub fn new(size: usize) -> Self {
        Self { bytes: vec![0; size].into_boxed_slice(), start: 0, end: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// How many bytes fit.
    pub fn room(&self) -> usize {
        self.bytes.len() - (self.end - self.start)
    }

    /// What waits.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// So many of the waiting bytes are on.
    pub fn consume(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// The free memory behind what waits, for a read; [`Self::grown`] says how much of it was filled. Empty only if full.
    pub fn free(&mut self) -> &mut [u8] {
        if self.end == self.bytes.len() && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }

    /// So many bytes were put into the free memory. Gives them.
    pub fn grown(&mut self, count: usize) -> &[u8] {
        let from = self.end;
        self.end = (self.end + count).min(self.bytes.len());
        &self.bytes[from..self.end]
    }

    /// Takes as many of the bytes as fit, and says how many.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        if self.bytes.len() - self.end < bytes.len() && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let count = bytes.len().min(self.bytes.len() - self.end);
        self.bytes[self.end..self.end + count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }
}

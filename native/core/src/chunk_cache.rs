//! Cache the ids of chunks of text.

/// The ids of chunks by text.
#[derive(Debug, Default)]
pub struct ChunkCache {}

//! Chunks as searches return them.

use crate::base::language::Language;
use crate::base::types::{Chunk, FileProperties};
use crate::query::top_k::Scored;

/// Names a chunk within one [`Searcher`](crate::query::searcher::Searcher): its segment in the upper half, its ordinal in the lower.
pub type Doc = u64;

/// A chunk that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredDoc {
    /// The chunk.
    pub doc: Doc,
    /// The score of this search; higher is better.
    pub score: f32,
}

/// Everything that is recorded of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkInfo {
    /// Its name.
    pub doc: Doc,
    /// The chunk.
    pub chunk: Chunk,
    /// Its file.
    pub path: String,
    /// The file's language.
    pub language: Language,
    /// `xxh3_128` of the file's bytes.
    pub file_hash: u128,
    /// When its content was last changed, seconds since 1970.
    pub updated_at: i64,
    /// What the file's source says of it.
    pub properties: FileProperties,
    /// Whether it is from an unsaved buffer.
    pub overlay: bool,
}

/// The name of a chunk.
pub(crate) fn doc(segment: u32, chunk: u32) -> Doc {
    u64::from(segment) << 32 | u64::from(chunk)
}

/// The segment of a chunk and its ordinal there.
pub(crate) fn segment_and_chunk(doc: Doc) -> (u32, u32) {
    ((doc >> 32) as u32, doc as u32)
}

impl From<Scored> for ScoredDoc {
    fn from(scored: Scored) -> Self {
        Self { doc: doc(scored.view, scored.chunk), score: scored.score }
    }
}

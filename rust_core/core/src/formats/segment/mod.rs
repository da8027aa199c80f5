//! Immutable segment files: everything the index knows of a batch of files, in one file.
//!
//! A commit writes one with a [`SegmentBuilder`], [`merge`] makes one of several, and [`Segment`] reads them from a
//! copy in memory, which nobody else can change. No source text is kept. `format.rs` draws the bytes.

mod builder;
pub(crate) mod format;
mod mask;
mod merge;
mod properties;
mod reader;
mod record;
mod signature;

pub use builder::{FileDraft, SegmentBuilder};
pub use mask::FileMask;
pub use merge::{NewOrdinals, merge};
pub use properties::Marks;
pub use reader::{FileRef, ModelVectors, Segment};

use crate::base::language::Language;

/// What is recorded of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileEntry<'a> {
    /// Relative to the workspace root, `/`-separated.
    pub path: &'a str,
    /// Its language.
    pub language: Language,
    /// `xxh3_128` of the raw bytes.
    pub hash: u128,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When its content was last changed, by its modification time then, seconds since 1970.
    pub updated_at: i64,
    /// What it imports, as written.
    pub imports: &'a [String],
}

#[cfg(test)]
mod tests;

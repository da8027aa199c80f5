//! What the database holds, as plain values.

use crate::base::file_state::Stamp;
use crate::base::types::{SkipReason, Skipped};

/// The live place of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Relative path.
    pub path: String,
    /// Segment id.
    pub segment: u64,
    /// File ordinal in that segment.
    pub file: u32,
    /// What it looked like on disk.
    pub stamp: Stamp,
}

/// A file that was read in vain (binary, minified …): known, so that it isn't read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableRow {
    /// Relative path.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
    /// What it looked like on disk.
    pub stamp: Stamp,
}

/// Everything the database knows, at one generation.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Counts commits.
    pub generation: u64,
    /// Ids of the segments in use.
    pub segments: Vec<u64>,
    /// Live files.
    pub files: Vec<FileRow>,
    /// Files that were read in vain.
    pub unusable: Vec<UnusableRow>,
    /// Files that could not be embedded or cut, with the reason.
    pub failed: Vec<(String, String)>,
    /// What the last scan left out.
    pub skipped: Vec<Skipped>,
}

/// One transaction's worth of changes. Removals come before additions.
#[derive(Debug, Default)]
pub struct Change<'a> {
    /// The new generation.
    pub generation: u64,
    /// Segments that are no longer used.
    pub drop_segments: Vec<u64>,
    /// Segments that are new.
    pub add_segments: Vec<u64>,
    /// Paths that are forgotten altogether.
    pub remove: Vec<&'a str>,
    /// Live places, new or moved.
    pub files: Vec<FileRow>,
    /// Files that were read in vain.
    pub unusable: Vec<UnusableRow>,
    /// Files that failed, with the reason. Every other path of this change is taken off that list.
    pub failed: Vec<(&'a str, &'a str)>,
}

//! What the database holds, as plain values.

use crate::read::LastChange;
use crate::types::{SkipReason, Skipped};
use crate::walk::FoundFile;

/// What the file system said of a file when it was read, and when that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// What tells an edit that keeps both.
    pub change: LastChange,
    /// When it was read, nanoseconds since 1970; 0 means that it must be cut again whatever its hash.
    pub checked_ns: i64,
}

/// A file may change twice within one tick of a coarse clock and look untouched; one that was modified this shortly before it was
/// read is read again (git calls such an entry racy).
const RACY_NS: i64 = 2_000_000_000;

impl Stamp {
    /// Whether a file that looks like this is surely the one that was read.
    pub fn is_clean(&self, file: &FoundFile) -> bool {
        (self.size, self.mtime_ns, self.change) == (file.size, file.mtime_ns, file.change)
            && self.checked_ns != 0
            && file.mtime_ns.saturating_add(RACY_NS) < self.checked_ns
    }
}

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

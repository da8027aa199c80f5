//! What the file system says of a file, to tell whether it changed.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// Identifies a file and its last change. Tools can set a file's modification time back, but not this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastChange {
    /// The number of the file: another file under the same name has another one.
    pub id: u64,
    /// When anything about it was changed last, nanoseconds since 1970.
    pub changed_ns: i64,
}

impl LastChange {
    /// The number of the file and the time of its last change of any kind.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { id: metadata.ino(), changed_ns: metadata.ctime().saturating_mul(1_000_000_000) + metadata.ctime_nsec() }
    }

    /// The times of creation and of the last write.
    #[cfg(windows)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::windows::fs::MetadataExt;
        Self { id: metadata.creation_time(), changed_ns: modified_ns(metadata) }
    }

    /// Nothing: this system doesn't say.
    #[cfg(not(any(unix, windows)))]
    pub fn of(_metadata: &Metadata) -> Self {
        Self::default()
    }
}

/// Modification time in nanoseconds since 1970, 0 where the system has none.
pub fn modified_ns(metadata: &Metadata) -> i64 {
    match metadata.modified().map(|time| time.duration_since(UNIX_EPOCH)) {
        Ok(Ok(after)) => after.as_nanos() as i64,
        Ok(Err(before)) => -(before.duration().as_nanos() as i64),
        Err(_) => 0,
    }
}

/// The state of a file on disk when it was read, and when that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Tells an edit that keeps size and time.
    pub change: LastChange,
    /// When it was read, nanoseconds since 1970; 0 means that it must be cut again whatever its hash.
    pub checked_ns: i64,
}

//! Several names of one file (hard links): a secret under a harmless name is still the secret.

use std::fs::Metadata;

/// What tells a file from all others, whatever its name. Only where the system gives it along with the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Return the file that `metadata` is of.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Return the file that `metadata` is of: this system doesn't say.
    #[cfg(not(unix))]
    pub fn of(_metadata: &Metadata) -> Option<Self> {
        None
    }

    /// Return the file that `metadata` is of, if it has other names too.
    #[cfg(unix)]
    pub fn of_linked(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        if metadata.nlink() > 1 { Self::of(metadata) } else { None }
    }

    /// Return the file that `metadata` is of, if it has other names too: this system doesn't say.
    #[cfg(not(unix))]
    pub fn of_linked(_metadata: &Metadata) -> Option<Self> {
        None
    }
}

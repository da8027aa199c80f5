//! The one error tree of the core. Each kind maps to one Python exception in `rust_core/py`.

use std::path::PathBuf;

/// `Result` with the core's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong in the core. A bad source file is never an error: it is skipped with a reason.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's token was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The file system refused; the path says where.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder at fault.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// `SQLite` refused.
    #[error("index database: {0}")]
    Database(#[from] rusqlite::Error),
    /// The index was written by a newer Carrel.
    #[error("the index in {path} has format {found}, this Carrel reads up to {known}: update Carrel, or run `carrel clear`")]
    NewerFormat {
        /// Folder of the index.
        path: PathBuf,
        /// Format version on disk.
        found: u32,
        /// Newest version that this build reads.
        known: u32,
    },
    /// Another process holds the workspace's writer lock.
    #[error("another Carrel process is the writer of this index")]
    NotWriter,
    /// A segment or value on disk is damaged; the store drops it and indexes its files again.
    #[error("damaged index file {path}: {reason}")]
    Damaged {
        /// The file at fault.
        path: PathBuf,
        /// What does not add up.
        reason: String,
    },
    /// The caller passed a value that can't be used.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

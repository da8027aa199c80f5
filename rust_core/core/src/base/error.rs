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
    #[error("{path}: {source}{}", io_remedy(source))]
    Io {
        /// The file or folder at fault.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// `SQLite` refused.
    #[error("{path}: {source}{}", database_remedy(source))]
    Database {
        /// The database file.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
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
    /// A segment was written by a newer Carrel, which keeps in it what must not be passed over.
    #[error("{path} was written by a newer Carrel ({what}): update Carrel, or run `carrel clear`")]
    NewerSegment {
        /// The segment file.
        path: PathBuf,
        /// What this build doesn't know.
        what: String,
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
    #[error("{field}: {message}")]
    Invalid {
        /// The parameter at fault.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// The store was closed, or its folder was deleted under it.
    #[error("{0}")]
    Closed(String),
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// An [`Error::Invalid`] for a parameter.
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { field, message: message.into() }
    }
}

/// What a person can do about it, as the end of a message.
fn io_remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => FULL,
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => READ_ONLY,
        _ => "",
    }
}

fn database_remedy(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::DiskFull) => FULL,
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => READ_ONLY,
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => ": restart to rebuild the index, or run `carrel clear`",
        _ => "",
    }
}

const FULL: &str = ": free some disk space and index again; what was indexed before is kept";
const READ_ONLY: &str = ": make the folder writable, or choose another folder for the index";

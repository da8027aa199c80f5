//! The one error tree of the core. Each kind maps to one Python exception in `rust_core/py`.

use std::path::{Path, PathBuf};

use crate::base::system_fault::SystemFault;
use crate::base::types::SkipReason;

/// `Result` with the core's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong in the core. A bad source file is never an error: it is skipped with a reason.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's token was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The file system refused; the path says where.
    #[error("{path}: {source}{}", ending(io_remedy(source)))]
    Io {
        /// The file or folder at fault.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The machine failed over a file or folder that is to be read.
    #[error("{}{}", read_failed(path, *fault), ending(read_remedy(*fault)))]
    ReadFailed {
        /// The file or folder.
        path: PathBuf,
        /// What the machine lacks.
        fault: SystemFault,
    },
    /// `SQLite` refused.
    #[error("{path}: {source}{}", ending(database_remedy(source)))]
    Database {
        /// The database file.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// The index was written by a newer Carrel.
    #[error("{}{}", newer_format(path, *found, *known), ending(UPDATE))]
    NewerFormat {
        /// Folder of the index.
        path: PathBuf,
        /// Format version on disk.
        found: u32,
        /// Newest version that this build reads.
        known: u32,
    },
    /// A segment was written by a newer Carrel, which keeps in it what must not be passed over.
    #[error("{}{}", newer_segment(path, what), ending(UPDATE))]
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
    #[error("{field}: {}{message}", quoted(value.as_deref()))]
    Invalid {
        /// The parameter at fault.
        field: &'static str,
        /// The one of its values that is meant, if it has several.
        value: Option<String>,
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

    /// Return why `path` is left out; an [`Error::ReadFailed`] where the machine failed over it.
    pub fn skip_reason(path: impl Into<PathBuf>, reason: impl Into<SkipReason>) -> Result<SkipReason> {
        match reason.into() {
            SkipReason::Fault(fault) => Err(Self::ReadFailed { path: path.into(), fault }),
            reason => Ok(reason),
        }
    }

    /// An [`Error::Invalid`] for a parameter.
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { field, value: None, message: message.into() }
    }

    /// An [`Error::Invalid`] for one value of a parameter that has several.
    pub fn invalid_value(field: &'static str, value: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { field, value: Some(value.into()), message: message.into() }
    }

    /// What happened and why, without the remedy, and for a parameter without its name and value.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Io { path, source } => format!("{}: {source}", path.display()),
            Self::ReadFailed { path, fault } => read_failed(path, *fault),
            Self::Database { path, source } => format!("{}: {source}", path.display()),
            Self::NewerFormat { path, found, known } => newer_format(path, *found, *known),
            Self::NewerSegment { path, what } => newer_segment(path, what),
            Self::Invalid { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }

    /// What a person can do about it; empty where nothing is known to help.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => io_remedy(source),
            Self::ReadFailed { fault, .. } => read_remedy(*fault),
            Self::Database { source, .. } => database_remedy(source),
            Self::NewerFormat { .. } | Self::NewerSegment { .. } => UPDATE,
            _ => "",
        }
    }

    /// Whether the same call may succeed later, though nobody mends anything.
    #[must_use]
    pub fn retryable(&self) -> bool {
        use rusqlite::ErrorCode as Code;
        match self {
            Self::NotWriter => true,
            Self::Database { source, .. } => {
                matches!(source.sqlite_error_code(), Some(Code::DatabaseBusy | Code::DatabaseLocked))
            }
            _ => false,
        }
    }
}

impl From<&Error> for SkipReason {
    /// Why a path is left out whose rules can't be read.
    fn from(error: &Error) -> Self {
        match error {
            Error::ReadFailed { fault, .. } => Self::Fault(*fault),
            Error::Io { source, .. } => source.into(),
            _ => Self::Unreadable,
        }
    }
}

fn read_failed(path: &Path, fault: SystemFault) -> String {
    format!("can't read {}: {fault}", path.display())
}

fn newer_format(path: &Path, found: u32, known: u32) -> String {
    format!("the index in {} has format {found}, this Carrel reads up to {known}", path.display())
}

fn newer_segment(path: &Path, what: &str) -> String {
    format!("{} was written by a newer Carrel ({what})", path.display())
}

/// The end of a message.
fn ending(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!(": {remedy}") }
}

fn quoted(value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!("\"{value}\" "))
}

fn io_remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => FULL,
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => READ_ONLY,
        _ => SystemFault::of(error).map_or("", SystemFault::remedy),
    }
}

fn read_remedy(fault: SystemFault) -> &'static str {
    if fault.remedy().is_empty() { BROKEN } else { fault.remedy() }
}

fn database_remedy(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::DiskFull) => FULL,
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => READ_ONLY,
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => "restart to rebuild the index, or run `carrel clear`",
        _ => "",
    }
}

const UPDATE: &str = "update Carrel, or run `carrel clear`";
const FULL: &str = "free some disk space and index again; what was indexed before is kept";
const BROKEN: &str = "check the disk or network drive, or leave the path out by a line in .carrelignore, and index again; what was \
                      indexed before is kept";
const READ_ONLY: &str = "make the folder writable, or choose another folder for the index";

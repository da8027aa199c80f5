//! The writer's lock: one process writes an index, the others follow it.
//!
//! The operating system releases the lock when its owner dies, however it dies, so there is nothing to clean up and no process
//! id to mistrust.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::base::error::{Error, Result};

/// Name of the file that is locked. It stays empty.
pub const LOCK_FILE: &str = "writer.lock";

/// Held as long as it lives.
#[derive(Debug)]
pub struct WriterLock {
    file: File,
}

impl Drop for WriterLock {
    /// Closing the file alone would leave the lock to a child that was forked just now, until it runs its own program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl WriterLock {
    /// Take the lock of the index in `directory`; `None` if another store has it.
    pub fn try_take(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(LOCK_FILE);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(|e| Error::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::io(path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WriterLock;

    #[test]
    fn one_holds_it_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = WriterLock::try_take(folder.path()).unwrap();
        assert!(first.is_some());
        assert!(WriterLock::try_take(folder.path()).unwrap().is_none());
        drop(first);
        assert!(WriterLock::try_take(folder.path()).unwrap().is_some());
    }

    #[test]
    fn it_is_free_although_somebody_else_has_the_open_file() {
        let folder = tempfile::tempdir().unwrap();
        let lock = WriterLock::try_take(folder.path()).unwrap().unwrap();
        let _inherited = lock.file.try_clone().unwrap();
        drop(lock);
        assert!(WriterLock::try_take(folder.path()).unwrap().is_some());
    }
}

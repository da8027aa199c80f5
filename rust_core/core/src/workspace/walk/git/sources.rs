//! What was read to know a repository's rules, to notice when it changes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::system_fault::uninterrupted;
use crate::workspace::folder::open_file;
use crate::workspace::read::read_rules;
use crate::workspace::walk::stamp::{RuleFileStamp, stamp_of};

/// Files that were read, and entries that were looked for, as they were.
#[derive(Debug, Default)]
pub(super) struct Sources {
    files: Vec<(PathBuf, RuleFileStamp)>,
    entries: Vec<(PathBuf, Kind)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    File,
    Folder,
}

impl Sources {
    /// Read a file, and note it, also where there is none. The user's own files may be links.
    pub fn read(&mut self, path: &Path) -> Result<Option<Vec<u8>>> {
        self.files.push((path.to_owned(), stamp_of(path)));
        read_rules(path, open_file(path))
    }

    /// Tell a file from a folder, and note which it is. What is in it doesn't matter.
    pub fn kind(&mut self, path: &Path) -> Result<Kind> {
        let kind = kind_of(path)?;
        self.entries.push((path.to_owned(), kind));
        Ok(kind)
    }

    /// Tell whether all of it is still as it was.
    pub fn are_current(&self) -> bool {
        self.files.iter().all(|(path, stamp)| stamp_of(path) == *stamp)
            && self.entries.iter().all(|(path, kind)| kind_of(path).is_ok_and(|now| now == *kind))
    }
}

fn kind_of(path: &Path) -> Result<Kind> {
    match uninterrupted(|| fs::metadata(path)) {
        Ok(found) => Ok(if found.is_dir() { Kind::Folder } else { Kind::File }),
        Err(error) => Error::skip_reason(path, &error).map(|_| Kind::Nothing),
    }
}

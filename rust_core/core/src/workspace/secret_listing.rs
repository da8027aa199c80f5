//! List the secrets of a workspace: places and kinds, never values.

use std::path::Path;

use rayon::prelude::*;

use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::lines::LineTable;
use crate::base::types::SkipReason;
use crate::index::secrets::{Detector, SecretMatch, SecretOptions};
use crate::workspace::folder::Folder;
use crate::workspace::read::read_source;
use crate::workspace::walk::{WalkOptions, walk};

/// A secret, or a file that is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretLocation {
    /// Relative to the root, `/`-separated.
    pub path: String,
    /// 1-based; `None` for a file that is left out as a whole.
    pub line: Option<u32>,
    /// The rule that found it, or why the file is left out.
    pub kind: String,
}

/// Look at every file of the workspace that counts; sorted by path and line.
pub fn list_secrets(
    root: &Path,
    walking: &WalkOptions,
    secrets: &SecretOptions,
    cancel: &CancelToken,
) -> Result<Vec<SecretLocation>> {
    let detector = Detector::new(secrets)?;
    let walk = walk(root, walking, cancel)?;
    let whole = |path: &str, kind: &str| vec![SecretLocation { path: path.to_owned(), line: None, kind: kind.to_owned() }];
    let by_name = walk.skipped.iter().filter(|skipped| skipped.reason == SkipReason::Secret);
    let mut seen: Vec<SecretLocation> = by_name.flat_map(|skipped| whole(&skipped.path, "secret by its name")).collect();
    // Held open: no file is reached by a link that takes the place of a folder meanwhile.
    let folder = Folder::open(root);
    let look = |path: &str| -> Vec<SecretLocation> {
        let Some(file) = folder.as_ref().ok().and_then(|folder| folder.file(path).ok()) else { return Vec::new() };
        let Ok(source) = read_source(file, walking.max_file_bytes) else { return Vec::new() };
        let found = detector.find(path, &source.text);
        if let Some(reason) = detector.whole(path, &source.text, found.len()) {
            return whole(path, reason.code());
        }
        if found.is_empty() {
            return Vec::new();
        }
        let lines = LineTable::new(&source.text);
        let one = |found: SecretMatch| SecretLocation {
            path: path.to_owned(),
            line: Some(lines.line_of(found.start as u32)),
            kind: found.rule,
        };
        found.into_iter().map(one).collect()
    };
    let inside: Result<Vec<Vec<SecretLocation>>> =
        walk.files.par_iter().map(|file| cancel.check().map(|()| look(&file.path))).collect();
    seen.extend(inside?.into_iter().flatten());
    seen.sort();
    Ok(seen)
}

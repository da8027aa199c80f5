//! List the secrets of a workspace: places and kinds, never values.

use std::path::Path;

use rayon::prelude::*;

use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::lines::LineTable;
use crate::base::types::SkipReason;
use crate::index::secrets::{Detector, SecretMatch, SecretOptions};
use crate::workspace::editorconfig::charset;
use crate::workspace::folder::{Folder, open_file};
use crate::workspace::read::read_source;
use crate::workspace::walk::{AccessPolicy, WalkOptions, walk};

const BY_NAME: &str = "secret by its name";

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

/// Look at every file of the workspace that counts, sorted by path and line; or at one file, also if it is ignored.
pub fn list_secrets(
    root: &Path,
    walking: &WalkOptions,
    secrets: &SecretOptions,
    cancel: &CancelToken,
) -> Result<Vec<SecretLocation>> {
    let detector = Detector::new(secrets)?;
    if root.is_file() {
        return of_file(root, walking, &detector);
    }
    let walk = walk(root, walking, cancel)?;
    let by_name = walk.skipped.iter().filter(|skipped| skipped.reason == SkipReason::Secret);
    let mut seen: Vec<SecretLocation> = by_name.flat_map(|skipped| whole(&skipped.path, BY_NAME)).collect();
    // Held open: no file is reached by a link that takes the place of a folder meanwhile.
    let folder = Folder::open(root).map_err(|error| Error::io(root, error))?;
    let look = |path: &str| -> Result<Vec<SecretLocation>> {
        cancel.check()?;
        let opened = folder.file(path).map_err(|error| SkipReason::from(&error));
        match opened.and_then(|file| read_source(file, walking.max_file_bytes, || charset(&folder, path))) {
            Ok(source) => Ok(in_text(path, &source.text, &detector)),
            // A secret that wasn't looked for must not count as none.
            Err(reason) => Error::skip_reason(root.join(path), reason).map(|_| Vec::new()),
        }
    };
    let inside: Result<Vec<Vec<SecretLocation>>> = walk.files.par_iter().map(|file| look(&file.path)).collect();
    seen.extend(inside?.into_iter().flatten());
    seen.sort();
    Ok(seen)
}

fn of_file(file: &Path, walking: &WalkOptions, detector: &Detector) -> Result<Vec<SecretLocation>> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let folder = file.parent().unwrap_or(file);
    if AccessPolicy::new(folder, walking).check(&name) == Err(SkipReason::Secret) {
        return Ok(whole(&name, BY_NAME));
    }
    let opened = open_file(file).map_err(|error| Error::io(file, error))?;
    match read_source(opened, walking.max_file_bytes, || None) {
        Ok(source) => Ok(in_text(&name, &source.text, detector)),
        Err(reason) => {
            let reason = Error::skip_reason(file, reason)?;
            Err(Error::invalid_value("path", file.to_string_lossy(), format!("is not looked at: {reason}")))
        }
    }
}

fn in_text(path: &str, text: &str, detector: &Detector) -> Vec<SecretLocation> {
    let found = detector.find(path, text);
    if let Some(reason) = detector.whole(path, text, found.len()) {
        return whole(path, reason.code());
    }
    if found.is_empty() {
        return Vec::new();
    }
    let lines = LineTable::new(text);
    let one = |found: SecretMatch| SecretLocation {
        path: path.to_owned(),
        line: Some(lines.line_of(found.start as u32)),
        kind: found.rule,
    };
    found.into_iter().map(one).collect()
}

fn whole(path: &str, kind: &str) -> Vec<SecretLocation> {
    vec![SecretLocation { path: path.to_owned(), line: None, kind: kind.to_owned() }]
}

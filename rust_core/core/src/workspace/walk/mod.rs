//! Which files of a workspace count, and why the others don't. One set of rules serves the walk over the whole workspace and
//! the [`AccessPolicy`] that every single path passes, so both always agree.

mod access;
mod folders;
mod git;
mod links;
mod rules;
mod secrets;
mod stamp;

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::file_state::{LastChange, Stamp, modified_ns};
use crate::base::language::Language;
use crate::base::types::{SkipReason, Skipped};
use crate::workspace::folder::Folder;

pub use access::{AccessPolicy, AccessSession};
pub use folders::{EXCLUDED_FOLDERS, HIDDEN_FOLDERS_THAT_COUNT};
pub use links::FileId;
use rules::{FolderRules, WorkspaceRules};
pub use stamp::IGNORE_FILES;

/// What a walk leaves out beyond the ignore files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// Larger files are skipped.
    pub max_file_bytes: u64,
    /// Globs in the form of a `.gitignore` line, relative to the workspace.
    pub exclude: Vec<String>,
    /// Names of folders that are left out wherever they stand.
    pub excluded_folders: Vec<String>,
    /// Names of folders that count although they are among the excluded ones, or hidden.
    pub kept_folders: Vec<String>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            max_file_bytes: 500_000,
            exclude: Vec::new(),
            excluded_folders: EXCLUDED_FOLDERS.iter().map(ToString::to_string).collect(),
            kept_folders: Vec::new(),
        }
    }
}

/// A file may change twice within one tick of a coarse clock and look untouched; one that was modified this shortly before it was
/// read is read again (git calls such an entry racy).
const RACY_NS: i64 = 2_000_000_000;

/// A file that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Relative to the workspace root, `/`-separated.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// What else tells this state of the file from others.
    pub change: LastChange,
}

impl FoundFile {
    fn new(path: String, metadata: &fs::Metadata) -> Self {
        Self { path, size: metadata.len(), mtime_ns: modified_ns(metadata), change: LastChange::of(metadata) }
    }

    /// Tell whether the file is surely as it was when `stamp` was taken.
    pub fn is_unchanged_since(&self, stamp: &Stamp) -> bool {
        (stamp.size, stamp.mtime_ns, stamp.change) == (self.size, self.mtime_ns, self.change)
            && stamp.checked_ns != 0
            && self.mtime_ns.saturating_add(RACY_NS) < stamp.checked_ns
    }
}

/// What a walk found, both lists sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Files to index.
    pub files: Vec<FoundFile>,
    /// What was left out. A folder is one entry that ends in `/`.
    pub skipped: Vec<Skipped>,
    /// The files that are secret by their names, whatever other names they have.
    pub secrets: HashSet<FileId>,
}

/// Find the files of the workspace `root`. Fails only if `root` itself can't be read, or on cancel.
pub fn walk(root: &Path, options: &WalkOptions, cancel: &CancelToken) -> Result<Walk> {
    let metadata = fs::metadata(root).map_err(|e| Error::io(root, e))?;
    if !metadata.is_dir() {
        return Err(Error::io(root, std::io::Error::from(std::io::ErrorKind::NotADirectory)));
    }
    fs::read_dir(root).map_err(|e| Error::io(root, e))?;
    let workspace = WorkspaceRules::new(root, options);
    let found = Mutex::new(Found::default());
    let rules = FolderRules::of_root(&workspace).map_err(|e| Error::io(root, e))?;
    let opened = Folder::open(&workspace.root).map_err(|e| Error::io(root, e))?;
    let job = Job { workspace: &workspace, root: &opened, cancel, found: &found };
    rayon::scope(|scope| job.folder(scope, &workspace.root, "", &rules));
    cancel.check()?;
    let Found { mut walk, linked } = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (id, file) in linked {
        // A second name of a secret is as secret as the first.
        if walk.secrets.contains(&id) {
            walk.skipped.push(Skipped { path: file.path, reason: SkipReason::Secret });
        } else {
            walk.files.push(file);
        }
    }
    walk.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walk.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(walk)
}

/// A walk that isn't finished.
#[derive(Default)]
struct Found {
    walk: Walk,
    /// Files with several names: whether they count is known at the end.
    linked: Vec<(FileId, FoundFile)>,
}

#[derive(Clone, Copy)]
struct Job<'a> {
    workspace: &'a WorkspaceRules,
    root: &'a Folder,
    cancel: &'a CancelToken,
    found: &'a Mutex<Found>,
}

impl<'a> Job<'a> {
    fn folder<'scope>(self, scope: &rayon::Scope<'scope>, folder: &Path, relative: &str, rules: &Arc<FolderRules>)
    where
        'a: 'scope,
    {
        let mut found = Found::default();
        let here = &mut found.walk;
        let Ok(entries) = fs::read_dir(folder) else {
            here.skipped.push(Skipped { path: format!("{relative}/"), reason: SkipReason::Unreadable });
            self.add(found);
            return;
        };
        for entry in entries.flatten() {
            if self.cancel.is_cancelled() {
                return;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                // Such a name can't cross the protocol, whose paths are text.
                let path = join(relative, &name.to_string_lossy());
                here.skipped.push(Skipped { path, reason: SkipReason::Unreadable });
                continue;
            };
            let path = join(relative, name);
            let Ok(kind) = entry.file_type() else { continue };
            match self.workspace.entry(rules, &entry.path(), &path, kind) {
                Err(reason) => {
                    if reason == SkipReason::Secret {
                        here.secrets.extend(entry.metadata().ok().as_ref().and_then(FileId::of));
                    }
                    let path = if kind.is_dir() { path + "/" } else { path };
                    here.skipped.push(Skipped { path, reason });
                }
                Ok(()) if kind.is_dir() => {
                    let Ok(opened) = self.root.folder(&path) else {
                        here.skipped.push(Skipped { path: path + "/", reason: SkipReason::Unreadable });
                        continue;
                    };
                    let below = Arc::new(FolderRules::load(Some(Arc::clone(rules)), &entry.path(), &opened));
                    if below.is_linked_worktree() {
                        here.skipped.push(Skipped { path: path + "/", reason: SkipReason::ExcludedFolder });
                        continue;
                    }
                    scope.spawn(move |scope| self.folder(scope, &entry.path(), &path, &below));
                }
                Ok(()) => match entry.metadata() {
                    Err(_) => here.skipped.push(Skipped { path, reason: SkipReason::Gone }),
                    Ok(metadata) => {
                        let file = FoundFile::new(path, &metadata);
                        if let Err(reason) = self.workspace.size(metadata.len()) {
                            here.skipped.push(Skipped { path: file.path, reason });
                        } else if let Some(id) = FileId::of_linked(&metadata) {
                            found.linked.push((id, file));
                        } else {
                            here.files.push(file);
                        }
                    }
                },
            }
        }
        self.add(found);
    }

    fn add(&self, mut here: Found) {
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.walk.files.append(&mut here.walk.files);
        found.walk.skipped.append(&mut here.walk.skipped);
        found.walk.secrets.extend(here.walk.secrets);
        found.linked.append(&mut here.linked);
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn name_of(relative: &str) -> &str {
    relative.rsplit('/').next().unwrap_or(relative)
}

impl WorkspaceRules {
    /// Tell whether the entry at `path`, in the workspace at `relative`, counts, by everything but its size. `rules` are those of
    /// the folder that holds it.
    fn entry(&self, rules: &FolderRules, path: &Path, relative: &str, kind: FileType) -> std::result::Result<(), SkipReason> {
        if kind.is_symlink() {
            return Err(self.link(path));
        }
        if kind.is_dir() {
            return self.folder(rules, relative);
        }
        if !kind.is_file() {
            return Err(SkipReason::Unreadable);
        }
        // Secrets come first: that they are ignored as well is no reason to say less.
        if secrets::is_secret(path) {
            return Err(SkipReason::Secret);
        }
        if rules.ignores(relative, false, self) {
            return Err(SkipReason::Ignored);
        }
        if Language::detect(name_of(relative)).is_none() && !self.is_script(relative) {
            return Err(SkipReason::UnknownType);
        }
        Ok(())
    }

    /// Tell whether a folder counts, by its name and the rules of the folder that holds it.
    fn folder(&self, rules: &FolderRules, relative: &str) -> std::result::Result<(), SkipReason> {
        let name = name_of(relative);
        let kept = self.kept_folders.contains(name);
        if !kept && self.excluded_folders.contains(name) {
            Err(SkipReason::ExcludedFolder)
        } else if !kept && folders::is_tools_own(name) && !rules.brings_back(relative, self) {
            Err(SkipReason::HiddenFolder)
        } else if rules.ignores(relative, true, self) {
            Err(SkipReason::Ignored)
        } else {
            Ok(())
        }
    }

    /// Tell whether a file without an extension is a script (`bin/rails`): it begins with `#!`. The two bytes are all that is
    /// read here.
    fn is_script(&self, relative: &str) -> bool {
        use std::io::Read;
        if name_of(relative).contains('.') {
            return false;
        }
        let mut start = [0; 2];
        let opened = Folder::open(&self.root).and_then(|root| root.file(relative));
        opened.and_then(|mut opened| opened.file.read_exact(&mut start)).is_ok() && &start == b"#!"
    }

    fn size(&self, bytes: u64) -> std::result::Result<(), SkipReason> {
        if bytes == 0 {
            Err(SkipReason::Empty)
        } else if bytes > self.max_file_bytes {
            Err(SkipReason::TooLarge)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;

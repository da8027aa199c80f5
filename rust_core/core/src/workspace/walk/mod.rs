//! Which files of a workspace count, and why the others don't. One set of rules serves the walk over the whole workspace and
//! the [`AccessPolicy`] that every single path passes, so both always agree.

mod access;
mod folders;
mod git;
mod links;
mod rules;
mod secret_names;
mod stamp;

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::file_state::{LastChange, Stamp, modified_ns};
use crate::base::system_fault::uninterrupted;
use crate::base::types::{SkipReason, Skipped};
use crate::index::generated_code::is_lock_name;
use crate::workspace::folder::Folder;

pub use access::{AccessPolicy, AccessSession};
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
            excluded_folders: folders::excluded_folders(),
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

/// Find the files of the workspace `root`. Fails if `root` itself can't be read, if the machine fails over any path, or on cancel.
pub fn walk(root: &Path, options: &WalkOptions, cancel: &CancelToken) -> Result<Walk> {
    let metadata = fs::metadata(root).map_err(|e| Error::io(root, e))?;
    if !metadata.is_dir() {
        return Err(Error::io(root, std::io::Error::from(std::io::ErrorKind::NotADirectory)));
    }
    fs::read_dir(root).map_err(|e| Error::io(root, e))?;
    let workspace = WorkspaceRules::new(root, options)?;
    let found = Mutex::new(Found::default());
    let rules = FolderRules::of_root(&workspace)?;
    let opened = Folder::open(&workspace.root).map_err(|e| Error::io(root, e))?;
    let failed = AtomicBool::new(false);
    let job = Job { workspace: &workspace, root: &opened, cancel, found: &found, failed: &failed };
    rayon::scope(|scope| job.folder(scope, &workspace.root, "", &rules));
    cancel.check()?;
    let Found { mut walk, linked, error } = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error);
    }
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
    /// The first one, which ends the walk.
    error: Option<Error>,
}

#[derive(Clone, Copy)]
struct Job<'a> {
    workspace: &'a WorkspaceRules,
    root: &'a Folder,
    cancel: &'a CancelToken,
    found: &'a Mutex<Found>,
    /// Whether an error ends the walk.
    failed: &'a AtomicBool,
}

impl<'a> Job<'a> {
    fn folder<'scope>(self, scope: &rayon::Scope<'scope>, folder: &Path, relative: &str, rules: &Arc<FolderRules>)
    where
        'a: 'scope,
    {
        let mut found = Found::default();
        found.error = self.list(scope, folder, relative, rules, &mut found).err();
        self.add(found);
    }

    /// Look at the entries of a folder. Whatever is left out because of the path itself is no error.
    fn list<'scope>(
        self,
        scope: &rayon::Scope<'scope>,
        folder: &Path,
        relative: &str,
        rules: &Arc<FolderRules>,
        found: &mut Found,
    ) -> Result<()>
    where
        'a: 'scope,
    {
        let here = &mut found.walk;
        let entries = match uninterrupted(|| fs::read_dir(folder)) {
            Ok(entries) => entries,
            Err(error) => {
                here.skipped.push(left_out(folder, format!("{relative}/"), &error)?);
                return Ok(());
            }
        };
        for entry in entries {
            if self.ends() {
                return Ok(());
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    here.skipped.push(left_out(folder, format!("{relative}/"), &error)?);
                    continue;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                // Such a name can't cross the protocol, whose paths are text.
                let path = join(relative, &name.to_string_lossy());
                here.skipped.push(Skipped { path, reason: SkipReason::Unreadable });
                continue;
            };
            let path = join(relative, name);
            let kind = match uninterrupted(|| entry.file_type()) {
                Ok(kind) => kind,
                Err(error) => {
                    here.skipped.push(left_out(&entry.path(), path, &error)?);
                    continue;
                }
            };
            match self.workspace.entry(rules, &entry.path(), &path, kind) {
                Err(reason) => {
                    let reason = Error::skip_reason(entry.path(), reason)?;
                    if reason == SkipReason::Secret {
                        match uninterrupted(|| entry.metadata()) {
                            Ok(metadata) => here.secrets.extend(FileId::of(&metadata)),
                            Err(error) => drop(Error::skip_reason(entry.path(), &error)?),
                        }
                    }
                    let path = if kind.is_dir() { path + "/" } else { path };
                    here.skipped.push(Skipped { path, reason });
                }
                Ok(()) if kind.is_dir() => {
                    let opened = match self.root.folder(&path) {
                        Ok(opened) => opened,
                        Err(error) => {
                            here.skipped.push(left_out(&entry.path(), path + "/", &error)?);
                            continue;
                        }
                    };
                    let below = Arc::new(FolderRules::load(Some(Arc::clone(rules)), &entry.path(), &opened)?);
                    if below.is_linked_worktree() {
                        here.skipped.push(Skipped { path: path + "/", reason: SkipReason::ExcludedFolder });
                        continue;
                    }
                    scope.spawn(move |scope| self.folder(scope, &entry.path(), &path, &below));
                }
                Ok(()) => match uninterrupted(|| entry.metadata()) {
                    Err(error) => here.skipped.push(left_out(&entry.path(), path, &error)?),
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
        Ok(())
    }

    /// Tell whether there is nothing more to look for.
    fn ends(&self) -> bool {
        self.cancel.is_cancelled() || self.failed.load(Ordering::Relaxed)
    }

    fn add(&self, mut here: Found) {
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.walk.files.append(&mut here.walk.files);
        found.walk.skipped.append(&mut here.walk.skipped);
        found.walk.secrets.extend(here.walk.secrets);
        found.linked.append(&mut here.linked);
        if here.error.is_some() {
            self.failed.store(true, Ordering::Relaxed);
            found.error = found.error.take().or(here.error);
        }
    }
}

/// Return the entry of what can't be opened, listed or looked at. Fails where that says nothing of the path itself.
fn left_out(at: &Path, path: String, error: &std::io::Error) -> Result<Skipped> {
    Ok(Skipped { path, reason: Error::skip_reason(at, error)? })
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
        // What a worktree or a submodule has in place of a repository.
        if name_of(relative) == ".git" {
            return Err(SkipReason::ExcludedFolder);
        }
        // Secrets come first: that they are ignored as well is no reason to say less.
        if secret_names::is_secret(path) {
            return Err(SkipReason::Secret);
        }
        if rules.ignores(relative, false, self) {
            return Err(SkipReason::Ignored);
        }
        Ok(())
    }

    /// Tell whether a folder counts, by its name and the rules of the folder that holds it.
    fn folder(&self, rules: &FolderRules, relative: &str) -> std::result::Result<(), SkipReason> {
        let name = name_of(relative);
        let kept = self.kept_folders.contains(name);
        if !kept && self.excluded_folders.contains(name) && !self.holds_own_code(rules, relative)? {
            Err(SkipReason::ExcludedFolder)
        } else if !kept
            && folders::is_tools_own(name)
            && !rules.brings_back(relative, self)
            && (secret_names::is_secret(&Path::new(name).join("any")) || !rules.tracks(relative, self)?)
        {
            Err(SkipReason::HiddenFolder)
        } else if rules.ignores(relative, true, self) {
            Err(SkipReason::Ignored)
        } else {
            Ok(())
        }
    }

    /// Tell whether a folder with a name of those that are left out counts nevertheless: git tracks it, or nothing here makes such
    /// folders, and nothing says that its code is from elsewhere.
    fn holds_own_code(&self, rules: &FolderRules, relative: &str) -> std::result::Result<bool, SkipReason> {
        let name = name_of(relative);
        if !folders::may_hold_own_code(name) || name.starts_with('.') {
            return Ok(false);
        }
        let above = relative.strip_suffix(name).unwrap_or_default();
        let is_tracked = rules.tracks(relative, self)?;
        if !folders::may_hold_others_code(name) {
            return Ok(is_tracked || (!above.is_empty() && !self.has(above, 1, folders::is_build_file)?));
        }
        Ok((is_tracked || !above.is_empty())
            && !self.has(above, 1, is_lock_name)?
            && !self.has(relative, 2, folders::is_of_others)?)
    }

    /// Tell whether a folder, so many levels deep, has an entry with such a name.
    fn has(&self, folder: &str, levels: usize, is_such: fn(&str) -> bool) -> std::result::Result<bool, SkipReason> {
        let entries = match uninterrupted(|| fs::read_dir(self.root.join(folder))) {
            Ok(entries) => entries.flatten(),
            Err(error) => match SkipReason::from(&error) {
                fault @ SkipReason::Fault(_) => return Err(fault),
                _ => return Ok(false),
            },
        };
        let mut below = Vec::new();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_such(&name) {
                return Ok(true);
            }
            if levels > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(join(folder, &name));
            }
        }
        below.iter().try_fold(false, |found, inner| Ok(found || self.has(inner, levels - 1, is_such)?))
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

#[cfg(all(test, target_os = "linux"))]
mod fault_tests;
#[cfg(test)]
mod tests;

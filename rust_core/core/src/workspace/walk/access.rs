//! The decision of the walk, for one path.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::rules::{FolderRules, WorkspaceRules, resolved};
use super::stamp::FolderStamp;
use super::{FileId, FoundFile, WalkOptions, walk};
use crate::base::cancel::CancelToken;
use crate::base::system_fault::uninterrupted;
use crate::base::types::SkipReason;
use crate::workspace::folder::{Folder, OpenFile};

/// Decides single paths by the rules of [`super::walk`]: a saved file, a pinned one, a hit that is about to be shown. The rules
/// of the folders on the way are kept, and loaded again when an ignore file was edited.
pub struct AccessPolicy {
    /// As the user wrote it: where a link in it leads may change.
    root: PathBuf,
    options: WalkOptions,
    workspace: Mutex<Option<Arc<WorkspaceRules>>>,
    /// The files that are secret by their names; `None` until a walk looked for them.
    secrets: Mutex<Option<HashSet<FileId>>>,
    folders: Mutex<HashMap<PathBuf, (FolderStamp, Arc<FolderRules>)>>,
}

impl AccessPolicy {
    /// Return the policy of the workspace `root`.
    pub fn new(root: &Path, options: &WalkOptions) -> Self {
        Self {
            root: root.to_owned(),
            options: options.clone(),
            workspace: Mutex::default(),
            secrets: Mutex::default(),
            folders: Mutex::default(),
        }
    }

    /// Take over which files are secret from a walk.
    pub fn learn_secrets(&self, secrets: HashSet<FileId>) {
        *self.secrets.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(secrets);
    }

    /// Tell whether a file with several names is a secret under one of them. Where no walk has looked, one does: such files are
    /// rare.
    fn is_secret_link(&self, id: FileId) -> Result<bool, SkipReason> {
        let mut secrets = self.secrets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = match &mut *secrets {
            Some(known) => known,
            none => none.insert(walk(&self.root, &self.options, &CancelToken::new()).map_err(|e| SkipReason::from(&e))?.secrets),
        };
        Ok(known.contains(&id))
    }

    /// Remember a secret that came after the last walk.
    fn note_secret(&self, metadata: &Metadata) {
        let mut secrets = self.secrets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = secrets.as_mut() {
            known.extend(FileId::of(metadata));
        }
    }

    /// Tell whether the file at `relative_path` (`/`-separated) counts, and its size and time if it does.
    pub fn check(&self, relative_path: &str) -> Result<FoundFile, SkipReason> {
        self.session().check(relative_path)
    }

    /// Decide several files at one moment: a folder that they share is looked at once.
    pub fn session(&self) -> AccessSession<'_> {
        let opened = self.workspace().and_then(|workspace| Ok((open(&workspace)?, workspace)));
        AccessSession { access: self, opened, folders: HashMap::new() }
    }

    /// Return the rules that count for the whole workspace, where its root leads to now.
    fn workspace(&self) -> Result<Arc<WorkspaceRules>, SkipReason> {
        let root = resolved(&self.root).map_err(|e| SkipReason::from(&e))?;
        let mut held = self.workspace.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(workspace) = held.as_ref().filter(|workspace| workspace.root == root) {
            return Ok(Arc::clone(workspace));
        }
        let workspace = WorkspaceRules::new(&self.root, &self.options).map_err(|e| SkipReason::from(&e))?;
        Ok(Arc::clone(held.insert(Arc::new(workspace))))
    }

    /// Return where the workspace's root leads to now, as far as the system says it.
    pub fn resolved_root(&self) -> PathBuf {
        self.workspace().map_or_else(|_| self.root.clone(), |workspace| workspace.root.clone())
    }

    /// Hold the workspace's root open, where it leads to now.
    pub fn root(&self) -> Result<Folder, SkipReason> {
        open(&*self.workspace()?)
    }

    /// Open a file that a walk or [`AccessPolicy::check`] has let pass. Whatever its path leads to meanwhile, no link is followed, and what
    /// was opened is asked once more whether it is a secret under another name.
    pub fn open(&self, root: &Folder, relative_path: &str) -> Result<OpenFile, SkipReason> {
        let opened = root.file(relative_path).map_err(|e| SkipReason::from(&e))?;
        self.check_link(&opened.metadata)?;
        Ok(opened)
    }

    /// Refuse a file that is a secret under another name.
    fn check_link(&self, metadata: &Metadata) -> Result<(), SkipReason> {
        match FileId::of_linked(metadata) {
            Some(id) if self.is_secret_link(id)? => Err(SkipReason::Secret),
            _ => Ok(()),
        }
    }

    /// Tell whether an unsaved text of this path may be read and sent. It need not be on disk, so only names and rules decide.
    pub fn check_unsaved(&self, relative_path: &str) -> Result<(), SkipReason> {
        let names = components(relative_path)?;
        let workspace = self.workspace()?;
        let mut path = workspace.root.clone();
        let root = open(&workspace)?;
        let mut rules = self.root_rules(&workspace)?;
        for (i, name) in names.iter().enumerate() {
            path.push(name);
            let relative = names[..=i].join("/");
            let is_folder = i + 1 < names.len();
            let metadata = look(&path)?;
            if metadata.as_ref().is_some_and(Metadata::is_symlink) {
                return Err(workspace.link(&path));
            }
            if is_folder {
                workspace.folder(&rules, &relative)?;
                // A folder that isn't there has no rules of its own.
                if metadata.is_some() {
                    rules = self.rules(&path, metadata.as_ref(), Some(&rules), || root.folder(&relative))?;
                    if rules.is_linked_worktree() {
                        return Err(SkipReason::ExcludedFolder);
                    }
                }
            } else if super::secret_names::is_secret(&path) {
                return Err(SkipReason::Secret);
            } else if rules.ignores(&relative, false, &workspace) {
                return Err(SkipReason::Ignored);
            }
        }
        Ok(())
    }

    fn root_rules(&self, workspace: &WorkspaceRules) -> Result<Arc<FolderRules>, SkipReason> {
        let mut rules = None;
        for folder in FolderRules::folders_of_root(&workspace.root).map_err(|e| SkipReason::from(&e))? {
            let metadata = fs::metadata(&folder).ok();
            rules = Some(self.rules(&folder, metadata.as_ref(), rules.as_ref(), || Folder::open(&folder))?);
        }
        rules.ok_or(SkipReason::Gone)
    }

    /// Return the rules of a folder, which has `metadata` now: from memory while its ignore files and the rules above it are the
    /// same. `open` holds the folder so that all of its rules are its own; where that fails, nothing in it counts.
    fn rules(
        &self,
        folder: &Path,
        metadata: Option<&Metadata>,
        above: Option<&Arc<FolderRules>>,
        open: impl FnOnce() -> std::io::Result<Folder>,
    ) -> Result<Arc<FolderRules>, SkipReason> {
        let mut folders = self.folders.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((known, rules)) = folders.get_mut(folder)
            && known.holds(folder, metadata)
            && rules.is_below(above)
            && rules.is_current()
        {
            return Ok(Arc::clone(rules));
        }
        let stamp = FolderStamp::of(folder, metadata).map_err(|e| SkipReason::from(&e))?;
        let opened = open().map_err(|e| SkipReason::from(&e))?;
        let rules = Arc::new(FolderRules::load(above.cloned(), folder, &opened).map_err(|e| SkipReason::from(&e))?);
        folders.insert(folder.to_owned(), (stamp, Arc::clone(&rules)));
        Ok(rules)
    }
}

/// Decisions of an [`AccessPolicy`] at one moment. To be dropped right after: it doesn't see what changes later.
pub struct AccessSession<'a> {
    access: &'a AccessPolicy,
    /// The root, and the rules of the whole workspace.
    opened: Result<(Folder, Arc<WorkspaceRules>), SkipReason>,
    folders: HashMap<PathBuf, Result<Arc<FolderRules>, SkipReason>>,
}

impl AccessSession<'_> {
    /// As [`AccessPolicy::check`].
    pub fn check(&mut self, relative_path: &str) -> Result<FoundFile, SkipReason> {
        let names = components(relative_path)?;
        let (_, folders) = names.split_last().ok_or(SkipReason::Outside)?;
        let rules = self.folder(folders)?;
        let (_, workspace) = self.opened.as_ref().map_err(|reason| *reason)?;
        let path = workspace.root.join(names.iter().collect::<PathBuf>());
        let relative = names.join("/");
        let metadata = look(&path)?.ok_or(SkipReason::Gone)?;
        if metadata.is_dir() {
            return Err(SkipReason::Unreadable);
        }
        let decision = workspace.entry(&rules, &path, &relative, metadata.file_type());
        if decision == Err(SkipReason::Secret) {
            self.access.note_secret(&metadata);
        }
        decision?;
        workspace.size(metadata.len())?;
        self.access.check_link(&metadata)?;
        Ok(FoundFile::new(relative, &metadata))
    }

    /// Tell whether a folder counts: files in it may.
    pub fn counts_folder(&mut self, relative_path: &str) -> bool {
        components(relative_path).is_ok_and(|names| self.folder(&names).is_ok())
    }

    /// Decide on a file and open it. What comes back was opened below the root without following a link, is a regular file, and no
    /// other name of a secret.
    pub fn open(&mut self, relative_path: &str) -> Result<OpenFile, SkipReason> {
        // Looked at before: what was another name of a secret a moment ago isn't told as one once it is the only name.
        let found = self.check(relative_path)?;
        let (root, _) = self.opened.as_ref().map_err(|reason| *reason)?;
        self.access.open(root, &found.path)
    }

    /// Return the rules of a folder, if it and all above it count.
    fn folder(&mut self, names: &[&str]) -> Result<Arc<FolderRules>, SkipReason> {
        let folder: PathBuf = names.iter().collect();
        if let Some(known) = self.folders.get(&folder) {
            return known.clone();
        }
        let found = self.look_at(names, &folder);
        self.folders.insert(folder, found.clone());
        found
    }

    fn look_at(&mut self, names: &[&str], folder: &Path) -> Result<Arc<FolderRules>, SkipReason> {
        let access = self.access;
        let above_rules = names.split_last().map(|(_, above)| self.folder(above)).transpose()?;
        let (root, workspace) = self.opened.as_ref().map_err(|reason| *reason)?;
        let Some(above_rules) = above_rules else { return access.root_rules(workspace) };
        let folder = workspace.root.join(folder);
        let relative = names.join("/");
        let metadata = look(&folder)?.ok_or(SkipReason::Gone)?;
        workspace.entry(&above_rules, &folder, &relative, metadata.file_type())?;
        if !metadata.is_dir() {
            return Err(SkipReason::Gone);
        }
        let rules = access.rules(&folder, Some(&metadata), Some(&above_rules), || root.folder(&relative))?;
        if rules.is_linked_worktree() { Err(SkipReason::ExcludedFolder) } else { Ok(rules) }
    }
}

fn open(workspace: &WorkspaceRules) -> Result<Folder, SkipReason> {
    Folder::open(&workspace.root).map_err(|e| SkipReason::from(&e))
}

/// Look at an entry without following a link; `None` where there is none, or it may not be looked at.
fn look(path: &Path) -> Result<Option<Metadata>, SkipReason> {
    match uninterrupted(|| fs::symlink_metadata(path)) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) => match SkipReason::from(&error) {
            fault @ SkipReason::Fault(_) => Err(fault),
            _ => Ok(None),
        },
    }
}

/// Return the names of a relative path. Anything that could lead out of the workspace, on any system, is refused.
fn components(path: &str) -> Result<Vec<&str>, SkipReason> {
    let looks_absolute = path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':') || path.contains('\0');
    if path.is_empty() || looks_absolute {
        return Err(SkipReason::Outside);
    }
    // On Windows `\` separates, elsewhere it may be part of a name.
    if cfg!(not(windows)) && path.split('\\').any(|part| part == "..") {
        return Err(SkipReason::Outside);
    }
    Path::new(path)
        .components()
        .filter(|component| !matches!(component, Component::CurDir))
        .map(|component| match component {
            Component::Normal(name) => name.to_str().ok_or(SkipReason::Unreadable),
            _ => Err(SkipReason::Outside),
        })
        .collect()
}

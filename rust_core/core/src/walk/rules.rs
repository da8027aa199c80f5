//! Ignore files, folder by folder, with git's precedence.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::WalkOptions;
use crate::types::SkipReason;

/// Ignore files from the strongest to the weakest. Within one kind, the deepest folder wins.
pub(super) const IGNORE_FILES: [&str; 3] = [".carrelignore", ".ignore", ".gitignore"];

/// What is the same for the whole workspace.
pub(super) struct WorkspaceRules {
    /// As the user wrote it.
    pub root: PathBuf,
    /// With links resolved; where links must stay.
    canonical_root: PathBuf,
    pub max_file_bytes: u64,
    pub excluded_folders: HashSet<String>,
    pub kept_folders: HashSet<String>,
    /// The `exclude` setting: stronger than any file.
    exclude: Gitignore,
    /// The user's own git ignore file: weaker than any other.
    global: Gitignore,
}

impl WorkspaceRules {
    pub fn new(root: &Path, options: &WalkOptions) -> Self {
        let mut exclude = GitignoreBuilder::new(root);
        for glob in &options.exclude {
            // A glob that can't be parsed is reported by the settings; here it excludes nothing.
            let _ = exclude.add_line(None, glob);
        }
        Self {
            root: root.to_owned(),
            canonical_root: fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()),
            max_file_bytes: options.max_file_bytes,
            excluded_folders: options.excluded_folders.iter().cloned().collect(),
            kept_folders: options.kept_folders.iter().cloned().collect(),
            exclude: exclude.build().unwrap_or_else(|_| Gitignore::empty()),
            global: Gitignore::global().0,
        }
    }

    /// Why a link is not followed: what it points to inside the workspace is found by its own path, what is outside is not the
    /// workspace's, and what leads nowhere is gone.
    pub fn link(&self, path: &Path) -> SkipReason {
        match fs::canonicalize(path) {
            Ok(target) if target.starts_with(&self.canonical_root) => SkipReason::Link,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => SkipReason::Gone,
            Ok(_) | Err(_) => SkipReason::LinkOutside,
        }
    }
}

/// The ignore files of one folder, and those above it.
pub(super) struct FolderRules {
    above: Option<Arc<FolderRules>>,
    /// One matcher for each of [`IGNORE_FILES`].
    files: [Gitignore; 3],
    /// `.git/info/exclude`, where the folder is the root of a repository.
    repository_exclude: Option<Gitignore>,
    /// The root of a repository: `.gitignore` files above it belong to another one.
    is_repository: bool,
}

impl FolderRules {
    /// The folders whose ignore files count for the workspace root, from the top: where the root lies inside a git repository,
    /// those from the repository's root down to it; nothing above that.
    pub fn folders_of_root(root: &Path) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for folder in root.ancestors() {
            folders.push(folder.to_owned());
            if folder.join(".git").exists() {
                folders.reverse();
                return folders;
            }
        }
        vec![root.to_owned()]
    }

    /// The rules of the workspace root.
    pub fn of_root(workspace: &WorkspaceRules) -> Arc<Self> {
        let rules = |above, folder: PathBuf| Some(Arc::new(Self::load(above, &folder)));
        let folders = Self::folders_of_root(&workspace.root);
        folders.into_iter().fold(None, rules).unwrap_or_else(|| Arc::new(Self::load(None, &workspace.root)))
    }

    /// The rules of a folder inside one whose rules are known.
    pub fn below(above: &Arc<Self>, folder: &Path) -> Self {
        Self::load(Some(Arc::clone(above)), folder)
    }

    /// Whether these rules were loaded on top of exactly `above`.
    pub fn is_below(&self, above: Option<&Arc<Self>>) -> bool {
        match (above, &self.above) {
            (None, None) => true,
            (Some(above), Some(mine)) => Arc::ptr_eq(above, mine),
            _ => false,
        }
    }

    /// The rules of a folder inside one with the rules `above`, if they count for it.
    pub fn load(above: Option<Arc<Self>>, folder: &Path) -> Self {
        let git = folder.join(".git");
        let is_repository = git.exists();
        let repository_exclude = is_repository.then(|| matcher(folder, &git.join("info").join("exclude")));
        Self { above, files: IGNORE_FILES.map(|name| matcher(folder, &folder.join(name))), repository_exclude, is_repository }
    }

    /// Whether a `.carrelignore` names this hidden folder as one that counts (`!.name/`). `!*/` names none.
    pub fn brings_back(&self, path: &Path) -> bool {
        let mut folder = Some(self);
        while let Some(rules) = folder {
            match rules.files[0].matched(path, true) {
                Match::Ignore(_) => return false,
                Match::Whitelist(rule) => {
                    let pattern = rule.original().trim_start_matches('!').trim_end_matches('/');
                    return pattern.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
                }
                Match::None => folder = rules.above.as_deref(),
            }
        }
        false
    }

    /// Whether a rule leaves out `path`, an entry of this folder.
    pub fn ignores(&self, path: &Path, is_folder: bool, workspace: &WorkspaceRules) -> bool {
        match workspace.exclude.matched(path, is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
        for (kind, name) in IGNORE_FILES.iter().enumerate() {
            let is_git = *name == ".gitignore";
            let mut folder = Some(self);
            while let Some(rules) = folder {
                match rules.files[kind].matched(path, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
                folder = if is_git && rules.is_repository { None } else { rules.above.as_deref() };
            }
        }
        let mut folder = Some(self);
        while let Some(rules) = folder {
            if let Some(exclude) = &rules.repository_exclude {
                match exclude.matched(path, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => break,
                }
            }
            folder = rules.above.as_deref();
        }
        workspace.global.matched(path, is_folder).is_ignore()
    }
}

/// The rules of one ignore file; none if it isn't there. A line that can't be parsed is passed over, as git does.
fn matcher(folder: &Path, file: &Path) -> Gitignore {
    if !file.is_file() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(folder);
    let _ = builder.add(file);
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// A linked worktree of git inside the workspace is another copy of the same code: indexing it would show everything twice.
pub(super) fn is_linked_worktree(folder: &Path) -> bool {
    let git = folder.join(".git");
    git.is_file() && fs::read_to_string(git).is_ok_and(|text| text.replace('\\', "/").contains("/worktrees/"))
}

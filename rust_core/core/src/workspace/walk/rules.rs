//! Ignore files, folder by folder, with git's precedence.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::WalkOptions;
use super::git::{GitEntry, GitRules, PatternList, slashed};
use crate::base::error::{Error, Result};
use crate::base::system_fault::uninterrupted;
use crate::base::types::SkipReason;
use crate::workspace::folder::{Folder, open_file};
use crate::workspace::read::{decode, read_rules};

/// What is the same for the whole workspace.
pub(super) struct WorkspaceRules {
    /// With links resolved: the repository that it lies in is found from there, and links must stay below it.
    pub root: PathBuf,
    /// The root's path and a `/`.
    base: Vec<u8>,
    pub max_file_bytes: u64,
    pub excluded_folders: HashSet<String>,
    pub kept_folders: HashSet<String>,
    /// The `exclude` setting: stronger than any file.
    exclude: Gitignore,
}

impl WorkspaceRules {
    pub fn new(root: &Path, options: &WalkOptions) -> Result<Self> {
        let mut exclude = GitignoreBuilder::new("");
        for glob in &options.exclude {
            // A glob that can't be parsed is reported by the settings; here it excludes nothing.
            let _ = exclude.add_line(None, glob);
        }
        let root = resolved(root)?;
        Ok(Self {
            base: base_of(&root),
            root,
            max_file_bytes: options.max_file_bytes,
            excluded_folders: options.excluded_folders.iter().cloned().collect(),
            kept_folders: options.kept_folders.iter().cloned().collect(),
            exclude: exclude.build().unwrap_or_else(|_| Gitignore::empty()),
        })
    }

    /// Tell why a link is not followed: what it points to inside the workspace is found by its own path, what is outside is not
    /// the workspace's, and what leads nowhere is gone.
    pub fn link(&self, path: &Path) -> SkipReason {
        match fs::canonicalize(path) {
            Ok(target) if target.starts_with(&self.root) => SkipReason::Link,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => SkipReason::Gone,
            Ok(_) | Err(_) => SkipReason::LinkOutside,
        }
    }
}

/// Return a path with its links resolved; as it is where they lead nowhere or may not be followed.
pub(super) fn resolved(path: &Path) -> Result<PathBuf> {
    match uninterrupted(|| fs::canonicalize(path)) {
        Ok(resolved) => Ok(resolved),
        Err(error) => Error::skip_reason(path, &error).map(|_| path.to_owned()),
    }
}

/// The ignore files of one folder, and those above it.
pub(super) struct FolderRules {
    above: Option<Arc<FolderRules>>,
    /// The length of the folder's path and a `/`: what follows in the path of an entry is relative to the folder.
    base: usize,
    /// `.carrelignore` and `.ignore`, whose globs have braces as well.
    own: [Gitignore; 2],
    gitignore: PatternList,
    /// What `.git` in this folder leads to; at the top, where that is no repository, the user's own rules.
    git: Option<GitEntry>,
    user: Option<GitRules>,
    /// Whether case doesn't count in this repository.
    fold: bool,
    linked_worktree: bool,
}

/// An entry of a folder, as rules see it.
struct Entry<'a> {
    /// The bytes of its whole path.
    path: &'a [u8],
    is_folder: bool,
}

impl Entry<'_> {
    /// Tell what a list of globs says of the entry, relative to the folder whose path has the length `base`.
    fn decide(&self, globs: &Gitignore, base: usize) -> Option<(bool, String)> {
        if globs.is_empty() {
            return None;
        }
        let path = String::from_utf8_lossy(self.path.get(base..)?);
        match globs.matched(&*path, self.is_folder) {
            Match::Ignore(rule) => Some((true, rule.original().to_owned())),
            Match::Whitelist(rule) => Some((false, rule.original().to_owned())),
            Match::None => None,
        }
    }
}

impl FolderRules {
    /// Return the folders whose ignore files count for the workspace root, from the top: where the root lies inside a git
    /// repository, those from the repository's root down to it; nothing above that.
    pub fn folders_of_root(root: &Path) -> Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for folder in root.ancestors() {
            folders.push(folder.to_owned());
            if GitEntry::is_repository(folder)? {
                folders.reverse();
                return Ok(folders);
            }
        }
        Ok(vec![root.to_owned()])
    }

    /// Return the rules of the workspace root.
    pub fn of_root(workspace: &WorkspaceRules) -> Result<Arc<Self>> {
        let mut rules = None;
        for folder in Self::folders_of_root(&workspace.root)? {
            let opened = Folder::open(&folder).map_err(|e| Error::io(&folder, e))?;
            rules = Some(Arc::new(Self::load(rules, &folder, &opened)?));
        }
        rules.ok_or_else(|| Error::io(&workspace.root, std::io::ErrorKind::NotFound.into()))
    }

    /// Tell whether these rules were loaded on top of exactly `above`.
    pub fn is_below(&self, above: Option<&Arc<Self>>) -> bool {
        match (above, &self.above) {
            (None, None) => true,
            (Some(above), Some(mine)) => Arc::ptr_eq(above, mine),
            _ => false,
        }
    }

    /// Tell whether what lies outside the folder and holds rules for it is as it was when these were loaded.
    pub fn is_current(&self) -> bool {
        self.git.as_ref().is_none_or(GitEntry::is_current) && self.user.as_ref().is_none_or(GitRules::is_current)
    }

    /// Return the rules of a folder inside one with the rules `above`, if they count for it. Its ignore files are read from
    /// `opened`: the path may mean another folder by now.
    pub fn load(above: Option<Arc<Self>>, folder: &Path, opened: &Folder) -> Result<Self> {
        let has_git = opened.has(".git").or_else(|e| Error::skip_reason(folder.join(".git"), &e).map(|_| false))?;
        let git = has_git.then(|| GitEntry::read(folder)).transpose()?;
        let repository = git.as_ref().and_then(GitEntry::repository);
        let user = (above.is_none() && repository.is_none()).then(|| GitRules::of_user(folder)).transpose()?;
        let own = |name: &str| read_rules(&folder.join(name), opened.linked_file(name)).map(globs);
        // Git itself reads no `.gitignore` that is a link.
        let gitignore = read_rules(&folder.join(".gitignore"), opened.file(".gitignore"))?.unwrap_or_default();
        let fold = match (repository.or(user.as_ref()), &above) {
            (Some(rules), _) => rules.fold,
            (None, above) => above.as_ref().is_some_and(|above| above.fold),
        };
        Ok(Self {
            base: base_of(folder).len(),
            own: [own(".carrelignore")?, own(".ignore")?],
            gitignore: PatternList::parse(&gitignore, fold),
            linked_worktree: git.is_some() && is_linked_worktree(folder)?,
            git,
            user,
            fold,
            above,
        })
    }

    /// Tell whether a `.carrelignore` names this hidden folder as one that counts (`!.name/`). `!*/` names none.
    pub fn brings_back(&self, relative: &str, workspace: &WorkspaceRules) -> bool {
        let path = [&workspace.base, relative.as_bytes()].concat();
        let entry = Entry { path: &path, is_folder: true };
        match self.chain().find_map(|rules| entry.decide(&rules.own[0], rules.base)) {
            Some((false, rule)) => {
                let pattern = rule.trim_start_matches('!').trim_end_matches('/');
                pattern.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
            }
            Some((true, _)) | None => false,
        }
    }

    /// Tell whether a rule leaves out the entry of this folder at `relative`, a path in the workspace. What `!` takes in again
    /// counts for the rules of its own kind; only that of a `.carrelignore` counts for git's as well.
    pub fn ignores(&self, relative: &str, is_folder: bool, workspace: &WorkspaceRules) -> bool {
        let path = [&workspace.base, relative.as_bytes()].concat();
        let entry = Entry { path: &path, is_folder };
        if entry.decide(&workspace.exclude, workspace.base.len()).is_some_and(|(ignored, _)| ignored) {
            return true;
        }
        if let Some((ignored, _)) = self.chain().find_map(|rules| entry.decide(&rules.own[0], rules.base)) {
            return ignored;
        }
        if self.chain().find_map(|rules| entry.decide(&rules.own[1], rules.base)).is_some_and(|(ignored, _)| ignored) {
            return true;
        }
        self.git_ignores(&entry)
    }

    /// Tell whether git tracks anything in the folder at `relative`, a path in the workspace.
    pub fn tracks(&self, relative: &str, workspace: &WorkspaceRules) -> std::result::Result<bool, SkipReason> {
        let path = [&workspace.base, relative.as_bytes()].concat();
        let repository = self.chain().find_map(|rules| Some((rules.base, rules.git.as_ref()?.repository()?)));
        let inside = repository.and_then(|(base, git)| Some((git, path.get(base..)?)));
        inside.map_or(Ok(false), |(git, inside)| git.tracks(inside))
    }

    fn git_ignores(&self, entry: &Entry<'_>) -> bool {
        for rules in self.chain() {
            let Some(path) = entry.path.get(rules.base..) else { return false };
            if let Some(ignored) = rules.gitignore.decide(path, entry.is_folder, self.fold) {
                return ignored;
            }
            if rules.is_repository() {
                break;
            }
        }
        // What counts for a whole repository is weaker than what any of its folders says.
        let top = self.chain().find_map(|rules| Some((rules, rules.git_rules()?)));
        top.is_some_and(|(rules, git)| {
            entry.path.get(rules.base..).and_then(|path| git.decide(path, entry.is_folder)).unwrap_or(false)
        })
    }

    /// Return these rules, then those of each folder above.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// Tell whether the folder is a linked worktree of git. Inside the workspace it is another copy of the same code: indexing it
    /// would show everything twice.
    pub fn is_linked_worktree(&self) -> bool {
        self.linked_worktree
    }

    /// Tell whether a folder is the root of a repository: `.gitignore` files above it belong to another one.
    fn is_repository(&self) -> bool {
        self.git.as_ref().is_some_and(|git| git.repository().is_some())
    }

    fn git_rules(&self) -> Option<&GitRules> {
        self.git.as_ref().and_then(GitEntry::repository).or(self.user.as_ref())
    }
}

/// Return the path of a folder with a `/` at its end.
fn base_of(folder: &Path) -> Vec<u8> {
    let mut base = slashed(folder);
    if !base.ends_with(b"/") {
        base.push(b'/');
    }
    base
}

/// Return the globs of an ignore file that isn't git's; none if it isn't there. A line that can't be parsed is passed over, as
/// git does.
fn globs(text: Option<Vec<u8>>) -> Gitignore {
    let Some(bytes) = text else { return Gitignore::empty() };
    // What an older PowerShell writes is UTF-16.
    let text = decode(bytes.clone(), || None).map_or_else(|_| String::from_utf8_lossy(&bytes).into_owned(), |one| one.text);
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Tell whether the `.git` of a folder leads to that of a linked worktree.
fn is_linked_worktree(folder: &Path) -> Result<bool> {
    let path = folder.join(".git");
    let text = read_rules(&path, open_file(&path))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).replace('\\', "/").contains("/worktrees/"))
}

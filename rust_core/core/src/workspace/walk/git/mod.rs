//! What git would ignore, without asking git: the ignore files that lie outside the folders they are for, and the repository that
//! a folder is the root of.

mod config;
mod patterns;
mod sources;
mod tracked;
mod wildmatch;

use std::path::{Path, PathBuf};

pub(super) use config::slashed;
use config::{Context, Settings, bytes_to_path, worktrees_have_settings};
pub(super) use patterns::PatternList;
use sources::{Kind, Sources};
use tracked::TrackedFolders;

use crate::base::error::Result;
use crate::base::types::SkipReason;
use crate::workspace::folder::open_file;
use crate::workspace::read::read_rules;
use crate::workspace::walk::rules::resolved;

/// The rules of a repository that no `.gitignore` holds, or those of the user where there is no repository.
pub(super) struct GitRules {
    /// `info/exclude`.
    exclude: PatternList,
    /// `core.excludesFile`.
    excludes_file: PatternList,
    /// `core.ignoreCase`.
    pub fold: bool,
    /// What this was read from.
    sources: Sources,
    /// `None` where there is no repository.
    tracked: Option<TrackedFolders>,
}

/// What `.git` in a folder turned out to be.
pub(super) enum GitEntry {
    /// The folder is the root of a repository, a linked worktree or a submodule.
    Repository(GitRules),
    /// Nothing that git would take for one: the rules of the folders above go on.
    Other(NoRepository),
}

/// What to look at again where `.git` was no repository.
pub(super) struct NoRepository(Sources);

/// Where git keeps what belongs to a working folder.
struct Place {
    /// The repository's own folder, or that of a linked worktree within it.
    git_folder: PathBuf,
    /// What all worktrees of the repository share.
    common_folder: PathBuf,
}

impl GitEntry {
    /// Look at the `.git` of `folder`: a folder, or a file that names one.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut sources = Sources::default();
        Ok(match Place::of(folder, &mut sources)? {
            Some(place) => Self::Repository(GitRules::of_repository(folder, &place, sources)?),
            None => Self::Other(NoRepository(sources)),
        })
    }

    /// Tell whether git would take `folder` for the root of a repository.
    pub fn is_repository(folder: &Path) -> Result<bool> {
        Ok(Place::of(folder, &mut Sources::default())?.is_some())
    }

    /// Return the rules, if this is a repository.
    pub fn repository(&self) -> Option<&GitRules> {
        match self {
            Self::Repository(rules) => Some(rules),
            Self::Other(_) => None,
        }
    }

    /// Tell whether what was read is still as it was.
    pub fn is_current(&self) -> bool {
        match self {
            Self::Repository(rules) => rules.sources.are_current(),
            Self::Other(NoRepository(sources)) => sources.are_current(),
        }
    }
}

impl GitRules {
    /// Return the user's own rules, for a folder that is in no repository.
    pub fn of_user(folder: &Path) -> Result<Self> {
        let mut sources = Sources::default();
        let mut settings = Settings::default();
        settings.read_global(&Context::default(), &mut sources)?;
        Self::with(&settings, folder, &[], sources)
    }

    fn of_repository(folder: &Path, place: &Place, mut sources: Sources) -> Result<Self> {
        let context = Context { git_folder: Some(place.git_folder.clone()) };
        let mut settings = Settings::default();
        settings.read_global(&context, &mut sources)?;
        let config = place.common_folder.join("config");
        settings.read(&config, &context, &mut sources, 0)?;
        if sources.read(&config)?.is_some_and(|text| worktrees_have_settings(&text)) {
            settings.read(&place.git_folder.join("config.worktree"), &context, &mut sources, 0)?;
        }
        let exclude = sources.read(&place.common_folder.join("info").join("exclude"))?;
        let tracked = Some(TrackedFolders::of(&place.git_folder));
        Ok(Self { tracked, ..Self::with(&settings, folder, &exclude.unwrap_or_default(), sources)? })
    }

    fn with(settings: &Settings, folder: &Path, exclude: &[u8], mut sources: Sources) -> Result<Self> {
        let fold = settings.ignore_case;
        let own = settings.excludes_path(folder).map(|path| sources.read(&path)).transpose()?.flatten().unwrap_or_default();
        let excludes_file = PatternList::parse(&own, fold);
        Ok(Self { exclude: PatternList::parse(exclude, fold), excludes_file, fold, sources, tracked: None })
    }

    /// Tell whether git tracks anything in the folder at `path`, relative to the repository.
    pub fn tracks(&self, path: &[u8]) -> std::result::Result<bool, SkipReason> {
        self.tracked.as_ref().map_or(Ok(false), |tracked| tracked.has(path))
    }

    /// Tell what these rules say of the entry at `path`, relative to the repository.
    pub fn decide(&self, path: &[u8], is_folder: bool) -> Option<bool> {
        let lists = [&self.exclude, &self.excludes_file];
        lists.into_iter().find_map(|list| list.decide(path, is_folder, self.fold))
    }

    /// Tell whether what was read is still as it was.
    pub fn is_current(&self) -> bool {
        self.sources.are_current()
    }
}

impl Place {
    /// Find what the `.git` of `folder` leads to, if git would take it for a repository.
    fn of(folder: &Path, sources: &mut Sources) -> Result<Option<Self>> {
        let entry = folder.join(".git");
        let git_folder = match sources.kind(&entry)? {
            Kind::Nothing => return Ok(None),
            Kind::Folder => entry,
            Kind::File => {
                let text = sources.read(&entry)?.unwrap_or_default();
                let Some(written) = text.strip_prefix(b"gitdir: ") else { return Ok(None) };
                let named = folder.join(bytes_to_path(without_line_end(written)));
                // The conditions of includes are about the place itself.
                resolved(&named)?
            }
        };
        let common_folder = match sources.read(&git_folder.join("commondir"))? {
            Some(text) => git_folder.join(bytes_to_path(without_line_end(&text))),
            None => git_folder.clone(),
        };
        let has = |name: &str, sources: &mut Sources| sources.kind(&common_folder.join(name)).map(|kind| kind == Kind::Folder);
        let is_repository = has("objects", sources)? && has("refs", sources)? && is_head(&git_folder.join("HEAD"), sources)?;
        Ok(is_repository.then_some(Self { git_folder, common_folder }))
    }
}

/// Tell whether this is git's `HEAD`: the name of a branch or a commit. One that is a link may lead to a branch without a commit.
fn is_head(path: &Path, sources: &mut Sources) -> Result<bool> {
    sources.kind(path)?;
    if let Ok(target) = path.read_link() {
        return Ok(target.starts_with("refs"));
    }
    let text = read_rules(path, open_file(path))?.unwrap_or_default();
    Ok(match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() >= 40,
    })
}

fn without_line_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    &text[..end]
}

#[cfg(test)]
mod tests;

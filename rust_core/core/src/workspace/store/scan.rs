//! What differs between the workspace and the index, by size and time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::Store;
use super::load::{FileStatusTable, SKIPPED_MORE};
use super::plan::{Mode, Plan, PlannedFile, Queue};
use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::file_state::Stamp;
use crate::base::language::Language;
use crate::base::sync::locked;
use crate::base::types::{SkipReason, Skipped};
use crate::index::segment_set::SegmentSet;
use crate::workspace::editorconfig::CHARSET_FILE;
use crate::workspace::walk::{FoundFile, walk};

/// More skipped paths than these are counted, not kept: nobody reads the list, and it is written at each change.
const MOST_SKIPPED: usize = 20_000;
/// A change of one of these may change which files count, or how they are read, anywhere.
const RULE_FILES: [&str; 7] =
    [CHARSET_FILE, ".gitignore", ".ignore", ".carrelignore", ".git/info/exclude", ".git/config", ".git/config.worktree"];

impl Store {
    /// Compare the whole workspace with the index. Reads no file.
    pub fn scan(&self, cancel: &CancelToken) -> Result<Plan> {
        self.compare(cancel, Mode::Check)
    }

    /// A plan that does everything again, whatever the hashes say.
    pub fn force(&self, cancel: &CancelToken) -> Result<Plan> {
        self.compare(cancel, Mode::Renew)
    }

    /// Like [`Store::scan`] for these files or folders only: saved, changed outside the editor, deleted, renamed.
    pub fn check(&self, paths: &[String], cancel: &CancelToken) -> Result<Plan> {
        self.check_open()?;
        let Some(access) = &self.workspace.access else { return Ok(Plan::default()) };
        let paths: BTreeSet<String> = paths.iter().map(|path| normalise(path)).collect();
        if paths.iter().any(|path| RULE_FILES.iter().any(|rule| path == rule || path.ends_with(&format!("/{rule}")))) {
            return self.scan(cancel);
        }
        let mut session = access.session();
        let (set, statuses) = self.known();
        let mut classifier = self.classifier(&set, &statuses, Mode::Check);
        let mut folders: Vec<&str> = Vec::new();
        for path in &paths {
            cancel.check()?;
            match session.check(path) {
                Ok(found) => classifier.found(found, set.find(path).map(|place| set.stamp(place))),
                Err(reason) => {
                    let reason = Error::skip_reason(self.workspace.config.root.join(path), reason)?;
                    if set.find(path).is_some() {
                        classifier.removed(path.clone());
                    } else if self.workspace.config.root.join(path).is_dir() {
                        folders.push(path);
                    } else if reason == SkipReason::Gone {
                        set.under(path).into_iter().for_each(|inside| classifier.removed(inside));
                    } else {
                        classifier.plan.skipped += 1;
                    }
                }
            }
        }
        if !folders.is_empty() {
            // The walk knows no part of a workspace; a folder is checked rarely (a rename, a branch switch).
            let inside = |path: &str| {
                folders.iter().any(|f| f.is_empty() || path.strip_prefix(f).is_some_and(|rest| rest.starts_with('/')))
            };
            let walk = walk(&self.workspace.config.root, &self.workspace.config.walk, cancel)?;
            let mut stamps = set.stamps();
            stamps.retain(|path, _| inside(path));
            for file in walk.files.into_iter().filter(|f| inside(&f.path) && !paths.contains(&f.path)) {
                let stamp = stamps.remove(file.path.as_str());
                classifier.found(file, stamp);
            }
            stamps.into_keys().filter(|path| !paths.contains(*path)).for_each(|path| classifier.removed(path.to_owned()));
        }
        Ok(classifier.finish())
    }

    /// Which files of a plan truly differ from the index; those that may only look so are read. It tells a process that doesn't
    /// write whether the one that does is done.
    pub fn behind(&self, plan: &Plan, cancel: &CancelToken) -> Result<Vec<String>> {
        self.check_open()?;
        let (set, _) = self.known();
        let (work, mut behind) = {
            let queue = locked(&plan.queue);
            (queue.work.clone(), queue.removed.clone())
        };
        let root = self.workspace.root();
        for file in &work {
            cancel.check()?;
            let source = match self.workspace.read(root.as_ref(), &file.path) {
                Err(reason) => Err(Error::skip_reason(self.workspace.config.root.join(&file.path), reason)?),
                source => source,
            };
            let is_current = match (set.find(&file.path), source) {
                (Some(place), Ok(source)) => {
                    file.mode == Mode::Check && set.segments[place.segment].segment.file(place.file).hash == source.hash
                }
                (None, Ok(source)) => self.workspace.language_of(&file.path, &source.text).is_err(),
                (place, Err(_)) => place.is_none(),
            };
            if !is_current {
                behind.push(file.path.clone());
            }
        }
        behind.sort_unstable();
        Ok(behind)
    }

    fn classifier<'a>(&self, set: &SegmentSet, statuses: &'a FileStatusTable, mode: Mode) -> ChangeClassifier<'a> {
        let is_without = |path: &String| set.language(path) == Some(Language::OTHER);
        let named = self.workspace.named_by_editors().into_iter().filter(is_without).collect();
        ChangeClassifier { statuses, mode, named, plan: Plan::default(), queue: Queue::default(), wanted: BTreeSet::new() }
    }

    fn compare(&self, cancel: &CancelToken, mode: Mode) -> Result<Plan> {
        self.check_open()?;
        if self.workspace.config.in_memory {
            return Ok(Plan::default());
        }
        if self.is_writer() {
            self.restore_segment_files()?;
        }
        let walk = walk(&self.workspace.config.root, &self.workspace.config.walk, cancel)?;
        if let Some(access) = &self.workspace.access {
            access.learn_secrets(walk.secrets);
        }
        let (set, statuses) = self.known();
        let mut stamps: HashMap<&str, Stamp> = set.stamps();
        if charsets_changed(&walk.files, &stamps) {
            for (place, file) in set.iter().filter(|(place, _)| set.segments[place.segment].segment.marks(place.file).is_legacy) {
                stamps.insert(file.path, Stamp { checked_ns: 0, ..set.stamp(place) });
            }
        }
        let mut classifier = self.classifier(&set, &statuses, mode);
        let mut seen: Vec<String> = Vec::new();
        for file in walk.files {
            if statuses.unusable.contains_key(&file.path) {
                seen.push(file.path.clone());
            }
            let stamp = stamps.remove(file.path.as_str());
            classifier.found(file, stamp);
        }
        cancel.check()?;
        for path in stamps.into_keys() {
            classifier.removed(path.to_owned());
        }
        // `seen` is sorted, as the walk is.
        let gone = statuses.unusable.keys().chain(statuses.failed.keys()).filter(|path| seen.binary_search(path).is_err());
        classifier.queue.forgotten.extend(gone.filter(|path| !classifier.wanted.contains(*path)).cloned());
        classifier.plan.skipped += walk.skipped.len();
        self.remember_skipped(walk.skipped)?;
        Ok(classifier.finish())
    }

    fn known(&self) -> (Arc<SegmentSet>, Arc<FileStatusTable>) {
        let current = locked(&self.current);
        (Arc::clone(&current.disk), Arc::clone(&current.statuses))
    }

    fn remember_skipped(&self, mut skipped: Vec<Skipped>) -> Result<()> {
        let mut more: BTreeMap<String, usize> = BTreeMap::new();
        for beyond in skipped.drain(MOST_SKIPPED.min(skipped.len())..) {
            *more.entry(beyond.reason.code().to_owned()).or_default() += 1;
        }
        let known = Arc::clone(&locked(&self.current).statuses);
        if (&known.skipped, &known.skipped_more) == (&skipped, &more) {
            return Ok(());
        }
        if self.is_writer()
            && let Some(database) = locked(&self.disk).as_mut().and_then(|d| d.database.as_mut())
        {
            database.check_present()?;
            database.set_skipped(&skipped)?;
            let lines: Vec<String> = more.iter().map(|(code, count)| format!("{count}\t{code}")).collect();
            database.set_meta(SKIPPED_MORE, &lines.join("\n"))?;
        }
        let mut current = locked(&self.current);
        let statuses = Arc::make_mut(&mut current.statuses);
        (statuses.skipped, statuses.skipped_more) = (skipped, more);
        Ok(())
    }
}

/// Tell whether a file that says what others are written in is new, changed or gone.
fn charsets_changed(files: &[FoundFile], stamps: &HashMap<&str, Stamp>) -> bool {
    let says = |path: &str| path.rsplit('/').next() == Some(CHARSET_FILE);
    let now: Vec<&FoundFile> = files.iter().filter(|file| says(&file.path)).collect();
    let is_same = |file: &&FoundFile| stamps.get(file.path.as_str()).is_some_and(|stamp| file.is_unchanged_since(stamp));
    !now.iter().all(is_same) || stamps.keys().filter(|path| says(path)).count() != now.len()
}

/// Sorts files into new, changed and unchanged.
struct ChangeClassifier<'a> {
    statuses: &'a FileStatusTable,
    mode: Mode,
    /// Files that are in the index without a language, and have one by now.
    named: BTreeSet<String>,
    plan: Plan,
    queue: Queue,
    /// Paths on the failed list that are tried again.
    wanted: BTreeSet<String>,
}

impl ChangeClassifier<'_> {
    fn found(&mut self, file: FoundFile, stamp: Option<Stamp>) {
        let failed = self.statuses.failed.contains_key(&file.path);
        if failed {
            self.wanted.insert(file.path.clone());
        }
        let recut = failed || self.named.contains(&file.path);
        let clean = |stamp: &Stamp| self.mode == Mode::Check && !recut && file.is_unchanged_since(stamp);
        let mode = match stamp {
            Some(stamp) if clean(&stamp) => {
                self.plan.unchanged += 1;
                return;
            }
            Some(stamp) => {
                self.plan.changed += 1;
                if stamp.checked_ns == 0 && self.mode == Mode::Check { Mode::Recut } else { self.mode }
            }
            None if self.statuses.unusable.get(&file.path).is_some_and(|(_, stamp)| clean(stamp)) => {
                self.plan.skipped += 1;
                return;
            }
            None => {
                self.plan.added += 1;
                self.mode
            }
        };
        // A failed file may have its old content in the index, whose hash would end the second attempt.
        let mode = if recut && mode == Mode::Check { Mode::Recut } else { mode };
        self.queue.work.push_back(PlannedFile { path: file.path, size: file.size, mode });
    }

    fn removed(&mut self, path: String) {
        self.plan.removed += 1;
        self.queue.removed.push(path);
    }

    fn finish(self) -> Plan {
        *locked(&self.plan.queue) = self.queue;
        self.plan
    }
}

/// As the index writes it: `/`, no `./`, no slash at the end.
fn normalise(path: &str) -> String {
    let slashes = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let path = slashes.trim_end_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    if path == "." { String::new() } else { path.to_owned() }
}

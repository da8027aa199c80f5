//! Watch a workspace for changes on disk, where no editor does.
//!
//! On Linux each folder that counts has a watch of its own, so that nothing is told, and no watch is spent, of ignored ones; other
//! systems watch a whole tree by one handle, and what is told of ignored parts is dropped. A thread of the `notify` crate gathers
//! events; the caller of [`Watch::next`] waits for them without polling. What is told is a hint: the index compares files itself.

mod events;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use notify::{Config, ErrorKind, EventKindMask, PathOp, RecommendedWatcher, RecursiveMode, WatchPathConfig, Watcher};

use crate::base::error::{Error, Result};
use crate::base::sync::locked;
use crate::base::types::SkipReason;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::walk::{AccessPolicy, AccessSession, IGNORE_FILES};
use events::{Burst, Events};

/// More changed files than these are told as "everything": comparing all of them is quicker than asking for each.
const MANY: usize = 500;
/// Until the system's thread has taken what was just written, where no signal tells.
const HANDOVER: Duration = Duration::from_millis(2);
/// A file of the index that is watched with the folders: its event comes after those of all that was written before it (`inotify(7)`
/// keeps their order; Watchman's "cookies" do the same).
const SIGNAL_FILE: &str = "watch.signal";
/// Whether each folder needs a watch of its own.
const FOLDER_BY_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// What changed since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files and folders that came, changed or went: relative, `/`-separated, each once.
    pub paths: Vec<String>,
    /// Anything may have changed: compare all files.
    pub everything: bool,
}

/// Why not all folders are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchLimit {
    /// The system gives this user no more watches.
    Watches,
    /// The system gives this user no more watchers, or the process no more open files.
    Instances,
    /// The system refused for another reason.
    Refused,
}

/// A watch on one workspace. [`Watch::next`] belongs on a thread of its own; the rest may be called from any.
pub struct Watch {
    workspace: Arc<WorkspaceHandle>,
    events: Events,
    state: Mutex<State>,
    /// One signal at a time, so that each is told from the next.
    signalling: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Whether [`Watch::next`] was called.
    begun: bool,
    /// `None` before that, where the system gives none, and when closed.
    watcher: Option<RecommendedWatcher>,
    /// Where the root led to when the watches were set.
    root: PathBuf,
    /// The root isn't there; a folder above it is watched.
    waits_for_root: bool,
    folders: usize,
    limit: Option<WatchLimit>,
}

impl Watch {
    /// A watch on a workspace; nothing is watched before the first call of [`Watch::next`].
    pub(crate) fn new(workspace: Arc<WorkspaceHandle>) -> Self {
        let events = Events::new(workspace.config.directory.join(SIGNAL_FILE));
        Self { workspace, events, state: Mutex::default(), signalling: Mutex::default() }
    }

    /// Wait for changes; `None` once closed. The first call sets the watches and returns "everything" when they are set: what changed
    /// before was told by nobody.
    pub fn next(&self) -> Result<Option<Changes>> {
        let access =
            self.workspace.access.as_ref().ok_or_else(|| Error::invalid("root", "an index in memory has no folder to watch"))?;
        let begun = std::mem::replace(&mut locked(&self.state).begun, true);
        if !begun && self.set_up(access) {
            return Ok(Some(Changes { paths: Vec::new(), everything: true }));
        }
        while let Some(burst) = self.events.next() {
            let changes = self.changes_of(access, &burst);
            if changes != Changes::default() {
                return Ok(Some(changes));
            }
        }
        locked(&self.state).watcher = None;
        Ok(None)
    }

    /// End: whoever waits in [`Watch::next`] returns at once, and the system's watches are given back.
    pub fn close(&self) {
        self.events.close();
        if let Ok(mut state) = self.state.try_lock() {
            state.watcher = None; // otherwise whoever sets watches does it
        }
    }

    /// Have what was just written told by [`Watch::next`]; return when it was, after so long at most.
    pub fn settle(&self, longest: Duration) {
        let begun = Instant::now();
        let signalling = locked(&self.signalling);
        let signals = self.events.signals();
        match fs::OpenOptions::new().write(true).open(self.signal_file()) {
            Ok(file) => {
                drop(file); // closing it is the event
                self.events.wait_for_signal(signals, longest);
            }
            Err(_) => std::thread::sleep(HANDOVER), // not watched, or gone with the index
        }
        drop(signalling);
        self.events.settle(longest.saturating_sub(begun.elapsed()));
    }

    fn signal_file(&self) -> PathBuf {
        self.workspace.config.directory.join(SIGNAL_FILE)
    }

    /// How many folders are watched; one where the system watches whole trees.
    pub fn folders(&self) -> usize {
        locked(&self.state).folders
    }

    /// Why not all folders are watched, if so.
    pub fn limit(&self) -> Option<WatchLimit> {
        locked(&self.state).limit
    }

    /// Set all watches anew; return whether the root is there. Where it isn't, the nearest folder above is watched for it.
    fn set_up(&self, access: &AccessPolicy) -> bool {
        let mut state = locked(&self.state);
        *state = State { begun: true, root: access.resolved_root(), ..State::default() };
        self.events.clear();
        // Of what happens to a folder only entries and content matter: reading it, as indexing does, must wake nobody.
        let kinds = EventKindMask::CREATE
            | EventKindMask::REMOVE
            | EventKindMask::MODIFY_DATA
            | EventKindMask::MODIFY_NAME
            | EventKindMask::ACCESS_CLOSE;
        let config = Config::default().with_follow_symlinks(false).with_event_kinds(kinds);
        match RecommendedWatcher::new(self.events.clone(), config) {
            Ok(mut watcher) => {
                let file = self.signal_file();
                if FOLDER_BY_FOLDER && fs::write(&file, "").is_ok() && watcher.watch(&file, RecursiveMode::NonRecursive).is_err()
                {
                    let _ = fs::remove_file(&file);
                }
                state.watcher = Some(watcher);
            }
            Err(error) => {
                state.limit = Some(limit_of(&error));
                return state.root.is_dir();
            }
        }
        loop {
            if state.root.is_dir() {
                if FOLDER_BY_FOLDER {
                    let mut session = access.session();
                    self.add_folders(&mut state, &mut session, vec![String::new()], None);
                } else {
                    let root = state.root.clone();
                    state.watch(&root, RecursiveMode::Recursive);
                }
                return true;
            }
            state.waits_for_root = true;
            let above = state.root.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned);
            let Some(above) = above else { return false };
            state.watch(&above, RecursiveMode::NonRecursive);
            if !state.root.is_dir() && above.is_dir() {
                return false;
            }
            // It came, or more of it went, before the watch was set.
        }
    }

    /// Watch these folders and those below that count. Files that are found in them are added to `found`: they may have come before
    /// their folder was watched.
    fn add_folders(
        &self,
        state: &mut State,
        session: &mut AccessSession<'_>,
        first: Vec<String>,
        mut found: Option<&mut BTreeSet<String>>,
    ) {
        let mut level = first;
        while !level.is_empty() && state.limit.is_none() && !self.events.is_closed() {
            // A folder is watched before it is listed: what comes into it later is told, what came before is listed.
            let paths: Vec<PathBuf> = level.iter().map(|folder| state.root.join(folder)).collect();
            state.watch_all(&paths);
            let mut below = Vec::new();
            for (folder, path) in level.iter().zip(&paths) {
                let entries = match fs::read_dir(path) {
                    Ok(entries) => entries,
                    Err(error) => {
                        if matches!(SkipReason::from(&error), SkipReason::Fault(_)) {
                            state.limit = Some(WatchLimit::Refused);
                        }
                        continue;
                    }
                };
                for entry in entries.flatten() {
                    let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
                    let Some(name) = name.to_str() else { continue };
                    let relative = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                    if kind.is_dir() {
                        if session.counts_folder(&relative) {
                            below.push(relative);
                        }
                    } else if let Some(found) = found.as_deref_mut() {
                        found.insert(relative);
                    }
                }
            }
            level = below;
        }
    }

    /// What a burst of events says of the files that count.
    fn changes_of(&self, access: &AccessPolicy, burst: &Burst) -> Changes {
        let everything = Changes { paths: Vec::new(), everything: true };
        let nothing = Changes::default();
        let mut state = locked(&self.state);
        let root = state.root.clone();
        let root_changed = burst.paths.get(&root).is_some_and(|change| change.entry);
        let rules_changed = || {
            let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).map(ToOwned::to_owned);
            burst.paths.keys().filter_map(name).any(|name| IGNORE_FILES.contains(&name.as_str()))
        };
        if state.waits_for_root && !burst.lost && !burst.paths.keys().any(|path| root.starts_with(path)) {
            return nothing; // a neighbour of the folder that is waited for
        }
        if state.waits_for_root || burst.lost || root_changed || !root.is_dir() || rules_changed() {
            drop(state);
            return if self.set_up(access) { everything } else { nothing };
        }
        let mut session = access.session();
        let (mut fresh, mut found) = (Vec::new(), BTreeSet::new());
        for (path, change) in &burst.paths {
            let Some(relative) = relative(&root, path) else { continue };
            if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                found.insert(relative);
            } else if change.entry && session.counts_folder(&relative) {
                if change.vanished {
                    found.insert(relative.clone()); // what it held before may be gone
                }
                fresh.push(relative);
            }
        }
        self.add_folders(&mut state, &mut session, fresh, Some(&mut found));
        let mut paths = Vec::new();
        for path in found.into_iter().filter(|path| may_be_indexed(access, &mut session, path)) {
            paths.push(path);
            if paths.len() > MANY {
                return everything;
            }
        }
        Changes { paths, everything: false }
    }
}

impl State {
    fn watch(&mut self, path: &Path, mode: RecursiveMode) {
        let watched = self.watcher.as_mut().map(|watcher| watcher.watch(path, mode));
        match watched {
            Some(Ok(())) => self.folders = 1,
            Some(Err(error)) if !matches!(error.kind, ErrorKind::PathNotFound) => self.limit = Some(limit_of(&error)),
            _ => {}
        }
    }

    /// Watch each of these folders by itself. One that is gone, or can't be read, is passed over.
    fn watch_all(&mut self, paths: &[PathBuf]) {
        if !FOLDER_BY_FOLDER {
            return;
        }
        let Some(watcher) = self.watcher.as_mut() else { return };
        let config = WatchPathConfig::new(RecursiveMode::NonRecursive).with_dereference_symlinks(false);
        let mut rest: Vec<PathOp> = paths.iter().map(|path| PathOp::Watch(path.clone(), config.clone())).collect();
        let mut left_out = 0;
        while let Err(error) = watcher.update_paths(rest) {
            left_out += 1;
            rest = error.remaining;
            if matches!(error.source.kind, ErrorKind::MaxFilesWatch) {
                left_out += rest.len();
                self.limit = Some(WatchLimit::Watches);
                break;
            }
        }
        self.folders += paths.len() - left_out;
    }
}

/// Tell whether a changed path may be in the index, or belong there. What surely doesn't wakes nobody.
fn may_be_indexed(access: &AccessPolicy, session: &mut AccessSession<'_>, path: &str) -> bool {
    match session.check(path) {
        Ok(_) => true,
        Err(SkipReason::Gone) => !access.check_unsaved(path).is_err_and(is_left_out),
        Err(reason) => !is_left_out(reason),
    }
}

/// Tell whether a path for which this holds is left out whatever is in it.
fn is_left_out(reason: SkipReason) -> bool {
    matches!(reason, SkipReason::Ignored | SkipReason::ExcludedFolder | SkipReason::HiddenFolder | SkipReason::Outside)
}

/// A path below the root as the index writes it; `None` for any other, and for a name that isn't text.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let names: Option<Vec<&str>> = path.strip_prefix(root).ok()?.iter().map(|name| name.to_str()).collect();
    names.filter(|names| !names.is_empty()).map(|names| names.join("/"))
}

fn limit_of(error: &notify::Error) -> WatchLimit {
    match &error.kind {
        ErrorKind::MaxFilesWatch => WatchLimit::Watches,
        // What `inotify_init` says for its limit on instances and for the process's limit on files.
        #[cfg(unix)]
        ErrorKind::Io(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => WatchLimit::Instances,
        _ => WatchLimit::Refused,
    }
}

#[cfg(test)]
mod tests;

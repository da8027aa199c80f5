//! The index of one workspace: a folder of segments and a database, one writer, any number of readers.
//!
//! A run is [`Store::scan`] (what differs?), then [`Store::cut`], [`Batch::embed`] and [`Store::commit`] until the plan is done.
//! Each commit makes a new [`Snapshot`]; readers keep the one they hold and never wait. Unsaved buffers take the same way into an
//! overlay that lives in memory only and hides the files below it.
//!
//! One process holds the writer's lock. The others [`Store::follow`] its generations and may [`Store::try_lead`] once it is gone.

mod batch;
mod buffers;
mod commit;
mod compact;
mod cutting;
mod foremost;
mod load;
mod plan;
mod scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

pub use batch::Batch;
pub use commit::Commit;
pub use plan::Plan;

use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::sync::locked;
use crate::base::types::{SkipReason, Skipped};
use crate::formats::database::{Database, DatabaseFile};
use crate::index::segment_set::SegmentSet;
use crate::workspace::handle::{StoreConfig, WorkspaceHandle};
use crate::workspace::lock::WriterLock;
use crate::workspace::read::read_bytes;
use crate::workspace::snapshot::Snapshot;
use crate::workspace::watch::Watch;
use load::FileStatusTable;

/// The index of one workspace. All methods may be called from any thread.
pub struct Store {
    workspace: Arc<WorkspaceHandle>,
    /// The database and the lock. Held during a commit; never by readers.
    disk: Mutex<Option<Disk>>,
    current: Mutex<Current>,
    /// One merge at a time; commits go on meanwhile.
    compacting: Mutex<()>,
    /// Buffers are changed one after another, without waiting for the disk.
    buffers: Mutex<()>,
    writer: AtomicBool,
    /// The folder can't be written: what is in it is read, and nobody here takes over.
    read_only: AtomicBool,
    /// The database that this store writes.
    written: Mutex<Option<DatabaseFile>>,
    closed: AtomicBool,
    problems: Mutex<Vec<String>>,
}

const OLDER: &str = "This index was made by an older version of Carrel. It answers as before until it is rebuilt: a running server does that \
                     in the background, `carrel index` does it now.";
const OLDER_BY_WORDS: &str = "This index was made by an older version of Carrel. It answers by words until it is rebuilt: a running server does \
                              that in the background, `carrel index` does it now.";
const OTHER_MODEL: &str = "This index was made with another embedding model. It answers by words until it is rebuilt: a running server does that \
                           in the background, `carrel index` does it now.";

struct Disk {
    database: Option<Database>,
    lock: Option<WriterLock>,
    /// Segment files that could not be deleted yet, because a program has them open (Windows).
    garbage: Vec<PathBuf>,
}

/// What readers see, swapped as a whole under a lock that is held for an instant.
struct Current {
    disk: Arc<SegmentSet>,
    overlay: Arc<SegmentSet>,
    statuses: Arc<FileStatusTable>,
    snapshot: Arc<Snapshot>,
}

impl Store {
    /// Open or create an index. What had to be mended is told by [`Store::problems`].
    pub fn open(config: StoreConfig) -> Result<Self> {
        let workspace = Arc::new(WorkspaceHandle::new(config)?);
        let store = Self {
            disk: Mutex::new(None),
            current: Mutex::new(Current::empty(&workspace)),
            compacting: Mutex::default(),
            buffers: Mutex::default(),
            writer: AtomicBool::new(workspace.config.in_memory),
            read_only: AtomicBool::new(false),
            written: Mutex::default(),
            closed: AtomicBool::new(false),
            problems: Mutex::default(),
            workspace,
        };
        if !store.workspace.config.in_memory {
            store.open_disk()?;
        }
        Ok(store)
    }

    /// Return a watch on the workspace; nothing is watched before it is asked.
    pub fn watch(&self) -> Watch {
        Watch::new(Arc::clone(&self.workspace))
    }

    /// Whether this store may write.
    pub fn is_writer(&self) -> bool {
        self.writer.load(Ordering::Acquire)
    }

    /// Whether the folder of the index can't be written, and what is in it is read as it was left.
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Acquire)
    }

    /// Whether the index that this store writes was deleted or replaced: open another store in its place. One look at the disk.
    pub fn is_lost(&self) -> bool {
        self.is_writer() && locked(&self.written).as_ref().is_some_and(|file| !file.is_present())
    }

    /// The generation that snapshots have now.
    pub fn generation(&self) -> u64 {
        self.snapshot_unchecked().generation()
    }

    /// The folder of the index.
    pub fn directory(&self) -> &Path {
        &self.workspace.config.directory
    }

    /// Number of files that commits keep: open buffers aside, but where nothing is kept on disk.
    pub fn kept_files(&self) -> usize {
        let current = locked(&self.current);
        if self.workspace.config.in_memory { current.overlay.files() } else { current.disk.files() }
    }

    /// Size of all files of the index.
    pub fn bytes_on_disk(&self) -> u64 {
        if self.workspace.config.in_memory {
            return 0;
        }
        let entries = std::fs::read_dir(self.directory()).into_iter().flatten().flatten();
        entries.filter_map(|e| e.metadata().ok()).filter(std::fs::Metadata::is_file).map(|m| m.len()).sum()
    }

    /// What was mended or could not be used at opening, and what isn't as it should be yet, in words for a person.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = locked(&self.problems).clone();
        problems.extend(self.rebuilding().map(str::to_owned));
        problems
    }

    /// Why files that are as they were are indexed again, while that goes on.
    fn rebuilding(&self) -> Option<&'static str> {
        let set = Arc::clone(&locked(&self.current).disk);
        let words_only = self.is_writer() && self.workspace.config.dim > 0 && set.segments.iter().any(|live| !live.own_vectors);
        match (set.segments.iter().any(|live| live.outdated), words_only) {
            (true, true) => Some(OLDER_BY_WORDS),
            (true, false) => Some(OLDER),
            (false, true) => Some(OTHER_MODEL),
            (false, false) => None,
        }
    }

    /// The present state, immutable.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.check_open()?;
        Ok(self.snapshot_unchecked())
    }

    fn snapshot_unchecked(&self) -> Arc<Snapshot> {
        Arc::clone(&locked(&self.current).snapshot)
    }

    /// Why this file may not be read or sent; `None` if it may.
    pub fn access_error(&self, path: &str) -> Option<SkipReason> {
        self.workspace.access.as_ref().and_then(|access| access.check(path).err())
    }

    /// Note which language an editor gives to a file. It counts where neither settings nor name nor text say one. Tell whether it is
    /// new, and the index has the file without a language: the next plan with its path holds it.
    pub fn name_language(&self, path: &str, language: Language) -> bool {
        self.workspace.name_language(path, language) && locked(&self.current).disk.language(path) == Some(Language::OTHER)
    }

    /// Whether the file at `path` may be read and holds exactly these bytes.
    pub fn holds(&self, path: &str, bytes: &[u8]) -> bool {
        let file = self.workspace.access.as_ref().and_then(|access| access.session().open(path).ok());
        file.and_then(|file| read_bytes(file, bytes.len() as u64).ok()).is_some_and(|(found, _)| found == bytes)
    }

    /// What was left out: by the last scan, and on reading.
    pub fn skipped(&self, limit: usize) -> Vec<Skipped> {
        let statuses = Arc::clone(&locked(&self.current).statuses);
        let unusable = statuses.unusable.iter().map(|(path, (reason, _))| Skipped { path: path.clone(), reason: *reason });
        let mut skipped: Vec<Skipped> = statuses.skipped.iter().cloned().chain(unusable).collect();
        skipped.sort_by(|a, b| a.path.cmp(&b.path));
        skipped.dedup_by(|a, b| a.path == b.path);
        skipped.truncate(limit);
        skipped
    }

    /// How many paths were left out, by the codes of the reasons.
    pub fn skipped_counts(&self) -> BTreeMap<String, usize> {
        let mut counts = locked(&self.current).statuses.skipped_more.clone();
        for skipped in self.skipped(usize::MAX) {
            *counts.entry(skipped.reason.code().to_owned()).or_default() += 1;
        }
        counts
    }

    /// How many files are in an encoding that is a guess.
    pub fn guessed_encodings(&self) -> usize {
        self.snapshot_unchecked().guessed_encodings()
    }

    /// How many files have masked secrets, and how many secrets there are.
    pub fn masked(&self) -> (usize, u64) {
        self.snapshot_unchecked().masked()
    }

    /// Files that could not be cut or embedded, with the reason. The next scan tries them again.
    pub fn failed(&self) -> Vec<(String, String)> {
        let statuses = Arc::clone(&locked(&self.current).statuses);
        statuses.failed.iter().map(|(path, reason)| (path.clone(), reason.clone())).collect()
    }

    /// How many files those are.
    pub fn failed_count(&self) -> usize {
        locked(&self.current).statuses.failed.len()
    }

    /// A value that a caller keeps with the index.
    pub fn get_meta(&self, key: &str) -> Result<Option<String>> {
        self.check_open()?;
        match locked(&self.disk).as_ref().and_then(|d| d.database.as_ref()) {
            Some(database) => database.meta(&user_key(key)),
            None => Ok(locked(&self.current).statuses.memory_meta.get(key).cloned()),
        }
    }

    /// Keep a value with the index.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<()> {
        self.check_open()?;
        if self.workspace.config.in_memory {
            Arc::make_mut(&mut locked(&self.current).statuses).memory_meta.insert(key.to_owned(), value.to_owned());
            return Ok(());
        }
        self.check_writer()?;
        let guard = locked(&self.disk);
        let database = writing(guard.as_ref())?;
        database.check_present()?;
        database.set_meta(&user_key(key), value)
    }

    /// Path, modification time in nanoseconds since 1970 and chunk ids of every file, by path.
    pub fn index_state(&self) -> Vec<(String, i64, Vec<u128>)> {
        let set = Arc::clone(&locked(&self.current).disk);
        let mut state: Vec<_> = set
            .iter()
            .map(|(place, file)| {
                let segment = &set.segments[place.segment].segment;
                let ids = segment.file_chunks(place.file).map(|chunk| segment.chunk_id(chunk)).collect();
                (file.path.to_owned(), set.stamp(place).mtime_ns, ids)
            })
            .collect();
        state.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        state
    }

    /// Release the lock and the files. Snapshots that readers hold stay good. A second call does nothing.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.writer.store(false, Ordering::Release);
        drop(locked(&self.disk).take());
        *locked(&self.current) = Current::empty(&self.workspace);
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed("the index was closed".to_owned())) } else { Ok(()) }
    }

    fn check_writer(&self) -> Result<()> {
        self.check_open()?;
        if self.is_writer() { Ok(()) } else { Err(Error::NotWriter) }
    }

    /// Let readers see a new state.
    fn publish(&self, change: impl FnOnce(&mut Current)) {
        let mut current = locked(&self.current);
        change(&mut current);
        current.snapshot = Arc::new(Snapshot::new(Arc::clone(&self.workspace), &current.disk, &current.overlay));
    }

    fn problem(&self, text: String) {
        locked(&self.problems).push(text);
    }
}

impl Current {
    fn empty(workspace: &Arc<WorkspaceHandle>) -> Self {
        let (disk, overlay) = (Arc::<SegmentSet>::default(), Arc::<SegmentSet>::default());
        let snapshot = Arc::new(Snapshot::new(Arc::clone(workspace), &disk, &overlay));
        Self { disk, overlay, statuses: Arc::default(), snapshot }
    }
}

/// Callers' keys are kept apart from the store's own.
fn user_key(key: &str) -> String {
    format!("user.{key}")
}

/// The database of a writer.
fn writing(disk: Option<&Disk>) -> Result<&Database> {
    disk.filter(|d| d.lock.is_some()).and_then(|d| d.database.as_ref()).ok_or(Error::NotWriter)
}

/// The threads that read, cut, embed and merge. They are not rayon's global ones, so that a search, which uses those, never
/// queues behind an index run.
pub(crate) fn indexing_pool() -> &'static rayon::ThreadPool {
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let build =
            |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("carrel-cut-{i}")).build();
        // A system that refuses threads still gives one, run by its caller.
        build(0).or_else(|_| rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()).expect("one thread")
    })
}

//! From disk to memory: opening, following another writer, and mending what is broken.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Disk, Store};
use crate::base::error::{Error, Result};
use crate::base::file_state::Stamp;
use crate::base::sync::locked;
use crate::base::system_fault::SystemFault;
use crate::base::types::{SkipReason, Skipped};
use crate::formats::database::{DATABASE_FILE, Database, FORMAT_FROM, OWN_VECTORS_FROM, Rows, is_damage, set_aside};
use crate::formats::segment::Segment;
use crate::index::segment_set::{LiveSegment, SegmentSet};
use crate::workspace::lock::WriterLock;

/// The status of files that are not in the index.
#[derive(Clone, Debug, Default)]
pub(super) struct FileStatusTable {
    /// Files that were read and can't be indexed, with the reason and their state then.
    pub unusable: BTreeMap<String, (SkipReason, Stamp)>,
    /// Files that could not be cut or embedded, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Paths that the last scan left out.
    pub skipped: Vec<Skipped>,
    /// How many more it left out, by the codes of their reasons.
    pub skipped_more: BTreeMap<String, usize>,
    /// Values that callers keep with the index, where it is in memory only.
    pub memory_meta: HashMap<String, String>,
}

/// Key of the counts of what a scan left out beyond the list that is kept.
pub(super) const SKIPPED_MORE: &str = "skipped_more";

/// What [`load`] found.
struct Loaded {
    set: SegmentSet,
    statuses: FileStatusTable,
    /// Segments that can't be read, with the reason.
    broken: Vec<(u64, Error)>,
}

/// How often a follower looks again when the writer deletes segments under it.
const RETRIES: u32 = 10;

/// Where a segment lies.
pub(super) fn segment_path(directory: &Path, id: u64) -> PathBuf {
    directory.join(format!("{id:016x}.seg"))
}

impl Store {
    pub(super) fn open_disk(&self) -> Result<()> {
        let directory = self.directory();
        let lock = match take_lock(directory) {
            Err(error) if cannot_write(&error) && directory.join(DATABASE_FILE).exists() => {
                self.read_only.store(true, Ordering::Release);
                None
            }
            taken => taken?,
        };
        let leading = lock.is_some();
        *locked(&self.disk) = Some(Disk { database: None, lock, garbage: Vec::new() });
        match leading.then(|| self.lead()) {
            None => self.follow().map(drop),
            // A full disk keeps no index from answering that is there.
            Some(Err(error)) if cannot_write(&error) => {
                self.read_only.store(true, Ordering::Release);
                *locked(&self.disk) = Some(Disk { database: None, lock: None, garbage: Vec::new() });
                if self.follow()? { Ok(()) } else { Err(error) }
            }
            Some(led) => led,
        }
    }

    /// Become the writer if nobody is. Tells whether this store is the writer now.
    pub fn try_lead(&self) -> Result<bool> {
        self.check_open()?;
        if self.is_writer() {
            return Ok(true);
        }
        let mut guard = locked(&self.disk);
        let Some(disk) = guard.as_mut() else { return Ok(false) };
        let lock = match take_lock(self.directory()) {
            Err(error) if cannot_write(&error) && self.is_read_only() => None,
            taken => taken?,
        };
        let Some(lock) = lock else { return Ok(false) };
        disk.lock = Some(lock);
        drop(guard);
        let led = self.lead();
        if led.is_ok() {
            self.read_only.store(false, Ordering::Release);
        }
        if led.is_err()
            && let Some(disk) = locked(&self.disk).as_mut()
        {
            disk.lock = None;
        }
        match led {
            Err(error) if cannot_write(&error) && self.is_read_only() => Ok(false),
            led => led.map(|()| true),
        }
    }

    /// With the lock taken: open the database for writing, mend it, load it. One that is damaged, or a folder in its place, is moved
    /// aside.
    fn lead(&self) -> Result<()> {
        if self.directory().join(DATABASE_FILE).is_dir() {
            set_aside(self.directory())?;
        }
        match self.try_lead_once() {
            Err(Error::Database { source, .. }) if is_damage(&source) => {
                if self.directory().join(DATABASE_FILE).exists() {
                    set_aside(self.directory())?;
                }
                self.try_lead_once()
            }
            led => led,
        }
    }

    fn try_lead_once(&self) -> Result<()> {
        let mut problems = Vec::new();
        let mut database = Database::open_writer(self.directory(), &mut problems)?;
        self.adopt_settings(&mut database)?;
        let known = Arc::clone(&locked(&self.current).disk);
        let mut loaded = self.load(&database, &known)?;
        let mut gone = loaded.set.drop_dead();
        for (id, error) in loaded.broken {
            if !is_lost(&error) {
                // Too many open files, no permission: it may well be readable next time.
                return Err(error);
            }
            problems.push(format!("{error}: it was dropped, its files are indexed again"));
            gone.push(id);
        }
        database.drop_segments(&gone)?;
        let garbage = sweep(self.directory(), &loaded.set);
        *locked(&self.written) = Some(database.file().clone());
        if let Some(disk) = locked(&self.disk).as_mut() {
            disk.database = Some(database);
            disk.garbage = garbage;
        }
        locked(&self.problems).extend(problems);
        self.writer.store(true, Ordering::Release);
        self.publish(|current| {
            current.disk = Arc::new(loaded.set);
            current.statuses = Arc::new(loaded.statuses);
        });
        Ok(())
    }

    /// Have everything embedded again that another model embedded, and cut again that was cut by other rules.
    fn adopt_settings(&self, database: &mut Database) -> Result<()> {
        let config = &self.workspace.config;
        let embedder = self.model();
        // Without vectors of its own a store leaves those that are there to the model that made them.
        if config.dim > 0 && database.meta("embedder")?.as_ref() != Some(&embedder) {
            if database.meta("embedder")?.is_some() {
                // What is there goes on answering by words and names while it is embedded again; a kill in between changes nothing.
                database.set_meta(OWN_VECTORS_FROM, &database.next_segment()?.to_string())?;
            }
            database.set_meta("embedder", &embedder)?;
        }
        let cut = self.workspace.cutting_version();
        if database.meta("cut")?.is_some_and(|found| found != cut) {
            database.mark_stale()?;
            database.look_again()?;
        }
        database.set_meta("cut", &cut)?;
        let secrets = self.workspace.masking_version();
        if database.meta("secrets")?.is_none_or(|found| found != secrets) {
            // What it holds of a secret by now must not stay: words and signatures.
            database.mark_stale()?;
            database.look_again()?;
        }
        database.set_meta("secrets", &secrets)
    }

    /// Load a newer generation that another process committed; true when there was one. Costs a look at one row when there is none.
    pub fn follow(&self) -> Result<bool> {
        self.check_open()?;
        if self.is_writer() {
            return Ok(false);
        }
        let mut guard = locked(&self.disk);
        let Some(disk) = guard.as_mut() else { return Ok(false) };
        if disk.database.as_ref().is_some_and(|d| d.check_present().is_err()) {
            // The writer rebuilt it, or somebody deleted it.
            disk.database = None;
        }
        if disk.database.is_none() {
            disk.database = Database::open_follower(self.directory())?;
        }
        let known = Arc::clone(&locked(&self.current).disk);
        let Some(database) = &disk.database else {
            let had = known.generation != 0;
            if had {
                self.publish(|current| current.disk = Arc::default());
            }
            return Ok(had);
        };
        if database.generation()? == known.generation {
            return Ok(false);
        }
        database.check_version()?;
        if let Some(found) = self.foreign_model(database)? {
            let text = format!(
                "another process indexes this workspace with the embedding model {found}: use the same one in both; until then it \
                 answers by words here"
            );
            if !self.problems().contains(&text) {
                self.problem(text);
            }
        }
        let mut loaded = self.load(database, &known)?;
        // Nobody mends an index that can't be written, and what can't be read for want of files or memory isn't lost.
        if let Some(at) = loaded.broken.iter().position(|(_, error)| self.is_read_only() || is_fault(error)) {
            return Err(loaded.broken.swap_remove(at).1);
        }
        self.publish(|current| {
            current.disk = Arc::new(loaded.set);
            current.statuses = Arc::new(loaded.statuses);
        });
        Ok(true)
    }

    /// Names the model whose vectors this store makes.
    fn model(&self) -> String {
        format!("{} {}", self.workspace.config.embedder_id, self.workspace.config.dim)
    }

    /// The model whose vectors are in the index, if it isn't the one in use.
    fn foreign_model(&self, database: &Database) -> Result<Option<String>> {
        let found = database.meta("embedder")?;
        Ok(found.filter(|found| self.workspace.config.dim > 0 && *found != self.model()))
    }

    /// Read a generation. Segments that are open already are shared.
    fn load(&self, database: &Database, known: &SegmentSet) -> Result<Loaded> {
        for attempt in 0.. {
            let rows = database.load()?;
            let (mut segments, broken) = self.read_segments(&rows.segments, known);
            let number = |key| Ok::<u64, Error>(database.meta(key)?.and_then(|id| id.parse().ok()).unwrap_or(0));
            let own_from = if self.foreign_model(database)?.is_some() { u64::MAX } else { number(OWN_VECTORS_FROM)? };
            // What an older Carrel still writes is not being made again.
            let format_from = if database.is_current()? { number(FORMAT_FROM)? } else { 0 };
            let dim = self.workspace.config.dim;
            for live in &mut segments {
                live.own_vectors = live.segment.dim() == dim && (dim == 0 || live.id >= own_from);
                live.outdated = live.id < format_from;
            }
            let vanished = broken.iter().any(|(_, error)| is_lost(error));
            // The writer merged and deleted between our reading its list and our opening its files: its newer list says where they are.
            if vanished && attempt < RETRIES && database.generation()? != rows.generation {
                continue;
            }
            return Ok(Loaded {
                set: assemble(&rows, segments, dim > 0),
                statuses: file_statuses(rows, database.meta(SKIPPED_MORE)?.unwrap_or_default().as_str()),
                broken,
            });
        }
        unreachable!("the loop ends by returning")
    }

    fn read_segments(&self, ids: &[u64], known: &SegmentSet) -> (Vec<LiveSegment>, Vec<(u64, Error)>) {
        let mut segments = Vec::with_capacity(ids.len());
        let mut broken = Vec::new();
        for &id in ids {
            let shared = known.segments.iter().find(|p| p.id == id).map(|p| Arc::clone(&p.segment));
            match shared.map_or_else(|| self.read_segment(id), Ok) {
                Ok(segment) => segments.push(LiveSegment::new_dead(id, segment)),
                Err(error) => broken.push((id, error)),
            }
        }
        (segments, broken)
    }

    /// Open a segment file.
    pub(super) fn read_segment(&self, id: u64) -> Result<Arc<Segment>> {
        let path = segment_path(self.directory(), id);
        Segment::read(&path).map(Arc::new)
    }
}

/// Make the folder, and take the writer's lock in it if nobody has it.
fn take_lock(directory: &Path) -> Result<Option<WriterLock>> {
    std::fs::create_dir_all(directory).map_err(|e| Error::io(directory, e))?;
    keep_out_of_git(directory)?;
    WriterLock::try_take(directory)
}

/// Whether the folder can't be written, whatever is in it.
fn cannot_write(error: &Error) -> bool {
    use std::io::ErrorKind as Kind;
    match error {
        Error::Io { source, .. } => {
            matches!(source.kind(), Kind::ReadOnlyFilesystem | Kind::PermissionDenied | Kind::StorageFull | Kind::QuotaExceeded)
        }
        Error::Database { source, .. } => source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
        _ => false,
    }
}

/// Whether the machine failed over a file.
fn is_fault(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if SystemFault::of(source).is_some())
}

/// Whether a segment will never be readable again.
fn is_lost(error: &Error) -> bool {
    match error {
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        error => matches!(error, Error::Damaged { .. }),
    }
}

/// Make the files live that the rows name, if they are where they should be. Those that must be cut or embedded again look as if
/// nobody had read them.
fn assemble(rows: &Rows, mut segments: Vec<LiveSegment>, needs_vectors: bool) -> SegmentSet {
    let index: HashMap<u64, usize> = segments.iter().enumerate().map(|(i, segment)| (segment.id, i)).collect();
    for row in &rows.files {
        if let Some(live) = index.get(&row.segment).map(|&i| &mut segments[i])
            && live.segment.file(row.file).path == row.path
        {
            let renew = live.outdated || (needs_vectors && !live.own_vectors);
            live.mark_live(row.file, if renew { Stamp { checked_ns: 0, ..row.stamp } } else { row.stamp });
        }
    }
    SegmentSet { generation: rows.generation, segments }
}

fn file_statuses(rows: Rows, skipped_more: &str) -> FileStatusTable {
    let count = |line: &str| line.split_once('\t').and_then(|(count, code)| Some((code.to_owned(), count.parse().ok()?)));
    FileStatusTable {
        unusable: rows.unusable.into_iter().map(|row| (row.path, (row.reason, row.stamp))).collect(),
        failed: rows.failed.into_iter().collect(),
        skipped: rows.skipped,
        skipped_more: skipped_more.lines().filter_map(count).collect(),
        memory_meta: HashMap::new(),
    }
}

/// Delete segment files that belong to no generation: a crash or another process left them. Gives those that resist.
fn sweep(directory: &Path, set: &SegmentSet) -> Vec<PathBuf> {
    let used: Vec<PathBuf> = set.segments.iter().map(|segment| segment_path(directory, segment.id)).collect();
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = entries.filter(|path| path.extension().is_some_and(|e| e == "seg" || e == "tmp") && !used.contains(path));
    ours.filter(|path| std::fs::remove_file(path).is_err()).collect()
}

/// An index inside a workspace must not be committed to git or indexed itself.
fn keep_out_of_git(directory: &Path) -> Result<()> {
    let path = directory.join(".gitignore");
    if path.exists() { Ok(()) } else { std::fs::write(&path, "*\n").map_err(|e| Error::io(path, e)) }
}

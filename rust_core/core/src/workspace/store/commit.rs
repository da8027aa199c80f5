//! A batch into the index: one segment file, one transaction, one swap.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::batch::{Batch, BatchContents, CutEntry, Origin};
use super::load::{FileStatusTable, segment_path};
use super::{Disk, Store, indexing_pool};
use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::sync::locked;
use crate::formats::database::{Change, FileRow};
use crate::formats::segment::{FileDraft, FileEntry, Segment, SegmentBuilder};
use crate::formats::vectors::{VectorRow, Vectors};
use crate::index::segment_set::{LiveSegment, SegmentSet};

/// What a commit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Files that are new in the index.
    pub added: usize,
    /// Files whose content is new.
    pub changed: usize,
    /// Files that left the index.
    pub removed: usize,
    /// Files that were touched, with the content that they had.
    pub unchanged: usize,
    /// Files that turned out to be unusable on reading.
    pub skipped: usize,
    /// Files that failed, or of which chunks lack their vector: they are tried again by the next run.
    pub failed: usize,
    /// Chunks that got a new vector.
    pub chunks: usize,
    /// Pieces of the added and changed files that were too small to become chunks.
    pub trivial: usize,
    /// The generation that holds all this.
    pub generation: u64,
}

impl Store {
    /// Make a batch part of the index. After it the files answer searches; after an error or a crash nothing has changed, and the
    /// batch may be committed again.
    pub fn commit(&self, batch: &Batch, cancel: &CancelToken) -> Result<Commit> {
        self.check_writer()?;
        if batch.buffer {
            return Err(Error::invalid("batch", "holds a buffer: give it to commit_buffer"));
        }
        let body = batch.take()?;
        let done = self.commit_body(&body, cancel);
        match done {
            Ok(commit) => Ok(commit),
            Err(error) => {
                batch.put_back(body);
                Err(error)
            }
        }
    }

    fn commit_body(&self, body: &BatchContents, cancel: &CancelToken) -> Result<Commit> {
        let files: Vec<&CutEntry> = body.files.iter().filter(|f| !body.failed.iter().any(|(path, _)| *path == f.path)).collect();
        let bytes = build(&files, body.vectors.as_ref(), self.workspace.config.dim, cancel)?;
        let mut guard = locked(&self.disk);
        let disk = guard.as_mut().filter(|d| d.lock.is_some()).ok_or(Error::NotWriter)?;
        let (old, statuses) = {
            let current = locked(&self.current);
            (Arc::clone(&current.disk), Arc::clone(&current.statuses))
        };
        let mut commit = count(body, &files, self.workspace.config.dim, &old);
        let mut change = Change { generation: old.generation + 1, ..Change::default() };
        change.remove = body.removed.iter().chain(&body.forgotten).map(String::as_str).collect();
        change.unusable.clone_from(&body.unusable);
        change.failed = body.unfinished().map(|(path, reason)| (path.as_str(), reason.as_str())).collect();

        let mut set = SegmentSet::clone(&old);
        set.generation = change.generation;
        let unusable = body.unusable.iter().map(|row| row.path.as_str());
        for path in body.removed.iter().map(String::as_str).chain(unusable) {
            set.remove(path);
        }
        for (path, stamp) in &body.touched {
            if let Some(place) = set.find(path) {
                let segment = &mut set.segments[place.segment];
                segment.stamp(place.file, *stamp);
                change.files.push(FileRow { path: path.clone(), segment: segment.id, file: place.file, stamp: *stamp });
            }
        }
        let written = bytes.map(|bytes| self.write_segment(disk, &bytes, false)).transpose()?;
        if let Some((id, segment)) = &written {
            for (i, file) in files.iter().enumerate() {
                change.files.push(FileRow { path: file.path.clone(), segment: *id, file: i as u32, stamp: file.stamp });
            }
            change.add_segments.push(*id);
            set.push(LiveSegment::new(*id, Arc::clone(segment), files.iter().map(|f| f.stamp).collect(), None));
        }
        change.drop_segments = set.drop_dead();
        let stored = disk.database.as_mut().ok_or(Error::NotWriter)?.commit(&change);
        if let Err(error) = stored {
            if let Some((id, segment)) = written {
                drop((set, segment));
                disk.discard([id], self.directory());
            }
            return Err(error);
        }
        commit.generation = set.generation;
        let statuses = update_statuses(&statuses, body, &files);
        self.publish(|current| {
            current.disk = Arc::new(set);
            current.statuses = statuses;
        });
        drop(old);
        disk.discard(change.drop_segments, self.directory());
        self.merge_small(disk);
        Ok(commit)
    }

    /// Write a segment under a name of its own and open it; with `sync`, wait until the disk has it. Nothing refers to it yet: a
    /// crash leaves a file that is swept away.
    pub(super) fn write_segment(&self, disk: &Disk, bytes: &[u8], sync: bool) -> Result<(u64, Arc<Segment>)> {
        let database = disk.database.as_ref().ok_or(Error::NotWriter)?;
        database.check_present()?;
        // A file of that name is one that a crash left and nobody could delete yet.
        let (id, path) = loop {
            let id = database.next_segment()?;
            let path = segment_path(self.directory(), id);
            if !path.exists() {
                break (id, path);
            }
        };
        let write = || {
            replace_file(&path, bytes, sync)?;
            Segment::from_bytes(bytes).map(Arc::new)
        };
        write().map(|segment| (id, segment)).inspect_err(|_| {
            let _ = std::fs::remove_file(&path);
        })
    }

    /// Write the segment files again that were deleted or cut short: what they held is in memory. Looks at their sizes only, since
    /// a checksum tells at the next opening what else may be wrong with them.
    pub(super) fn restore_segment_files(&self) -> Result<()> {
        let guard = locked(&self.disk);
        // Of an index that was deleted as a whole there is nothing to mend.
        if guard.as_ref().and_then(|disk| disk.database.as_ref()).is_none_or(|database| database.check_present().is_err()) {
            return Ok(());
        }
        let set = Arc::clone(&locked(&self.current).disk);
        for live in &set.segments {
            let path = segment_path(self.directory(), live.id);
            let whole = |found: std::fs::Metadata| found.is_file() && found.len() == live.segment.bytes().len() as u64;
            if !std::fs::metadata(&path).is_ok_and(whole) {
                replace_file(&path, live.segment.bytes(), false)?;
                self.problem(format!("{}: it was deleted or cut short by another program; it was written again", path.display()));
            }
        }
        Ok(())
    }

    /// Forget everything; the store is empty and usable afterwards. The numbering goes on, so that followers notice.
    pub fn clear(&self) -> Result<()> {
        self.check_open()?;
        if self.workspace.config.in_memory {
            self.publish(|current| {
                let generation = current.overlay.generation + 1;
                current.overlay = Arc::new(SegmentSet { generation, segments: Vec::new() });
            });
            return Ok(());
        }
        self.check_writer()?;
        let mut guard = locked(&self.disk);
        let disk = guard.as_mut().ok_or(Error::NotWriter)?;
        let old = Arc::clone(&locked(&self.current).disk);
        let generation = old.generation + 1;
        disk.database.as_mut().ok_or(Error::NotWriter)?.clear(generation)?;
        self.publish(|current| {
            current.disk = Arc::new(SegmentSet { generation, segments: Vec::new() });
            current.statuses = Arc::default();
        });
        let ids: Vec<u64> = old.segments.iter().map(|segment| segment.id).collect();
        drop(old);
        disk.discard(ids, self.directory());
        Ok(())
    }
}

impl Disk {
    /// Delete segment files, and those that could not be deleted before: where the system forbids deleting a file that somebody
    /// has open, the next commit tries again.
    pub(super) fn discard(&mut self, ids: impl IntoIterator<Item = u64>, directory: &Path) {
        self.garbage.extend(ids.into_iter().map(|id| segment_path(directory, id)));
        self.garbage.retain(|path| std::fs::remove_file(path).is_err_and(|e| e.kind() != std::io::ErrorKind::NotFound));
    }
}

/// Put a file into its place as a whole, or leave what is there.
fn replace_file(path: &Path, bytes: &[u8], sync: bool) -> Result<()> {
    let temporary = path.with_extension("tmp");
    let written = write_file(&temporary, bytes, sync).map_err(|e| Error::io(&temporary, e));
    written.and_then(|()| std::fs::rename(&temporary, path).map_err(|e| Error::io(path, e))).inspect_err(|_| {
        // Half a segment on a full disk is in the way of the next try.
        let _ = std::fs::remove_file(&temporary);
    })
}

fn write_file(path: &Path, bytes: &[u8], sync: bool) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    // Through this handle: Windows lets only one that may write wait for the disk.
    if sync { file.sync_data() } else { Ok(()) }
}

/// The segment file of some files; `None` if there are none.
pub(super) fn build(files: &[&CutEntry], vectors: Option<&Vectors>, dim: usize, cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
    if files.is_empty() {
        return Ok(None);
    }
    let none = Vectors::default();
    let vectors = vectors.unwrap_or(&none);
    let draft = |file: &&CutEntry| -> Result<FileDraft> {
        cancel.check()?;
        let rows: Vec<VectorRow<'_>> = file
            .origins
            .iter()
            .map(|origin| match (origin, &file.old) {
                (Origin::Added(i), _) => vectors.row(*i as usize, dim),
                (Origin::Kept(chunk), Some(segment)) => segment.vector(*chunk),
                (Origin::Kept(_), None) => VectorRow::default(),
            })
            .collect();
        let entry = FileEntry {
            path: &file.path,
            language: file.language,
            hash: file.hash,
            size: file.stamp.size,
            mtime_ns: file.stamp.mtime_ns,
            updated_at: file.stamp.mtime_ns.div_euclid(1_000_000_000),
            imports: &file.imports,
        };
        let draft = FileDraft::new(&entry, file.chunks.clone(), &file.text, &rows);
        Ok(draft.with_properties(&file.properties).with_secrets(&file.secrets).with_marks(file.marks))
    };
    let drafts: Vec<FileDraft> = if files.len() == 1 {
        files.iter().map(draft).collect::<Result<_>>()?
    } else {
        indexing_pool().install(|| files.par_iter().map(draft).collect::<Result<_>>())?
    };
    let mut builder = SegmentBuilder::new(dim);
    for draft in drafts {
        builder.push(draft);
    }
    cancel.check()?;
    let bytes = builder.finish();
    cancel.check()?;
    Ok(Some(bytes))
}

fn count(body: &BatchContents, files: &[&CutEntry], dim: usize, old: &SegmentSet) -> Commit {
    let added = files.iter().flat_map(|f| &f.origins).filter(|o| matches!(o, Origin::Added(_))).count();
    let lacking: usize = files.iter().map(|f| f.lacking_chunks(body.vectors.as_ref(), dim)).sum();
    let unusable_known = body.removed.iter().filter(|path| body.unusable.iter().any(|row| row.path == **path)).count();
    let removed = body.removed.iter().filter(|path| old.find(path).is_some()).count();
    Commit {
        added: files.iter().filter(|f| f.is_new).count(),
        changed: files.iter().filter(|f| !f.is_new).count(),
        removed: removed - unusable_known.min(removed),
        unchanged: body.touched.len(),
        skipped: body.unusable.len(),
        failed: body.unfinished().count(),
        chunks: added - lacking,
        trivial: files.iter().map(|f| f.trivial).sum(),
        generation: 0,
    }
}

/// The statuses after a commit: what the database does with its lists.
fn update_statuses(statuses: &Arc<FileStatusTable>, body: &BatchContents, files: &[&CutEntry]) -> Arc<FileStatusTable> {
    let lists_are_empty = statuses.unusable.is_empty() && statuses.failed.is_empty();
    if lists_are_empty && body.unusable.is_empty() && body.unfinished().next().is_none() {
        return Arc::clone(statuses);
    }
    let mut statuses = FileStatusTable::clone(statuses);
    let settled =
        body.removed.iter().chain(&body.forgotten).chain(files.iter().map(|f| &f.path)).chain(body.touched.iter().map(|t| &t.0));
    for path in settled {
        statuses.unusable.remove(path);
        statuses.failed.remove(path);
    }
    for row in &body.unusable {
        statuses.failed.remove(&row.path);
        statuses.unusable.insert(row.path.clone(), (row.reason, row.stamp));
    }
    statuses.failed.extend(body.unfinished().map(|(path, reason)| (path.clone(), reason.clone())));
    Arc::new(statuses)
}

//! Reading and cutting the files of a plan, on all cores.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rayon::prelude::*;

use super::batch::{Batch, BatchContents, CutEntry, Origin};
use super::plan::{Mode, Plan, PlannedFile};
use super::{Store, indexing_pool};
use crate::base::cancel::CancelToken;
use crate::base::clock::now_ns;
use crate::base::error::{Error, Result};
use crate::base::file_state::{LastChange, Stamp, modified_ns};
use crate::base::hash::xxh3_128;
use crate::base::language::Language;
use crate::base::sync::locked;
use crate::base::types::{CutFile, FileProperties, SkipReason};
use crate::formats::database::UnusableRow;
use crate::formats::segment::Marks;
use crate::index::cut::cut;
use crate::index::diff::diff;
use crate::index::generated_code::{is_lock_file, says_generated};
use crate::index::segment_set::{FileLocation, SegmentSet};
use crate::workspace::folder::Folder;
use crate::workspace::long_lines::looks_minified;
use crate::workspace::masking::secret_spans;
use crate::workspace::read::Source;

/// The workspace's root, or why it can't be opened.
type Root<'a> = std::result::Result<&'a Folder, &'a SkipReason>;

/// Where removed files are, by the hash of their content and their name without folders.
type ByContent = HashMap<(u128, String), FileLocation>;

/// What became of a file.
enum Outcome {
    Cut(Box<CutEntry>),
    Touched(String, Stamp),
    Unusable(UnusableRow, bool),
    Gone(String),
    Failed(String, String),
}

impl Store {
    /// The next files of the plan, about `max_bytes` of them; `None` when all is done. After an error the plan is as before.
    pub fn cut(&self, plan: &Plan, cancel: &CancelToken, max_bytes: u64) -> Result<Option<Batch>> {
        self.check_writer()?;
        cancel.check()?;
        let set = Arc::clone(&locked(&self.current).disk);
        let removed = removed_files(&plan.moved(), &set);
        let Some(taken) = plan.take(max_bytes) else { return Ok(None) };
        let root = self.workspace.root();
        let one = |work: &PlannedFile| self.cut_safely(work, root.as_ref(), &set, &removed, cancel);
        let outcomes: Result<Vec<Outcome>> = if taken.work.len() == 1 {
            // A saved file does not wait for threads.
            taken.work.iter().map(one).collect()
        } else {
            indexing_pool().install(|| taken.work.par_iter().map(one).collect())
        };
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error) => {
                plan.put_back(taken);
                return Err(error);
            }
        };
        let mut body = BatchContents { removed: taken.removed, forgotten: taken.forgotten, ..BatchContents::default() };
        for outcome in outcomes {
            match outcome {
                Outcome::Cut(entry) => body.files.push(*entry),
                Outcome::Touched(path, stamp) => body.touched.push((path, stamp)),
                Outcome::Unusable(row, known) => {
                    if known {
                        body.removed.push(row.path.clone());
                    }
                    body.unusable.push(row);
                }
                Outcome::Gone(path) => body.removed.push(path),
                Outcome::Failed(path, reason) => body.failed.push((path, reason)),
            }
        }
        Ok(Some(Batch::new(body, self.workspace.config.dim, false)))
    }

    /// A panic over one file, which would be a bug, costs that file only.
    fn cut_safely(
        &self,
        work: &PlannedFile,
        root: Root<'_>,
        set: &SegmentSet,
        removed: &ByContent,
        cancel: &CancelToken,
    ) -> Result<Outcome> {
        cancel.check()?;
        catch_unwind(AssertUnwindSafe(|| self.cut_one(work, root, set, removed, cancel))).unwrap_or_else(|_| {
            Ok(Outcome::Failed(work.path.clone(), "cutting it failed unexpectedly: please report this file".to_owned()))
        })
    }

    fn cut_one(
        &self,
        work: &PlannedFile,
        root: Root<'_>,
        set: &SegmentSet,
        removed: &ByContent,
        cancel: &CancelToken,
    ) -> Result<Outcome> {
        let config = &self.workspace.config;
        // Taken before reading: a change after it can't be missed.
        let checked_ns = now_ns();
        let place = set.find(&work.path);
        let unusable = |reason, stamp| {
            let row = UnusableRow { path: work.path.clone(), reason, stamp };
            Ok(Outcome::Unusable(row, place.is_some()))
        };
        let source = match self.workspace.read(root, &work.path) {
            Ok(source) => source,
            Err(SkipReason::Gone) => return Ok(Outcome::Gone(work.path.clone())),
            // It stays as it was, and the next run tries it again.
            Err(SkipReason::Fault(fault)) if root.is_ok() && !fault.exhausts() => {
                let error = Error::ReadFailed { path: config.root.join(&work.path), fault };
                return Ok(Outcome::Failed(work.path.clone(), format!("{}: {}", SkipReason::Fault(fault), error.remedy())));
            }
            Err(reason) => {
                let reason = Error::skip_reason(config.root.join(&work.path), reason)?;
                let metadata = std::fs::symlink_metadata(config.root.join(&work.path));
                let stamp = metadata.map_or(Stamp::default(), |m| Stamp {
                    size: m.len(),
                    mtime_ns: modified_ns(&m),
                    change: LastChange::of(&m),
                    checked_ns,
                });
                return unusable(reason, stamp);
            }
        };
        let stamp = Stamp { size: source.size, mtime_ns: source.mtime_ns, change: source.change, checked_ns };
        let language = match self.workspace.language_of(&work.path, &source.text) {
            Ok(language) => language,
            Err(reason) => return unusable(reason, stamp),
        };
        if work.mode == Mode::Check
            && let Some(place) = place
            && set.segments[place.segment].segment.file(place.file).hash == source.hash
        {
            return Ok(Outcome::Touched(work.path.clone(), stamp));
        }
        let cut = cut(&work.path, language, &source.text, &config.cut, cancel)?;
        let keep_vectors = work.mode != Mode::Renew;
        let before = removed.get(&(source.hash, name_of(&work.path))).copied().filter(|_| place.is_none() && keep_vectors);
        let mut entry = entry(&work.path, language, source, stamp, cut, place.map(|p| (set, p)), keep_vectors);
        if let Some(before) = before {
            keep_moved(&mut entry, set, before);
        }
        entry.is_new = place.is_none();
        Ok(Outcome::Cut(Box::new(entry)))
    }
}

/// Put together what is known of a file. What was said of its `old` version is kept, and so may be the vectors of its chunks.
pub(super) fn entry(
    path: &str,
    language: Language,
    source: Source,
    stamp: Stamp,
    cut: CutFile,
    old: Option<(&SegmentSet, FileLocation)>,
    keep_vectors: bool,
) -> CutEntry {
    let mut origins = vec![Origin::Added(0); cut.chunks.len()];
    let properties = old.map_or_else(FileProperties::default, |(set, place)| kept_properties(set, place, source.hash));
    let secrets = secret_spans(&source);
    let is_generated = (!language.is_prose() && says_generated(&source.text)) || is_lock_file(path, &source.text);
    let marks = Marks { is_generated, is_legacy: source.is_legacy, is_guess: source.is_guess };
    let old = old.filter(|(set, place)| keep_vectors && set.segments[place.segment].own_vectors);
    let old = old.map(|(set, place)| (Arc::clone(&set.segments[place.segment].segment), place.file));
    if let Some((segment, file)) = &old {
        let range = segment.file_chunks(*file);
        let old_ids: Vec<u128> = range.clone().map(|chunk| segment.chunk_id(chunk)).collect();
        let new_ids: Vec<u128> = cut.chunks.iter().map(|chunk| chunk.id).collect();
        for (before, now) in diff(&old_ids, &new_ids).kept {
            // One that lacks its vector gets it now.
            if !segment.vector(range.start + before).is_absent() {
                origins[now as usize] = Origin::Kept(range.start + before);
            }
        }
    }
    CutEntry {
        path: path.to_owned(),
        language,
        hash: source.hash,
        stamp,
        text: source.text.into(),
        unmasked: source.unmasked,
        chunks: cut.chunks,
        imports: cut.imports,
        trivial: cut.trivial,
        origins,
        properties,
        secrets,
        marks,
        is_new: old.is_none(),
        old: old.map(|(segment, _)| segment),
    }
}

/// The removed files that are in the index.
fn removed_files(paths: &[String], set: &SegmentSet) -> ByContent {
    let hash = |place: &FileLocation| set.segments[place.segment].segment.file(place.file).hash;
    paths
        .iter()
        .filter_map(|path| Some((path, set.find(path)?)))
        .map(|(path, place)| ((hash(&place), name_of(path)), place))
        .collect()
}

/// Give a moved file the vectors that it had in its old folder. Its content is the same, so a chunk is the same in its old place.
fn keep_moved(entry: &mut CutEntry, set: &SegmentSet, before: FileLocation) {
    let live = &set.segments[before.segment];
    let old = live.segment.file_chunks(before.file);
    if !live.own_vectors || old.len() != entry.chunks.len() {
        return;
    }
    for ((number, chunk), origin) in old.zip(&entry.chunks).zip(&mut entry.origins) {
        let known = live.segment.chunk(number);
        let same = (known.span, known.kind, &known.symbol, &known.container)
            == (chunk.span, chunk.kind, &chunk.symbol, &chunk.container);
        if same && !live.segment.vector(number).is_absent() {
            *origin = Origin::Kept(number);
        }
    }
    entry.old = Some(Arc::clone(&live.segment));
}

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// What is known of a file stays; its version only with its content.
fn kept_properties(set: &SegmentSet, place: FileLocation, hash: u128) -> FileProperties {
    let segment = &set.segments[place.segment].segment;
    let mut properties = segment.properties(place.file);
    if !properties.is_empty() && segment.file(place.file).hash != hash {
        properties.version = None;
    }
    properties
}

/// A buffer's text as if it had been read.
pub(super) fn buffer_source(text: &str) -> std::result::Result<Source, SkipReason> {
    if looks_minified(text) {
        return Err(SkipReason::Minified);
    }
    let hash = xxh3_128(text.as_bytes());
    Ok(Source {
        text: text.to_owned(),
        encoding: "utf-8",
        is_legacy: false,
        is_guess: false,
        hash,
        size: text.len() as u64,
        mtime_ns: now_ns(),
        change: LastChange::default(),
        unmasked: None,
    })
}

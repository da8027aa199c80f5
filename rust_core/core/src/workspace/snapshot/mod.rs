//! What a reader sees: one generation of the index with the unsaved buffers over it, and the files that it was made from.
//! Immutable, and never waiting for a writer.

mod read_current;

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
pub use read_current::{CurrentChunk, LineRange, Read, ReadFiles};

use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::sync::locked;
use crate::index::segment_set::SegmentSet;
use crate::query::dense::PARALLEL_FROM;
use crate::query::filter::Filter;
use crate::query::lexical::FileOutline;
use crate::query::parsed_query::ParsedQuery;
use crate::query::ranking::Candidate;
use crate::query::results::Doc;
use crate::query::searcher::{RelatedFiles, SearchOptions, Searcher};
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::walk::AccessPolicy;

/// An immutable view of the index: a [`Searcher`] that also reads the texts of what it finds.
pub struct Snapshot {
    workspace: Arc<WorkspaceHandle>,
    generation: u64,
    searcher: Searcher,
    /// The files that are related to the one that was asked about last.
    related: Mutex<Option<(String, Arc<RelatedFiles>)>>,
}

/// What was found for a question.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// Every chunk that a search found, in no order yet.
    pub candidates: Vec<Candidate>,
    /// How rare each word of the question is, see [`Searcher::rarities`].
    pub rarities: Vec<f32>,
}

impl Deref for Snapshot {
    type Target = Searcher;

    fn deref(&self) -> &Searcher {
        &self.searcher
    }
}

impl Snapshot {
    pub(crate) fn new(workspace: Arc<WorkspaceHandle>, disk: &SegmentSet, overlay: &SegmentSet) -> Self {
        let mut below = disk.clone();
        if !below.segments.is_empty() {
            for (_, file) in overlay.iter() {
                below.remove(file.path);
            }
        }
        let generation = if workspace.config.in_memory { overlay.generation } else { disk.generation };
        let mut segments = below.segments;
        segments.extend(overlay.segments.iter().cloned());
        Self { workspace, generation, searcher: Searcher::new(segments), related: Mutex::default() }
    }

    /// Counts commits.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Ask every search for a question, and give each chunk found all signals. What the question quotes is looked for in the texts
    /// of chunks that hold most of it; those that changed since they were indexed hold none of that. `files` keeps the files that were
    /// read as a whole.
    pub fn find(
        &self,
        query: &ParsedQuery,
        options: &SearchOptions<'_>,
        files: &ReadFiles,
        cancel: &CancelToken,
    ) -> Result<SearchResult> {
        cancel.check()?;
        let mut signals = self.searcher.find(query, options, |docs| self.indexed_texts(docs, files), cancel)?;
        if let Some(path) = options.active_path {
            let docs: Vec<Doc> = signals.iter().map(|found| found.doc).collect();
            for (found, relatedness) in signals.iter_mut().zip(self.relatedness(path, &docs)) {
                found.relatedness = relatedness.into();
            }
        }
        let words: Vec<&str> = query.words.iter().map(String::as_str).collect();
        Ok(SearchResult { candidates: signals.into_iter().map(Candidate::from).collect(), rarities: self.rarities(&words) })
    }

    /// Do [`Snapshot::find`] for several questions, which answers each as if it were alone: side by side where they look at many chunks.
    pub fn find_each(
        &self,
        queries: &[&ParsedQuery],
        options: &SearchOptions<'_>,
        files: &ReadFiles,
        cancel: &CancelToken,
    ) -> Result<Vec<SearchResult>> {
        let find = |query: &&ParsedQuery| self.find(query, options, files, cancel);
        if queries.len() > 1 && queries.len() * self.chunks() >= PARALLEL_FROM as usize {
            queries.par_iter().map(find).collect()
        } else {
            queries.iter().map(find).collect()
        }
    }

    /// At most `files` files that pass the filter and may be read, those first whose definitions others use, each with at most `names`
    /// of these.
    pub fn outline(&self, files: usize, names: usize, filter: Option<&Filter>) -> Vec<FileOutline> {
        let mut session = self.workspace.access.as_ref().map(AccessPolicy::session);
        let mut may_be_read = |file: &FileOutline| session.as_mut().is_none_or(|session| session.check(&file.path).is_ok());
        self.searcher.outline(names, filter).into_iter().filter(|file| may_be_read(file)).take(files).collect()
    }

    /// How closely each chunk's file is related to the file at `path` by names that one defines and the other uses, 0 to 1. All 0
    /// for a file that isn't in the index or may not be read.
    pub fn relatedness(&self, path: &str, docs: &[Doc]) -> Vec<f32> {
        let related = self.related_files(path);
        let of = |&doc: &Doc| related.get(&self.file_of(doc)?).copied();
        docs.iter().map(|doc| of(doc).unwrap_or(0.0)).collect()
    }

    /// Kept for the last path: a person asks several questions about one file.
    fn related_files(&self, path: &str) -> Arc<RelatedFiles> {
        if let Some((known, related)) = &*locked(&self.related)
            && known == path
        {
            return Arc::clone(related);
        }
        let find = || {
            let place = self.place_of(path)?;
            Some(self.searcher.related_files(place, &self.text_at(place)?))
        };
        let related = Arc::new(find().unwrap_or_default());
        *locked(&self.related) = Some((path.to_owned(), Arc::clone(&related)));
        related
    }
}

//! What a reader sees: one generation of the index with the unsaved buffers over it, and the files that it was made from.
//! Immutable, and never waiting for a writer.

mod read_current;

use std::ops::Deref;
use std::sync::{Arc, Mutex};

pub use read_current::CurrentChunk;

use crate::base::sync::locked;
use crate::index::segment_set::SegmentSet;
use crate::query::ranking::Candidate;
use crate::query::results::Doc;
use crate::query::searcher::{RelatedFiles, Searcher};
use crate::workspace::handle::WorkspaceHandle;

/// An immutable view of the index: a [`Searcher`] that also reads the texts of what it finds.
pub struct Snapshot {
    workspace: Arc<WorkspaceHandle>,
    generation: u64,
    searcher: Searcher,
    /// The files that are related to the one that was asked about last.
    related: Mutex<Option<(String, Arc<RelatedFiles>)>>,
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

    /// Set what each candidate holds of `quoted` word for word, see [`Searcher::find_quotes`]. Those whose file changed since it
    /// was indexed keep none.
    pub fn find_quotes(&self, query: &str, quoted: &str, candidates: &mut [Candidate]) {
        self.searcher.find_quotes(query, quoted, candidates, |docs| self.indexed_texts(docs));
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

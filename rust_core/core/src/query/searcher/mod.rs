//! Every search over one immutable set of live segments.

mod find;
mod quotes;
mod related_files;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

pub use find::SearchOptions;
pub use related_files::RelatedFiles;

use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::sync::locked;
use crate::base::types::SecretSpan;
use crate::formats::segment::FileMask;
use crate::index::segment_set::{BufferText, LiveSegment};
use crate::query::dense::dense_top_k;
use crate::query::filter::{Filter, FilterOptions};
use crate::query::lexical::{
    FieldWeights, FileOutline, FilePlace, Statistics, Terms, bm25f, covering_chunks, definitions, most_words, near_names,
    outline, rare_names, rarities,
};
use crate::query::results::{ChunkInfo, Doc, ScoredDoc, doc, segment_and_chunk};
use crate::query::top_k::Scored;
use crate::query::view::View;

/// Answers searches over live segments, each path being live in at most one of them. Immutable.
pub struct Searcher {
    segments: Vec<LiveSegment>,
    files: usize,
    chunks: usize,
    /// Made when the first question comes: not every commit is followed by one.
    statistics: OnceLock<Statistics>,
    /// The masks of the last filter: a question asks several searches with one filter.
    filtered: Mutex<Option<(FilterOptions, Arc<Vec<FileMask>>)>>,
}

/// How many times more than wanted are looked at when a filter by symbol or kind drops candidates afterwards.
const WIDEN: usize = 8;

impl Searcher {
    /// Search these segments.
    pub fn new(segments: Vec<LiveSegment>) -> Self {
        let files = segments.iter().map(|s| s.live.count() as usize).sum();
        let chunks = segments.iter().map(|s| s.live_chunks as usize).sum();
        Self { segments, files, chunks, statistics: OnceLock::new(), filtered: Mutex::default() }
    }

    /// Number of files.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Number of chunks that words alone find: their vectors are of another model, or the model failed to give them.
    pub fn chunks_without_vectors(&self) -> usize {
        let lacking = |live: &LiveSegment| {
            let segment = &live.segment;
            segment.chunks_without_vector().iter().filter(|&&chunk| live.live.get(segment.file_of(chunk))).count()
        };
        let of = |live: &LiveSegment| if live.own_vectors { lacking(live) } else { live.live_chunks as usize };
        self.segments.iter().map(of).sum()
    }

    /// Number of segments that a search looks into, buffers included.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Files by language.
    pub fn languages(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for live in &self.segments {
            for file in live.live.iter() {
                *counts.entry(live.segment.file(file).language.name()).or_default() += 1;
            }
        }
        counts
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<String> {
        let of = |live: &LiveSegment| live.live.iter().map(|file| live.segment.file(file).path.to_owned()).collect::<Vec<_>>();
        let mut paths: Vec<String> = self.segments.iter().flat_map(of).collect();
        paths.sort_unstable();
        paths
    }

    /// The paths of the files with one of these names, whatever folder they are in, that pass the filter; sorted.
    pub fn files_called(&self, names: &[&str], filter: Option<&Filter>) -> Vec<String> {
        let scope = self.scope(filter);
        let of = |view: View<'_>| {
            let paths = view.files.iter().map(|file| view.segment.file(file).path);
            paths
                .filter(|path| path.rsplit('/').next().is_some_and(|name| names.contains(&name)))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let mut paths: Vec<String> = self.views(&scope).into_iter().flat_map(of).collect();
        paths.sort_unstable();
        paths
    }

    /// The `k` chunks most like a unit vector, best first, none below `floor`.
    pub fn dense(
        &self,
        vector: &[f32],
        k: usize,
        floor: f32,
        filter: Option<&Filter>,
        cancel: &CancelToken,
    ) -> Result<Vec<ScoredDoc>> {
        self.dense_within(&self.scope(filter), vector, k, floor, cancel)
    }

    fn dense_within(
        &self,
        scope: &Scope<'_>,
        vector: &[f32],
        k: usize,
        floor: f32,
        cancel: &CancelToken,
    ) -> Result<Vec<ScoredDoc>> {
        let mut views = self.views(scope);
        let none = FileMask::new_none(0);
        for (view, _) in views.iter_mut().zip(&self.segments).filter(|(_, live)| !live.own_vectors) {
            view.files = &none;
        }
        self.widening(k, scope.filter, |k| dense_top_k(&views, vector, k, floor, cancel))
    }

    /// The `k` chunks that match the words of `query` best. A score is the share of the question's weight that the chunk holds.
    pub fn lexical(&self, query: &str, k: usize, filter: Option<&Filter>, cancel: &CancelToken) -> Result<Vec<ScoredDoc>> {
        self.lexical_within(&self.scope(filter), &self.terms(query), k, cancel)
    }

    fn lexical_within(&self, scope: &Scope<'_>, terms: &Terms<'_>, k: usize, cancel: &CancelToken) -> Result<Vec<ScoredDoc>> {
        let views = self.views(scope);
        self.widening(k, scope.filter, |k| {
            let found = bm25f(&views, terms, k, &FieldWeights::default(), cancel)?;
            Ok(found.hits.iter().map(|&hit| Scored { score: hit.score / found.possible, ..hit }).collect())
        })
    }

    /// The `k` chunks that hold most of the `telling` words, however long they are: at least three quarters of their weight. Of
    /// equal ones those that hold most of all `words`.
    fn covering_within(
        &self,
        scope: &Scope<'_>,
        telling: &Terms<'_>,
        words: &Terms<'_>,
        k: usize,
        cancel: &CancelToken,
    ) -> Result<Vec<ScoredDoc>> {
        let views = self.views(scope);
        self.widening(k, scope.filter, |k| covering_chunks(&views, telling, words, k, cancel))
    }

    /// The `k` chunks that hold most of these terms, however rare each is.
    fn most_words_within(&self, scope: &Scope<'_>, terms: &Terms<'_>, k: usize, cancel: &CancelToken) -> Result<Vec<ScoredDoc>> {
        let views = self.views(scope);
        self.widening(k, scope.filter, |k| most_words(&views, terms, k, cancel))
    }

    /// The chunks that hold a name of `text` which hardly any chunk holds; `terms` are those of the text.
    fn rare_names_within(&self, scope: &Scope<'_>, terms: &Terms<'_>, text: &str) -> Result<Vec<ScoredDoc>> {
        let views = self.views(scope);
        self.widening(usize::MAX, scope.filter, |_| Ok(rare_names(&views, self.statistics(), terms, text)))
    }

    /// How rare each word is: the natural logarithm of about (chunks / chunks that hold it).
    pub fn rarities(&self, words: &[&str]) -> Vec<f32> {
        rarities(&self.views(&Scope::default()), self.statistics(), words)
    }

    /// The chunks that define one of `names`: exact ones first, then those that differ in case, then those of the same stem.
    pub fn definitions(&self, names: &[&str], k: usize, filter: Option<&Filter>) -> Result<Vec<ScoredDoc>> {
        self.definitions_within(&self.scope(filter), names, k)
    }

    fn definitions_within(&self, scope: &Scope<'_>, names: &[&str], k: usize) -> Result<Vec<ScoredDoc>> {
        let views = self.views(scope);
        self.widening(k, scope.filter, |k| Ok(definitions(&views, names, k)))
    }

    /// For each name the chunks that define exactly it, at most `k`, with their paths.
    pub fn exact_definitions(&self, names: &[&str], k: usize) -> Vec<Vec<(Doc, &str)>> {
        let scope = Scope::default();
        let views = self.views(&scope);
        let exact = |name: &&str| {
            let found = definitions(&views, &[name], k).into_iter().filter(|found| found.score >= 1.0);
            let path = |found: Scored| {
                let segment = &self.segments[found.view as usize].segment;
                (doc(found.view, found.chunk), segment.file(segment.file_of(found.chunk)).path)
            };
            found.map(path).collect()
        };
        names.iter().map(exact).collect()
    }

    /// Return how many chunks hold a word, in any of its forms.
    pub fn holding(&self, word: &str) -> u64 {
        Terms::new(&self.views(&Scope::default()), self.statistics(), word).rarest_count()
    }

    /// What somebody who mistyped a name may have meant, at most `most` names; see [`near_names`].
    pub fn near_names(&self, name: &str, most: usize) -> Vec<String> {
        near_names(&self.views(&Scope::default()), name, most)
    }

    /// Every file that passes the filter with at most `most` names that it defines, those first whose definitions others use; see
    /// [`outline`].
    pub fn outline(&self, most: usize, filter: Option<&Filter>) -> Vec<FileOutline> {
        outline(&self.views(&self.scope(filter)), self.statistics(), most)
    }

    /// The chunk of each id; `None` for one that no live file has.
    pub fn resolve(&self, ids: &[u128]) -> Vec<Option<Doc>> {
        let of = |&id: &u128| (0..).zip(&self.segments).find_map(|(view, live)| Some(doc(view, live.find_chunk(id)?)));
        ids.iter().map(of).collect()
    }

    /// What is recorded of these chunks. Unknown ones are left out.
    pub fn describe(&self, docs: &[Doc]) -> Vec<ChunkInfo> {
        docs.iter().filter_map(|&doc| self.info(doc)).collect()
    }

    /// The chunks of a file, in order; none if it is not in the index.
    pub fn file_chunks(&self, path: &str) -> Vec<ChunkInfo> {
        let Some((view, file)) = self.place_of(path) else { return Vec::new() };
        let chunks = self.segments[view as usize].segment.file_chunks(file);
        chunks.filter_map(|chunk| self.info(doc(view, chunk))).collect()
    }

    /// The last line that a chunk of this file ends on; 0 if it is not in the index.
    pub fn last_line(&self, path: &str) -> u32 {
        let Some((view, file)) = self.place_of(path) else { return 0 };
        let segment = &self.segments[view as usize].segment;
        segment.file_chunks(file).map(|chunk| segment.span(chunk).end_line).max().unwrap_or(0)
    }

    /// The first chunk of a file.
    pub(crate) fn first_chunk(&self, (view, file): FilePlace) -> Option<Doc> {
        self.segments.get(view as usize)?.segment.file_chunks(file).next().map(|chunk| doc(view, chunk))
    }

    /// Where a file is.
    pub(crate) fn place_of(&self, path: &str) -> Option<FilePlace> {
        (0..).zip(&self.segments).find_map(|(view, live)| Some((view, live.find(path)?)))
    }

    /// A chunk's vector, not quantised any more; empty for an unknown one, and where it lacks one.
    pub fn vector(&self, doc: Doc) -> Vec<f32> {
        let Some((live, chunk)) = self.segment_of(doc).filter(|(live, _)| live.own_vectors) else { return Vec::new() };
        let row = live.segment.vector(chunk);
        if row.is_absent() {
            return Vec::new();
        }
        row.steps().take(live.segment.dim()).map(|step| f32::from(step) * row.scale).collect()
    }

    /// Where secrets of a file are masked, in order.
    pub fn secrets(&self, path: &str) -> Vec<SecretSpan> {
        self.place_of(path).map_or_else(Vec::new, |(view, file)| self.segments[view as usize].segment.secrets(file))
    }

    /// How many files have masked secrets, and how many secrets there are.
    pub fn masked(&self) -> (usize, u64) {
        let of =
            |live: &'_ LiveSegment| live.segment.secret_counts().filter(|(file, _)| live.live.get(*file)).collect::<Vec<_>>();
        self.segments.iter().flat_map(of).fold((0, 0), |(files, secrets), (_, count)| (files + 1, secrets + count))
    }

    /// How many files were decoded by an encoding that is a guess.
    pub fn guessed_encodings(&self) -> usize {
        let of = |live: &LiveSegment| live.segment.guessed_encodings().filter(|file| live.live.get(*file)).count();
        self.segments.iter().map(of).sum()
    }

    /// The segment of a chunk, and its ordinal there.
    fn segment_of(&self, doc: Doc) -> Option<(&LiveSegment, u32)> {
        let (segment, chunk) = segment_and_chunk(doc);
        let live = self.segments.get(segment as usize)?;
        (chunk < live.segment.chunk_count()).then_some((live, chunk))
    }

    /// The place of the file of a chunk.
    pub(crate) fn file_of(&self, doc: Doc) -> Option<FilePlace> {
        let (live, chunk) = self.segment_of(doc)?;
        Some((segment_and_chunk(doc).0, live.segment.file_of(chunk)))
    }

    /// The text of the buffer that a chunk is in.
    pub(crate) fn buffer_text(&self, doc: Doc) -> Option<&BufferText> {
        let (live, chunk) = self.segment_of(doc)?;
        live.texts.as_ref()?.get(live.segment.file_of(chunk) as usize)
    }

    /// What the file of this chunk imports.
    pub fn imports(&self, doc: Doc) -> Vec<String> {
        self.segment_of(doc).map_or_else(Vec::new, |(live, chunk)| live.segment.file(live.segment.file_of(chunk)).imports())
    }

    /// What is recorded of a chunk.
    pub(crate) fn info(&self, doc: Doc) -> Option<ChunkInfo> {
        let (live, chunk) = self.segment_of(doc)?;
        let ordinal = live.segment.file_of(chunk);
        let file = live.segment.file(ordinal);
        Some(ChunkInfo {
            doc,
            chunk: live.segment.chunk(chunk),
            path: file.path.to_owned(),
            language: file.language,
            file_hash: file.hash,
            updated_at: file.updated_at,
            properties: live.segment.properties(ordinal),
            overlay: live.texts.is_some(),
        })
    }

    fn statistics(&self) -> &Statistics {
        self.statistics.get_or_init(|| Statistics::new(&self.views(&Scope::default())))
    }

    /// The terms of a text.
    fn terms(&self, text: &str) -> Terms<'_> {
        let views: Vec<View<'_>> = self.segments.iter().map(|live| View { segment: &live.segment, files: &live.live }).collect();
        Terms::new(&views, self.statistics(), text)
    }

    fn scope<'f>(&self, filter: Option<&'f Filter>) -> Scope<'f> {
        Scope { filter, masks: self.masks(filter) }
    }

    fn masks(&self, filter: Option<&Filter>) -> Option<Arc<Vec<FileMask>>> {
        let filter = filter.filter(|f| f.restricts_files())?;
        if let Some((options, masks)) = &*locked(&self.filtered)
            && options == filter.options()
        {
            return Some(Arc::clone(masks));
        }
        let masks = Arc::new(self.segments.iter().map(|live| filter.mask(&live.segment, &live.live)).collect::<Vec<_>>());
        *locked(&self.filtered) = Some((filter.options().clone(), Arc::clone(&masks)));
        Some(masks)
    }

    fn views<'a>(&'a self, scope: &'a Scope<'_>) -> Vec<View<'a>> {
        let mask = |i: usize, live: &'a LiveSegment| scope.masks.as_ref().and_then(|m| m.get(i)).unwrap_or(&live.live);
        self.segments.iter().enumerate().map(|(i, live)| View { segment: &live.segment, files: mask(i, live) }).collect()
    }

    /// Search, drop what the filter excludes of a file's chunks, and search wider while too few are left.
    fn widening(
        &self,
        k: usize,
        filter: Option<&Filter>,
        search: impl Fn(usize) -> Result<Vec<Scored>>,
    ) -> Result<Vec<ScoredDoc>> {
        let search = |k: usize| Ok(search(k)?.into_iter().map(ScoredDoc::from).collect::<Vec<_>>());
        let Some(filter) = filter.filter(|f| f.restricts_chunks()) else { return search(k) };
        let mut wide = k.saturating_mul(WIDEN);
        loop {
            let mut found = search(wide)?;
            let all = found.len() < wide;
            found.retain(|c| self.allows_chunk(filter, c.doc));
            if all || found.len() >= k || wide >= self.chunks {
                found.truncate(k);
                return Ok(found);
            }
            wide = wide.saturating_mul(WIDEN);
        }
    }

    fn allows_chunk(&self, filter: &Filter, doc: Doc) -> bool {
        self.segment_of(doc).is_some_and(|(live, chunk)| filter.allows_chunk(&live.segment.chunk(chunk)))
    }
}

/// What a filter lets be found, its masks made once for all searches of a question.
#[derive(Default)]
struct Scope<'f> {
    filter: Option<&'f Filter>,
    /// The files that pass, by segment; `None` for all live ones.
    masks: Option<Arc<Vec<FileMask>>>,
}

#[cfg(test)]
mod segment_tests;

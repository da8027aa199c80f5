//! What a reader sees: one generation of the index with the unsaved buffers over it. Immutable, and never waiting for a writer.

mod filter;
mod metadata;
mod quotes;
mod ties;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

pub use filter::{Filter, FilterOptions};

use crate::cancel::CancelToken;
use crate::error::Result;
use crate::language::Language;
use crate::lexical::{FieldWeights, FilePlace, LexicalEvidence, Statistics, bm25f, definitions, evidence, holders, rarities};
use crate::ranking::Ranked;
use crate::segment::{FileMask, Scored, Segment, View};
use crate::store::{BufferText, Part, SegmentSet, Site, locked};
use crate::types::{Chunk, ChunkKind};
use crate::vectors::{PARALLEL_FROM, dense_top_k};

/// Names a chunk within one snapshot: its view in the upper half, its ordinal in the lower.
pub type Doc = u64;

/// A chunk that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which.
    pub doc: Doc,
    /// What this search says of it; higher is better.
    pub score: f32,
}

/// Everything that is recorded of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Which.
    pub doc: Doc,
    /// The chunk.
    pub chunk: Chunk,
    /// Its file.
    pub path: String,
    /// The file's language.
    pub language: Language,
    /// `xxh3_128` of the file's bytes.
    pub file_hash: u128,
    /// When its content was last changed, seconds since 1970.
    pub updated_at: i64,
    /// From an unsaved buffer.
    pub overlay: bool,
}

/// A segment as this snapshot sees it.
#[derive(Debug)]
pub(crate) struct Layer {
    pub segment: Arc<Segment>,
    pub live: FileMask,
    /// Its vectors are of the model in use.
    pub own_vectors: bool,
    /// Texts of the files, if they are buffers.
    pub texts: Option<Arc<Vec<BufferText>>>,
}

/// An immutable view of the index.
pub struct Snapshot {
    pub(crate) site: Arc<Site>,
    generation: u64,
    layers: Vec<Layer>,
    files: usize,
    chunks: usize,
    /// Made when the first question comes: not every commit is followed by one.
    statistics: OnceLock<Statistics>,
    /// The masks of the last filter: a question asks several searches with one filter.
    filtered: Mutex<Option<(FilterOptions, Arc<Vec<FileMask>>)>>,
    /// What the last file that was asked about is tied to.
    tied: Mutex<Option<(String, Arc<ties::Ties>)>>,
}

/// How many times more than wanted are looked at when a filter by symbol or kind drops candidates afterwards.
const WIDEN: usize = 8;

impl Snapshot {
    pub(crate) fn new(site: Arc<Site>, disk: &SegmentSet, overlay: &SegmentSet) -> Self {
        let mut below = disk.clone();
        if !below.parts.is_empty() {
            for (_, file) in overlay.iter() {
                below.remove(file.path);
            }
        }
        let generation = if site.config.in_memory { overlay.generation } else { disk.generation };
        let parts = || below.parts.iter().chain(&overlay.parts);
        let files = parts().map(|p| p.live.count() as usize).sum();
        let chunks = parts().map(|p| p.live_chunks as usize).sum();
        let layer = |p: &Part| Layer {
            segment: Arc::clone(&p.segment),
            live: p.live.clone(),
            own_vectors: p.own_vectors,
            texts: p.texts.clone(),
        };
        let layers = parts().map(layer).collect();
        Self {
            site,
            generation,
            layers,
            files,
            chunks,
            statistics: OnceLock::new(),
            filtered: Mutex::default(),
            tied: Mutex::default(),
        }
    }

    /// Counts commits.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of files.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Number of segments that a search looks into, buffers included.
    pub fn segments(&self) -> usize {
        self.layers.len()
    }

    /// Files by language.
    pub fn languages(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for layer in &self.layers {
            for file in layer.live.iter() {
                *counts.entry(layer.segment.file(file).language.name()).or_default() += 1;
            }
        }
        counts
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<String> {
        let of = |layer: &Layer| layer.live.iter().map(|file| layer.segment.file(file).path.to_owned()).collect::<Vec<_>>();
        let mut paths: Vec<String> = self.layers.iter().flat_map(of).collect();
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
    ) -> Result<Vec<Candidate>> {
        let masks = self.masks(filter);
        let mut views = self.views(masks.as_deref());
        let none = FileMask::new_none(0);
        for (view, _) in views.iter_mut().zip(&self.layers).filter(|(_, layer)| !layer.own_vectors) {
            view.files = &none;
        }
        self.widening(k, filter, |k| {
            let found = dense_top_k(&views, vector, k, floor, cancel)?;
            Ok(found.into_iter().map(Candidate::from).collect())
        })
    }

    /// The `k` chunks that match the words of `query` best. A score is the share of the question's weight that the chunk holds.
    pub fn lexical(&self, query: &str, k: usize, filter: Option<&Filter>, cancel: &CancelToken) -> Result<Vec<Candidate>> {
        let masks = self.masks(filter);
        let views = self.views(masks.as_deref());
        self.widening(k, filter, |k| {
            let found = bm25f(&views, self.statistics(), query, k, &FieldWeights::default(), cancel)?;
            let share = |hit: Scored| Scored { score: hit.score / found.possible, ..hit };
            Ok(found.hits.iter().map(|&hit| Candidate::from(share(hit))).collect())
        })
    }

    /// The `k` chunks that hold most of the words of `query`, however long they are: at least three quarters of their weight.
    pub fn holders(&self, query: &str, k: usize, filter: Option<&Filter>, cancel: &CancelToken) -> Result<Vec<Candidate>> {
        let masks = self.masks(filter);
        let views = self.views(masks.as_deref());
        self.widening(k, filter, |k| {
            Ok(holders(&views, self.statistics(), query, k, cancel)?.into_iter().map(Candidate::from).collect())
        })
    }

    /// Both searches of one question, [`Snapshot::dense`] and [`Snapshot::lexical`]: beside each other where there is much to read.
    pub fn search(
        &self,
        vector: &[f32],
        query: &str,
        k: usize,
        floor: f32,
        filter: Option<&Filter>,
        cancel: &CancelToken,
    ) -> Result<(Vec<Candidate>, Vec<Candidate>)> {
        let meaning = || self.dense(vector, k, floor, filter, cancel);
        let words = || self.lexical(query, k, filter, cancel);
        let (meaning, words) =
            if self.chunks < PARALLEL_FROM as usize { (meaning(), words()) } else { rayon::join(meaning, words) };
        Ok((meaning?, words?))
    }

    /// What is known of each of these chunks as an answer, whichever search found them: all signals, not only the one that did.
    /// `vector` is the question's, or empty. Unknown ones are left out.
    pub fn evidence(&self, query: &str, vector: &[f32], docs: &[Doc]) -> Vec<Ranked> {
        let chunks: Vec<(u32, u32)> = docs.iter().map(|&doc| ((doc >> 32) as u32, doc as u32)).collect();
        let of = |(&doc, lexical): (&Doc, LexicalEvidence)| {
            let (Layer { segment, own_vectors, .. }, chunk) = self.layer_of(doc)?;
            let (kind, span, symbol) = segment.outline(chunk);
            Some(Ranked {
                doc,
                path: segment.file(segment.file_of(chunk)).path.to_owned(),
                callable: matches!(kind, ChunkKind::Function | ChunkKind::Method),
                symbol,
                start_line: span.start_line,
                end_line: span.end_line,
                dense: if *own_vectors { segment.vector(chunk).dot(vector).into() } else { 0.0 },
                lexical: lexical.share.into(),
                matched: lexical.matched,
                covered: lexical.covered.into(),
                file_share: lexical.file_share.into(),
                file_words: lexical.file_words,
                ..Ranked::default()
            })
        };
        docs.iter().zip(evidence(&self.views(None), self.statistics(), query, &chunks)).filter_map(of).collect()
    }

    /// How rare each word is: the natural logarithm of about (chunks / chunks that hold it).
    pub fn rarities(&self, words: &[&str]) -> Vec<f32> {
        rarities(&self.views(None), self.statistics(), words)
    }

    /// The chunks that define one of `names`: exact ones first, then those that differ in case, then those of the same stem.
    pub fn definitions(&self, names: &[&str], k: usize, filter: Option<&Filter>) -> Result<Vec<Candidate>> {
        let masks = self.masks(filter);
        let views = self.views(masks.as_deref());
        self.widening(k, filter, |k| Ok(definitions(&views, names, k).into_iter().map(Candidate::from).collect()))
    }

    /// What is recorded of these chunks. Unknown ones are left out.
    pub fn describe(&self, docs: &[Doc]) -> Vec<ChunkInfo> {
        docs.iter().filter_map(|&doc| self.info(doc)).collect()
    }

    /// The chunks of a file, in order; none if it is not in the index.
    pub fn file_chunks(&self, path: &str) -> Vec<ChunkInfo> {
        let Some((view, file)) = self.place_of(path) else { return Vec::new() };
        let chunks = self.layers[view as usize].segment.file_chunks(file);
        chunks.filter_map(|chunk| self.info(doc(view, chunk))).collect()
    }

    pub(crate) fn first_chunk(&self, (view, file): FilePlace) -> Option<Doc> {
        self.layers.get(view as usize)?.segment.file_chunks(file).next().map(|chunk| doc(view, chunk))
    }

    pub(crate) fn place_of(&self, path: &str) -> Option<FilePlace> {
        let of = |layer: &Layer| layer.live.iter().find(|&file| layer.segment.file(file).path == path);
        (0..).zip(&self.layers).find_map(|(view, layer)| Some((view, of(layer)?)))
    }

    /// A chunk's vector, not quantised any more; empty for an unknown one.
    pub fn vector(&self, doc: Doc) -> Vec<f32> {
        let Some((layer, chunk)) = self.layer_of(doc).filter(|(layer, _)| layer.own_vectors) else { return Vec::new() };
        let row = layer.segment.vector(chunk);
        row.steps().take(layer.segment.dim()).map(|step| f32::from(step) * row.scale).collect()
    }

    pub(crate) fn layer_of(&self, doc: Doc) -> Option<(&Layer, u32)> {
        let layer = self.layers.get((doc >> 32) as usize)?;
        let chunk = doc as u32;
        (chunk < layer.segment.chunk_count()).then_some((layer, chunk))
    }

    /// What the file of this chunk imports.
    pub fn imports(&self, doc: Doc) -> Vec<String> {
        self.layer_of(doc).map_or_else(Vec::new, |(layer, chunk)| layer.segment.file(layer.segment.file_of(chunk)).imports())
    }

    pub(crate) fn info(&self, doc: Doc) -> Option<ChunkInfo> {
        let (layer, chunk) = self.layer_of(doc)?;
        let file = layer.segment.file(layer.segment.file_of(chunk));
        Some(ChunkInfo {
            doc,
            chunk: layer.segment.chunk(chunk),
            path: file.path.to_owned(),
            language: file.language,
            file_hash: file.hash,
            updated_at: file.updated_at,
            overlay: layer.texts.is_some(),
        })
    }

    fn statistics(&self) -> &Statistics {
        self.statistics.get_or_init(|| Statistics::new(&self.views(None)))
    }

    fn masks(&self, filter: Option<&Filter>) -> Option<Arc<Vec<FileMask>>> {
        let filter = filter.filter(|f| f.restricts_files())?;
        if let Some((options, masks)) = &*locked(&self.filtered)
            && options == filter.options()
        {
            return Some(Arc::clone(masks));
        }
        let masks = Arc::new(self.layers.iter().map(|layer| filter.mask(&layer.segment, &layer.live)).collect::<Vec<_>>());
        *locked(&self.filtered) = Some((filter.options().clone(), Arc::clone(&masks)));
        Some(masks)
    }

    fn views<'a>(&'a self, masks: Option<&'a Vec<FileMask>>) -> Vec<View<'a>> {
        let mask = |i: usize, layer: &'a Layer| masks.and_then(|m| m.get(i)).unwrap_or(&layer.live);
        self.layers.iter().enumerate().map(|(i, layer)| View { segment: &layer.segment, files: mask(i, layer) }).collect()
    }

    /// Search, drop what the filter excludes of a file's chunks, and search wider while too few are left.
    fn widening(
        &self,
        k: usize,
        filter: Option<&Filter>,
        search: impl Fn(usize) -> Result<Vec<Candidate>>,
    ) -> Result<Vec<Candidate>> {
        let Some(filter) = filter.filter(|f| f.restricts_chunks()) else { return search(k) };
        let mut wide = k.saturating_mul(WIDEN);
        loop {
            let mut found = search(wide)?;
            let all = found.len() < wide;
            found.retain(|c| self.layer_of(c.doc).is_some_and(|(layer, chunk)| filter.allows_chunk(&layer.segment.chunk(chunk))));
            if all || found.len() >= k || wide >= self.chunks {
                found.truncate(k);
                return Ok(found);
            }
            wide = wide.saturating_mul(WIDEN);
        }
    }
}

fn doc(view: u32, chunk: u32) -> Doc {
    u64::from(view) << 32 | u64::from(chunk)
}

impl From<Scored> for Candidate {
    fn from(scored: Scored) -> Self {
        Self { doc: doc(scored.view, scored.chunk), score: scored.score }
    }
}

//! The live segments of one generation, in memory. Cloning is cheap: segments are shared, masks are some kilobytes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::base::file_state::Stamp;
use crate::base::language::Language;
use crate::base::masked_text::Unmasked;
use crate::formats::segment::{FileMask, FileRef, Segment};

/// The text of an unsaved buffer, its secrets masked.
#[derive(Clone, Debug, Default)]
pub struct BufferText {
    /// The masked text.
    pub text: Arc<str>,
    /// The text before masking, if something was masked.
    pub unmasked: Option<Arc<Unmasked>>,
}

/// A segment with its live files: those that are the current version of their path.
#[derive(Clone, Debug)]
pub struct LiveSegment {
    /// The number in the name of the segment file; unused for buffers.
    pub id: u64,
    /// The segment.
    pub segment: Arc<Segment>,
    /// Which files are the live version of their path.
    pub live: FileMask,
    /// How many chunks the live files have.
    pub live_chunks: u32,
    /// The state of each file on disk when it was read.
    pub stamps: Arc<Vec<Stamp>>,
    /// Whether its vectors are those of the model in use, or none where that model's are kept elsewhere; others are neither searched
    /// nor kept.
    pub own_vectors: bool,
    /// Whether an older format made it: its files are cut again.
    pub outdated: bool,
    /// The text of each file, for buffers only: their text is nowhere else.
    pub texts: Option<Arc<Vec<BufferText>>>,
    /// File ordinals by path, made when first needed.
    by_path: Arc<OnceLock<Box<[u32]>>>,
    /// Chunk ordinals by id, made when first needed.
    by_id: Arc<OnceLock<Box<[u32]>>>,
}

/// Where a file is in a [`SegmentSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// Index into the segments of the set.
    pub segment: usize,
    /// File ordinal in that segment.
    pub file: u32,
}

impl LiveSegment {
    /// A segment whose files are all live.
    pub fn new(id: u64, segment: Arc<Segment>, stamps: Vec<Stamp>, texts: Option<Vec<BufferText>>) -> Self {
        let live = FileMask::new_all(segment.file_count());
        let live_chunks = segment.chunk_count();
        let texts = texts.map(Arc::new);
        Self {
            id,
            segment,
            live,
            live_chunks,
            stamps: Arc::new(stamps),
            own_vectors: true,
            outdated: false,
            texts,
            by_path: Arc::default(),
            by_id: Arc::default(),
        }
    }

    /// Whether it may be merged with others. One that is to be replaced is left to die: merged, nobody could tell what of it is old.
    /// One that a newer Carrel wrote more into is kept as it is.
    pub fn may_be_merged(&self) -> bool {
        self.own_vectors && !self.outdated && !self.segment.has_unknown_sections()
    }

    /// A segment of which no file is live yet.
    pub fn new_dead(id: u64, segment: Arc<Segment>) -> Self {
        let files = segment.file_count();
        let mut dead = Self::new(id, segment, vec![Stamp::default(); files as usize], None);
        dead.live = FileMask::new_none(files);
        dead.live_chunks = 0;
        dead
    }

    /// Make a file live.
    pub fn mark_live(&mut self, file: u32, stamp: Stamp) {
        if file < self.live.len() && !self.live.get(file) {
            self.live.set(file);
            self.live_chunks += self.chunks_of(file);
        }
        self.stamp(file, stamp);
    }

    /// Record the state of a file on disk.
    pub fn stamp(&mut self, file: u32, stamp: Stamp) {
        if let Some(place) = Arc::make_mut(&mut self.stamps).get_mut(file as usize) {
            *place = stamp;
        }
    }

    /// Make a file dead: searches no longer find it.
    pub fn mark_dead(&mut self, file: u32) {
        if self.live.get(file) {
            self.live.clear(file);
            self.live_chunks -= self.chunks_of(file);
        }
    }

    /// Whether none of its files is live.
    pub fn is_dead(&self) -> bool {
        self.live.iter().next().is_none()
    }

    fn chunks_of(&self, file: u32) -> u32 {
        let range = self.segment.file_chunks(file);
        range.end - range.start
    }

    /// The live file at this path.
    pub fn find(&self, path: &str) -> Option<u32> {
        let by_path = self.by_path.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.segment.file_count()).collect();
            order.sort_by_cached_key(|&file| self.segment.file(file).path);
            order.into()
        });
        let at = by_path.partition_point(|&file| self.segment.file(file).path < path);
        let mut same = by_path[at..].iter().copied().take_while(|&file| self.segment.file(file).path == path);
        same.find(|&file| self.live.get(file))
    }

    /// The live chunk with this id.
    pub fn find_chunk(&self, id: u128) -> Option<u32> {
        let by_id = self.by_id.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.segment.chunk_count()).collect();
            order.sort_by_cached_key(|&chunk| self.segment.chunk_id(chunk));
            order.into()
        });
        let at = by_id.partition_point(|&chunk| self.segment.chunk_id(chunk) < id);
        let mut same = by_id[at..].iter().copied().take_while(|&chunk| self.segment.chunk_id(chunk) == id);
        same.find(|&chunk| self.live.get(self.segment.file_of(chunk)))
    }
}

/// All live segments of one generation. Each path is live in at most one of them.
#[derive(Clone, Debug, Default)]
pub struct SegmentSet {
    /// Counts commits.
    pub generation: u64,
    /// The segments; their order has no meaning.
    pub segments: Vec<LiveSegment>,
}

impl SegmentSet {
    /// Where the live version of `path` is.
    pub fn find(&self, path: &str) -> Option<FileLocation> {
        self.segments.iter().enumerate().find_map(|(segment, s)| s.find(path).map(|file| FileLocation { segment, file }))
    }

    /// The language that the live version of `path` was read as.
    pub fn language(&self, path: &str) -> Option<Language> {
        self.find(path).map(|place| self.segments[place.segment].segment.file(place.file).language)
    }

    /// Take `path` out; tells where it was.
    pub fn remove(&mut self, path: &str) -> Option<FileLocation> {
        let place = self.find(path)?;
        self.segments[place.segment].mark_dead(place.file);
        Some(place)
    }

    /// Add a segment; its files replace those of the same path.
    pub fn push(&mut self, segment: LiveSegment) {
        for file in segment.live.iter() {
            self.remove(segment.segment.file(file).path);
        }
        self.segments.push(segment);
    }

    /// Drop segments without a live file and give their ids.
    pub fn drop_dead(&mut self) -> Vec<u64> {
        let mut dead = Vec::new();
        self.segments.retain(|segment| {
            let keep = !segment.is_dead();
            if !keep {
                dead.push(segment.id);
            }
            keep
        });
        dead
    }

    /// Number of live files.
    pub fn files(&self) -> usize {
        self.segments.iter().map(|s| s.live.count() as usize).sum()
    }

    /// All live files.
    pub fn iter(&self) -> impl Iterator<Item = (FileLocation, FileRef<'_>)> {
        self.segments
            .iter()
            .enumerate()
            .flat_map(|(segment, s)| s.live.iter().map(move |file| (FileLocation { segment, file }, s.segment.file(file))))
    }

    /// Every live path with what it looked like on disk, for comparing with a walk.
    pub fn stamps(&self) -> HashMap<&str, Stamp> {
        self.iter().map(|(place, file)| (file.path, self.stamp(place))).collect()
    }

    /// What the file at `place` looked like on disk.
    pub fn stamp(&self, place: FileLocation) -> Stamp {
        self.segments[place.segment].stamps.get(place.file as usize).copied().unwrap_or_default()
    }

    /// The live paths inside `folder` (no trailing slash; empty means all).
    pub fn under(&self, folder: &str) -> Vec<String> {
        let inside = |path: &str| folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.iter().filter(|(_, file)| inside(file.path)).map(|(_, file)| file.path.to_owned()).collect()
    }
}

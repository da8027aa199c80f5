//! Unsaved buffers: cut, embedded and searched like files, kept in memory, hiding the file of the same path.

use std::sync::Arc;

use super::Store;
use super::batch::{Batch, BatchContents, CutEntry};
use super::commit::build;
use super::compact::merge_segments;
use super::cutting::{buffer_source, entry};
use crate::base::cancel::CancelToken;
use crate::base::clock::now_ns;
use crate::base::error::{Error, Result};
use crate::base::file_state::Stamp;
use crate::base::sync::locked;
use crate::formats::segment::Segment;
use crate::index::cut::cut;
use crate::index::segment_set::{BufferText, LiveSegment, SegmentSet};

/// More buffer segments than this become one. Editors have a dozen open; the library, which keeps all documents here, has more.
const MOST_SEGMENTS: usize = 32;

impl Store {
    /// Cut an unsaved buffer. It has the metadata of the file that it hides, or of its earlier version. One that must not be read
    /// (ignored, secret) or can't be used gives an empty batch, and committing that takes an earlier version out.
    pub fn cut_buffer(&self, path: &str, text: &str, cancel: &CancelToken) -> Result<Batch> {
        self.check_open()?;
        let empty = || {
            Ok(Batch::new(
                BatchContents { removed: vec![path.to_owned()], ..BatchContents::default() },
                self.workspace.config.dim,
                true,
            ))
        };
        if let Err(reason) = self.workspace.admit_buffer(path) {
            Error::skip_reason(self.workspace.config.root.join(path), reason)?;
            return empty();
        }
        if text.len() as u64 > self.workspace.config.walk.max_file_bytes {
            return empty();
        }
        let Ok(source) = buffer_source(text).and_then(|source| self.workspace.mask(path, source)) else { return empty() };
        let Ok(language) = self.workspace.language_of(path, &source.text) else { return empty() };
        let stamp = Stamp { size: source.size, mtime_ns: source.mtime_ns, change: source.change, checked_ns: now_ns() };
        let cut = cut(path, language, &source.text, &self.workspace.config.cut, cancel)?;
        let (disk, overlay) = {
            let current = locked(&self.current);
            (Arc::clone(&current.disk), Arc::clone(&current.overlay))
        };
        let in_set = |set: &Arc<SegmentSet>| set.find(path).map(|place| (Arc::clone(set), place));
        let old = in_set(&overlay).or_else(|| in_set(&disk));
        let entry = entry(path, language, source, stamp, cut, old.as_ref().map(|(set, place)| (&**set, *place)), true);
        Ok(Batch::new(BatchContents { files: vec![entry], ..BatchContents::default() }, self.workspace.config.dim, true))
    }

    /// Let a buffer answer searches in place of its file.
    pub fn commit_buffer(&self, batch: &Batch) -> Result<()> {
        self.check_open()?;
        if !batch.buffer {
            return Err(Error::invalid("batch", "holds files: give it to commit"));
        }
        let body = batch.take()?;
        let _in_order = locked(&self.buffers);
        let mut overlay = SegmentSet::clone(&locked(&self.current).overlay);
        for path in &body.removed {
            overlay.remove(path);
        }
        let files: Vec<&CutEntry> = body.files.iter().filter(|f| !body.failed.iter().any(|(path, _)| *path == f.path)).collect();
        if let Some(bytes) = build(&files, body.vectors.as_ref(), self.workspace.config.dim, &CancelToken::new())? {
            let segment = Arc::new(Segment::from_bytes(&bytes)?);
            let stamps = files.iter().map(|f| f.stamp).collect();
            let texts = files.iter().map(|f| BufferText { text: Arc::clone(&f.text), unmasked: f.unmasked.clone() }).collect();
            overlay.push(LiveSegment::new(0, segment, stamps, Some(texts)));
        }
        self.publish_overlay(overlay)
    }

    /// The file on disk counts again.
    pub fn close_buffer(&self, path: &str) -> Result<()> {
        self.check_open()?;
        let _in_order = locked(&self.buffers);
        let mut overlay = SegmentSet::clone(&locked(&self.current).overlay);
        if overlay.remove(path).is_some() { self.publish_overlay(overlay) } else { Ok(()) }
    }

    fn publish_overlay(&self, mut overlay: SegmentSet) -> Result<()> {
        overlay.drop_dead();
        if overlay.segments.len() > MOST_SEGMENTS {
            merge_smallest(&mut overlay)?;
        }
        overlay.generation += 1;
        self.publish(|current| current.overlay = Arc::new(overlay));
        Ok(())
    }
}

/// Merge the half with the fewest chunks.
fn merge_smallest(overlay: &mut SegmentSet) -> Result<()> {
    overlay.segments.sort_by_key(|segment| std::cmp::Reverse(segment.live_chunks));
    // Large ones join only when the small ones together have grown as large.
    let mut from = overlay.segments.len() / 2;
    let mut sum: u32 = overlay.segments[from..].iter().map(|p| p.live_chunks).sum();
    while from > 0 && overlay.segments[from - 1].live_chunks <= sum {
        from -= 1;
        sum += overlay.segments[from].live_chunks;
    }
    let small = overlay.segments.split_off(from);
    let (bytes, ordinals) = merge_segments(&small.iter().collect::<Vec<_>>(), &CancelToken::new())?;
    let segment = Arc::new(Segment::from_bytes(&bytes)?);
    let files = segment.file_count() as usize;
    let (mut stamps, mut texts) = (vec![Stamp::default(); files], vec![BufferText::default(); files]);
    for (merged, ordinals) in small.iter().zip(&ordinals) {
        for (file, new) in ordinals.iter().enumerate().filter_map(|(file, new)| Some((file, (*new)? as usize))) {
            stamps[new] = merged.stamps[file];
            if let Some(text) = merged.texts.as_ref().and_then(|t| t.get(file)) {
                texts[new] = text.clone();
            }
        }
    }
    overlay.segments.push(LiveSegment::new(0, segment, stamps, Some(texts)));
    Ok(())
}

//! Unsaved buffers: cut, embedded and searched like files, kept in memory, hiding the file of the same path.

use std::sync::Arc;

use super::batch::{Batch, Body, CutEntry};
use super::commit::build;
use super::compact::merge_parts;
use super::cutting::{buffer_source, entry, language_of};
use super::set::{BufferText, Part};
use super::{SegmentSet, Store, locked, now_ns};
use crate::cancel::CancelToken;
use crate::cut::cut;
use crate::db::Stamp;
use crate::error::{Error, Result};
use crate::language::Language;
use crate::segment::Segment;

/// More buffer segments than this become one. Editors have a dozen open; the library, which keeps all documents here, has more.
const MOST_PARTS: usize = 32;

impl Store {
    /// Cut an unsaved buffer. One that must not be read (ignored, secret) or can't be used gives an empty batch, and committing
    /// that takes an earlier version out.
    pub fn cut_buffer(&self, path: &str, text: &str, cancel: &CancelToken) -> Result<Batch> {
        self.check_open()?;
        let empty = || Ok(Batch::new(Body { removed: vec![path.to_owned()], ..Body::default() }, self.site.config.dim, true));
        if !self.site.admits_buffer(path) || text.len() as u64 > self.site.config.walk.max_file_bytes {
            return empty();
        }
        let Some(language) = language_of(path, text).or(self.site.config.in_memory.then_some(Language::TEXT)) else {
            return empty();
        };
        let Ok(source) = buffer_source(text).and_then(|source| self.site.mask(path, source)) else { return empty() };
        let stamp = Stamp { size: source.size, mtime_ns: source.mtime_ns, change: source.change, checked_ns: now_ns() };
        let cut = cut(path, language, &source.text, &self.site.config.cut, cancel)?;
        let (disk, overlay) = {
            let current = locked(&self.current);
            (Arc::clone(&current.disk), Arc::clone(&current.overlay))
        };
        let in_set = |set: &Arc<SegmentSet>| set.find(path).map(|place| (Arc::clone(set), place));
        let old = in_set(&overlay).or_else(|| in_set(&disk));
        let entry = entry(path, language, source, stamp, cut, old.as_ref().map(|(set, place)| (&**set, *place)));
        Ok(Batch::new(Body { files: vec![entry], ..Body::default() }, self.site.config.dim, true))
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
        if let Some(bytes) = build(&files, body.vectors.as_ref(), self.site.config.dim, &CancelToken::new())? {
            let segment = Arc::new(Segment::from_bytes(&bytes)?);
            let stamps = files.iter().map(|f| f.stamp).collect();
            let texts = files.iter().map(|f| BufferText { text: Arc::clone(&f.text), unmasked: f.unmasked.clone() }).collect();
            overlay.push(Part::new(0, segment, stamps, Some(texts)));
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
        if overlay.parts.len() > MOST_PARTS {
            merge_smallest(&mut overlay)?;
        }
        overlay.generation += 1;
        self.publish(|current| current.overlay = Arc::new(overlay));
        Ok(())
    }
}

impl super::Site {
    /// Whether a buffer of this path may be read and sent. It need not be on disk.
    pub(crate) fn admits_buffer(&self, path: &str) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate.check_unsaved(path).is_ok())
    }
}

/// Merge the half with the fewest chunks.
fn merge_smallest(overlay: &mut SegmentSet) -> Result<()> {
    overlay.parts.sort_by_key(|part| std::cmp::Reverse(part.live_chunks));
    // Large ones join only when the small ones together have grown as large.
    let mut from = overlay.parts.len() / 2;
    let mut sum: u32 = overlay.parts[from..].iter().map(|p| p.live_chunks).sum();
    while from > 0 && overlay.parts[from - 1].live_chunks <= sum {
        from -= 1;
        sum += overlay.parts[from].live_chunks;
    }
    let small = overlay.parts.split_off(from);
    let (bytes, ordinals) = merge_parts(&small.iter().collect::<Vec<_>>(), &CancelToken::new())?;
    let segment = Arc::new(Segment::from_bytes(&bytes)?);
    let files = segment.file_count() as usize;
    let (mut stamps, mut texts) = (vec![Stamp::default(); files], vec![BufferText::default(); files]);
    for (part, ordinals) in small.iter().zip(&ordinals) {
        for (file, new) in ordinals.iter().enumerate().filter_map(|(file, new)| Some((file, (*new)? as usize))) {
            stamps[new] = part.stamps[file];
            if let Some(text) = part.texts.as_ref().and_then(|t| t.get(file)) {
                texts[new] = text.clone();
            }
        }
    }
    overlay.parts.push(Part::new(0, segment, stamps, Some(texts)));
    Ok(())
}

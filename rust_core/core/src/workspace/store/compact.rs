//! Merging segments: few enough to search fast, without rewriting large ones often.
//!
//! Every commit adds a segment. Merging always the smallest ones, and only with their like, writes each chunk about as many times
//! as the index has orders of magnitude. Tiny merges happen within a commit; larger ones when the caller has time for
//! [`Store::compact`], outside the lock, so that saves go on.

use std::sync::Arc;

use super::{Disk, Store};
use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::sync::locked;
use crate::formats::database::{Change, FileRow};
use crate::formats::segment::{FileMask, NewOrdinals, Segment, merge};
use crate::index::segment_set::{LiveSegment, SegmentSet};

/// More segments than this are merged.
const MOST_SEGMENTS: usize = 12;
/// A merge brings their number down to this, so that it isn't due again at once.
const MERGE_TO: usize = 8;
/// Merging up to this many chunks takes some milliseconds, and may happen within a commit.
const SMALL_MERGE: u32 = 2_000;
/// When a caller never compacts, a commit does it at this many segments.
const FORCED_FROM: usize = 40;
/// A segment with a larger share of dead chunks than this is written anew (in percent).
const DEAD_SHARE: u32 = 30;
/// Below this many dead chunks it isn't worth it.
const DEAD_LEAST: u32 = 256;

impl Store {
    /// Merge what is worth it. True when something was merged.
    pub fn compact(&self, cancel: &CancelToken) -> Result<bool> {
        if self.workspace.config.in_memory {
            return Ok(false);
        }
        self.check_writer()?;
        let _one_at_a_time = locked(&self.compacting);
        let mut merged = false;
        loop {
            let set = Arc::clone(&locked(&self.current).disk);
            let ids = choose(&set);
            if ids.is_empty() {
                return Ok(merged);
            }
            let segments: Vec<&LiveSegment> = set.segments.iter().filter(|p| ids.contains(&p.id)).collect();
            let (bytes, ordinals) = merge_segments(&segments, cancel)?;
            let mut guard = locked(&self.disk);
            let disk = guard.as_mut().filter(|d| d.lock.is_some()).ok_or(Error::NotWriter)?;
            // A commit may have merged these itself, or a clear dropped them.
            let now = Arc::clone(&locked(&self.current).disk);
            if segments.iter().all(|segment| now.segments.iter().any(|p| p.id == segment.id)) {
                drop(now);
                self.replace(disk, &segments, &bytes, &ordinals, true)?;
                merged = true;
            }
        }
    }

    /// The merge that a commit can afford. It is a convenience: when it fails, nothing is lost.
    pub(super) fn merge_small(&self, disk: &mut Disk) {
        let set = Arc::clone(&locked(&self.current).disk);
        if set.segments.len() <= MOST_SEGMENTS {
            return;
        }
        let ids = smallest(&set);
        if ids.is_empty() {
            return;
        }
        let segments: Vec<&LiveSegment> = set.segments.iter().filter(|p| ids.contains(&p.id)).collect();
        let chunks: u32 = segments.iter().map(|p| p.live_chunks).sum();
        if chunks > SMALL_MERGE && set.segments.len() < FORCED_FROM {
            return;
        }
        if let Ok((bytes, ordinals)) = merge_segments(&segments, &CancelToken::new()) {
            let _ = self.replace(disk, &segments, &bytes, &ordinals, false);
        }
    }

    /// Put a merged segment in the place of those that it was made of. Files that died since the merge began stay dead.
    fn replace(
        &self,
        disk: &mut Disk,
        segments: &[&LiveSegment],
        bytes: &[u8],
        ordinals: &[Vec<Option<u32>>],
        sync: bool,
    ) -> Result<()> {
        // A large merge is long to make again: it should survive a power cut. Small ones are not worth the wait.
        let (id, segment) = self.write_segment(disk, bytes, sync)?;
        let old = Arc::clone(&locked(&self.current).disk);
        let mut set = SegmentSet::clone(&old);
        set.generation += 1;
        let mut change = Change { generation: set.generation, ..Change::default() };
        let mut new = LiveSegment::new_dead(id, segment);
        for (merged, ordinals) in segments.iter().zip(ordinals) {
            let Some(at) = set.segments.iter().position(|p| p.id == merged.id) else { continue };
            let now = set.segments.remove(at);
            for (file, target) in now.live.iter().filter_map(|file| Some((file, (*ordinals.get(file as usize)?)?))) {
                let stamp = now.stamps.get(file as usize).copied().unwrap_or_default();
                new.mark_live(target, stamp);
                let path = now.segment.file(file).path.to_owned();
                change.files.push(FileRow { path, segment: id, file: target, stamp });
            }
            change.drop_segments.push(merged.id);
        }
        change.add_segments.push(id);
        set.segments.push(new);
        change.drop_segments.extend(set.drop_dead().iter().filter(|dead| **dead != id));
        if let Err(error) = disk.database.as_mut().ok_or(Error::NotWriter)?.commit(&change) {
            drop(set);
            disk.discard([id], self.directory());
            return Err(error);
        }
        self.publish(|current| current.disk = Arc::new(set));
        drop(old);
        disk.discard(change.drop_segments, self.directory());
        Ok(())
    }
}

/// Merge the live files of some segments.
pub(super) fn merge_segments(segments: &[&LiveSegment], cancel: &CancelToken) -> Result<(Vec<u8>, NewOrdinals)> {
    let masked: Vec<(&Segment, &FileMask)> = segments.iter().map(|p| (&*p.segment, &p.live)).collect();
    merge(&masked, cancel)
}

/// Ids of the segments to merge now; none when all is well.
fn choose(set: &SegmentSet) -> Vec<u64> {
    let wasteful = |live: &&LiveSegment| {
        let (all, left) = (live.segment.chunk_count(), live.live_chunks);
        all - left >= DEAD_LEAST && (all - left) as u64 * 100 > all as u64 * DEAD_SHARE as u64
    };
    if set.segments.len() > MOST_SEGMENTS {
        smallest(set)
    } else {
        set.segments.iter().filter(|p| p.may_be_merged()).find(wasteful).map(|p| p.id).into_iter().collect()
    }
}

/// The smallest segments: as many as bring the number down, and then those that are no larger than all before together.
pub(super) fn smallest(set: &SegmentSet) -> Vec<u64> {
    let mergeable = set.segments.iter().filter(|p| p.may_be_merged());
    let mut segments: Vec<(u32, u64)> = mergeable.map(|p| (p.live_chunks, p.id)).collect();
    if segments.len() <= MERGE_TO {
        return Vec::new();
    }
    segments.sort_unstable();
    let least = segments.len().saturating_sub(MERGE_TO) + 1;
    let mut sum = 0_u64;
    let chosen = segments.iter().enumerate().take_while(|(i, (chunks, _))| {
        let take = *i < least || u64::from(*chunks) <= sum;
        sum += u64::from(*chunks);
        take
    });
    chosen.map(|(_, (_, id))| *id).collect()
}

//! Count how common words are, over live chunks alone.
//!
//! Segments keep the lists of all their chunks, deleted ones too. Scores that counted those would depend on which edits and merges
//! an index has seen. So what dead chunks add is taken off, for a term when it is asked for the first time, by looking into its
//! list where dead chunks are.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use crate::base::sync::locked;
use crate::formats::postings::list::PostingList;
use crate::query::view::View;

/// Counts over the live chunks of some views.
#[derive(Debug, Default)]
pub struct Statistics {
    chunks: u64,
    /// The dead chunks of each view.
    dead: Vec<Vec<Range<u32>>>,
    /// Live chunks that hold a term, by its hash, for those that had to be looked for.
    counts: Mutex<HashMap<u64, u64>>,
}

impl Statistics {
    /// Count what is live in `views`. Terms must be asked about with the same segments in the same order; which of their files
    /// a search may find makes no difference.
    pub fn new(views: &[View<'_>]) -> Self {
        let mut statistics = Self::default();
        for view in views {
            let dead = view.dead_ranges();
            let dead_chunks: u32 = dead.iter().map(|range| range.end - range.start).sum();
            statistics.chunks += u64::from(view.segment.chunk_count().saturating_sub(dead_chunks));
            statistics.dead.push(dead);
        }
        statistics
    }

    /// Live chunks.
    pub(super) fn chunks(&self) -> u64 {
        self.chunks
    }

    /// In how many live chunks the term `hash` stands, whose list in each view is given.
    pub(super) fn count(&self, hash: u64, lists: &[Option<PostingList<'_>>]) -> u64 {
        let all = || self.dead.iter().zip(lists).filter_map(|(dead, list)| Some((dead, (*list)?)));
        if all().all(|(dead, _)| dead.is_empty()) {
            return all().map(|(_, list)| u64::from(list.count)).sum();
        }
        if let Some(&count) = locked(&self.counts).get(&hash) {
            return count;
        }
        let count = all().map(|(dead, list)| u64::from(list.count.saturating_sub(list.count_in(dead)))).sum();
        locked(&self.counts).insert(hash, count);
        count
    }
}

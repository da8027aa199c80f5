//! Scoring one view term by term, rarest first, and stopping where the rest can't matter.
//!
//! A term adds at most its rarity. Once the rarities of the terms that are left sum to less than the k-th best score so far, no
//! new chunk can enter the results: from there on, lists are only asked about the chunks that still can, and those become
//! fewer. So the common words of a question, whose lists are the long ones, are hardly read. The result is exact.

use std::ops::Range;

use super::score::Scorer;
use crate::formats::postings::list::PostingList;
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// Looking for the k-th best score costs a pass over all scores: only worth it before a list of a fair part of the chunks.
const LONG_LIST: u32 = 16;

/// The rarities that are left bound what sums of floats come to up to their rounding, which must not decide over a tie.
pub(super) const ROUNDING: f32 = 1.0 - 1e-5;

/// A term's rarity and its postings in the view.
pub type RatedList<'a> = (f32, PostingList<'a>);

/// Offer every chunk of `view` (the `ordinal`-th) that could be among the best. `lists` are ordered rarest first.
pub fn score_view(view: &View<'_>, ordinal: u32, lists: &[RatedList<'_>], scorer: &Scorer, k: usize, best: &mut TopK<'_>) {
    let chunks = view.segment.chunk_count();
    let mut pool = Pool {
        lengths: view.segment.lengths().as_chunks::<3>().0,
        scores: vec![0.0; chunks as usize],
        scored: Vec::new(),
        live: view.live_ranges(),
        scorer,
    };
    // Added up anew each time: a rest of rounding errors after the last term would prune ties.
    let left_from = |next: usize| lists[next..].iter().map(|l| l.0).sum::<f32>();
    let mut bar = best.floor();
    let mut next = 0;
    while let Some(&(idf, list)) = lists.get(next) {
        if next > 0 && list.count >= chunks / LONG_LIST {
            bar = kth_best(pool.above(bar).map(|s| s.score), k).max(bar);
            if left_from(next) < bar * ROUNDING {
                break;
            }
        }
        pool.add(idf, list);
        next += 1;
    }
    let mut candidates: Vec<PooledChunk> = pool.above(bar * ROUNDING - left_from(next)).collect();
    if next < lists.len() {
        candidates.sort_unstable_by_key(|candidate| candidate.chunk);
    }
    for (i, &(idf, list)) in lists.iter().enumerate().skip(next) {
        pool.add_to(&mut candidates, idf, list);
        bar = kth_best(candidates.iter().map(|c| c.score), k).max(bar);
        candidates.retain(|c| c.score >= bar * ROUNDING - left_from(i + 1));
    }
    for PooledChunk { chunk, score } in candidates {
        best.offer(Scored { view: ordinal, chunk, score });
    }
}

/// A chunk that may still be among the best.
#[derive(Clone, Copy)]
struct PooledChunk {
    chunk: u32,
    score: f32,
}

/// The `k`-th largest of `scores`, 0 if there are fewer.
fn kth_best(scores: impl Iterator<Item = f32>, k: usize) -> f32 {
    let mut scores: Vec<f32> = scores.collect();
    if k == 0 || scores.len() < k {
        return 0.0;
    }
    *scores.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
}

/// Scores of a view's chunks while terms are added.
struct Pool<'a> {
    lengths: &'a [[u8; 3]],
    /// By chunk ordinal. Dead chunks are scored too (asking of each posting costs more) but never looked at.
    scores: Vec<f32>,
    /// The chunks that have a score, each once: far fewer than all of them, in most questions.
    scored: Vec<u32>,
    live: Vec<Range<u32>>,
    scorer: &'a Scorer,
}

impl Pool<'_> {
    /// Live chunks with a score of at least `least`.
    fn above(&self, least: f32) -> impl Iterator<Item = PooledChunk> + '_ {
        let least = least.max(f32::MIN_POSITIVE);
        let is_live = |chunk: u32| {
            self.live.get(self.live.partition_point(|range| range.end <= chunk)).is_some_and(|range| range.start <= chunk)
        };
        self.scored
            .iter()
            .map(|&chunk| PooledChunk { chunk, score: self.scores[chunk as usize] })
            .filter(move |found| found.score >= least && is_live(found.chunk))
    }

    /// Add a term to every chunk that has it.
    fn add(&mut self, idf: f32, list: PostingList<'_>) {
        let Self { lengths, scores, scored, scorer, .. } = self;
        list.each(|chunk, frequencies| {
            if let Some(score) = scores.get_mut(chunk as usize) {
                let before = *score;
                *score += idf * scorer.weight(lengths, chunk, frequencies);
                if before <= 0.0 && *score > 0.0 {
                    scored.push(chunk);
                }
            }
        });
    }

    /// Add a term to those candidates that have it.
    fn add_to(&mut self, candidates: &mut [PooledChunk], idf: f32, list: PostingList<'_>) {
        let mut seeker = list.seeker();
        for candidate in candidates {
            if let Some(frequencies) = seeker.get(candidate.chunk) {
                candidate.score += idf * self.scorer.weight(self.lengths, candidate.chunk, frequencies);
            }
        }
    }
}

//! Scoring one view term by term, rarest first, and stopping where the rest can't matter.
//!
//! A term adds at most its rarity. Once the rarities of the terms that are left sum to less than the k-th best score so far, no
//! new chunk can enter the results: from there on, lists are only asked about the chunks that still can, and those become
//! fewer. So the common words of a question, whose lists are the long ones, are hardly read. The result is exact.

use std::ops::Range;

use super::fields::Frequencies;
use super::postings::PostingList;
use super::score::Scorer;
use crate::segment::{Scored, TopK, View};

/// A list shorter than this is read at once: working out whether it must be would cost more.
const SHORT_LIST: u32 = 1024;

/// A term's rarity and its postings in the view.
pub type RatedList<'a> = (f32, PostingList<'a>);

/// Offer every chunk of `view` (the `ordinal`-th) that could be among the best. `lists` are ordered rarest first.
pub fn score_view(view: &View<'_>, ordinal: u32, lists: &[RatedList<'_>], scorer: &Scorer, k: usize, best: &mut TopK<'_>) {
    let mut pool = Pool {
        lengths: view.segment.lengths().as_chunks::<3>().0,
        scores: vec![0.0; view.segment.chunk_count() as usize],
        touched: Vec::new(),
        scorer,
    };
    let live = view.live_ranges();
    let mut left: f32 = lists.iter().map(|l| l.0).sum();
    let mut bar = best.floor();
    let mut next = 0;
    while let Some(&(idf, list)) = lists.get(next) {
        if list.count >= SHORT_LIST {
            bar = bar.max(pool.kth_best(k));
            if left < bar {
                break;
            }
        }
        pool.add_all(idf, list, &live);
        left -= idf;
        next += 1;
    }
    for &(idf, list) in &lists[next..] {
        pool.keep(bar - left);
        pool.add_to_touched(idf, list);
        left -= idf;
        bar = bar.max(pool.kth_best(k));
    }
    for chunk in pool.touched {
        best.offer(Scored { view: ordinal, chunk, score: pool.scores[chunk as usize] });
    }
}

/// Scores of a view's chunks while terms are added.
struct Pool<'a> {
    lengths: &'a [[u8; 3]],
    scores: Vec<f32>,
    /// Live chunks that have a score and may still be among the best.
    touched: Vec<u32>,
    scorer: &'a Scorer,
}

impl Pool<'_> {
    /// The `k`-th best score so far, 0 if there are fewer.
    fn kth_best(&self, k: usize) -> f32 {
        if k == 0 || self.touched.len() < k {
            return 0.0;
        }
        let mut scores: Vec<f32> = self.touched.iter().map(|&c| self.scores[c as usize]).collect();
        *scores.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
    }

    /// Forget chunks that have less than `least`.
    fn keep(&mut self, least: f32) {
        let scores = &self.scores;
        self.touched.retain(|&c| scores[c as usize] >= least);
    }

    /// Add a term to every live chunk that has it.
    fn add_all(&mut self, idf: f32, list: PostingList<'_>, live: &[Range<u32>]) {
        let Self { lengths, scores, touched, scorer } = self;
        let mut ranges = live.iter();
        let mut range = ranges.next().cloned().unwrap_or(0..0);
        list.each(|chunk, frequencies| {
            while chunk >= range.end {
                match ranges.next() {
                    Some(next) => range = next.clone(),
                    None => return,
                }
            }
            if chunk >= range.start
                && let Some(score) = scores.get_mut(chunk as usize)
            {
                if *score == 0.0 {
                    touched.push(chunk);
                }
                *score += idf * scorer.weight(lengths, chunk, frequencies);
            }
        });
    }

    /// Add a term to the touched chunks that have it.
    fn add_to_touched(&mut self, idf: f32, list: PostingList<'_>) {
        let Self { lengths, scores, touched, scorer } = self;
        let mut add =
            |chunk: u32, frequencies: Frequencies| scores[chunk as usize] += idf * scorer.weight(lengths, chunk, frequencies);
        touched.sort_unstable();
        let mut seeker = list.seeker();
        for &chunk in touched.iter() {
            if let Some(frequencies) = seeker.get(chunk) {
                add(chunk, frequencies);
            }
        }
    }
}

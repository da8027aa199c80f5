//! Chunks with their scores, and the best of them.

use std::cmp::Ordering;

use crate::query::view::View;

/// A chunk of a view with its score; higher is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Index into the views that were searched.
    pub view: u32,
    /// Chunk ordinal in that view's segment.
    pub chunk: u32,
    /// The score that the search gave it.
    pub score: f32,
}

/// Best first; equal scores by path, then by place in the file, so that answers repeat whatever segments hold the files.
pub fn ranking_order(views: &[View<'_>], a: &Scored, b: &Scored) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| place_order(views, a, b))
}

fn place_order(views: &[View<'_>], a: &Scored, b: &Scored) -> Ordering {
    let path = |s: &Scored| views.get(s.view as usize).map(|v| v.segment.file(v.segment.file_of(s.chunk)).path);
    if a.view == b.view && views.get(a.view as usize).is_some_and(|v| v.segment.file_of(a.chunk) == v.segment.file_of(b.chunk)) {
        return a.chunk.cmp(&b.chunk);
    }
    path(a).cmp(&path(b)).then(a.chunk.cmp(&b.chunk)).then(a.view.cmp(&b.view))
}

/// The best `k` seen so far.
#[derive(Debug)]
pub struct TopK<'a> {
    views: &'a [View<'a>],
    k: usize,
    kept: Vec<Scored>,
    floor: f32,
}

impl<'a> TopK<'a> {
    /// Collect up to `k` results of at least `floor`.
    pub fn new(views: &'a [View<'a>], k: usize, floor: f32) -> Self {
        Self { views, k, kept: Vec::with_capacity((k.min(1 << 16)) * 2), floor }
    }

    /// The score below which nothing can enter any more.
    #[inline]
    pub fn floor(&self) -> f32 {
        self.floor
    }

    /// Offer a result. Callers may skip those below [`TopK::floor`].
    #[inline]
    pub fn offer(&mut self, scored: Scored) {
        if scored.score >= self.floor && self.k > 0 {
            self.kept.push(scored);
            // Twice as many as wanted, then the worse half goes: cheaper than a heap, and ties need a path only then.
            if self.kept.len() >= self.k.saturating_mul(2).max(64) {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.kept.len() > self.k {
            let views = self.views;
            let (_, last, _) = self.kept.select_nth_unstable_by(self.k - 1, |a, b| ranking_order(views, a, b));
            self.floor = self.floor.max(last.score);
            self.kept.truncate(self.k);
        }
    }

    /// The score of the last of the `k` best so far; the floor while there are fewer.
    pub fn settle(&mut self) -> f32 {
        if self.kept.len() >= self.k {
            self.shrink();
        }
        self.floor
    }

    /// The results, best first.
    pub fn into_sorted(mut self) -> Vec<Scored> {
        let views = self.views;
        self.kept.sort_unstable_by(|a, b| ranking_order(views, a, b));
        self.kept.truncate(self.k);
        self.kept
    }
}

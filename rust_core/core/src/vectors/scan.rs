//! The exact scan: every live row is looked at, and none that belongs to the best is missed.

use std::ops::Range;

use rayon::prelude::*;

use super::rows::{Quantised, plane_bytes, scale_and_slack};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::segment::{Scored, TopK, View};
use crate::simd::Kernel;

/// Rows per kernel call: scores stay in the first-level cache, and cancelling is noticed within microseconds.
const ROWS_PER_CALL: usize = 256;
/// Rows that one thread takes at a time.
const ROWS_PER_PART: u32 = 16_384;
/// Below this, one core is done before the others are awake.
const PARALLEL_FROM: u32 = 50_000;
/// The largest step of a question's component.
const LARGEST: f32 = 127.0;

/// A question, quantised.
struct Question {
    steps: Vec<i8>,
    scale: f32,
    /// Its length (L2), quantised as it is.
    length: f32,
}

impl Question {
    fn new(vector: &[f32]) -> Self {
        let Quantised { steps, scale } = Quantised::new(vector, LARGEST);
        let squares: i64 = steps.iter().map(|&step| i64::from(step) * i64::from(step)).sum();
        Self { length: (squares as f32).sqrt() * scale, steps, scale }
    }
}

/// Neighbouring rows of a segment.
struct Part {
    view: u32,
    rows: Range<u32>,
}

/// The `k` chunks whose vectors are most like the unit vector `query`, best first, none below `floor`. Exact: every live vector
/// is looked at. Segments of other dimensions, and a query of zeros, find nothing.
pub fn dense_top_k(views: &[View<'_>], query: &[f32], k: usize, floor: f32, cancel: &CancelToken) -> Result<Vec<Scored>> {
    let question = Question::new(query);
    if question.scale == 0.0 || k == 0 {
        return Ok(Vec::new());
    }
    let mut parts = Vec::new();
    for (i, view) in views.iter().enumerate().filter(|(_, view)| view.segment.dim() == query.len()) {
        for range in view.live_ranges() {
            let starts = range.clone().step_by(ROWS_PER_PART as usize);
            parts.extend(starts.map(|start| {
                let end = start.saturating_add(ROWS_PER_PART).min(range.end);
                Part { view: i as u32, rows: start..end }
            }));
        }
    }
    let rows: u32 = parts.iter().map(|part| part.rows.end - part.rows.start).sum();
    let bounded = |part: Part| Ok((question.bounds(views, &part, cancel)?, part));
    let parts: Vec<(Vec<f32>, Part)> = if rows < PARALLEL_FROM {
        parts.into_iter().map(bounded).collect::<Result<_>>()?
    } else {
        parts.into_par_iter().map(bounded).collect::<Result<_>>()?
    };
    // Those with the highest bounds are nearly the best. What they score says which other rows may be better.
    let mut likely = TopK::new(views, k.saturating_mul(2), floor);
    offer(&parts, &mut likely, |scored| scored);
    let mut best = TopK::new(views, k, floor);
    for row in likely.into_sorted() {
        best.offer(question.score(views, row));
    }
    let mut exact = TopK::new(views, k, best.settle());
    cancel.check()?;
    offer(&parts, &mut exact, |row| question.score(views, row));
    Ok(exact.into_sorted())
}

/// Offer each row whose bound may still enter, as `score` makes it.
fn offer(parts: &[(Vec<f32>, Part)], best: &mut TopK<'_>, score: impl Fn(Scored) -> Scored) {
    for (bounds, part) in parts {
        for (chunk, &bound) in part.rows.clone().zip(bounds) {
            if bound >= best.floor() {
                best.offer(score(Scored { view: part.view, chunk, score: bound }));
            }
        }
    }
}

impl Question {
    /// What each row of a part scores at most: its high halves' score, and what the low ones may add. By Cauchy and Schwarz that
    /// is their length times the question's.
    fn bounds(&self, views: &[View<'_>], part: &Part, cancel: &CancelToken) -> Result<Vec<f32>> {
        let kernel = Kernel::best();
        let segment = views[part.view as usize].segment;
        let (vectors, bytes) = (segment.vectors(), plane_bytes(segment.dim()));
        let mut dots = [0_i32; ROWS_PER_CALL];
        let mut bounds = Vec::with_capacity(part.rows.len());
        for first in part.rows.clone().step_by(ROWS_PER_CALL) {
            cancel.check()?;
            let rows = first as usize..(first as usize + ROWS_PER_CALL).min(part.rows.end as usize);
            let dots = &mut dots[..rows.len()];
            kernel.dots(&self.steps, &vectors.high[rows.start * bytes..rows.end * bytes], dots);
            let scales = vectors.scales.as_chunks().0[rows].iter().copied().map(scale_and_slack);
            bounds.extend(
                dots.iter()
                    .zip(scales)
                    .map(|(dot, [scale, slack])| (dot * 16) as f32 * (self.scale * scale) + self.length * slack),
            );
        }
        Ok(bounds)
    }

    /// A row with what it scores.
    fn score(&self, views: &[View<'_>], row: Scored) -> Scored {
        let segment = views[row.view as usize].segment;
        let vector = segment.vector(row.chunk);
        let (mut high, mut low) = ([0], [0]);
        Kernel::best().dots(&self.steps, vector.high, &mut high);
        Kernel::best().dots(&self.steps, vector.low, &mut low);
        Scored { score: (high[0] * 16 + low[0]) as f32 * (self.scale * vector.scale), ..row }
    }
}

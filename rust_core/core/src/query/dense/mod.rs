//! Search by vectors: an exact scan. Every live row is looked at, and read to the end where it may be among the best.
//!
//! Bytes are what a scan waits for, so it reads half of each vector: the high halves of a row's bytes bound what the row scores,
//! and only rows that may be among the best are read to the end.

use std::ops::Range;

use rayon::prelude::*;

use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::simd::{Kernel, Query};
use crate::formats::vectors::{Quantised, SCALES_BYTES, plane_bytes, scale_and_slack};
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// Rows per kernel call, whole groups: scores stay in the first-level cache, and cancelling is noticed within microseconds.
const ROWS_PER_CALL: usize = 8 * GROUP;
/// Rows that one thread takes at a time.
const ROWS_PER_PART: u32 = 16_384;
/// Below this, one core is about done before the others are awake, which takes half a millisecond in a virtual machine.
pub const PARALLEL_FROM: u32 = 200_000;
/// Rows whose highest bound is kept: nearly all groups of them hold nothing, which one comparison says.
const GROUP: usize = 32;
/// Bounds that are compared side by side.
const LANES: usize = 8;
/// Of the rows that may be among the best, the highest are scored before the others where they are so many times fewer.
const FEWER: usize = 8;
/// Rows to score from which another core helps: each waits for memory.
const ROWS_TO_SHARE: usize = 4096;
/// The largest step of a question's component.
const LARGEST: f32 = 127.0;

/// A question, quantised.
struct QuantisedQuery {
    query: Query,
    scale: f32,
    /// Its length (L2), quantised as it is.
    length: f32,
}

impl QuantisedQuery {
    fn new(vector: &[f32]) -> Self {
        let Quantised { steps, scale } = Quantised::new(vector, LARGEST);
        let squares: i64 = steps.iter().map(|&step| i64::from(step) * i64::from(step)).sum();
        Self { length: (squares as f32).sqrt() * scale, query: Query::new(steps), scale }
    }
}

/// Neighbouring rows of a segment.
struct RowRange {
    view: u32,
    rows: Range<u32>,
}

/// What the rows of a part score at most.
struct Bounds {
    rows: Vec<f32>,
    /// The highest of each [`GROUP`].
    groups: Vec<f32>,
}

/// The `k` chunks whose vectors are most like the unit vector `query`, best first, none below `floor`. Exact: every live vector
/// is looked at, and passed over only if its score can't reach the others'. Segments of other dimensions, and a query of zeros,
/// find nothing.
pub fn dense_top_k(views: &[View<'_>], query: &[f32], k: usize, floor: f32, cancel: &CancelToken) -> Result<Vec<Scored>> {
    let question = QuantisedQuery::new(query);
    if question.scale == 0.0 || k == 0 {
        return Ok(Vec::new());
    }
    let mut parts = Vec::new();
    for (i, view) in views.iter().enumerate().filter(|(_, view)| view.segment.dim() == query.len()) {
        for range in view.live_ranges() {
            let starts = range.clone().step_by(ROWS_PER_PART as usize);
            parts.extend(starts.map(|start| {
                let end = start.saturating_add(ROWS_PER_PART).min(range.end);
                RowRange { view: i as u32, rows: start..end }
            }));
        }
    }
    let rows: u32 = parts.iter().map(|part| part.rows.end - part.rows.start).sum();
    let bounded = |part: RowRange| Ok((question.bounds(views, &part, cancel)?, part));
    let parts: Vec<(Bounds, RowRange)> = if rows < PARALLEL_FROM {
        parts.into_iter().map(bounded).collect::<Result<_>>()?
    } else {
        parts.into_par_iter().map(bounded).collect::<Result<_>>()?
    };
    // Those with the highest bounds are nearly the best. What they score says which other rows may be better. Where bounds say
    // little, these are many, and more of the highest are scored first.
    let mut likely = k.saturating_mul(2);
    let (floor, rest) = loop {
        let reached = floor.max(reached_by(&parts, likely));
        let mut best = TopK::new(views, k, floor);
        each_above(&parts, reached, |row| best.offer(question.score(views, row)));
        let least = best.settle();
        let mut rest = Vec::new();
        each_above(&parts, least, |row| rest.push(row));
        if rest.len() / FEWER <= likely {
            break (least, rest);
        }
        likely = likely.saturating_mul(FEWER);
        cancel.check()?;
    };
    cancel.check()?;
    let score = |row: Scored| question.score(views, row);
    let scored: Vec<Scored> = if rest.len() < ROWS_TO_SHARE {
        rest.into_iter().map(score).collect()
    } else {
        rest.into_par_iter().with_min_len(ROWS_TO_SHARE / 2).map(score).collect()
    };
    let mut exact = TopK::new(views, k, floor);
    for row in scored {
        exact.offer(row);
    }
    Ok(exact.into_sorted())
}

/// What at least `rows` bounds reach, or as many as there are groups: told by the highest of each group.
fn reached_by(parts: &[(Bounds, RowRange)], rows: usize) -> f32 {
    let mut highest: Vec<f32> = parts.iter().flat_map(|(bounds, _)| &bounds.groups).copied().collect();
    let Some(last) = rows.min(highest.len()).checked_sub(1) else { return f32::NEG_INFINITY };
    *highest.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1
}

/// The highest of some bounds.
fn highest(bounds: &[f32]) -> f32 {
    // In lanes, which the compiler compares at once: one after the other they would wait for each other.
    let more = |most: &mut f32, bound: f32| *most = if bound > *most { bound } else { *most };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = bounds.as_chunks::<LANES>();
    for bounds in whole {
        lanes.iter_mut().zip(bounds).for_each(|(most, &bound)| more(most, bound));
    }
    let mut most = f32::NEG_INFINITY;
    lanes.iter().chain(rest).for_each(|&bound| more(&mut most, bound));
    most
}

/// Hand out the rows whose bounds reach the floor.
fn each_above(parts: &[(Bounds, RowRange)], floor: f32, mut take: impl FnMut(Scored)) {
    for (bounds, part) in parts {
        let groups = bounds.groups.iter().zip(bounds.rows.chunks(GROUP)).zip(part.rows.clone().step_by(GROUP));
        for ((&highest, group), first) in groups {
            if highest < floor {
                continue;
            }
            for (&bound, chunk) in group.iter().zip(first..) {
                if bound >= floor {
                    take(Scored { view: part.view, chunk, score: bound });
                }
            }
        }
    }
}

impl QuantisedQuery {
    /// What each row of a part scores at most: its high halves' score, and what the low ones may add.
    fn bounds(&self, views: &[View<'_>], part: &RowRange, cancel: &CancelToken) -> Result<Bounds> {
        let kernel = Kernel::best();
        let segment = views[part.view as usize].segment;
        let (vectors, bytes) = (segment.vectors(), plane_bytes(segment.dim()));
        let mut dots = [0_i32; ROWS_PER_CALL];
        let mut bounds =
            Bounds { rows: Vec::with_capacity(part.rows.len()), groups: Vec::with_capacity(part.rows.len().div_ceil(GROUP)) };
        for first in part.rows.clone().step_by(ROWS_PER_CALL) {
            cancel.check()?;
            let rows = first as usize..(first as usize + ROWS_PER_CALL).min(part.rows.end as usize);
            let dots = &mut dots[..rows.len()];
            kernel.dots(&self.query, &vectors.high[rows.start * bytes..rows.end * bytes], dots);
            let scales = &vectors.scales.as_chunks::<SCALES_BYTES>().0[rows];
            let done = bounds.rows.len();
            bounds.rows.extend(dots.iter().zip(scales).map(|(&dot, &scales)| self.bound(dot, scales)));
            bounds.groups.extend(bounds.rows[done..].chunks(GROUP).map(highest));
        }
        Ok(bounds)
    }

    /// From the high halves' dot product: that score, and what the low halves may add.
    #[inline]
    fn bound(&self, dot: i32, scales: [u8; SCALES_BYTES]) -> f32 {
        let [scale, slack] = scale_and_slack(scales);
        (dot * 16) as f32 * (self.scale * scale) + self.length * slack
    }

    /// A row with what it scores.
    fn score(&self, views: &[View<'_>], row: Scored) -> Scored {
        let vector = views[row.view as usize].segment.vector(row.chunk);
        let (mut high, mut low) = ([0], [0]);
        Kernel::best().dots(&self.query, vector.high, &mut high);
        Kernel::best().dots(&self.query, vector.low, &mut low);
        Scored { score: (high[0] * 16 + low[0]) as f32 * (self.scale * vector.scale), ..row }
    }
}

#[cfg(test)]
mod tests;

//! Quantised vectors and the exact scan over them.
//!
//! A vector is kept as signed bytes and one scale; the cosine of two unit vectors is their integer dot product times both scales.
//! At 256 dimensions the ten best agree with 32-bit floats in 98 of 100 places or more (tested), at a quarter of the bytes, and
//! bytes are what a scan waits for.

use std::ops::Range;

use rayon::prelude::*;

use crate::cancel::CancelToken;
use crate::error::Result;
use crate::segment::{Scored, TopK, View};
use crate::simd::Kernel;

/// Rows per kernel call: scores stay in the first-level cache, and cancelling is noticed within microseconds.
const ROWS_PER_CALL: usize = 256;
/// Rows per task of a parallel scan.
const ROWS_PER_TASK: u32 = 16_384;
/// Below this, one core is done before the others are awake.
const PARALLEL_FROM: u32 = 50_000;

/// A quantised vector: component `i` is `values[i] * scale`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VectorRow<'a> {
    /// Components, -127 to 127.
    pub values: &'a [i8],
    /// What one step of a component is worth.
    pub scale: f32,
}

/// Quantise `values` into `out` (same length) and give the scale. Components that aren't finite count as 0.
pub fn quantise(values: &[f32], out: &mut [i8]) -> f32 {
    let finite = |v: f32| if v.is_finite() { v } else { 0.0 };
    let largest = values.iter().fold(0.0_f32, |most, &v| most.max(finite(v).abs()));
    if largest == 0.0 {
        out.fill(0);
        return 0.0;
    }
    let scale = largest / 127.0;
    for (out, &value) in out.iter_mut().zip(values) {
        *out = (finite(value) / scale).round() as i8;
    }
    scale
}

/// The cosine of two quantised unit vectors of the same length; 0 if the lengths differ.
pub fn cosine(a: VectorRow<'_>, b: VectorRow<'_>) -> f32 {
    if a.values.len() != b.values.len() {
        return 0.0;
    }
    let mut dot = [0];
    Kernel::best().dots(a.values, b.values, &mut dot);
    dot[0] as f32 * a.scale * b.scale
}

/// The `k` chunks whose vectors are most like the unit vector `query`, best first, none below `floor`. Exact: every live vector
/// is looked at. Segments of other dimensions, and a query of zeros, find nothing.
pub fn dense_top_k(views: &[View<'_>], query: &[f32], k: usize, floor: f32, cancel: &CancelToken) -> Result<Vec<Scored>> {
    let mut values = vec![0; query.len()];
    let scale = quantise(query, &mut values);
    if scale == 0.0 || k == 0 {
        return Ok(Vec::new());
    }
    let query = VectorRow { values: &values, scale };
    let mut tasks: Vec<(u32, Range<u32>)> = Vec::new();
    for (i, view) in views.iter().enumerate().filter(|(_, view)| view.segment.dim() == values.len()) {
        for range in view.live_ranges() {
            let pieces = range.clone().step_by(ROWS_PER_TASK as usize);
            tasks.extend(pieces.map(|start| (i as u32, start..start.saturating_add(ROWS_PER_TASK).min(range.end))));
        }
    }
    let rows: u32 = tasks.iter().map(|(_, range)| range.end - range.start).sum();
    let best = if rows < PARALLEL_FROM {
        let mut best = TopK::new(views, k, floor);
        for (view, range) in tasks {
            scan(views, view, range, query, &mut best, cancel)?;
        }
        best
    } else {
        tasks
            .into_par_iter()
            .try_fold(
                || TopK::new(views, k, floor),
                |mut best, (view, range)| scan(views, view, range, query, &mut best, cancel).map(|()| best),
            )
            .try_reduce(
                || TopK::new(views, k, floor),
                |mut best, other| {
                    best.absorb(other);
                    Ok(best)
                },
            )?
    };
    Ok(best.into_sorted())
}

fn scan(
    views: &[View<'_>],
    view: u32,
    range: Range<u32>,
    query: VectorRow<'_>,
    best: &mut TopK<'_>,
    cancel: &CancelToken,
) -> Result<()> {
    let kernel = Kernel::best();
    let segment = views[view as usize].segment;
    let (vectors, scales, dim) = (segment.vectors(), segment.scales(), segment.dim());
    let mut dots = [0_i32; ROWS_PER_CALL];
    for first in range.clone().step_by(ROWS_PER_CALL) {
        cancel.check()?;
        let rows = first as usize..(first as usize + ROWS_PER_CALL).min(range.end as usize);
        let dots = &mut dots[..rows.len()];
        kernel.dots(query.values, &vectors[rows.start * dim..rows.end * dim], dots);
        let scales = scales[rows.start * 4..rows.end * 4].as_chunks::<4>().0;
        for (i, (dot, scale)) in dots.iter().zip(scales).enumerate() {
            let score = *dot as f32 * (query.scale * f32::from_le_bytes(*scale));
            if score >= best.floor() {
                best.offer(Scored { view, chunk: first + i as u32, score });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

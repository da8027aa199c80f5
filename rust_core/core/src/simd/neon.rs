//! NEON, which every 64-bit ARM processor has: bytes multiplied to 16 bits, added in pairs to 32.

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddvq_s32, vdupq_n_s32, vget_low_s8, vld1q_s8, vmull_high_s8, vmull_s8, vpadalq_s16,
};

use super::scalar;

/// Bytes that one step handles.
const STEP: usize = 16;
/// Rows side by side: the query is loaded once for all of them.
const ROWS: usize = 4;

/// See `Kernel::dots`.
pub fn dots(query: &[i8], rows: &[i8], out: &mut [i32]) {
    if query.is_empty() || !query.len().is_multiple_of(STEP) {
        return scalar::dots(query, rows, out);
    }
    // SAFETY: NEON is part of aarch64; `Kernel::dots` checked the lengths.
    unsafe { dots_neon(query, rows, out) }
}

#[target_feature(enable = "neon")]
unsafe fn dots_neon(query: &[i8], rows: &[i8], out: &mut [i32]) {
    let dim = query.len();
    let whole = out.len() / ROWS * ROWS;
    let (fours, rest) = out.split_at_mut(whole);
    for (four, out) in rows.chunks_exact(dim * ROWS).zip(fours.chunks_exact_mut(ROWS)) {
        let mut sums = [vdupq_n_s32(0); ROWS];
        for at in (0..dim).step_by(STEP) {
            // SAFETY: `at + STEP <= dim` since dim is a multiple of STEP.
            let q = unsafe { vld1q_s8(query.as_ptr().add(at)) };
            for (row, sum) in sums.iter_mut().enumerate() {
                // SAFETY: `four` holds ROWS rows of `dim` bytes.
                let v = unsafe { vld1q_s8(four.as_ptr().add(row * dim + at)) };
                *sum = accumulate(*sum, q, v);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = vaddvq_s32(sum);
        }
    }
    for (row, out) in rows[whole * dim..].chunks_exact(dim).zip(rest) {
        let mut sum = vdupq_n_s32(0);
        for at in (0..dim).step_by(STEP) {
            // SAFETY: as above, for one row.
            let (q, v) = unsafe { (vld1q_s8(query.as_ptr().add(at)), vld1q_s8(row.as_ptr().add(at))) };
            sum = accumulate(sum, q, v);
        }
        *out = vaddvq_s32(sum);
    }
}

/// `sum` plus the products of sixteen bytes. A product is at most 2^14, so two of them fit the 32 bits they are added into.
#[inline]
#[target_feature(enable = "neon")]
fn accumulate(sum: int32x4_t, q: int8x16_t, v: int8x16_t) -> int32x4_t {
    let sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(q), vget_low_s8(v)));
    vpadalq_s16(sum, vmull_high_s8(q, v))
}

//! NEON, which every 64-bit ARM processor has: halves times bytes, added up in 16 bits for a block and in 32 for a row.

use std::arch::aarch64::{
    int8x16_t, int16x8_t, vaddvq_s32, vandq_u8, vdupq_n_s16, vdupq_n_s32, vdupq_n_u8, vget_low_s8, vld1q_s8, vld1q_u8,
    vmlal_high_s8, vmlal_s8, vpadalq_s16, vreinterpretq_s8_u8, vshrq_n_u8, vsubq_u8,
};

use super::{BLOCK, BLOCK_BYTES, Query};

/// Bytes that one step handles.
const STEP: usize = 16;

/// See `Kernel::dots`.
pub fn dots(query: &Query, rows: &[u8], out: &mut [i32]) {
    // SAFETY: NEON is part of aarch64.
    unsafe { dots_neon(query, rows, out) }
}

#[target_feature(enable = "neon")]
fn dots_neon(query: &Query, rows: &[u8], out: &mut [i32]) {
    let (half, eight) = (vdupq_n_u8(15), vdupq_n_u8(8));
    for (row, out) in rows.chunks_exact(query.steps.len() / 2).zip(out) {
        let mut sum = vdupq_n_s32(0);
        for (steps, bytes) in query.steps.as_chunks::<BLOCK>().0.iter().zip(row.as_chunks::<BLOCK_BYTES>().0) {
            // Each lane takes eight products of at most 2^10 from a block.
            let mut sums = [vdupq_n_s16(0); 2];
            for at in (0..BLOCK_BYTES).step_by(STEP) {
                // SAFETY: `at + STEP <= BLOCK_BYTES`, and a block has BLOCK_BYTES bytes and twice as many components.
                let (v, first, second) = unsafe {
                    (
                        vld1q_u8(bytes.as_ptr().add(at)),
                        vld1q_s8(steps.as_ptr().add(at)),
                        vld1q_s8(steps.as_ptr().add(BLOCK_BYTES + at)),
                    )
                };
                let signed = |halves| vreinterpretq_s8_u8(vsubq_u8(halves, eight));
                sums = accumulate(sums, signed(vandq_u8(v, half)), first);
                sums = accumulate(sums, signed(vshrq_n_u8::<4>(v)), second);
            }
            sum = vpadalq_s16(vpadalq_s16(sum, sums[0]), sums[1]);
        }
        *out = vaddvq_s32(sum);
    }
}

/// `sums` plus the products of sixteen bytes.
#[inline]
#[target_feature(enable = "neon")]
fn accumulate([low, high]: [int16x8_t; 2], a: int8x16_t, b: int8x16_t) -> [int16x8_t; 2] {
    [vmlal_s8(low, vget_low_s8(a), vget_low_s8(b)), vmlal_high_s8(high, a, b)]
}

//! AVX-512 VNNI: four products of bytes added into each 32-bit lane by one instruction.
//!
//! The instruction multiplies unsigned by signed bytes. Rows are made unsigned by flipping their top bit (adding 128), and
//! 128 times the sum of the query is taken off at the end, so the result is exact.

use std::arch::x86_64::{
    __m512i, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_xor_si512,
};

use super::scalar;

/// Bytes that one step handles.
const STEP: usize = 64;
/// Rows side by side: the query is loaded once for all of them.
const ROWS: usize = 4;

/// See `Kernel::dots`. The processor must have AVX-512 F, BW and VNNI.
pub fn dots(query: &[i8], rows: &[i8], out: &mut [i32]) {
    debug_assert!(is_x86_feature_detected!("avx512vnni"));
    if query.is_empty() || !query.len().is_multiple_of(STEP) {
        return scalar::dots(query, rows, out);
    }
    // SAFETY: `Kernel::all` offers this kernel only where the features were detected; `Kernel::dots` checked the lengths.
    unsafe { dots_vnni(query, rows, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn dots_vnni(query: &[i8], rows: &[i8], out: &mut [i32]) {
    let dim = query.len();
    let excess = 128 * query.iter().map(|&q| q as i32).sum::<i32>();
    let whole = out.len() / ROWS * ROWS;
    let (fours, rest) = out.split_at_mut(whole);
    for (four, out) in rows.chunks_exact(dim * ROWS).zip(fours.chunks_exact_mut(ROWS)) {
        let mut sums = [_mm512_setzero_si512(); ROWS];
        for at in (0..dim).step_by(STEP) {
            // SAFETY: `at + STEP <= dim` since dim is a multiple of STEP.
            let q = unsafe { load(query.as_ptr().add(at)) };
            for (row, sum) in sums.iter_mut().enumerate() {
                // SAFETY: `four` holds ROWS rows of `dim` bytes.
                let v = unsafe { load(four.as_ptr().add(row * dim + at)) };
                *sum = _mm512_dpbusd_epi32(*sum, unsigned(v), q);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = _mm512_reduce_add_epi32(sum) - excess;
        }
    }
    for (row, out) in rows[whole * dim..].chunks_exact(dim).zip(rest) {
        let mut sum = _mm512_setzero_si512();
        for at in (0..dim).step_by(STEP) {
            // SAFETY: as above, for one row.
            let (q, v) = unsafe { (load(query.as_ptr().add(at)), load(row.as_ptr().add(at))) };
            sum = _mm512_dpbusd_epi32(sum, unsigned(v), q);
        }
        *out = _mm512_reduce_add_epi32(sum) - excess;
    }
}

#[inline]
#[allow(clippy::cast_ptr_alignment, reason = "an unaligned load")]
#[target_feature(enable = "avx512f")]
unsafe fn load(at: *const i8) -> __m512i {
    // SAFETY: the caller has 64 readable bytes at `at`; the load needs no alignment.
    unsafe { _mm512_loadu_si512(at.cast::<__m512i>()) }
}

/// Each byte plus 128.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn unsigned(v: __m512i) -> __m512i {
    _mm512_xor_si512(v, _mm512_set1_epi8(-128))
}

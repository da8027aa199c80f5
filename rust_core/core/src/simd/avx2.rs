//! AVX2: bytes widened to 16 bits, multiplied and added in pairs. Exact for every input, and as fast as memory delivers.

use std::arch::x86_64::{
    __m128i, __m256i, _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_prefetch, _mm_shuffle_epi32,
    _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_madd_epi16,
    _mm256_setzero_si256,
};

use super::scalar;

/// Bytes that one step handles.
const STEP: usize = 16;
/// Rows side by side: the query is loaded and widened once for all of them.
const ROWS: usize = 4;
/// How far ahead to ask for memory, in bytes: about what arrives while four rows are computed, times the latency.
const AHEAD: usize = 4096;

/// See `Kernel::dots`. The processor must have AVX2.
pub fn dots(query: &[i8], rows: &[i8], out: &mut [i32]) {
    debug_assert!(is_x86_feature_detected!("avx2"));
    if query.is_empty() || !query.len().is_multiple_of(STEP) {
        return scalar::dots(query, rows, out);
    }
    // SAFETY: `Kernel::all` offers this kernel only where AVX2 was detected; `Kernel::dots` checked the lengths.
    unsafe { dots_avx2(query, rows, out) }
}

#[target_feature(enable = "avx2")]
unsafe fn dots_avx2(query: &[i8], rows: &[i8], out: &mut [i32]) {
    let dim = query.len();
    let whole = out.len() / ROWS * ROWS;
    let (fours, rest) = out.split_at_mut(whole);
    for (four, out) in rows.chunks_exact(dim * ROWS).zip(fours.chunks_exact_mut(ROWS)) {
        let base = four.as_ptr();
        for line in 0..dim * ROWS / 64 {
            // A prefetch never faults, whatever the address; `wrapping_add` forms it without leaving the allocation by `add`.
            _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(AHEAD + line * 64));
        }
        let mut sums = [_mm256_setzero_si256(); ROWS];
        for at in (0..dim).step_by(STEP) {
            // SAFETY: `at + STEP <= dim` since dim is a multiple of STEP.
            let q = unsafe { widen(query.as_ptr().add(at)) };
            for (row, sum) in sums.iter_mut().enumerate() {
                // SAFETY: `four` holds ROWS rows of `dim` bytes.
                let v = unsafe { widen(base.add(row * dim + at)) };
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(q, v));
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = total(sum);
        }
    }
    for (row, out) in rows[whole * dim..].chunks_exact(dim).zip(rest) {
        let mut sum = _mm256_setzero_si256();
        for at in (0..dim).step_by(STEP) {
            // SAFETY: as above, for one row.
            let (q, v) = unsafe { (widen(query.as_ptr().add(at)), widen(row.as_ptr().add(at))) };
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(q, v));
        }
        *out = total(sum);
    }
}

/// Sixteen bytes as 16-bit numbers.
#[allow(clippy::cast_ptr_alignment, reason = "an unaligned load")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn widen(at: *const i8) -> __m256i {
    // SAFETY: the caller has 16 readable bytes at `at`; the load needs no alignment.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(at.cast::<__m128i>()) })
}

/// Sum of the eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn total(sum: __m256i) -> i32 {
    let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)))
}

//! AVX2: halves times bytes, added in pairs to 16 bits, and those to 32. Exact for every input, and as fast as memory delivers.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi128_si32, _mm_prefetch, _mm_shuffle_epi32, _mm256_add_epi16, _mm256_add_epi32,
    _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_srli_epi16,
};

use super::{BLOCK, BLOCK_BYTES, Query};

/// Bytes that one step handles.
const STEP: usize = 32;
/// Blocks whose sums fit 16 bits: each lane takes eight products of two, 15 x 128 at most, a block.
const BLOCKS_IN_16_BITS: usize = 2;
/// How far ahead to ask for memory, in bytes: about what arrives while a row is computed, times the latency.
const AHEAD: usize = 4096;

/// See `Kernel::dots`. The processor must have AVX2.
pub fn dots(query: &Query, rows: &[u8], out: &mut [i32]) {
    debug_assert!(is_x86_feature_detected!("avx2"));
    // SAFETY: `Kernel::all` offers this kernel only where AVX2 was detected.
    unsafe { dots_avx2(query, rows, out) }
}

#[target_feature(enable = "avx2")]
fn dots_avx2(query: &Query, rows: &[u8], out: &mut [i32]) {
    if let ([steps], []) = query.steps.as_chunks().0.as_chunks() {
        return dots_of_two(steps, rows.as_chunks().0.as_chunks().0, query.excess, out);
    }
    for (row, out) in rows.chunks_exact(query.steps.len() / 2).zip(out) {
        let mut sum = _mm256_setzero_si256();
        let spans = query.steps.chunks(BLOCK * BLOCKS_IN_16_BITS).zip(row.chunks(BLOCK_BYTES * BLOCKS_IN_16_BITS));
        for (steps, bytes) in spans {
            let mut narrow = _mm256_setzero_si256();
            for (steps, bytes) in steps.as_chunks().0.iter().zip(bytes.as_chunks().0) {
                // A prefetch never faults, whatever the address; `wrapping_add` forms it without leaving the allocation by `add`.
                _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().cast::<i8>().wrapping_add(AHEAD));
                narrow = _mm256_add_epi16(narrow, block(steps, bytes));
            }
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(narrow, _mm256_set1_epi16(1)));
        }
        *out = total(sum) - query.excess;
    }
}

/// The same for rows of two blocks, which the bundled model has: the query stays in registers.
#[target_feature(enable = "avx2")]
fn dots_of_two(
    [first, second]: &[[i8; BLOCK]; BLOCKS_IN_16_BITS],
    rows: &[[[u8; BLOCK_BYTES]; BLOCKS_IN_16_BITS]],
    excess: i32,
    out: &mut [i32],
) {
    for ([one, two], out) in rows.iter().zip(out) {
        _mm_prefetch::<_MM_HINT_T0>(one.as_ptr().cast::<i8>().wrapping_add(AHEAD));
        _mm_prefetch::<_MM_HINT_T0>(two.as_ptr().cast::<i8>().wrapping_add(AHEAD));
        let narrow = _mm256_add_epi16(block(first, one), block(second, two));
        *out = total(_mm256_madd_epi16(narrow, _mm256_set1_epi16(1))) - excess;
    }
}

/// The products of a block in sixteen lanes, 8 still added to each half.
#[inline]
#[target_feature(enable = "avx2")]
fn block(query: &[i8; BLOCK], bytes: &[u8; BLOCK_BYTES]) -> __m256i {
    let half = _mm256_set1_epi8(15);
    let mut sum = _mm256_setzero_si256();
    for at in [0, STEP] {
        // SAFETY: STEP bytes from 0 and from STEP on are in a block of 2 x STEP bytes and 4 x STEP components.
        let (v, first, second) =
            unsafe { (load(bytes.as_ptr().add(at)), load(query.as_ptr().add(at)), load(query.as_ptr().add(BLOCK_BYTES + at))) };
        let (lower, upper) = (_mm256_and_si256(v, half), _mm256_and_si256(_mm256_srli_epi16::<4>(v), half));
        let products = _mm256_add_epi16(_mm256_maddubs_epi16(lower, first), _mm256_maddubs_epi16(upper, second));
        sum = _mm256_add_epi16(sum, products);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<T>(at: *const T) -> __m256i {
    // SAFETY: the caller has 32 readable bytes at `at`; the load needs no alignment.
    unsafe { _mm256_loadu_si256(at.cast::<__m256i>()) }
}

/// Sum of the eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn total(sum: __m256i) -> i32 {
    let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)))
}

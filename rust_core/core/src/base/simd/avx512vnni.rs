//! AVX-512 VNNI: four products of an unsigned half and a signed byte added into each 32-bit lane by one instruction.

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_srli_epi16,
};

use super::{BLOCK, BLOCK_BYTES, Query};

/// See `Kernel::dots`. The processor must have AVX-512 F, BW and VNNI.
pub fn dots(query: &Query, rows: &[u8], out: &mut [i32]) {
    debug_assert!(is_x86_feature_detected!("avx512vnni"));
    // SAFETY: `Kernel::all` offers this kernel only where the features were detected.
    unsafe { dots_vnni(query, rows, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dots_vnni(query: &Query, rows: &[u8], out: &mut [i32]) {
    let half = _mm512_set1_epi8(15);
    for (row, out) in rows.chunks_exact(query.steps.len() / 2).zip(out) {
        let mut sum = _mm512_setzero_si512();
        for (steps, bytes) in query.steps.as_chunks::<BLOCK>().0.iter().zip(row.as_chunks::<BLOCK_BYTES>().0) {
            // SAFETY: a block has 64 bytes and 128 components.
            let (v, first, second) =
                unsafe { (load(bytes.as_ptr()), load(steps.as_ptr()), load(steps.as_ptr().add(BLOCK_BYTES))) };
            sum = _mm512_dpbusd_epi32(sum, _mm512_and_si512(v, half), first);
            sum = _mm512_dpbusd_epi32(sum, _mm512_and_si512(_mm512_srli_epi16::<4>(v), half), second);
        }
        *out = _mm512_reduce_add_epi32(sum) - query.excess;
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load<T>(at: *const T) -> __m512i {
    // SAFETY: the caller has 64 readable bytes at `at`; the load needs no alignment.
    unsafe { _mm512_loadu_si512(at.cast::<__m512i>()) }
}

//! The kernel that needs no special instructions, and says what the others must compute.

use super::{BLOCK, BLOCK_BYTES, Query};

/// See `Kernel::dots`.
pub fn dots(query: &Query, rows: &[u8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(query.steps.len() / 2).zip(out) {
        let blocks = query.steps.as_chunks::<BLOCK>().0.iter().zip(row.as_chunks::<BLOCK_BYTES>().0);
        *out = blocks.map(|(query, bytes)| block(query, bytes)).sum();
    }
}

fn block(query: &[i8; BLOCK], bytes: &[u8; BLOCK_BYTES]) -> i32 {
    let (first, second) = query.split_at(BLOCK_BYTES);
    let products = bytes.iter().zip(first.iter().zip(second)).map(|(&byte, (&a, &b))| {
        let (lower, upper) = (i32::from(byte & 15) - 8, i32::from(byte >> 4) - 8);
        lower * i32::from(a) + upper * i32::from(b)
    });
    products.sum()
}

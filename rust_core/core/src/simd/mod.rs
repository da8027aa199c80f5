//! Dot products of bytes with the half bytes that an index keeps, by the best instructions that the processor has.
//!
//! Every kernel is exact: the same integers as [`scalar`], which tests compare. [`Kernel::best`] chooses once.

mod adder;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512vnni;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

pub use adder::Adder;

use std::sync::OnceLock;

use crate::vectors::BLOCK;

/// Bytes of a block: two halves in each. `vectors/rows.rs` says which.
const BLOCK_BYTES: usize = BLOCK / 2;

/// Writes the dot product of `query` with each row of `rows` (half as many bytes) into `out`.
type Dots = fn(query: &[i8], rows: &[u8], out: &mut [i32]);

/// A way to compute dot products.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// What instructions it uses.
    pub name: &'static str,
    dots: Dots,
}

impl Kernel {
    /// The fastest kernel of this processor.
    pub fn best() -> Self {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(|| Self::all()[0])
    }

    /// Every kernel that runs on this processor, fastest first; the last is the scalar one.
    pub fn all() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                kernels.push(Self { name: "avx512vnni", dots: avx512vnni::dots });
            }
            if is_x86_feature_detected!("avx2") {
                kernels.push(Self { name: "avx2", dots: avx2::dots });
            }
        }
        #[cfg(target_arch = "aarch64")]
        kernels.push(Self { name: "neon", dots: neon::dots });
        kernels.push(Self { name: "scalar", dots: scalar::dots });
        kernels
    }

    /// `out[i]` = dot product of `query` and the `i`-th row, whose components are from -8 to 7, stored with 8 added.
    ///
    /// # Panics
    /// If the query isn't whole blocks, or `rows` does not hold exactly `out.len()` rows of its length.
    #[inline]
    pub fn dots(self, query: &[i8], rows: &[u8], out: &mut [i32]) {
        assert!(query.len().is_multiple_of(BLOCK) && rows.len() == query.len() / 2 * out.len(), "rows of another length");
        if query.is_empty() {
            return out.fill(0);
        }
        (self.dots)(query, rows, out);
    }
}

/// What the 8 that is added to each half adds to a dot product.
#[cfg(target_arch = "x86_64")]
fn excess(query: &[i8]) -> i32 {
    8 * query.iter().map(|&q| i32::from(q)).sum::<i32>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, Kernel, scalar};

    proptest! {
        #[test]
        fn every_kernel_computes_what_the_scalar_one_does(
            blocks in 0_usize..6,
            rows in 0_usize..5,
            query in prop::collection::vec(any::<i8>(), 5 * BLOCK),
            data in prop::collection::vec(any::<u8>(), 5 * 4 * BLOCK / 2),
        ) {
            let (query, data) = (&query[..blocks * BLOCK], &data[..rows * blocks * BLOCK / 2]);
            let mut expected = vec![0; rows];
            if blocks > 0 {
                scalar::dots(query, data, &mut expected);
            }
            for kernel in Kernel::all() {
                let mut out = vec![1; rows];
                kernel.dots(query, data, &mut out);
                prop_assert_eq!(&out, &expected, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for (q, byte, half) in [(-128_i8, 0x00, -8), (127, 0x00, -8), (-128, 0xff, 7), (127, 0xff, 7), (5, 0x88, 0)] {
            for kernel in Kernel::all() {
                let mut out = [0; 5];
                kernel.dots(&[q; 3072], &[byte; 1536 * 5], &mut out);
                assert_eq!(out, [i32::from(q) * half * 3072; 5], "{}", kernel.name);
            }
        }
    }
}

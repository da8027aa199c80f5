//! Dot products of bytes, by the best instructions that the processor has.
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

/// Writes the dot product of `query` with each row of `rows` (row length = query length) into `out`.
type Dots = fn(query: &[i8], rows: &[i8], out: &mut [i32]);

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

    /// `out[i]` = dot product of `query` and the `i`-th row.
    ///
    /// # Panics
    /// If `rows` does not hold exactly `out.len()` rows of the query's length.
    #[inline]
    pub fn dots(self, query: &[i8], rows: &[i8], out: &mut [i32]) {
        assert_eq!(rows.len(), query.len() * out.len(), "rows of another length");
        (self.dots)(query, rows, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Kernel, scalar};

    proptest! {
        #[test]
        fn every_kernel_computes_what_the_scalar_one_does(
            dim in prop::sample::select(vec![0_usize, 1, 16, 48, 64, 100, 256, 320]),
            rows in 0_usize..11,
            seed in prop::collection::vec(any::<i8>(), 320 * 12),
        ) {
            let (query, data) = seed.split_at(dim);
            let mut expected = vec![0; rows];
            scalar::dots(query, &data[..rows * dim], &mut expected);
            for kernel in Kernel::all() {
                let mut out = vec![1; rows];
                kernel.dots(query, &data[..rows * dim], &mut out);
                prop_assert_eq!(&out, &expected, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for (q, v) in [(-128_i8, -128_i8), (127, -128), (-128, 127), (127, 127)] {
            for kernel in Kernel::all() {
                let mut out = [0; 5];
                kernel.dots(&[q; 1024], &[v; 1024 * 5], &mut out);
                assert_eq!(out, [q as i32 * v as i32 * 1024; 5], "{}", kernel.name);
            }
        }
    }
}

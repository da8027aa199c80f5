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

/// Components in a block, which is one cache line of each plane of halves. Rows end with a whole block: what is over counts as 0.
pub const BLOCK: usize = 128;
/// Bytes of a block: two halves in each. `formats/vectors.rs` says which.
const BLOCK_BYTES: usize = BLOCK / 2;

/// Writes the dot product of `query` with each row of `rows` (half as many bytes) into `out`.
type Dots = fn(query: &Query, rows: &[u8], out: &mut [i32]);

/// A question to rows, with what does not depend on them.
#[derive(Clone, Debug)]
pub struct Query {
    steps: Vec<i8>,
    /// What the 8 that is added to each half adds to a dot product.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "other kernels take it off before"))]
    excess: i32,
}

impl Query {
    /// Components, with zeros to whole blocks.
    pub fn new(mut steps: Vec<i8>) -> Self {
        steps.resize(steps.len().next_multiple_of(BLOCK), 0);
        let excess = 8 * steps.iter().map(|&step| i32::from(step)).sum::<i32>();
        Self { steps, excess }
    }

    /// Its components.
    pub fn steps(&self) -> &[i8] {
        &self.steps
    }
}

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
    /// If `rows` does not hold exactly `out.len()` rows of the query's length.
    #[inline]
    pub fn dots(self, query: &Query, rows: &[u8], out: &mut [i32]) {
        assert_eq!(rows.len(), query.steps.len() / 2 * out.len(), "rows of another length");
        if query.steps.is_empty() {
            return out.fill(0);
        }
        (self.dots)(query, rows, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BLOCK, Kernel, Query, scalar};

    proptest! {
        #[test]
        fn every_kernel_computes_what_the_scalar_one_does(
            blocks in 0_usize..6,
            rows in 0_usize..5,
            query in prop::collection::vec(any::<i8>(), 5 * BLOCK),
            data in prop::collection::vec(any::<u8>(), 5 * 4 * BLOCK / 2),
        ) {
            let (query, data) = (Query::new(query[..blocks * BLOCK].to_vec()), &data[..rows * blocks * BLOCK / 2]);
            let mut expected = vec![0; rows];
            if blocks > 0 {
                scalar::dots(&query, data, &mut expected);
            }
            for kernel in Kernel::all() {
                let mut out = vec![1; rows];
                kernel.dots(&query, data, &mut out);
                prop_assert_eq!(&out, &expected, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for (q, byte, half) in [(-128_i8, 0x00, -8), (127, 0x00, -8), (-128, 0xff, 7), (127, 0xff, 7), (5, 0x88, 0)] {
            for (kernel, components) in Kernel::all().into_iter().flat_map(|kernel| [256, 3072].map(|length| (kernel, length))) {
                let mut out = [0; 5];
                kernel.dots(&Query::new(vec![q; components]), &vec![byte; components / 2 * 5], &mut out);
                assert_eq!(out, [i32::from(q) * half * components as i32; 5], "{} {components}", kernel.name);
            }
        }
    }
}

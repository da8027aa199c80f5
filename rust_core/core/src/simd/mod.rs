//! Dot products of bytes, by the best instructions that the processor has.
//!
//! Every kernel is exact: the same integers as [`scalar`], which tests compare. [`Kernel::best`] chooses once.

mod scalar;

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
        vec![Self { name: "scalar", dots: scalar::dots }]
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

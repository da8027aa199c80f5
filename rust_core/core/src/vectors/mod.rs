//! Quantised vectors and the exact scan over them.
//!
//! A vector is kept as signed bytes and one scale; the cosine of two unit vectors is their integer dot product times both scales.
//! At 256 dimensions the ten best agree with 32-bit floats in 98 of 100 places or more (tested), at a quarter of the bytes, and
//! bytes are what a scan waits for. So it reads half of each: the high halves of a row's bytes bound what the row scores, and only
//! rows that may be among the best are read to the end.

mod rows;
mod scan;

pub use rows::{BLOCK, VectorRow, Vectors, plane_bytes};
pub(crate) use rows::{Planes, SCALES_BYTES};
pub(crate) use scan::PARALLEL_FROM;
pub use scan::dense_top_k;

#[cfg(test)]
mod tests;

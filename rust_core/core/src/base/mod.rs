//! Basics that know nothing of an index: errors, cancellation, values, languages, words, patterns, tokens, SIMD kernels.

pub mod cancel;
pub mod clock;
pub mod error;
pub mod file_state;
pub mod hash;
pub mod language;
pub mod lines;
pub mod masked_text;
pub mod memory;
pub mod patterns;
pub mod simd;
pub mod sync;
pub mod system_fault;
pub mod tokens;
pub mod types;
pub mod words;

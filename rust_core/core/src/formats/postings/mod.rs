//! Terms as hashes, and which chunks hold them: the lexical part of a segment file.
//!
//! A chunk has three fields: its name (symbol and signature), its path and its body.

pub mod dictionary;
pub mod fields;
pub mod list;
pub mod terms;

//! The lexical index inside a segment: which terms stand in which chunks, in which field, how often; and who defines a name.
//!
//! A chunk has three fields: its name (symbol, definitions, signature), its path and its body. [`bm25f`] ranks chunks for a
//! question, [`holders`] finds those that have nearly all of its words, [`definitions`] those that define a name, [`ties`] the files that a file belongs with. All answer from
//! posting lists, never by a scan.

mod definitions;
pub(crate) mod dictionary;
mod evidence;
pub(crate) mod fields;
mod holders;
pub(crate) mod postings;
mod query;
mod score;
mod search;
mod statistics;
pub(crate) mod terms;
mod ties;

pub use definitions::definitions;
pub use evidence::{LexicalEvidence, evidence, rarities, term_weights};
pub use holders::holders;
pub use query::{FieldWeights, LexicalHits, bm25f};
pub use statistics::Statistics;
pub(crate) use terms::stem;
pub use ties::{FilePlace, ties};

#[cfg(test)]
mod tests;

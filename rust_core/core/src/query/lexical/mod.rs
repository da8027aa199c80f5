//! Search by words.
//!
//! [`bm25f`] ranks chunks for a question, [`covering_chunks`] finds those that have nearly all of its words, [`definitions`] those that
//! define a name, [`related_files`] the files that a file belongs with. All answer from posting lists, never by a scan.

mod covering_chunks;
mod definitions;
mod evidence;
mod most_words;
mod near_names;
mod outline;
mod query;
mod rare_names;
mod related_files;
mod score;
mod search;
mod statistics;

pub use covering_chunks::covering_chunks;
pub use definitions::definitions;
pub use evidence::{LexicalEvidence, evidence, rarities};
pub use most_words::most_words;
pub use near_names::near_names;
pub use outline::{FileOutline, outline};
pub use query::{LexicalHits, Terms, bm25f};
pub use rare_names::rare_names;
pub use related_files::{FilePlace, related_files};
pub use score::FieldWeights;
pub use statistics::Statistics;

#[cfg(test)]
mod tests;

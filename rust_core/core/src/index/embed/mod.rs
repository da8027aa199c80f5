//! Text to vectors: the bundled trained model, and a bag of hashed words that needs no file.

pub mod descriptor;
mod hashed;
mod static_model;
mod tokeniser;

pub use hashed::HashedEmbedder;
pub use static_model::StaticModel;
pub use tokeniser::{Tokeniser, Vocabulary};

use crate::base::types::EmbedInput;

/// Turns chunks and questions into unit vectors of one space.
pub trait LocalEmbedder: Send + Sync {
    /// Name and version of the space: vectors of different ids can't be compared.
    fn id(&self) -> &str;
    /// Dimensions.
    fn dim(&self) -> usize;
    /// The cosine below which a chunk has nothing to do with the question.
    fn floor(&self) -> f32;
    /// Embed a chunk into `out`, which has [`LocalEmbedder::dim`] places. All zero if there is no word.
    fn embed_chunk(&self, input: &EmbedInput<'_>, out: &mut [f32]);
    /// Embed a question into `out`, likewise.
    fn embed_query(&self, text: &str, out: &mut [f32]);
}

fn normalise(out: &mut [f32]) {
    let length = out.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in out {
            *value /= length;
        }
    }
}

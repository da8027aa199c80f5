//! How closely files belong together.

use std::collections::HashMap;

use super::{Scope, Searcher};
use crate::query::lexical::{FilePlace, related_files};

/// How closely files are related to one file, 0 to 1.
pub type RelatedFiles = HashMap<FilePlace, f32>;

/// A sum of weights at which relatedness is one half: about one rare name.
const HALF: f32 = 0.5;

impl Searcher {
    /// The files that share rare names with the file at `place`, which one of them defines and the other uses. `text` is that
    /// file as it is now.
    pub fn related_files(&self, place: FilePlace, text: &str) -> RelatedFiles {
        let mut related = related_files(&self.views(&Scope::default()), self.statistics(), place, text);
        for weight in related.values_mut() {
            *weight /= *weight + HALF;
        }
        related
    }
}

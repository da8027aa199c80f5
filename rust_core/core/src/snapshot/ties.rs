//! How closely files belong together.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Doc, FilePlace, Snapshot};
use crate::lexical::ties;
use crate::store::locked;

/// How closely files are tied to one file, 0 to 1.
pub(super) type Ties = HashMap<FilePlace, f32>;

/// Ties of this strength count half: about one rare name.
const HALF: f32 = 0.5;

impl Snapshot {
    /// How closely each chunk's file is tied to the file at `path` by names that one defines and the other uses, 0 to 1. All 0
    /// for a file that isn't in the index or may not be read.
    pub fn ties(&self, path: &str, docs: &[Doc]) -> Vec<f32> {
        let ties = self.ties_of(path);
        let tie = |&doc: &Doc| {
            let (layer, chunk) = self.layer_of(doc)?;
            ties.get(&((doc >> 32) as u32, layer.segment.file_of(chunk))).copied()
        };
        docs.iter().map(|doc| tie(doc).unwrap_or(0.0)).collect()
    }

    /// Kept for the last path: a person asks several questions about one file.
    fn ties_of(&self, path: &str) -> Arc<Ties> {
        if let Some((known, ties)) = &*locked(&self.tied)
            && known == path
        {
            return Arc::clone(ties);
        }
        let ties = Arc::new(self.measure_ties(path).unwrap_or_default());
        *locked(&self.tied) = Some((path.to_owned(), Arc::clone(&ties)));
        ties
    }

    fn measure_ties(&self, path: &str) -> Option<Ties> {
        let place = self.place_of(path)?;
        let mut ties = ties(&self.views(None), self.statistics(), place, &self.text_at(place)?);
        for strength in ties.values_mut() {
            *strength /= *strength + HALF;
        }
        Some(ties)
    }
}

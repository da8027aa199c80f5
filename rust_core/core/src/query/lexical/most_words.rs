//! Chunks that hold many of a question's words, however rare each of them is.
//!
//! In a message that a program printed the values are often the rarest words, and stand nowhere near the code that wrote it.

use super::query::Terms;
use super::score::{FieldWeights, Scorer};
use super::search::{RatedList, score_view};
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// No word counts more than this (natural logarithm): one of 150 chunks that holds it, or rarer.
const MOST_WEIGHT: f32 = 5.0;
/// A word in the text counts nearly as much as several; less in a long chunk, which holds many words by chance.
const PRESENCE: FieldWeights = FieldWeights { name: 0.0, path: 0.0, body: 3.0 };

/// The `k` chunks that hold most of a text's terms: by BM25F without a rarer word's greater weight, and hardly with its frequency.
pub fn most_words(views: &[View<'_>], Terms(terms): &Terms<'_>, k: usize, cancel: &CancelToken) -> Result<Vec<Scored>> {
    let scorer = Scorer::new(&PRESENCE);
    let mut best = TopK::new(views, k, f32::MIN_POSITIVE);
    for (i, view) in views.iter().enumerate() {
        cancel.check()?;
        let lists: Vec<RatedList<'_>> =
            terms.iter().filter_map(|term| Some((term.idf.min(MOST_WEIGHT), term.lists[i]?))).collect();
        score_view(view, i as u32, &lists, &scorer, k, &mut best);
    }
    Ok(best.into_sorted())
}

//! BM25F: BM25 in which a term's frequencies in all fields are weighed, corrected for length and added before they saturate.

use super::score::{FieldWeights, Scorer};
use super::search::{RatedList, score_view};
use super::statistics::Statistics;
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::words::split_words;
use crate::formats::postings::list::PostingList;
use crate::formats::postings::terms::{stem, term_hash};
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// A question of more distinct terms keeps the rarest: the rest would add time and hardly any score.
const MOST_TERMS: usize = 64;

/// What BM25F found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalHits {
    /// Best first.
    pub hits: Vec<Scored>,
    /// What a chunk would score that is full of every term: scores over this are shares, comparable across questions.
    pub possible: f32,
}

/// A term of the question with its lists, one a view.
pub(super) struct Term<'a> {
    pub text: String,
    pub idf: f32,
    /// Live chunks that hold it.
    pub count: u64,
    pub lists: Vec<Option<PostingList<'a>>>,
}

/// The terms of a text, rarest first, looked up once for all that is asked of them.
pub struct Terms<'a>(pub(super) Vec<Term<'a>>);

impl<'a> Terms<'a> {
    /// Look up the terms of `text`. Rarity is measured over all live chunks, whichever of them the views' masks let be found.
    pub fn new(views: &[View<'a>], statistics: &Statistics, text: &str) -> Self {
        Self(terms_of(views, statistics, text))
    }

    /// Return how many chunks hold the rarest of them; 0 of none.
    pub fn rarest_count(&self) -> u64 {
        self.0.first().map_or(0, |term| term.count)
    }

    /// The terms that stand anywhere in the index, with their rarities.
    pub fn weights(&self) -> impl Iterator<Item = (&str, f32)> {
        self.0.iter().filter(|term| term.count > 0).map(|term| (term.text.as_str(), term.idf))
    }
}

/// The `k` best chunks for a question of these terms, which were looked up in the same segments in the same order.
pub fn bm25f(
    views: &[View<'_>],
    Terms(terms): &Terms<'_>,
    k: usize,
    weights: &FieldWeights,
    cancel: &CancelToken,
) -> Result<LexicalHits> {
    let scorer = Scorer::new(weights);
    let mut best = TopK::new(views, k, f32::MIN_POSITIVE);
    for (i, view) in views.iter().enumerate() {
        cancel.check()?;
        let lists: Vec<RatedList<'_>> = terms.iter().filter_map(|term| Some((term.idf, term.lists[i]?))).collect();
        score_view(view, i as u32, &lists, &scorer, k, &mut best);
    }
    Ok(LexicalHits { hits: best.into_sorted(), possible: possible(terms) })
}

/// The weight of a whole question. A word that stands nowhere is likelier a word of speech than the point of the question: it
/// counts half, so that it lowers every chunk's share without drowning the others.
pub(super) fn possible(terms: &[Term<'_>]) -> f32 {
    terms.iter().map(|term| if term.count > 0 { term.idf } else { term.idf / 2.0 }).sum()
}

pub(super) fn terms_of<'a>(views: &[View<'a>], statistics: &Statistics, query: &str) -> Vec<Term<'a>> {
    let mut texts: Vec<String> = Vec::new();
    split_words(query, &mut |word, _| {
        if !texts.iter().any(|t| stem(t) == stem(word)) {
            texts.push(word.to_owned());
        }
    });
    let chunks = statistics.chunks() as f32;
    let mut terms: Vec<Term<'a>> = texts
        .into_iter()
        .map(|text| {
            let hash = term_hash(&text);
            let lists: Vec<_> = views.iter().map(|v| v.segment.dictionary().find(hash)).collect();
            let count = statistics.count(hash, &lists);
            let held = count as f32;
            Term { text, idf: (1.0 + (chunks - held + 0.5).max(0.5) / (held + 0.5)).ln(), count, lists }
        })
        .collect();
    terms.sort_by(|a, b| b.idf.total_cmp(&a.idf));
    terms.truncate(MOST_TERMS);
    terms
}

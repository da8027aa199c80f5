//! BM25F: BM25 in which a term's frequencies in all fields are weighed, corrected for length and added before they saturate.

use super::fields::{Frequencies, code_length};
use super::postings::PostingList;
use super::terms::term_hash;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::segment::{Scored, TopK, View};
use crate::words::split_words;

/// How soon repeated occurrences stop to count; Lucene's value.
const K1: f32 = 1.2;
/// How much the length of name, path and body counts. A long signature is no worse a match than a short one; the length of the
/// body is what BM25 was made for.
const B: [f32; 3] = [0.3, 0.2, 0.75];
/// A question of more distinct terms keeps the rarest: the rest would add time and hardly any score.
const MOST_TERMS: usize = 64;

/// What an occurrence in each field is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldWeights {
    /// Symbol, definitions, signature.
    pub name: f32,
    /// Folders and file name.
    pub path: f32,
    /// The text.
    pub body: f32,
}

impl Default for FieldWeights {
    fn default() -> Self {
        Self { name: 3.0, path: 1.5, body: 1.0 }
    }
}

/// A chunk that BM25F found.
#[derive(Clone, Debug, PartialEq)]
pub struct LexicalHit {
    /// The chunk and its score.
    pub scored: Scored,
    /// Which terms it holds: indexes into [`LexicalHits::terms`], ascending.
    pub matched: Vec<u16>,
}

/// What BM25F found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalHits {
    /// Best first.
    pub hits: Vec<LexicalHit>,
    /// The question's distinct terms, lower-case, rarest first.
    pub terms: Vec<String>,
}

/// A term of the question with its lists, one a view.
struct Term<'a> {
    text: String,
    idf: f32,
    lists: Vec<Option<PostingList<'a>>>,
}

/// The `k` best chunks for `query`. Rarity is measured over all chunks of the views' segments, deleted ones too (as Lucene does:
/// it changes slowly, and counting the live ones would cost a scan).
pub fn bm25f(views: &[View<'_>], query: &str, k: usize, weights: &FieldWeights, cancel: &CancelToken) -> Result<LexicalHits> {
    let terms = terms_of(views, query);
    let scorer = Scorer::new(views, weights);
    let mut best = TopK::new(views, k, f32::MIN_POSITIVE);
    for (i, view) in views.iter().enumerate() {
        cancel.check()?;
        let mut scores = vec![0.0_f32; view.segment.chunk_count() as usize];
        for term in &terms {
            if let Some(list) = &term.lists[i] {
                list.each(|chunk, frequencies| {
                    if let Some(score) = scores.get_mut(chunk as usize) {
                        *score += term.idf * scorer.weight(view.segment.lengths(), chunk, frequencies);
                    }
                });
            }
        }
        for range in view.live_ranges() {
            for chunk in range {
                best.offer(Scored { view: i as u32, chunk, score: scores[chunk as usize] });
            }
        }
    }
    let hits = best.into_sorted().into_iter().map(|scored| LexicalHit { scored, matched: matched(&terms, scored) }).collect();
    Ok(LexicalHits { hits, terms: terms.into_iter().map(|t| t.text).collect() })
}

fn matched(terms: &[Term<'_>], scored: Scored) -> Vec<u16> {
    let holds = |term: &Term<'_>| term.lists[scored.view as usize].is_some_and(|list| list.seeker().get(scored.chunk).is_some());
    terms.iter().enumerate().filter(|(_, term)| holds(term)).map(|(i, _)| i as u16).collect()
}

fn terms_of<'a>(views: &[View<'a>], query: &str) -> Vec<Term<'a>> {
    let mut texts: Vec<String> = Vec::new();
    split_words(query, &mut |word, _| {
        if !texts.iter().any(|t| t == word) {
            texts.push(word.to_owned());
        }
    });
    let chunks: f32 = views.iter().map(|v| v.segment.chunk_count() as f32).sum();
    let mut terms: Vec<Term<'a>> = texts
        .into_iter()
        .map(|text| {
            let hash = term_hash(&text);
            let lists: Vec<_> = views.iter().map(|v| v.segment.dictionary().find(hash)).collect();
            let count: f32 = lists.iter().flatten().map(|l| l.count as f32).sum();
            Term { text, idf: (1.0 + (chunks - count + 0.5).max(0.5) / (count + 0.5)).ln(), lists }
        })
        .collect();
    terms.sort_by(|a, b| b.idf.total_cmp(&a.idf));
    terms.truncate(MOST_TERMS);
    terms
}

/// Turns frequencies into a saturated weight between 0 and 1.
struct Scorer {
    /// For each field, weight over length correction by length code.
    factors: [[f32; 256]; 3],
}

impl Scorer {
    fn new(views: &[View<'_>], weights: &FieldWeights) -> Self {
        let chunks: u64 = views.iter().map(|v| v.segment.chunk_count() as u64).sum();
        let weights = [weights.name, weights.path, weights.body];
        let factors = std::array::from_fn(|field| {
            let sum: u64 = views.iter().fold(0, |sum, v| sum.saturating_add(v.segment.length_sums()[field]));
            let average = (sum as f32 / chunks.max(1) as f32).max(1.0);
            std::array::from_fn(|code| weights[field] / (1.0 - B[field] + B[field] * code_length(code as u8) as f32 / average))
        });
        Self { factors }
    }

    #[inline]
    fn weight(&self, lengths: &[u8], chunk: u32, frequencies: Frequencies) -> f32 {
        let Some(&[name, path, body]) = lengths.get(chunk as usize * 3..).and_then(|l| l.first_chunk()) else { return 0.0 };
        let counts = frequencies.counts();
        let frequency = counts[0] as f32 * self.factors[0][name as usize]
            + counts[1] as f32 * self.factors[1][path as usize]
            + counts[2] as f32 * self.factors[2][body as usize];
        frequency / (K1 + frequency)
    }
}

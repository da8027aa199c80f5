//! Chunks that hold nearly all words of a question, however long they are.
//!
//! BM25 puts a short chunk with half of the words before a long one with all of them. Whoever pastes a message or a heading
//! wants the one that holds it all.

use super::query::{Term, Terms};
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// Chunks are looked for among those that hold one of so many of the rarest words …
const RAREST: usize = 2;
/// … if there are no more of them than this: what so many hold is no quotation.
const MOST_CHUNKS: u64 = 4000;
/// The least share of the question's weight that a chunk must hold.
const LEAST_HELD: f32 = 0.75;
/// What the share of all words counts beside that of the telling ones: words of speech decide among chunks that hold these alike.
const SPEECH: f32 = 0.05;

/// The `k` chunks that hold most of the weight of a question's `telling` terms, from 0.75 of it on, and of equal ones those that hold
/// most of all its `words`. A score is the share of the telling terms, and up to 0.05 for all words. A word that stands nowhere
/// counts nothing.
pub fn covering_chunks(
    views: &[View<'_>],
    Terms(telling): &Terms<'_>,
    Terms(words): &Terms<'_>,
    k: usize,
    cancel: &CancelToken,
) -> Result<Vec<Scored>> {
    let known = |terms: &'_ [Term<'_>]| terms.iter().filter(|term| term.count > 0).map(|term| term.idf).sum::<f32>();
    let (whole, whole_text) = (known(telling).max(f32::MIN_POSITIVE), known(words).max(f32::MIN_POSITIVE));
    let rarest: Vec<&Term<'_>> = telling.iter().filter(|term| term.count > 0).take(RAREST).collect();
    let mut best = TopK::new(views, k, LEAST_HELD);
    for (i, view) in views.iter().enumerate() {
        cancel.check()?;
        let mut chunks: Vec<u32> = Vec::new();
        for list in rarest.iter().filter(|term| term.count <= MOST_CHUNKS).filter_map(|term| term.lists[i]) {
            list.each(|chunk, _| chunks.push(chunk));
        }
        chunks.sort_unstable();
        chunks.dedup();
        chunks.retain(|&chunk| view.has(chunk));
        let mut full = Vec::new();
        for (&chunk, of_telling) in chunks.iter().zip(held(&chunks, i, telling)) {
            if of_telling >= LEAST_HELD * whole {
                full.push((chunk, (of_telling / whole).min(1.0)));
            }
        }
        let chunks: Vec<u32> = full.iter().map(|(chunk, _)| *chunk).collect();
        for ((chunk, share), of_text) in full.into_iter().zip(held(&chunks, i, words)) {
            best.offer(Scored { view: i as u32, chunk, score: share + SPEECH * (of_text / whole_text).min(1.0) });
        }
    }
    Ok(best.into_sorted())
}

/// The weight of these terms that each chunk of a view holds; chunks ascend.
fn held(chunks: &[u32], view: usize, terms: &[Term<'_>]) -> Vec<f32> {
    let mut held = vec![0.0_f32; chunks.len()];
    for (idf, list) in terms.iter().filter(|term| term.count > 0).filter_map(|term| Some((term.idf, term.lists[view]?))) {
        let mut seeker = list.seeker();
        for (held, &chunk) in held.iter_mut().zip(chunks) {
            if seeker.get(chunk).is_some() {
                *held += idf;
            }
        }
    }
    held
}

//! Chunks that hold nearly all words of a question, however long they are.
//!
//! BM25 puts a short chunk with half of the words before a long one with all of them. Whoever pastes a message or a heading
//! wants the one that holds it all.

use super::query::{Term, Terms};
use super::search::ROUNDING;
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
        let live = view.live_ranges();
        let mut left = &live[..];
        chunks.retain(|&chunk| {
            while let [range, rest @ ..] = left
                && range.end <= chunk
            {
                left = rest;
            }
            left.first().is_some_and(|range| range.start <= chunk)
        });
        let full = holding(&chunks, i, telling, LEAST_HELD * whole);
        let chunks: Vec<u32> = full.iter().map(|(chunk, _)| *chunk).collect();
        for ((chunk, of_telling), (_, of_text)) in full.into_iter().zip(holding(&chunks, i, words, 0.0)) {
            let share = (of_telling / whole).min(1.0);
            best.offer(Scored { view: i as u32, chunk, score: share + SPEECH * (of_text / whole_text).min(1.0) });
        }
    }
    Ok(best.into_sorted())
}

/// Those of some chunks of a view that hold at least so much of the weight of these terms, with what they hold; chunks ascend.
fn holding(chunks: &[u32], view: usize, terms: &[Term<'_>], least: f32) -> Vec<(u32, f32)> {
    let known: Vec<&Term<'_>> = terms.iter().filter(|term| term.count > 0).collect();
    let mut held: Vec<(u32, f32)> = chunks.iter().map(|&chunk| (chunk, 0.0)).collect();
    for (i, term) in known.iter().enumerate() {
        if let Some(list) = term.lists[view] {
            let mut seeker = list.seeker();
            for (_, held) in held.iter_mut().filter_map(|(chunk, held)| Some((seeker.get(*chunk)?, held))) {
                *held += term.idf;
            }
        }
        // The lists of common words are the long ones: they are asked for what can still hold enough.
        let left: f32 = known[i + 1..].iter().map(|term| term.idf).sum();
        held.retain(|(_, held)| held + left >= least * ROUNDING);
    }
    held.retain(|(_, held)| *held >= least);
    held
}

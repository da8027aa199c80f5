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

/// The `k` chunks that hold most of the weight of a question of these terms, from 0.75 of it on. A score is that share; a word that
/// stands nowhere counts nothing.
pub fn covering_chunks(views: &[View<'_>], Terms(terms): &Terms<'_>, k: usize, cancel: &CancelToken) -> Result<Vec<Scored>> {
    let terms: Vec<&Term<'_>> = terms.iter().filter(|term| term.count > 0).collect();
    let whole: f32 = terms.iter().map(|term| term.idf).sum();
    let mut best = TopK::new(views, k, LEAST_HELD);
    for (i, view) in views.iter().enumerate() {
        cancel.check()?;
        let mut chunks: Vec<u32> = Vec::new();
        for list in terms.iter().take(RAREST).filter(|term| term.count <= MOST_CHUNKS).filter_map(|term| term.lists[i]) {
            list.each(|chunk, _| chunks.push(chunk));
        }
        chunks.sort_unstable();
        chunks.dedup();
        chunks.retain(|&chunk| chunk < view.segment.chunk_count() && view.files.get(view.segment.file_of(chunk)));
        let mut held = vec![0.0_f32; chunks.len()];
        for (idf, list) in terms.iter().filter_map(|term| Some((term.idf, term.lists[i]?))) {
            let mut seeker = list.seeker();
            for (held, &chunk) in held.iter_mut().zip(&chunks) {
                if seeker.get(chunk).is_some() {
                    *held += idf;
                }
            }
        }
        for (&chunk, held) in chunks.iter().zip(held) {
            best.offer(Scored { view: i as u32, chunk, score: (held / whole.max(f32::MIN_POSITIVE)).min(1.0) });
        }
    }
    Ok(best.into_sorted())
}

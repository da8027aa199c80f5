//! What the words of a question say of given chunks and of their files, whichever search found them.
//!
//! A file on a subject says its words all over, in chunks that each hold few: so the file as a whole is asked as well.

use std::collections::HashMap;

use super::fields::code_length;
use super::query::{FieldWeights, Term, possible, terms_of};
use super::score::{Scorer, saturate};
use crate::segment::View;

/// How much the length of a file counts: half of what it does for a chunk, since long files are long for many reasons.
const FILE_B: f32 = 0.4;

/// What is known of one chunk. Shares are from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalEvidence {
    /// Share of the question's weight that the chunk holds, as `bm25f` scores it.
    pub share: f32,
    /// Which of the question's terms it holds at all, in any field; rarest first.
    pub matched: Vec<String>,
    /// Share of the question's terms that it holds.
    pub covered: f32,
    /// Share of the question's weight that the bodies of its file hold together.
    pub file_share: f32,
    /// Words in its file, roughly.
    pub file_words: u32,
}

/// Evidence for each of `chunks` (view, chunk ordinal), in their order; nothing for those that don't exist.
pub fn evidence(views: &[View<'_>], query: &str, chunks: &[(u32, u32)]) -> Vec<LexicalEvidence> {
    let terms = terms_of(views, query);
    let whole = possible(&terms);
    let scorer = Scorer::new(views, &FieldWeights::default());
    let mut out = vec![LexicalEvidence::default(); chunks.len()];
    // In the order of the lists, so that each is walked once.
    let mut order: Vec<usize> = (0..chunks.len())
        .filter(|&i| views.get(chunks[i].0 as usize).is_some_and(|view| chunks[i].1 < view.segment.chunk_count()))
        .collect();
    order.sort_unstable_by_key(|&i| chunks[i]);
    for of_view in order.chunk_by(|&a, &b| chunks[a].0 == chunks[b].0) {
        let number = chunks[of_view[0]].0 as usize;
        let lengths = views[number].segment.lengths().as_chunks::<3>().0;
        for (term, list) in terms.iter().filter_map(|term| Some((term, term.lists[number]?))) {
            let mut seeker = list.seeker();
            for &i in of_view {
                if let Some(frequencies) = seeker.get(chunks[i].1) {
                    out[i].share += term.idf * scorer.weight(lengths, chunks[i].1, frequencies);
                    out[i].matched.push(term.text.clone());
                }
            }
        }
    }
    let files = FileShares::new(views, &terms, whole);
    let mut known: HashMap<(u32, u32), (f32, u32)> = HashMap::new();
    for &i in &order {
        let (view, chunk) = chunks[i];
        let file = views[view as usize].segment.file_of(chunk);
        let (share, words) = *known.entry((view, file)).or_insert_with(|| files.of(view as usize, file));
        let found = &mut out[i];
        found.share = if whole > 0.0 { (found.share / whole).clamp(0.0, 1.0) } else { 0.0 };
        found.covered = found.matched.len() as f32 / terms.len().max(1) as f32;
        found.file_share = share;
        found.file_words = words;
    }
    out
}

/// The rarity (inverse document frequency, natural logarithm) of each word over all chunks; the highest for one that is nowhere.
pub fn rarities(views: &[View<'_>], words: &[&str]) -> Vec<f32> {
    words.iter().map(|word| terms_of(views, word).iter().map(|term| term.idf).fold(0.0, f32::max)).collect()
}

/// BM25 with files as documents.
struct FileShares<'a, 'b> {
    views: &'b [View<'a>],
    terms: &'b [Term<'a>],
    whole: f32,
    average: f32,
}

impl<'a, 'b> FileShares<'a, 'b> {
    fn new(views: &'b [View<'a>], terms: &'b [Term<'a>], whole: f32) -> Self {
        let (length, files) = views.iter().fold((0_u64, 0_u64), |(length, files), view| {
            (length.saturating_add(view.segment.length_sums()[2]), files + u64::from(view.segment.file_count()))
        });
        Self { views, terms, whole, average: (length as f32 / files.max(1) as f32).max(1.0) }
    }

    /// Share and length of a file.
    fn of(&self, view: usize, file: u32) -> (f32, u32) {
        let segment = self.views[view].segment;
        let chunks = segment.file_chunks(file);
        let lengths = segment.lengths().as_chunks::<3>().0;
        let words: u32 = chunks.clone().filter_map(|chunk| lengths.get(chunk as usize)).map(|codes| code_length(codes[2])).sum();
        let correction = 1.0 - FILE_B + FILE_B * words as f32 / self.average;
        let held: f32 = self
            .terms
            .iter()
            .filter_map(|term| Some((term.idf, term.lists[view]?)))
            .map(|(idf, list)| {
                let mut seeker = list.seeker();
                let count: u32 = chunks.clone().filter_map(|chunk| seeker.get(chunk)).map(|f| f.counts()[2]).sum();
                idf * saturate(count as f32 / correction)
            })
            .sum();
        (if self.whole > 0.0 { (held / self.whole).clamp(0.0, 1.0) } else { 0.0 }, words)
    }
}

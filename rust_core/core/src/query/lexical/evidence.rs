//! What the words of a question say of given chunks and of their files, whichever search found them.
//!
//! A file on a subject says its words all over, in chunks that each hold few: so the file as a whole is asked as well.

use std::ops::Range;

use super::query::{Terms, possible, terms_of};
use super::score::{FieldWeights, Scorer, saturate};
use super::statistics::Statistics;
use crate::formats::postings::fields::code_length;
use crate::formats::segment::Segment;
use crate::query::view::View;

/// How much the length of a file counts: half of what it does for a chunk, since long files are long for many reasons.
const FILE_B: f32 = 0.4;
/// Words in the bodies of an ordinary file. Projects have from 200 to 3,600 on average; of 650, 1,500 and 3,000 this one left the
/// 760 questions of `tests/bench/quality.py` as they are with the project's own (NDCG@10 .900, .903, .902).
const ORDINARY_FILE: f32 = 1_500.0;

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
pub fn evidence(views: &[View<'_>], Terms(terms): &Terms<'_>, chunks: &[(u32, u32)]) -> Vec<LexicalEvidence> {
    let whole = possible(terms);
    let scorer = Scorer::new(&FieldWeights::default());
    let mut out = vec![LexicalEvidence::default(); chunks.len()];
    // In the order of the lists, so that each is walked once.
    let mut order: Vec<usize> = (0..chunks.len())
        .filter(|&i| views.get(chunks[i].0 as usize).is_some_and(|view| chunks[i].1 < view.segment.chunk_count()))
        .collect();
    order.sort_unstable_by_key(|&i| chunks[i]);
    for of_view in order.chunk_by(|&a, &b| chunks[a].0 == chunks[b].0) {
        let number = chunks[of_view[0]].0 as usize;
        let segment = views[number].segment;
        let lengths = segment.lengths().as_chunks::<3>().0;
        let file_of = |i: usize| segment.file_of(chunks[i].1);
        let mut files: Vec<QueriedFile<'_>> =
            of_view.chunk_by(|&a, &b| file_of(a) == file_of(b)).map(|asked| QueriedFile::new(segment, asked, chunks)).collect();
        for (term, list) in terms.iter().filter_map(|term| Some((term, term.lists[number]?))) {
            let mut seeker = list.seeker();
            for file in &mut files {
                let mut asked = file.asked.iter().copied().peekable();
                let mut count = 0;
                seeker.each_in(&file.chunks, |chunk, frequencies| {
                    count += frequencies.counts()[2];
                    while asked.next_if(|&i| chunks[i].1 < chunk).is_some() {}
                    while let Some(i) = asked.next_if(|&i| chunks[i].1 == chunk) {
                        out[i].share += term.idf * scorer.weight(lengths, chunk, frequencies);
                        out[i].matched.push(term.text.clone());
                    }
                });
                file.held += term.idf * saturate(count as f32 / file.correction());
            }
        }
        let of_whole = |held: f32| if whole > 0.0 { (held / whole).clamp(0.0, 1.0) } else { 0.0 };
        for file in &files {
            for &i in file.asked {
                let found = &mut out[i];
                found.share = of_whole(found.share);
                found.covered = found.matched.len() as f32 / terms.len().max(1) as f32;
                found.file_share = of_whole(file.held);
                found.file_words = file.words;
            }
        }
    }
    out
}

/// The rarity (inverse document frequency, natural logarithm) of each word over all live chunks; the highest for one that is nowhere.
pub fn rarities(views: &[View<'_>], statistics: &Statistics, words: &[&str]) -> Vec<f32> {
    words.iter().map(|word| terms_of(views, statistics, word).iter().map(|term| term.idf).fold(0.0, f32::max)).collect()
}

/// A file with chunks that are asked about: BM25 with files as documents.
struct QueriedFile<'a> {
    /// Which of the chunks asked about are its own, ascending by ordinal.
    asked: &'a [usize],
    /// All of its chunks.
    chunks: Range<u32>,
    /// Words in its bodies, roughly.
    words: u32,
    /// What its bodies hold of the question's weight so far.
    held: f32,
}

impl<'a> QueriedFile<'a> {
    fn new(segment: &Segment, asked: &'a [usize], places: &[(u32, u32)]) -> Self {
        let chunks = segment.file_chunks(segment.file_of(places[asked[0]].1));
        let lengths = segment.lengths().as_chunks::<3>().0;
        let words = chunks.clone().filter_map(|chunk| lengths.get(chunk as usize)).map(|codes| code_length(codes[2])).sum();
        Self { asked, chunks, words, held: 0.0 }
    }

    /// How much its length divides what it holds.
    fn correction(&self) -> f32 {
        1.0 - FILE_B + FILE_B * self.words as f32 / ORDINARY_FILE
    }
}

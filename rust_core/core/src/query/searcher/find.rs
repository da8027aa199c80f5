//! All that is looked for when a question is asked: by meaning, by words and by names, and what is known of each chunk found.

use std::collections::{HashMap, HashSet};

use super::quotes::Quoted;
use super::{Scope, Searcher};
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::types::ChunkKind;
use crate::index::segment_set::LiveSegment;
use crate::query::dense::PARALLEL_FROM;
use crate::query::filter::Filter;
use crate::query::lexical::{LexicalEvidence, Terms, evidence};
use crate::query::matching::{Phrase, printed_parts};
use crate::query::parsed_query::{Meaning, ParsedQuery};
use crate::query::ranking::Signals;
use crate::query::results::{Doc, ScoredDoc, segment_and_chunk};
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// So many chunks that hold nearly all words of a question are candidates.
const COVERING: usize = 60;
/// So many chunks that hold most of its words are candidates.
const WORDY: usize = 60;

/// What may be found, and how much of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchOptions<'a> {
    /// How many chunks each search gives.
    pub pool: usize,
    /// The cosine below which a chunk is not found by meaning.
    pub floor: f32,
    /// What may be found.
    pub filter: Option<&'a Filter>,
    /// Files whose chunks are candidates however little they have to do with the question, and how many of their chunks.
    pub pinned: Option<(&'a Filter, usize)>,
    /// The file in front of the person.
    pub active_path: Option<&'a str>,
}

/// Cosines of chunks and a question.
enum Cosines<'q> {
    /// By the vectors of the index.
    Own(&'q [f32]),
    /// As a store elsewhere gave them.
    Given(HashMap<Doc, f32>),
}

impl Searcher {
    /// Ask every search for a question and give each chunk found all signals but how it is related to the file in front.
    /// `texts_of` reads the texts of some chunks, where they are as they were indexed.
    pub fn find(
        &self,
        query: &ParsedQuery,
        options: &SearchOptions<'_>,
        texts_of: impl FnOnce(&[Doc]) -> Vec<Option<String>>,
        cancel: &CancelToken,
    ) -> Result<Vec<Signals>> {
        let scope = self.scope(options.filter);
        let terms = self.terms(&query.search_text);
        let cosines = self.cosines(&query.meaning);
        let (pool, floor) = (options.pool, options.floor);
        let meaning = || self.by_meaning(&cosines, &scope, pool, floor, cancel);
        let words = || self.lexical_within(&scope, &terms, pool, cancel);
        let (dense, lexical) =
            if self.chunks < PARALLEL_FROM as usize { (meaning(), words()) } else { rayon::join(meaning, words) };
        let (mut dense, lexical) = (dense?, lexical?);
        if let Some((filter, most)) = options.pinned {
            let known: HashSet<Doc> = dense.iter().map(|found| found.doc).collect();
            let pinned = self.by_meaning(&cosines, &self.scope(Some(filter)), most, -1.0, cancel)?;
            dense.extend(pinned.into_iter().filter(|found| !known.contains(&found.doc)));
        }
        let names = query.sought_names();
        let defining = if names.is_empty() { Vec::new() } else { self.definitions_within(&scope, &names, pool)? };
        let quotes = Phrase::may_be(&query.quoted);
        let (mut covering, mut naming, mut writing) = (Vec::new(), Vec::new(), Vec::new());
        if quotes {
            // With its words of speech: where many places have the telling ones, few have all.
            let with_speech = (query.quoted != query.search_text).then(|| self.terms(&query.quoted));
            let with_speech = with_speech.as_ref().unwrap_or(&terms);
            covering = self.covering_within(&scope, &terms, with_speech, COVERING, cancel)?;
            for part in printed_parts(&query.quoted) {
                writing.extend(self.most_words_within(&scope, &self.terms(part), WORDY, cancel)?);
            }
        }
        if !query.quoted.is_empty() {
            naming = self.rare_names_within(&scope, &terms, &query.search_text)?;
        }

        let mut docs: Vec<Doc> = Vec::new();
        let mut at: HashMap<Doc, usize> = HashMap::new();
        for found in dense.iter().chain(&lexical).chain(&defining).chain(&covering).chain(&naming).chain(&writing) {
            at.entry(found.doc).or_insert_with(|| {
                docs.push(found.doc);
                docs.len() - 1
            });
        }
        let mut signals = self.signals(&terms, &cosines, &docs);
        for (found, rank) in dense.iter().zip(1..) {
            signals[at[&found.doc]].dense_rank = Some(rank);
        }
        for (found, rank) in lexical.iter().zip(1..) {
            signals[at[&found.doc]].lexical_rank = Some(rank);
        }
        for found in &defining {
            signals[at[&found.doc]].defines = found.score.into();
        }
        for found in &naming {
            signals[at[&found.doc]].rare_name = true;
        }
        if quotes {
            let covering = covering.iter().map(|found| (found.doc, found.score)).collect();
            let writing = writing.iter().map(|found| found.doc).collect();
            Self::find_quotes(&Quoted { text: &query.quoted, terms: &terms, covering, writing }, &mut signals, texts_of, cancel)?;
        }
        Ok(signals)
    }

    /// What is known of each of these chunks as an answer, whichever search finds it, but not how it stands there. Unknown ones are
    /// left out.
    pub fn evidence(&self, query: &ParsedQuery, docs: &[Doc]) -> Vec<Signals> {
        let known: Vec<Doc> = docs.iter().copied().filter(|&doc| self.segment_of(doc).is_some()).collect();
        self.signals(&self.terms(&query.search_text), &self.cosines(&query.meaning), &known)
    }

    fn cosines<'q>(&self, meaning: &'q Meaning) -> Cosines<'q> {
        match meaning {
            Meaning::Vector(vector) => Cosines::Own(vector),
            Meaning::Scores(scores) => {
                let ids: Vec<u128> = scores.iter().map(|(id, _)| *id).collect();
                // What the store elsewhere doesn't know yet to be gone is left out, and what is no number.
                let known = self.resolve(&ids).into_iter().zip(scores).filter(|(_, (_, score))| score.is_finite());
                Cosines::Given(known.filter_map(|(doc, (_, score))| Some((doc?, *score))).collect())
            }
        }
    }

    fn by_meaning(
        &self,
        cosines: &Cosines<'_>,
        scope: &Scope<'_>,
        k: usize,
        floor: f32,
        cancel: &CancelToken,
    ) -> Result<Vec<ScoredDoc>> {
        match cosines {
            Cosines::Own(vector) => self.dense_within(scope, vector, k, floor, cancel),
            Cosines::Given(scores) => {
                let views = self.views(scope);
                let mut best = TopK::new(&views, k, floor);
                for (&doc, &score) in scores {
                    let (view, chunk) = segment_and_chunk(doc);
                    let View { segment, files } = views[view as usize];
                    let passes = files.get(segment.file_of(chunk));
                    if passes && scope.filter.is_none_or(|filter| self.allows_chunk(filter, doc)) {
                        best.offer(Scored { view, chunk, score });
                    }
                }
                Ok(best.into_sorted().into_iter().map(ScoredDoc::from).collect())
            }
        }
    }

    /// All that is known of chunks that exist.
    fn signals(&self, terms: &Terms<'_>, cosines: &Cosines<'_>, docs: &[Doc]) -> Vec<Signals> {
        let chunks: Vec<(u32, u32)> = docs.iter().map(|&doc| segment_and_chunk(doc)).collect();
        let of = |((&doc, &(segment, chunk)), lexical): ((&Doc, &(u32, u32)), LexicalEvidence)| {
            let LiveSegment { segment, own_vectors, .. } = &self.segments[segment as usize];
            let (kind, span, symbol) = segment.outline(chunk);
            let dense = match cosines {
                Cosines::Own(vector) if *own_vectors => segment.vector(chunk).dot(vector),
                Cosines::Own(_) => 0.0,
                Cosines::Given(scores) => scores.get(&doc).copied().unwrap_or(0.0),
            };
            let file = segment.file_of(chunk);
            Signals {
                doc,
                id: segment.chunk_id(chunk),
                path: segment.file(file).path.to_owned(),
                generated: segment.marks(file).is_generated,
                prose: segment.file(file).language.is_prose(),
                callable: matches!(kind, ChunkKind::Function | ChunkKind::Method),
                symbol,
                start_line: span.start_line,
                end_line: span.end_line,
                dense: dense.into(),
                lexical: lexical.share.into(),
                matched: lexical.matched,
                covered: lexical.covered.into(),
                file_share: lexical.file_share.into(),
                file_words: lexical.file_words,
                ..Signals::default()
            }
        };
        let scope = Scope::default();
        docs.iter().zip(&chunks).zip(evidence(&self.views(&scope), terms, &chunks)).map(of).collect()
    }
}

//! Order the candidates that the searches found.
//!
//! Every candidate has all signals ([`Candidate`]), whichever search found it. Rules turn them into a score: each of the [`additive`]
//! rules adds its weight times a value from about 0 to 1, the [`multiplicative`] ones multiply, and the [`listwise`] ones compare
//! candidates with each other. Each rule is one small function over all candidates, and [`rank`] can be told to leave any of them
//! out: `docs/quality.md` has what each is worth. The weights for questions were fitted on 26 of the benchmark's repositories and
//! checked on the others, those for changes on histories outside it; no rule knows a repository.

mod additive;
mod kinds;
mod listwise;
mod multiplicative;
mod verbatim;

use std::collections::HashSet;

pub use additive::ADDITIVE;
use additive::{FOR_CHANGES, FOR_QUESTIONS, Weights};
pub use kinds::{PathKind, path_kinds};
pub use listwise::LISTWISE;
pub use multiplicative::MULTIPLICATIVE;
use multiplicative::path_priors;
pub use verbatim::VerbatimEvidence;
use verbatim::verbatim_evidence;

use crate::query::matching::{PathQuery, name_stems, name_words};
use crate::query::results::Doc;

/// Rank constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const RRF_K: f64 = 60.0;

/// A chunk that may answer the question, with all its signals and what the rules made of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Which chunk of the snapshot.
    pub doc: Doc,
    /// Its file.
    pub path: String,
    /// Whether it is a function or method.
    pub callable: bool,
    /// What it defines; empty for code without a name.
    pub symbol: String,
    /// Its first line, 1-based.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Cosine of its vector and the question's; 0 without one.
    pub dense: f64,
    /// Its rank in that search, from 1; `None` if that search did not find it.
    pub dense_rank: Option<u32>,
    /// Share of the question's weight that it holds, 0 to 1.
    pub lexical: f64,
    /// Its rank in that search, from 1; `None` if that search did not find it.
    pub lexical_rank: Option<u32>,
    /// The question's terms that it holds in any field, rarest first.
    pub matched: Vec<String>,
    /// Share of the question's terms that it holds.
    pub covered: f64,
    /// Share of the question's weight that its file holds as a whole.
    pub file_share: f64,
    /// Words in its file, roughly.
    pub file_words: u32,
    /// How exactly it defines a symbol that the question names: 1 for the exact name, less for another case or form, 0 for none.
    pub defines: f64,
    /// Share of the question's weight that the longest run of its words holds which stands in the text word for word.
    pub verbatim: f64,
    /// Words in that run.
    pub verbatim_words: u32,
    /// Whether that run has an identifier in it, in the same case.
    pub verbatim_name: bool,
    /// How closely its file is related to the active one by names, 0 to 1.
    pub relatedness: f64,
    /// Reciprocal rank fusion of both searches.
    pub fused: f64,
    /// The factor for its path alone, less than 1 for files that are seldom what a question is about.
    pub prior: f64,
    /// How far its text holds the question word for word.
    pub verbatim_evidence: VerbatimEvidence,
    /// Higher is better; only comparable within one question.
    pub score: f64,
    /// What each rule of [`ADDITIVE`] added.
    pub gains: [f64; ADDITIVE.len()],
    /// What each rule of [`MULTIPLICATIVE`] multiplied by.
    pub factors: [f64; MULTIPLICATIVE.len()],
    /// What rules of [`LISTWISE`] added.
    pub lifts: Vec<(&'static str, f64)>,
}

/// What the rules know of the question.
pub struct RankingContext {
    paths: PathQuery,
    /// How many symbols it names.
    symbol_count: usize,
    /// Stemmed words of those.
    symbol_words: Vec<String>,
    /// Stemmed words of the part of the project that it names, sorted.
    scope: Vec<String>,
    /// Every word of it, lower-case.
    words: HashSet<String>,
    /// The question is a symbol and nothing else.
    is_symbol: bool,
    /// The question asks for a change: its words describe what the code should become.
    is_change: bool,
    weights: &'static Weights,
}

impl RankingContext {
    /// From the question's stemmed words with their rarities, its text, the symbols that it names, the stemmed words of the part
    /// of the project that it is headed with, all words of it as it was asked, and whether it is nothing but a symbol or asks for a
    /// change.
    pub fn new(
        rarities: Vec<(String, f64)>,
        text: &str,
        symbols: &[String],
        mut scope: Vec<String>,
        words: HashSet<String>,
        is_symbol: bool,
        is_change: bool,
    ) -> Self {
        let text_words = name_words(text);
        let symbol_words = symbols.iter().flat_map(|name| name_stems(name)).collect();
        scope.sort_unstable();
        scope.dedup();
        let weights = if is_change { &FOR_CHANGES } else { &FOR_QUESTIONS };
        Self {
            paths: PathQuery::new(rarities, &text_words),
            symbol_count: symbols.len(),
            symbol_words,
            scope,
            words,
            is_symbol,
            is_change,
            weights,
        }
    }
}

/// What is open in the editor.
#[derive(Clone, Debug, Default)]
pub struct EditorContext {
    /// The active file.
    pub active_path: Option<String>,
    /// Files that are open.
    pub open_paths: HashSet<String>,
    /// Files that the person pinned.
    pub pinned: HashSet<String>,
}

/// Rules to leave out, by name.
pub type DisabledRules<'a> = &'a HashSet<String>;

/// The order of candidates, best first, by their places: equal ones by path, then by place in the file. Sets what the stages made
/// of each.
pub fn rank(
    candidates: &mut [Candidate],
    context: &RankingContext,
    editor: &EditorContext,
    disabled: DisabledRules<'_>,
) -> Vec<usize> {
    score(candidates, context, editor, disabled);
    for (name, rule) in LISTWISE {
        if !disabled.contains(name) {
            rule(candidates, editor);
        }
    }
    order(candidates)
}

/// Score each candidate by itself.
pub fn score(candidates: &mut [Candidate], context: &RankingContext, editor: &EditorContext, disabled: DisabledRules<'_>) {
    let priors = path_priors(candidates, context);
    candidates.iter_mut().zip(priors).for_each(|(candidate, prior)| candidate.prior = prior);
    let literal = if disabled.contains("verbatim") {
        vec![VerbatimEvidence::default(); candidates.len()]
    } else {
        verbatim_evidence(candidates, context)
    };
    candidates.iter_mut().zip(literal).for_each(|(candidate, literal)| candidate.verbatim_evidence = literal);
    for candidate in candidates.iter_mut() {
        let share = |place: Option<u32>| place.map_or(0.0, |place| 1.0 / (RRF_K + f64::from(place)));
        candidate.fused = share(candidate.dense_rank) + share(candidate.lexical_rank);
        candidate.gains = [0.0; ADDITIVE.len()];
        candidate.factors = [1.0; MULTIPLICATIVE.len()];
        candidate.lifts.clear();
    }
    for (i, (name, rule)) in ADDITIVE.into_iter().enumerate() {
        if !disabled.contains(name) {
            let gains = rule(candidates, context);
            candidates.iter_mut().zip(gains).for_each(|(candidate, gain)| candidate.gains[i] = gain);
        }
    }
    for (i, (name, rule)) in MULTIPLICATIVE.into_iter().enumerate() {
        if !disabled.contains(name) {
            let factors = rule(candidates, context, editor);
            candidates.iter_mut().zip(factors).for_each(|(candidate, factor)| candidate.factors[i] = factor);
        }
    }
    for candidate in candidates {
        candidate.score = candidate.gains.iter().sum::<f64>() * candidate.factors.iter().product::<f64>();
    }
}

/// Places of the candidates, best first.
fn order(candidates: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&candidates[a], &candidates[b]);
        b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)).then(a.doc.cmp(&b.doc))
    });
    order
}

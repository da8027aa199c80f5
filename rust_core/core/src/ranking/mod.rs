//! From what each search found to one order.
//!
//! Every candidate has all signals ([`Ranked`]), whichever search found it. Rules turn them into a score: those of [`adding`]
//! each add their weight times a value from about 0 to 1, those of [`scaling`] multiply, and those of [`together`] look from one
//! candidate to the others. Each rule is one small function over all candidates, and [`rank`] can be told to leave any of them
//! out: `docs/quality.md` has what each is worth. The weights for questions were fitted on 26 of the benchmark's repositories and
//! checked on the others, those for changes on histories outside it; no rule knows a repository.

mod adding;
mod kinds;
mod literal;
mod scaling;
mod together;

use std::collections::HashSet;

pub use adding::ADDING;
use adding::{FOR_CHANGES, FOR_QUESTIONS, Weights};
pub use kinds::{PathKind, path_kinds};
pub use literal::Literal;
use literal::literal_evidence;
pub use scaling::SCALING;
use scaling::path_priors;
pub use together::TOGETHER;

use crate::question::{PathQuestion, name_stems, name_words};
use crate::snapshot::Doc;

/// Rank constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const RRF_K: f64 = 60.0;

/// A candidate: what is known of a chunk as an answer, and on its way through the stages what they made of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// Which chunk of the snapshot.
    pub doc: Doc,
    /// Its file.
    pub path: String,
    /// A function or method.
    pub callable: bool,
    /// What it defines; empty for code without a name.
    pub symbol: String,
    /// Its first line, 1-based.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Cosine of its vector and the question's; 0 without one.
    pub dense: f64,
    /// Its place in that search, from 1.
    pub dense_rank: Option<u32>,
    /// Share of the question's weight that it holds, 0 to 1.
    pub lexical: f64,
    /// Its place in that search, from 1.
    pub lexical_rank: Option<u32>,
    /// The question's terms that it holds in any field, rarest first.
    pub matched: Vec<String>,
    /// Share of the question's terms that it holds.
    pub covered: f64,
    /// Share of the question's weight that its file holds as a whole.
    pub file_share: f64,
    /// Words in its file, roughly.
    pub file_words: u32,
    /// It defines a symbol that the question names: 1 for the exact name, less for another case or form.
    pub defines: f64,
    /// Share of the question's weight that the longest run of its words holds which stands in the text word for word.
    pub verbatim: f64,
    /// Words in that run.
    pub verbatim_words: u32,
    /// That run has an identifier in it, in the letters' own case.
    pub verbatim_name: bool,
    /// How closely its file is tied to the active one by names, 0 to 1.
    pub tied: f64,
    /// Reciprocal rank fusion of both searches.
    pub fused: f64,
    /// What its path alone multiplies the score by: files that are seldom what a question is about.
    pub prior: f64,
    /// How far its text is literally what was asked for, and how far nothing in ordinary files is.
    pub literal: Literal,
    /// The higher, the better; only comparable within one question.
    pub score: f64,
    /// What each rule of [`ADDING`] added.
    pub gains: [f64; ADDING.len()],
    /// What each rule of [`SCALING`] multiplied by.
    pub factors: [f64; SCALING.len()],
    /// What rules of [`TOGETHER`] added.
    pub lifts: Vec<(&'static str, f64)>,
}

/// The question with what the rules want to know of it.
pub struct Asked {
    paths: PathQuestion,
    /// The symbols that it names.
    names: usize,
    /// Stemmed words of those.
    named: Vec<String>,
    /// Stemmed words of the part of the project that it names, sorted.
    scope: Vec<String>,
    /// Every word of it, lower-case.
    plain: HashSet<String>,
    /// Nothing but a symbol.
    is_symbol: bool,
    /// How the code should become: its words are about the change, not of the text.
    is_change: bool,
    weights: &'static Weights,
}

impl Asked {
    /// From the question's stemmed words with their rarities, its text, the symbols that it names, the stemmed words of the part
    /// of the project that it is headed with, all words of it as it was asked, and whether it is nothing but a symbol or asks for a
    /// change.
    pub fn new(
        rarities: Vec<(String, f64)>,
        text: &str,
        symbols: &[String],
        mut scope: Vec<String>,
        plain: HashSet<String>,
        is_symbol: bool,
        is_change: bool,
    ) -> Self {
        let words = name_words(text);
        let named = symbols.iter().flat_map(|name| name_stems(name)).collect();
        scope.sort_unstable();
        scope.dedup();
        let weights = if is_change { &FOR_CHANGES } else { &FOR_QUESTIONS };
        Self {
            paths: PathQuestion::new(rarities, &words),
            names: symbols.len(),
            named,
            scope,
            plain,
            is_symbol,
            is_change,
            weights,
        }
    }
}

/// What the person has in front of them.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The file in front.
    pub active_path: Option<String>,
    /// Files that are open.
    pub open_paths: HashSet<String>,
    /// Files that the person pinned.
    pub pinned: HashSet<String>,
}

/// Rules to leave out, by name.
pub type Without<'a> = &'a HashSet<String>;

/// The order of candidates, best first, by their places: equal ones by path, then by place in the file. Sets what the stages made
/// of each.
pub fn rank(candidates: &mut [Ranked], asked: &Asked, scene: &Scene, without: Without<'_>) -> Vec<usize> {
    score(candidates, asked, scene, without);
    for (name, rule) in TOGETHER {
        if !without.contains(name) {
            rule(candidates, scene);
        }
    }
    order(candidates)
}

/// Score each candidate by itself.
pub fn score(candidates: &mut [Ranked], asked: &Asked, scene: &Scene, without: Without<'_>) {
    let priors = path_priors(candidates, asked);
    candidates.iter_mut().zip(priors).for_each(|(ranked, prior)| ranked.prior = prior);
    let literal = if without.contains("verbatim") {
        vec![Literal::default(); candidates.len()]
    } else {
        literal_evidence(candidates, asked)
    };
    candidates.iter_mut().zip(literal).for_each(|(ranked, literal)| ranked.literal = literal);
    for ranked in candidates.iter_mut() {
        let share = |place: Option<u32>| place.map_or(0.0, |place| 1.0 / (RRF_K + f64::from(place)));
        ranked.fused = share(ranked.dense_rank) + share(ranked.lexical_rank);
        ranked.gains = [0.0; ADDING.len()];
        ranked.factors = [1.0; SCALING.len()];
        ranked.lifts.clear();
    }
    for (i, (name, rule)) in ADDING.into_iter().enumerate() {
        if !without.contains(name) {
            let gains = rule(candidates, asked);
            candidates.iter_mut().zip(gains).for_each(|(ranked, gain)| ranked.gains[i] = gain);
        }
    }
    for (i, (name, rule)) in SCALING.into_iter().enumerate() {
        if !without.contains(name) {
            let factors = rule(candidates, asked, scene);
            candidates.iter_mut().zip(factors).for_each(|(ranked, factor)| ranked.factors[i] = factor);
        }
    }
    for ranked in candidates {
        ranked.score = ranked.gains.iter().sum::<f64>() * ranked.factors.iter().product::<f64>();
    }
}

/// Places of the candidates, best first.
fn order(candidates: &[Ranked]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&candidates[a], &candidates[b]);
        b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)).then(a.doc.cmp(&b.doc))
    });
    order
}

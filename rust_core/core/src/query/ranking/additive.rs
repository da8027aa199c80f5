//! Additive rules: what each candidate gains.

use super::{Candidate, RRF_K, RankingContext};
use crate::query::matching::{name_stems, path_words};

/// What the signals are worth that say different things of a question and of a change.
pub(super) struct Weights {
    lexical: f64,
    dense: f64,
    fused: f64,
    file_share: f64,
    path_exact: f64,
    path_prefix: f64,
    path_covered: f64,
    defines_named: f64,
}

// Fitted weights.
pub(super) static FOR_QUESTIONS: Weights = Weights {
    lexical: 0.8,
    dense: 1.1,
    fused: 0.4,
    file_share: 0.5,
    path_exact: 0.5,
    path_prefix: 0.6,
    path_covered: 0.24,
    defines_named: 0.6,
};
/// Who asks for a change tells what it touches, in many words and in passing: the file that holds most of them is meant rather
/// than the one that is called like some.
pub(super) static FOR_CHANGES: Weights = Weights {
    lexical: 1.2,
    dense: 0.8,
    fused: 0.3,
    file_share: 0.9,
    path_exact: 0.35,
    path_prefix: 0.5,
    path_covered: 0.12,
    defines_named: 0.35,
};
const DENSE_FOR_SYMBOL: f64 = 0.45;
const IN_SCOPE: f64 = 0.3;
const FILE_LENGTH: f64 = 0.08;
const LINES: f64 = 0.15;
const DEFINES_SYMBOL: f64 = 2.2;
const IN_ITS_FILE: f64 = 1.2;
const CONSTRUCTOR: f64 = 0.5;
const VERBATIM: f64 = 0.5;
const ALONE: f64 = 1.5;

type Rule = fn(&[Candidate], &RankingContext) -> Vec<f64>;

/// The rules with their names.
pub const ADDITIVE: [(&str, Rule); 9] = [
    ("words", words),
    ("meaning", meaning),
    ("agreement", agreement),
    ("whole_file", whole_file),
    ("path_match", path_match),
    ("in_scope", in_scope),
    ("substance", substance),
    ("name_match", name_match),
    ("verbatim", verbatim),
];

/// BM25F: what the chunk's words hold of the question.
fn words(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates.iter().map(|candidate| context.weights.lexical * candidate.lexical).collect()
}

/// Cosine of the vectors; a bare symbol is looked up by its name rather.
fn meaning(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let weight = if context.is_symbol { DENSE_FOR_SYMBOL } else { context.weights.dense };
    candidates.iter().map(|candidate| weight * candidate.dense.max(0.0)).collect()
}

/// Reciprocal rank fusion of both searches, 1 for the first of both.
fn agreement(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates.iter().map(|candidate| context.weights.fused * candidate.fused * (RRF_K + 1.0) / 2.0).collect()
}

/// The file as a whole speaks of it, even where this chunk alone says little.
fn whole_file(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates.iter().map(|candidate| context.weights.file_share * candidate.file_share).collect()
}

/// The question's words in the file's name. Folders count by BM25F alone: as a rule of their own they gained nothing.
fn path_match(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let matches = context.paths.matches(candidates.iter().map(|candidate| candidate.path.as_str()));
    let Weights { path_exact, path_prefix, path_covered, .. } = context.weights;
    matches
        .into_iter()
        .map(|found| path_exact * found.exact + path_prefix * found.prefix + path_covered * found.covered)
        .collect()
}

/// A folder or file is called like the part of the project that a change is headed with: `fix(parser): …`.
fn in_scope(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let gain = |candidate: &Candidate| {
        let (folders, name) = candidate.path.rsplit_once('/').unwrap_or(("", &candidate.path));
        let mut places = folders.split('/').chain(name.split('.').take(1));
        if places.any(|place| is_called(place, &context.scope)) { IN_SCOPE } else { 0.0 }
    };
    if context.scope.is_empty() { vec![0.0; candidates.len()] } else { candidates.iter().map(gain).collect() }
}

/// Whether these are the stemmed words of a folder or file; `words` are sorted.
fn is_called(place: &str, words: &[String]) -> bool {
    let mut own = name_stems(place);
    own.sort_unstable();
    own.dedup();
    own == words
}

/// Long files are where the work is done, and a few lines say little.
fn substance(candidates: &[Candidate], _: &RankingContext) -> Vec<f64> {
    let share = |count: u32, of: f64| (f64::from(count).ln_1p() / of).min(1.0);
    let lines = |candidate: &Candidate| candidate.end_line.saturating_sub(candidate.start_line).saturating_add(1);
    candidates
        .iter()
        .map(|candidate| FILE_LENGTH * share(candidate.file_words, 10.0) + LINES * share(lines(candidate), 4.0))
        .collect()
}

/// The chunk defines a symbol that the question names; more so when the file is called like it.
fn name_match(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let weight =
        if context.is_symbol { DEFINES_SYMBOL } else { context.weights.defines_named / context.symbol_count.max(1) as f64 };
    let gain = |candidate: &Candidate| {
        if candidate.defines == 0.0 {
            return 0.0;
        }
        let called_like_it = || {
            let words = path_words(&candidate.path);
            context.symbol_words.iter().all(|word| words.contains(word))
        };
        let in_its_file = if !context.symbol_words.is_empty() && called_like_it() { IN_ITS_FILE } else { 1.0 };
        weight * candidate.defines * in_its_file * if is_constructor(candidate) { CONSTRUCTOR } else { 1.0 }
    };
    candidates.iter().map(gain).collect()
}

/// The text holds what was asked for word for word; more so where nothing but this file's kind holds it.
fn verbatim(candidates: &[Candidate], _: &RankingContext) -> Vec<f64> {
    candidates
        .iter()
        .map(|candidate| VERBATIM * candidate.verbatim_evidence.strength + ALONE * candidate.verbatim_evidence.unrivalled)
        .collect()
}

/// Named like its class, which is what a question for that name is about.
fn is_constructor(candidate: &Candidate) -> bool {
    let separates = ['.', ':', '#', '\\'];
    let symbol = candidate.symbol.to_lowercase();
    let mut names = symbol.rsplit(separates).filter(|name| !name.is_empty());
    candidate.callable
        && !symbol.ends_with(separates)
        && matches!((names.next(), names.next()), (Some(own), Some(around)) if own == around)
}

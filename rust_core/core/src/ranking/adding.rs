//! Rules that add: what each candidate gains.

use super::{Asked, RRF_K, Ranked};
use crate::question::{name_stems, path_words};

/// What the signals are worth that say different things of a question and of a change.
pub(super) struct Weights {
    lexical: f64,
    dense: f64,
    fused: f64,
    covered: f64,
    file_share: f64,
    path_own: f64,
    path_akin: f64,
    path_covered: f64,
    defines_named: f64,
}

// Fitted weights.
pub(super) static FOR_QUESTIONS: Weights = Weights {
    lexical: 0.8,
    dense: 1.1,
    fused: 0.4,
    covered: 0.1,
    file_share: 0.5,
    path_own: 0.5,
    path_akin: 0.6,
    path_covered: 0.24,
    defines_named: 0.6,
};
/// Who asks for a change tells what it touches, in many words and in passing: the file that holds most of them is meant rather
/// than the one that is called like some.
pub(super) static FOR_CHANGES: Weights = Weights {
    lexical: 1.0,
    dense: 0.8,
    fused: 0.3,
    covered: 0.3,
    file_share: 0.9,
    path_own: 0.35,
    path_akin: 0.5,
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
const ALONE: f64 = 1.0;

type Rule = fn(&[Ranked], &Asked) -> Vec<f64>;

/// The rules with their names.
pub const ADDING: [(&str, Rule); 10] = [
    ("words", words),
    ("meaning", meaning),
    ("agreement", agreement),
    ("coverage", coverage),
    ("whole_file", whole_file),
    ("path_match", path_match),
    ("in_scope", in_scope),
    ("substance", substance),
    ("name_match", name_match),
    ("verbatim", verbatim),
];

/// BM25F: what the chunk's words hold of the question.
fn words(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    candidates.iter().map(|ranked| asked.weights.lexical * ranked.lexical).collect()
}

/// Cosine of the vectors; a bare symbol is looked up by its name rather.
fn meaning(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    let weight = if asked.is_symbol { DENSE_FOR_SYMBOL } else { asked.weights.dense };
    candidates.iter().map(|ranked| weight * ranked.dense.max(0.0)).collect()
}

/// Reciprocal rank fusion of both searches, 1 for the first of both.
fn agreement(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    candidates.iter().map(|ranked| asked.weights.fused * ranked.fused * (RRF_K + 1.0) / 2.0).collect()
}

/// Few words often are worth less than all words once.
fn coverage(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    candidates.iter().map(|ranked| asked.weights.covered * ranked.covered * ranked.covered).collect()
}

/// The file as a whole speaks of it, even where this chunk alone says little.
fn whole_file(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    candidates.iter().map(|ranked| asked.weights.file_share * ranked.file_share).collect()
}

/// The question's words in the file's name. Folders count by BM25F alone: as a rule of their own they gained nothing.
fn path_match(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    let fits = asked.paths.fits(candidates.iter().map(|ranked| ranked.path.as_str()));
    let Weights { path_own, path_akin, path_covered, .. } = asked.weights;
    fits.into_iter().map(|fit| path_own * fit.own + path_akin * fit.akin + path_covered * fit.covered).collect()
}

/// A folder or file is called like the part of the project that a change is headed with: `fix(parser): …`.
fn in_scope(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    let gain = |ranked: &Ranked| {
        let (folders, name) = ranked.path.rsplit_once('/').unwrap_or(("", &ranked.path));
        let mut places = folders.split('/').chain(name.split('.').take(1));
        if places.any(|place| is_called(place, &asked.scope)) { IN_SCOPE } else { 0.0 }
    };
    if asked.scope.is_empty() { vec![0.0; candidates.len()] } else { candidates.iter().map(gain).collect() }
}

/// Whether these are the stemmed words of a folder or file; `words` are sorted.
fn is_called(place: &str, words: &[String]) -> bool {
    let mut own = name_stems(place);
    own.sort_unstable();
    own.dedup();
    own == words
}

/// Long files are where the work is done, and a few lines say little.
fn substance(candidates: &[Ranked], _: &Asked) -> Vec<f64> {
    let share = |count: u32, of: f64| (f64::from(count).ln_1p() / of).min(1.0);
    let lines = |ranked: &Ranked| ranked.end_line.saturating_sub(ranked.start_line).saturating_add(1);
    candidates.iter().map(|ranked| FILE_LENGTH * share(ranked.file_words, 10.0) + LINES * share(lines(ranked), 4.0)).collect()
}

/// The chunk defines a symbol that the question names; more so when the file is called like it.
fn name_match(candidates: &[Ranked], asked: &Asked) -> Vec<f64> {
    let weight = if asked.is_symbol { DEFINES_SYMBOL } else { asked.weights.defines_named / asked.names.max(1) as f64 };
    let gain = |ranked: &Ranked| {
        if ranked.defines == 0.0 {
            return 0.0;
        }
        let called_like_it = || {
            let words = path_words(&ranked.path);
            asked.named.iter().all(|word| words.contains(word))
        };
        let in_its_file = if !asked.named.is_empty() && called_like_it() { IN_ITS_FILE } else { 1.0 };
        weight * ranked.defines * in_its_file * if is_constructor(ranked) { CONSTRUCTOR } else { 1.0 }
    };
    candidates.iter().map(gain).collect()
}

/// The text holds what was asked for word for word; more so where nothing but this file's kind holds it.
fn verbatim(candidates: &[Ranked], _: &Asked) -> Vec<f64> {
    candidates.iter().map(|ranked| VERBATIM * ranked.literal.strength + ALONE * ranked.literal.alone).collect()
}

/// Named like its class, which is what a question for that name is about.
fn is_constructor(ranked: &Ranked) -> bool {
    let separates = ['.', ':', '#', '\\'];
    let symbol = ranked.symbol.to_lowercase();
    let mut names = symbol.rsplit(separates).filter(|name| !name.is_empty());
    ranked.callable
        && !symbol.ends_with(separates)
        && matches!((names.next(), names.next()), (Some(own), Some(around)) if own == around)
}

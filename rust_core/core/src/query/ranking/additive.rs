//! Additive rules: what each candidate gains.

use super::{Candidate, RankingContext};
use crate::query::matching::{PathMatch, name_stems};

type Rule = fn(&[Candidate], &RankingContext) -> Vec<f64>;

/// The rules with their names.
pub const ADDITIVE: [(&str, Rule); 9] = [
    ("words", words),
    ("meaning", meaning),
    ("coverage", coverage),
    ("whole_file", whole_file),
    ("path_match", path_match),
    ("in_scope", in_scope),
    ("substance", substance),
    ("name_match", name_match),
    ("verbatim", verbatim),
];

/// BM25F: what the chunk's words hold of the question.
fn words(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates.iter().map(|candidate| context.weights.words * candidate.lexical).collect()
}

/// Cosine of the vectors.
fn meaning(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates.iter().map(|candidate| context.weights.meaning * candidate.dense.max(0.0)).collect()
}

/// Few words often are worth less than all words once.
fn coverage(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates.iter().map(|candidate| context.weights.coverage * candidate.covered * candidate.covered).collect()
}

/// The file as a whole speaks of it, even where this chunk alone says little.
fn whole_file(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let weights = &context.weights;
    let weight = if context.is_change { weights.whole_file_of_change } else { weights.whole_file };
    candidates.iter().map(|candidate| weight * candidate.file_share).collect()
}

/// The question's words in the file's name. Folders count by BM25F alone: as a rule of their own they gained nothing.
fn path_match(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let matches = context.paths.matches(candidates.iter().map(|candidate| candidate.path.as_str()));
    let weights = &context.weights;
    let factor = if context.is_change { weights.path_of_change } else { 1.0 };
    let gain = |found: PathMatch| {
        weights.path_exact * found.exact + weights.path_prefix * found.prefix + weights.path_covered * found.covered
    };
    matches.into_iter().map(|found| factor * gain(found)).collect()
}

/// A folder or file is called like the part of the project that a change is headed with: `fix(parser): …`.
fn in_scope(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let gain = |candidate: &Candidate| {
        let (folders, name) = candidate.path.rsplit_once('/').unwrap_or(("", &candidate.path));
        let mut places = folders.split('/').chain(name.split('.').take(1));
        if places.any(|place| is_called(place, &context.scope)) { context.weights.in_scope } else { 0.0 }
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
fn substance(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let share = |count: u32, of: f64| (f64::from(count).ln_1p() / of).min(1.0);
    let lines = |candidate: &Candidate| candidate.end_line.saturating_sub(candidate.start_line).saturating_add(1);
    candidates
        .iter()
        .map(|candidate| {
            context.weights.file_length * share(candidate.file_words, 10.0)
                + context.weights.chunk_lines * share(lines(candidate), 4.0)
        })
        .collect()
}

/// The chunk defines a symbol that the question names.
fn name_match(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let weights = &context.weights;
    let of_one = weights.defines_named / context.symbol_count.max(1) as f64;
    let weight = |documents: bool| if context.is_symbol || documents { weights.defines_symbol } else { of_one };
    let documenting = context.documenting(candidates);
    candidates.iter().zip(documenting).map(|(candidate, documents)| weight(documents) * candidate.defines).collect()
}

/// The text holds what was asked for word for word; more so where nothing but this file's kind holds it.
fn verbatim(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    candidates
        .iter()
        .map(|candidate| {
            context.weights.verbatim * candidate.verbatim_evidence.strength
                + context.weights.unrivalled * candidate.verbatim_evidence.unrivalled
        })
        .collect()
}

//! Multiplicative rules: what each candidate's score is multiplied by.

use std::collections::HashMap;

use super::kinds::PathKind;
use super::{Candidate, EditorContext, RankingContext, Weights};

type Rule = fn(&[Candidate], &RankingContext, &EditorContext) -> Vec<f64>;

/// The rules with their names.
pub const MULTIPLICATIVE: [(&str, Rule); 4] =
    [("path_penalty", path_penalty), ("in_view", open_files), ("nearby", nearby), ("tied", related_files)];

fn penalty(kind: PathKind, weights: &Weights) -> f64 {
    match kind {
        PathKind::Test | PathKind::Example => weights.test,
        PathKind::Changes => 1.0,
        _ => weights.secondary,
    }
}

/// What each candidate's path says: tests, examples, prose, data and the like step back, unless the question asks for them. So do
/// files whose text says that a program wrote them, or that it is for people. Where several hold, the strongest counts: a page in a
/// folder of documents is no less likely than another page.
pub(super) fn path_priors(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let mut known: HashMap<(&str, bool), f64> = HashMap::new();
    let prior = |candidate: &Candidate| {
        // A file that hands on what others hold may hold code of its own.
        let is_none = |kind: &PathKind| *kind == PathKind::ReExport && candidate.callable;
        // A part of a name asks for nothing: `TEST_NAME` may be a setting. `README` does.
        let asks = !context.is_symbol || context.words.len() == 1;
        let asked_for = |kind: &PathKind| {
            (asks && kind.asked_by().iter().any(|&word| context.words.contains(word)))
                || (context.wants_documents && matches!(kind, PathKind::Example | PathKind::Prose))
        };
        let kinds = candidate.kinds().into_iter().filter(|kind| !is_none(kind) && !asked_for(kind));
        kinds.map(|kind| penalty(kind, &context.weights)).fold(1.0, f64::min)
    };
    candidates
        .iter()
        .map(|candidate| *known.entry((candidate.path.as_str(), candidate.callable)).or_insert_with(|| prior(candidate)))
        .collect()
}

/// The prior of the path, as far as no evidence outweighs it: what only such a file defines or holds word for word is what was asked
/// for. A change is described in words that its test repeats.
fn path_penalty(candidates: &[Candidate], context: &RankingContext, _: &EditorContext) -> Vec<f64> {
    let is_elsewhere = context.is_defined(candidates);
    let evidence = |candidate: &Candidate, documents: bool| {
        let is_meant = !context.is_change && candidate.defines >= 1.0 && !is_elsewhere;
        if is_meant || documents { 1.0 } else { candidate.verbatim_evidence.unrivalled }
    };
    candidates
        .iter()
        .zip(context.documenting(candidates))
        .map(|(candidate, documents)| candidate.prior.powf(1.0 - evidence(candidate, documents)))
        .collect()
}

/// Files that the person has open are likelier to be meant.
fn open_files(candidates: &[Candidate], context: &RankingContext, editor: &EditorContext) -> Vec<f64> {
    let factor = |candidate: &Candidate| match editor.active_path.as_ref() {
        Some(active) if *active == candidate.path => context.weights.in_front,
        _ if editor.open_paths.contains(&candidate.path) => context.weights.open,
        _ => 1.0,
    };
    candidates.iter().map(factor).collect()
}

/// What lies in the folder of the active file, or close to it, is likelier to be meant than what lies far from it.
fn nearby(candidates: &[Candidate], context: &RankingContext, editor: &EditorContext) -> Vec<f64> {
    let Some(active) = &editor.active_path else { return vec![1.0; candidates.len()] };
    candidates.iter().map(|candidate| 1.0 + context.weights.nearby * nearness(&candidate.path, active)).collect()
}

/// How much of their way from the root two files share: 1 in one folder, towards 0 the farther apart they lie.
fn nearness(path: &str, other: &str) -> f64 {
    let folders = |path: &str| path.bytes().filter(|&byte| byte == b'/').count();
    let (one, two) = (folders(path), folders(other));
    let shared = path.split('/').take(one).zip(other.split('/').take(two)).take_while(|(a, b)| a == b).count();
    (2 * shared + 1) as f64 / (one + two + 1) as f64
}

/// What the active file uses, and what uses the active file, is likelier to be meant than what has nothing to do with it.
fn related_files(candidates: &[Candidate], context: &RankingContext, _: &EditorContext) -> Vec<f64> {
    candidates.iter().map(|candidate| 1.0 + context.weights.related * candidate.relatedness).collect()
}

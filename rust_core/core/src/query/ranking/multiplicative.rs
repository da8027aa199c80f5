//! Multiplicative rules: what each candidate's score is multiplied by.

use std::collections::HashMap;

use super::kinds::{PathKind, path_kinds};
use super::{Candidate, EditorContext, RankingContext};

// Fitted weights.
const IN_FRONT: f64 = 1.15;
const OPEN: f64 = 1.05;
const NEARBY: f64 = 0.2;
const RELATED: f64 = 0.3;

type Rule = fn(&[Candidate], &RankingContext, &EditorContext) -> Vec<f64>;

/// The rules with their names.
pub const MULTIPLICATIVE: [(&str, Rule); 4] =
    [("path_penalty", path_penalty), ("in_view", open_files), ("nearby", nearby), ("tied", related_files)];

fn penalty(kind: PathKind) -> f64 {
    match kind {
        PathKind::Test => 0.2,
        PathKind::Example => 0.3,
        PathKind::Compatibility => 0.8,
        PathKind::ReExport | PathKind::Generated | PathKind::Prose => 0.5,
        PathKind::Changes => 1.0,
        PathKind::Declaration => 0.7,
        PathKind::Data => 0.6,
    }
}

/// What each candidate's path says: tests, examples, prose, data and the like step back, unless the question asks for them. So do
/// files that say themselves that a program wrote them.
pub(super) fn path_priors(candidates: &[Candidate], context: &RankingContext) -> Vec<f64> {
    let mut known: HashMap<(&str, bool), f64> = HashMap::new();
    let prior = |path: &str, defines: bool, generated: bool| {
        // A file that hands on what others hold may hold code of its own.
        let is_none = |kind: &PathKind| *kind == PathKind::ReExport && defines;
        // A part of a name asks for nothing: `TEST_NAME` may be a setting. `README` does.
        let asks = !context.is_symbol || context.words.len() == 1;
        let asked_for = |kind: &PathKind| {
            (asks && kind.asked_by().iter().any(|&word| context.words.contains(word)))
                || (context.wants_documents && matches!(kind, PathKind::Example | PathKind::Prose))
        };
        let mut kinds = path_kinds(path);
        if generated && !kinds.contains(&PathKind::Generated) {
            kinds.push(PathKind::Generated);
        }
        kinds.into_iter().filter(|kind| !is_none(kind) && !asked_for(kind)).map(penalty).product()
    };
    candidates
        .iter()
        .map(|candidate| {
            *known
                .entry((candidate.path.as_str(), candidate.callable))
                .or_insert_with(|| prior(&candidate.path, candidate.callable, candidate.generated))
        })
        .collect()
}

/// The prior of the path, as far as no evidence outweighs it: what only such a file holds word for word is what was asked for.
fn path_penalty(candidates: &[Candidate], _: &RankingContext, _: &EditorContext) -> Vec<f64> {
    candidates.iter().map(|candidate| candidate.prior.powf(1.0 - candidate.verbatim_evidence.unrivalled)).collect()
}

/// Files that the person has open are likelier to be meant.
fn open_files(candidates: &[Candidate], _: &RankingContext, editor: &EditorContext) -> Vec<f64> {
    let factor = |candidate: &Candidate| match editor.active_path.as_ref() {
        Some(active) if *active == candidate.path => IN_FRONT,
        _ if editor.open_paths.contains(&candidate.path) => OPEN,
        _ => 1.0,
    };
    candidates.iter().map(factor).collect()
}

/// What lies in the folder of the active file, or close to it, is likelier to be meant than what lies far from it.
fn nearby(candidates: &[Candidate], _: &RankingContext, editor: &EditorContext) -> Vec<f64> {
    let Some(active) = &editor.active_path else { return vec![1.0; candidates.len()] };
    candidates.iter().map(|candidate| 1.0 + NEARBY * nearness(&candidate.path, active)).collect()
}

/// How much of their way from the root two files share: 1 in one folder, towards 0 the farther apart they lie.
fn nearness(path: &str, other: &str) -> f64 {
    let folders = |path: &str| path.bytes().filter(|&byte| byte == b'/').count();
    let (one, two) = (folders(path), folders(other));
    let shared = path.split('/').take(one).zip(other.split('/').take(two)).take_while(|(a, b)| a == b).count();
    (2 * shared + 1) as f64 / (one + two + 1) as f64
}

/// What the active file uses, and what uses the active file, is likelier to be meant than what has nothing to do with it.
fn related_files(candidates: &[Candidate], _: &RankingContext, _: &EditorContext) -> Vec<f64> {
    candidates.iter().map(|candidate| 1.0 + RELATED * candidate.relatedness).collect()
}

//! Listwise rules: each looks at all candidates.

use std::collections::HashMap;

use super::{Candidate, EditorContext, RankingContext, order};

type Rule = fn(&mut [Candidate], &RankingContext, &EditorContext);

/// The rules with their names, in their order.
pub const LISTWISE: [(&str, Rule); 3] = [("coherence", coherence), ("spread", spread), ("pinned", pinned)];

fn top(candidates: &[Candidate]) -> Option<f64> {
    candidates.iter().map(|candidate| candidate.score).max_by(f64::total_cmp)
}

/// Lift the best chunk of a file that has many candidates: the file is about the question.
fn coherence(candidates: &mut [Candidate], context: &RankingContext, _: &EditorContext) {
    let Some(top) = top(candidates) else { return };
    // For each file, what its chunks score together and the best of them.
    let mut files: HashMap<&str, (f64, usize)> = HashMap::new();
    // Best first: sums of floats and the best of equals must not depend on the order in which searches found them.
    for i in order(candidates) {
        let (sum, _) = files.entry(&candidates[i].path).or_insert((0.0, i));
        *sum += candidates[i].score.max(0.0);
    }
    let largest = files.values().map(|(sum, _)| *sum).fold(0.0, f64::max);
    if largest <= 0.0 {
        return;
    }
    let best: Vec<(f64, usize)> = files.into_values().collect();
    for (sum, i) in best {
        lift(&mut candidates[i], "coherence", context.weights.coherence * top * sum / largest);
    }
}

/// Each further chunk of one file counts a part of the one before: ten places beat ten pieces of one.
fn spread(candidates: &mut [Candidate], context: &RankingContext, _: &EditorContext) {
    let mut seen: HashMap<&str, i32> = HashMap::new();
    let mut before = vec![0; candidates.len()];
    for i in order(candidates) {
        let of_file = seen.entry(&candidates[i].path).or_default();
        before[i] = *of_file;
        *of_file += 1;
    }
    for (candidate, before) in candidates.iter_mut().zip(before) {
        candidate.score *= context.weights.file_decay.powi(before);
    }
}

/// Put the best chunk of each file that the person pinned before everything else.
fn pinned(candidates: &mut [Candidate], _: &RankingContext, editor: &EditorContext) {
    let Some(top) = top(candidates).filter(|_| !editor.pinned.is_empty()) else { return };
    let mut left = editor.pinned.clone();
    for i in order(candidates) {
        if left.remove(&candidates[i].path) {
            lift(&mut candidates[i], "pinned", top);
        }
    }
}

fn lift(candidate: &mut Candidate, rule: &'static str, by: f64) {
    candidate.score += by;
    candidate.lifts.push((rule, by));
}

//! Rules that scale: what each candidate's score is multiplied by.

use std::collections::HashMap;

use super::kinds::{PathKind, path_kinds};
use super::{Asked, Ranked, Scene};

// Fitted weights.
const IN_FRONT: f64 = 1.15;
const OPEN: f64 = 1.05;
const NEARBY: f64 = 0.2;
const TIED: f64 = 0.3;

type Rule = fn(&[Ranked], &Asked, &Scene) -> Vec<f64>;

/// The rules with their names.
pub const SCALING: [(&str, Rule); 4] = [("aside", aside), ("in_view", in_view), ("nearby", nearby), ("tied", tied)];

fn penalty(kind: PathKind) -> f64 {
    match kind {
        PathKind::Test => 0.2,
        PathKind::Example => 0.3,
        PathKind::Compatibility => 0.8,
        PathKind::ReExport | PathKind::Generated | PathKind::Prose => 0.5,
        PathKind::Declaration => 0.7,
        PathKind::Data => 0.6,
    }
}

/// Tests, examples, prose, data and the like step back, unless the question asks for them.
fn aside(candidates: &[Ranked], asked: &Asked, _: &Scene) -> Vec<f64> {
    let mut known: HashMap<&str, f64> = HashMap::new();
    let factor = |path: &str| {
        let steps_back = |kind: &PathKind| !kind.asked_by().iter().any(|&word| asked.plain.contains(word));
        path_kinds(path).into_iter().filter(steps_back).map(penalty).product()
    };
    candidates.iter().map(|ranked| *known.entry(&ranked.path).or_insert_with(|| factor(&ranked.path))).collect()
}

/// Files that the person has open are likelier to be meant.
fn in_view(candidates: &[Ranked], _: &Asked, scene: &Scene) -> Vec<f64> {
    let factor = |ranked: &Ranked| match scene.active_path.as_ref() {
        Some(active) if *active == ranked.path => IN_FRONT,
        _ if scene.open_paths.contains(&ranked.path) => OPEN,
        _ => 1.0,
    };
    candidates.iter().map(factor).collect()
}

/// What lies in the folder of the active file, or close to it, is likelier to be meant than what lies far from it.
fn nearby(candidates: &[Ranked], _: &Asked, scene: &Scene) -> Vec<f64> {
    let Some(active) = &scene.active_path else { return vec![1.0; candidates.len()] };
    candidates.iter().map(|ranked| 1.0 + NEARBY * nearness(&ranked.path, active)).collect()
}

/// How much of their way from the root two files share: 1 in one folder, towards 0 the farther apart they lie.
fn nearness(path: &str, other: &str) -> f64 {
    let folders = |path: &str| path.bytes().filter(|&byte| byte == b'/').count();
    let (one, two) = (folders(path), folders(other));
    let shared = path.split('/').take(one).zip(other.split('/').take(two)).take_while(|(a, b)| a == b).count();
    (2 * shared + 1) as f64 / (one + two + 1) as f64
}

/// What the active file uses, and what uses the active file, is likelier to be meant than what has nothing to do with it.
fn tied(candidates: &[Ranked], _: &Asked, _: &Scene) -> Vec<f64> {
    candidates.iter().map(|ranked| 1.0 + TIED * ranked.tied).collect()
}

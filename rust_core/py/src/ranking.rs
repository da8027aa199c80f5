//! Candidates, and the rules that order them.

use std::collections::HashSet;
use std::mem::take;

use carrel_core::ranking::{
    ADDING, Asked, PathKind, Ranked, SCALING, Scene, TOGETHER, path_kinds as core_path_kinds, rank as core_rank,
    score as core_score,
};
use pyo3::prelude::*;

/// See `_core.pyi`.
#[pyclass(name = "Ranked", module = "carrel._core")]
pub struct PyRanked(pub Ranked);

#[pymethods]
impl PyRanked {
    #[new]
    #[pyo3(signature = (doc, path, start_line=1, end_line=1, *, symbol=String::new(), callable=false, dense=0.0, dense_rank=None, lexical=0.0, lexical_rank=None, matched=Vec::new(), covered=0.0, file_share=0.0, file_words=0, defines=0.0, verbatim=0.0, verbatim_words=0, verbatim_name=false, tied=0.0))]
    #[allow(clippy::too_many_arguments)] // all signals
    fn new(
        doc: u64,
        path: String,
        start_line: u32,
        end_line: u32,
        symbol: String,
        callable: bool,
        dense: f64,
        dense_rank: Option<u32>,
        lexical: f64,
        lexical_rank: Option<u32>,
        matched: Vec<String>,
        covered: f64,
        file_share: f64,
        file_words: u32,
        defines: f64,
        verbatim: f64,
        verbatim_words: u32,
        verbatim_name: bool,
        tied: f64,
    ) -> Self {
        Self(Ranked {
            doc,
            path,
            callable,
            symbol,
            start_line,
            end_line,
            dense,
            dense_rank,
            lexical,
            lexical_rank,
            matched,
            covered,
            file_share,
            file_words,
            defines,
            verbatim,
            verbatim_words,
            verbatim_name,
            tied,
            ..Ranked::default()
        })
    }

    #[getter]
    fn doc(&self) -> u64 {
        self.0.doc
    }

    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn symbol(&self) -> &str {
        &self.0.symbol
    }

    #[getter]
    fn start_line(&self) -> u32 {
        self.0.start_line
    }

    #[getter]
    fn end_line(&self) -> u32 {
        self.0.end_line
    }

    #[getter]
    fn dense(&self) -> f64 {
        self.0.dense
    }

    #[getter]
    fn dense_rank(&self) -> Option<u32> {
        self.0.dense_rank
    }

    #[setter]
    fn set_dense_rank(&mut self, rank: Option<u32>) {
        self.0.dense_rank = rank;
    }

    #[getter]
    fn lexical(&self) -> f64 {
        self.0.lexical
    }

    #[getter]
    fn lexical_rank(&self) -> Option<u32> {
        self.0.lexical_rank
    }

    #[setter]
    fn set_lexical_rank(&mut self, rank: Option<u32>) {
        self.0.lexical_rank = rank;
    }

    #[getter]
    fn matched(&self) -> Vec<String> {
        self.0.matched.clone()
    }

    #[getter]
    fn covered(&self) -> f64 {
        self.0.covered
    }

    #[getter]
    fn file_share(&self) -> f64 {
        self.0.file_share
    }

    #[getter]
    fn file_words(&self) -> u32 {
        self.0.file_words
    }

    #[getter]
    fn defines(&self) -> f64 {
        self.0.defines
    }

    #[setter]
    fn set_defines(&mut self, defines: f64) {
        self.0.defines = defines;
    }

    #[getter]
    fn verbatim(&self) -> f64 {
        self.0.verbatim
    }

    #[getter]
    fn verbatim_words(&self) -> u32 {
        self.0.verbatim_words
    }

    #[getter]
    fn literal(&self) -> f64 {
        self.0.literal.strength
    }

    #[getter]
    fn tied(&self) -> f64 {
        self.0.tied
    }

    #[setter]
    fn set_tied(&mut self, tied: f64) {
        self.0.tied = tied;
    }

    #[getter]
    fn fused(&self) -> f64 {
        self.0.fused
    }

    #[getter]
    fn score(&self) -> f64 {
        self.0.score
    }

    #[getter]
    fn boosts(&self) -> Vec<(&'static str, f64)> {
        let all = self.added().into_iter().chain(self.scaled()).chain(self.0.lifts.iter().copied());
        all.map(|(rule, value)| (rule, (value * 1e4).round() / 1e4)).collect()
    }

    #[getter]
    fn added(&self) -> Vec<(&'static str, f64)> {
        ADDING.iter().zip(self.0.gains).map(|(&(name, _), gain)| (name, gain)).filter(|(_, gain)| *gain != 0.0).collect()
    }

    #[getter]
    fn scaled(&self) -> Vec<(&'static str, f64)> {
        // 1 is what a rule gives that has nothing to say.
        #[allow(clippy::float_cmp)]
        SCALING
            .iter()
            .zip(self.0.factors)
            .map(|(&(name, _), factor)| (name, factor))
            .filter(|(_, factor)| *factor != 1.0)
            .collect()
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Asked", frozen, module = "carrel._core")]
pub struct PyAsked(Asked);

#[pymethods]
impl PyAsked {
    #[new]
    #[pyo3(signature = (rarities, text, *, names=Vec::new(), scope=Vec::new(), plain=HashSet::new(), is_symbol=false, is_change=false))]
    fn new(
        rarities: Vec<(String, f64)>,
        text: &str,
        names: Vec<String>,
        scope: Vec<String>,
        plain: HashSet<String>,
        is_symbol: bool,
        is_change: bool,
    ) -> Self {
        Self(Asked::new(rarities, text, &names, scope, plain, is_symbol, is_change))
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Scene", frozen, module = "carrel._core")]
pub struct PyScene(Scene);

#[pymethods]
impl PyScene {
    #[new]
    #[pyo3(signature = (active_path=None, open_paths=HashSet::new(), pinned=HashSet::new()))]
    fn new(active_path: Option<String>, open_paths: HashSet<String>, pinned: HashSet<String>) -> Self {
        Self(Scene { active_path, open_paths, pinned })
    }
}

/// Lend what the objects hold, each once, to `work`, which says in what order they come back.
fn lend(mut candidates: Vec<Bound<'_, PyRanked>>, work: impl FnOnce(&mut [Ranked]) -> Vec<usize>) -> Vec<Bound<'_, PyRanked>> {
    let mut seen = HashSet::new();
    candidates.retain(|ranked| seen.insert(ranked.as_ptr()));
    let mut held: Vec<Ranked> = candidates.iter().map(|ranked| take(&mut ranked.borrow_mut().0)).collect();
    let order = work(&mut held);
    for (ranked, held) in candidates.iter().zip(held) {
        ranked.borrow_mut().0 = held;
    }
    order.into_iter().map(|i| candidates[i].clone()).collect()
}

/// See `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (candidates, asked, scene, *, without=HashSet::new()))]
pub fn rank<'py>(
    candidates: Vec<Bound<'py, PyRanked>>,
    asked: &PyAsked,
    scene: &PyScene,
    without: HashSet<String>,
) -> Vec<Bound<'py, PyRanked>> {
    lend(candidates, |held| core_rank(held, &asked.0, &scene.0, &without))
}

/// See `_core.pyi`.
#[pyfunction]
pub fn score(candidates: Vec<Bound<'_, PyRanked>>, asked: &PyAsked, scene: &PyScene) {
    lend(candidates, |held| {
        core_score(held, &asked.0, &scene.0, &HashSet::new());
        Vec::new()
    });
}

/// See `_core.pyi`.
#[pyfunction]
pub fn ranking_rules() -> Vec<&'static str> {
    let (adding, scaling) = (ADDING.iter().map(|(name, _)| *name), SCALING.iter().map(|(name, _)| *name));
    adding.chain(scaling).chain(TOGETHER.iter().map(|(name, _)| *name)).collect()
}

/// See `_core.pyi`.
#[pyfunction]
pub fn path_kinds(path: &str) -> Vec<&'static str> {
    core_path_kinds(path).into_iter().map(PathKind::name).collect()
}

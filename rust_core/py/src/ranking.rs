//! Candidates, and the rules that order them.

use std::collections::HashSet;
use std::mem::take;

use carrel_core::query::ranking::{
    ADDITIVE, Candidate, EditorContext, LISTWISE, MULTIPLICATIVE, PathKind, RankingContext, path_kinds as core_path_kinds,
    rank as core_rank, score as core_score,
};
use pyo3::prelude::*;

/// See `_core.pyi`.
#[pyclass(name = "Ranked", module = "carrel._core")]
pub struct PyCandidate(pub Candidate);

#[pymethods]
impl PyCandidate {
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
        Self(Candidate {
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
            relatedness: tied,
            ..Candidate::default()
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
        self.0.verbatim_evidence.strength
    }

    #[getter]
    fn tied(&self) -> f64 {
        self.0.relatedness
    }

    #[setter]
    fn set_tied(&mut self, tied: f64) {
        self.0.relatedness = tied;
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
        ADDITIVE.iter().zip(self.0.gains).map(|(&(name, _), gain)| (name, gain)).filter(|(_, gain)| *gain != 0.0).collect()
    }

    #[getter]
    fn scaled(&self) -> Vec<(&'static str, f64)> {
        // 1 is what a rule gives that has nothing to say.
        #[allow(clippy::float_cmp)]
        MULTIPLICATIVE
            .iter()
            .zip(self.0.factors)
            .map(|(&(name, _), factor)| (name, factor))
            .filter(|(_, factor)| *factor != 1.0)
            .collect()
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Asked", frozen, module = "carrel._core")]
pub struct PyRankingContext(RankingContext);

#[pymethods]
impl PyRankingContext {
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
        Self(RankingContext::new(rarities, text, &names, scope, plain, is_symbol, is_change))
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Scene", frozen, module = "carrel._core")]
pub struct PyEditorContext(EditorContext);

#[pymethods]
impl PyEditorContext {
    #[new]
    #[pyo3(signature = (active_path=None, open_paths=HashSet::new(), pinned=HashSet::new()))]
    fn new(active_path: Option<String>, open_paths: HashSet<String>, pinned: HashSet<String>) -> Self {
        Self(EditorContext { active_path, open_paths, pinned })
    }
}

/// Lend what the objects hold, each once, to `work`, which says in what order they come back.
fn lend(
    mut candidates: Vec<Bound<'_, PyCandidate>>,
    work: impl FnOnce(&mut [Candidate]) -> Vec<usize>,
) -> Vec<Bound<'_, PyCandidate>> {
    let mut seen = HashSet::new();
    candidates.retain(|candidate| seen.insert(candidate.as_ptr()));
    let mut held: Vec<Candidate> = candidates.iter().map(|candidate| take(&mut candidate.borrow_mut().0)).collect();
    let order = work(&mut held);
    for (candidate, held) in candidates.iter().zip(held) {
        candidate.borrow_mut().0 = held;
    }
    order.into_iter().map(|i| candidates[i].clone()).collect()
}

/// See `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (candidates, asked, scene, *, without=HashSet::new()))]
pub fn rank<'py>(
    candidates: Vec<Bound<'py, PyCandidate>>,
    asked: &PyRankingContext,
    scene: &PyEditorContext,
    without: HashSet<String>,
) -> Vec<Bound<'py, PyCandidate>> {
    lend(candidates, |held| core_rank(held, &asked.0, &scene.0, &without))
}

/// See `_core.pyi`.
#[pyfunction]
pub fn score(candidates: Vec<Bound<'_, PyCandidate>>, asked: &PyRankingContext, scene: &PyEditorContext) {
    lend(candidates, |held| {
        core_score(held, &asked.0, &scene.0, &HashSet::new());
        Vec::new()
    });
}

/// See `_core.pyi`.
#[pyfunction]
pub fn ranking_rules() -> Vec<&'static str> {
    let (additive, multiplicative) = (ADDITIVE.iter().map(|(name, _)| *name), MULTIPLICATIVE.iter().map(|(name, _)| *name));
    additive.chain(multiplicative).chain(LISTWISE.iter().map(|(name, _)| *name)).collect()
}

/// See `_core.pyi`.
#[pyfunction]
pub fn path_kinds(path: &str) -> Vec<&'static str> {
    core_path_kinds(path).into_iter().map(PathKind::name).collect()
}

//! Candidates, and the rules that order them.

use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::sync::Arc;

use carrel_core::base::error::Error;
use carrel_core::query::ranking::{
    ADDITIVE, Candidate, EditorContext, MULTIPLICATIVE, PathKind, RankingContext, Signals, Weights,
    contributions as core_contributions, path_kinds as core_path_kinds, rank as core_rank, score as core_score,
};
use pyo3::prelude::*;

use crate::errors::to_python;
use crate::question::{PyParsedQuery, parse_id};

/// See `_core.pyi`.
#[pyclass(name = "Candidate", frozen, module = "carrel._core")]
pub struct PyCandidate(pub Candidate);

#[pymethods]
impl PyCandidate {
    #[new]
    #[pyo3(signature = (doc, path, start_line=1, end_line=1, *, id="", symbol=String::new(), callable=false, generated=false, prose=false, dense=0.0, dense_rank=None, lexical=0.0, lexical_rank=None, matched=Vec::new(), covered=0.0, file_share=0.0, file_words=0, defines=0.0, verbatim=0.0, verbatim_words=0, verbatim_name=false, rare_name=false, relatedness=0.0))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)] // all signals
    fn new(
        doc: u64,
        path: String,
        start_line: u32,
        end_line: u32,
        id: &str,
        symbol: String,
        callable: bool,
        generated: bool,
        prose: bool,
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
        rare_name: bool,
        relatedness: f64,
    ) -> PyResult<Self> {
        let id = if id.is_empty() { 0 } else { parse_id(id).map_err(|error| to_python(&error))? };
        Ok(Self(Candidate::from(Signals {
            doc,
            id,
            path,
            callable,
            generated,
            prose,
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
            rare_name,
            relatedness,
        })))
    }

    #[getter]
    fn doc(&self) -> u64 {
        self.0.doc
    }

    #[getter]
    fn callable(&self) -> bool {
        self.0.callable
    }

    #[getter]
    fn kinds(&self) -> Vec<&'static str> {
        self.0.kinds().into_iter().map(PathKind::name).collect()
    }

    #[getter]
    fn id(&self) -> String {
        format!("{:032x}", self.0.id)
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

    #[getter]
    fn lexical(&self) -> f64 {
        self.0.lexical
    }

    #[getter]
    fn lexical_rank(&self) -> Option<u32> {
        self.0.lexical_rank
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
    fn relatedness(&self) -> f64 {
        self.0.relatedness
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
    fn own_score(&self) -> f64 {
        self.0.own_score()
    }

    #[getter]
    #[allow(clippy::float_cmp)] // 0 and 1 are what rules give that have nothing to say
    fn boosts(&self) -> Vec<(&'static str, f64)> {
        let added = ADDITIVE.iter().zip(self.0.gains).map(|(&(rule, _), gain)| (rule, gain)).filter(|(_, gain)| *gain != 0.0);
        let scaled = MULTIPLICATIVE.iter().zip(self.0.factors).map(|(&(rule, _), factor)| (rule, factor));
        let all = added.chain(scaled.filter(|(_, factor)| *factor != 1.0)).chain(self.0.lifts.iter().copied());
        all.map(|(rule, value)| (rule, (value * 1e4).round() / 1e4)).collect()
    }
}

/// See `_core.pyi`.
#[pyclass(name = "RankingContext", frozen, module = "carrel._core")]
pub struct PyRankingContext(RankingContext);

#[pymethods]
impl PyRankingContext {
    #[new]
    #[pyo3(signature = (query, rarities, *, wants_documents=false, weights=HashMap::new(), everywhere=Vec::new()))]
    fn new(
        query: &PyParsedQuery,
        rarities: Vec<f32>,
        wants_documents: bool,
        weights: HashMap<String, f64>,
        everywhere: Vec<Py<PyCandidate>>,
    ) -> PyResult<Self> {
        let mut all = Weights::default();
        if let Some(name) = weights.iter().find_map(|(name, value)| (!all.set(name, *value)).then_some(name)) {
            return Err(to_python(&Error::invalid("weights", format!("{name:?} is no weight: see `ranking_weights`"))));
        }
        let context = RankingContext::new(&query.0, &rarities).for_documents(wants_documents);
        Ok(Self(context.with_weights(all).comparing_with(distinct(&everywhere))))
    }
}

/// See `_core.pyi`.
#[pyclass(name = "EditorContext", frozen, module = "carrel._core")]
pub struct PyEditorContext(EditorContext);

#[pymethods]
impl PyEditorContext {
    #[new]
    #[pyo3(signature = (active_path=None, open_paths=HashSet::new(), pinned=HashSet::new()))]
    fn new(active_path: Option<String>, open_paths: HashSet<String>, pinned: HashSet<String>) -> Self {
        Self(EditorContext { active_path, open_paths, pinned })
    }
}

/// Each candidate once, whatever became of it before.
fn distinct(candidates: &[Py<PyCandidate>]) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    candidates.iter().map(|one| &one.get().0).filter(|one| seen.insert(Arc::as_ptr(&one.signals))).cloned().collect()
}

/// See `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (candidates, context, editor, *, without=HashSet::new()))]
pub fn rank(
    py: Python<'_>,
    candidates: Vec<Py<PyCandidate>>,
    context: &PyRankingContext,
    editor: &PyEditorContext,
    without: HashSet<String>,
) -> Vec<PyCandidate> {
    py.detach(|| {
        let mut ranked = distinct(&candidates);
        let order = core_rank(&mut ranked, &context.0, &editor.0, &without);
        order.into_iter().map(|place| PyCandidate(take(&mut ranked[place]))).collect()
    })
}

/// See `_core.pyi`.
#[pyfunction]
pub fn score(
    py: Python<'_>,
    candidates: Vec<Py<PyCandidate>>,
    context: &PyRankingContext,
    editor: &PyEditorContext,
) -> Vec<PyCandidate> {
    py.detach(|| {
        let mut scored = distinct(&candidates);
        core_score(&mut scored, &context.0, &editor.0, &HashSet::new());
        scored.into_iter().map(PyCandidate).collect()
    })
}

/// See `_core.pyi`.
#[pyfunction]
pub fn contributions(candidate: &PyCandidate, relevance: f64) -> Vec<(&'static str, f64)> {
    core_contributions(&candidate.0, relevance)
}

/// See `_core.pyi`.
#[pyfunction]
pub fn ranking_weights() -> HashMap<&'static str, f64> {
    Weights::default().named().into_iter().collect()
}

/// See `_core.pyi`.
#[pyfunction]
pub fn path_kinds(path: &str) -> Vec<&'static str> {
    core_path_kinds(path).into_iter().map(PathKind::name).collect()
}

//! The read side: an immutable view of one generation.

use std::collections::BTreeMap;
use std::sync::Arc;

use carrel_core::query::parsed_query::ParsedQuery;
use carrel_core::query::ranking::Candidate;
use carrel_core::query::searcher::SearchOptions;
use carrel_core::workspace::snapshot::{LineRange, Read, ReadFiles, SearchResult, Snapshot};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::gil::detached;
use crate::options::{PyCancelToken, PyFilter, to_bytes, to_floats};
use crate::question::{PyParsedQuery, parse_ids};
use crate::ranking::PyCandidate;
use crate::results::{PyChunkInfo, PyCurrentChunk, PyScoredDoc};

/// See `_core.pyi`.
#[pyclass(name = "ReadFiles", frozen, module = "carrel._core")]
#[derive(Default)]
pub struct PyReadFiles(ReadFiles);

#[pymethods]
impl PyReadFiles {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn reads(&self) -> usize {
        self.0.reads()
    }
}

/// A file's path, chunks, weight, and names with their users.
type FileOutlineRow = (String, u32, f32, Vec<(String, u32)>);

/// See `_core.pyi`.
#[pyclass(name = "Snapshot", frozen, module = "carrel._core")]
pub struct PySnapshot(pub Arc<Snapshot>);

#[pymethods]
impl PySnapshot {
    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    #[getter]
    fn files(&self) -> usize {
        self.0.files()
    }

    #[getter]
    fn chunks(&self) -> usize {
        self.0.chunks()
    }

    #[getter]
    fn chunks_without_vectors(&self) -> usize {
        self.0.chunks_without_vectors()
    }

    fn languages(&self, py: Python<'_>) -> BTreeMap<&'static str, usize> {
        py.detach(|| self.0.languages())
    }

    #[pyo3(signature = (vector, k, floor, filter, cancel))]
    fn dense(
        &self,
        py: Python<'_>,
        vector: &[u8],
        k: usize,
        floor: f32,
        filter: Option<&PyFilter>,
        cancel: &PyCancelToken,
    ) -> PyResult<Vec<PyScoredDoc>> {
        let vector = to_floats(vector);
        detached(py, || self.0.dense(&vector, k, floor, filter.map(|f| &f.0), &cancel.0))
            .map(|found| found.into_iter().map(PyScoredDoc).collect())
    }

    #[pyo3(signature = (queries, *, pool, floor, filter, pinned, active_path, cancel, files = None))]
    #[allow(clippy::too_many_arguments)] // keywords, all but one
    fn find(
        &self,
        py: Python<'_>,
        queries: Vec<Py<PyParsedQuery>>,
        pool: usize,
        floor: f32,
        filter: Option<&PyFilter>,
        pinned: Option<(PyRef<'_, PyFilter>, usize)>,
        active_path: Option<&str>,
        cancel: &PyCancelToken,
        files: Option<&PyReadFiles>,
    ) -> PyResult<Vec<(Vec<PyCandidate>, Vec<f32>)>> {
        let pinned = pinned.as_ref().map(|(filter, most)| (&filter.0, *most));
        let options = SearchOptions { pool, floor, filter: filter.map(|f| &f.0), pinned, active_path };
        let queries: Vec<&ParsedQuery> = queries.iter().map(|query| &query.get().0).collect();
        let own = PyReadFiles::default();
        let files = files.unwrap_or(&own);
        let found = detached(py, || self.0.find_each(&queries, &options, &files.0, &cancel.0))?;
        let hand_out = |one: SearchResult| (one.candidates.into_iter().map(PyCandidate).collect(), one.rarities);
        Ok(found.into_iter().map(hand_out).collect())
    }

    fn evidence(&self, py: Python<'_>, query: &PyParsedQuery, docs: Vec<u64>) -> Vec<PyCandidate> {
        let found = py.detach(|| self.0.evidence(&query.0, &docs));
        found.into_iter().map(|signals| PyCandidate(Candidate::from(signals))).collect()
    }

    fn exact_definitions(&self, py: Python<'_>, names: Vec<String>, k: usize) -> Vec<Vec<(u64, &str)>> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        py.detach(|| self.0.exact_definitions(&names, k))
    }

    fn files_called(&self, py: Python<'_>, names: Vec<String>, filter: Option<&PyFilter>) -> Vec<String> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        py.detach(|| self.0.files_called(&names, filter.map(|one| &one.0)))
    }

    fn holding(&self, py: Python<'_>, word: &str) -> u64 {
        py.detach(|| self.0.holding(word))
    }

    fn near_names(&self, py: Python<'_>, name: &str, most: usize) -> Vec<String> {
        py.detach(|| self.0.near_names(name, most))
    }

    fn outline(&self, py: Python<'_>, files: usize, names: usize, filter: Option<&PyFilter>) -> Vec<FileOutlineRow> {
        let found = py.detach(|| self.0.outline(files, names, filter.map(|one| &one.0)));
        found.into_iter().map(|file| (file.path, file.chunks, file.weight, file.names)).collect()
    }

    fn resolve(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<Vec<Option<u64>>> {
        detached(py, || Ok(self.0.resolve(&parse_ids(&ids)?)))
    }

    fn describe(&self, py: Python<'_>, docs: Vec<u64>) -> Vec<PyChunkInfo> {
        py.detach(|| self.0.describe(&docs)).into_iter().map(PyChunkInfo).collect()
    }

    fn file_chunks(&self, py: Python<'_>, path: &str) -> Vec<PyChunkInfo> {
        py.detach(|| self.0.file_chunks(path)).into_iter().map(PyChunkInfo).collect()
    }

    fn last_line(&self, py: Python<'_>, path: &str) -> u32 {
        py.detach(|| self.0.last_line(path))
    }

    fn paths(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.paths())
    }

    fn secrets(&self, py: Python<'_>, path: &str) -> Vec<(String, u32, u32)> {
        let found = py.detach(|| self.0.secrets(path));
        found.into_iter().map(|secret| (secret.kind, secret.start_line, secret.end_line)).collect()
    }

    #[pyo3(signature = (path, start_line, end_line, *, files = None))]
    fn lines(&self, py: Python<'_>, path: &str, start_line: u32, end_line: u32, files: Option<&PyReadFiles>) -> Option<String> {
        let own = PyReadFiles::default();
        let files = files.unwrap_or(&own);
        py.detach(|| self.0.lines(path, start_line, end_line, &files.0))
    }

    fn text(&self, py: Python<'_>, path: &str) -> Option<String> {
        py.detach(|| self.0.text(path))
    }

    fn vector<'py>(&self, py: Python<'py>, doc: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &to_bytes(&self.0.vector(doc)))
    }

    fn read_current<'py>(&self, py: Python<'py>, docs: Vec<u64>, cancel: &PyCancelToken) -> PyResult<Vec<Bound<'py, PyAny>>> {
        hand_out(py, detached(py, || self.0.read_current(&docs, &cancel.0))?)
    }

    #[pyo3(signature = (docs, limit, left_out, cancel, *, files = None))]
    fn read_best<'py>(
        &self,
        py: Python<'py>,
        docs: Vec<u64>,
        limit: usize,
        left_out: Vec<(String, u32, u32)>,
        cancel: &PyCancelToken,
        files: Option<&PyReadFiles>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let left_out: Vec<LineRange> = left_out.into_iter().map(|(path, first, last)| LineRange { path, first, last }).collect();
        let own = PyReadFiles::default();
        let files = files.unwrap_or(&own);
        hand_out(py, detached(py, || self.0.read_best(&docs, limit, &left_out, &files.0, &cancel.0))?)
    }
}

/// Each chunk, or why it can't be given.
fn hand_out(py: Python<'_>, read: Vec<Read>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    read.into_iter()
        .map(|one| match one {
            Ok(current) => Ok(Bound::new(py, PyCurrentChunk::new(py, current)?)?.into_any()),
            Err(reason) => Ok(reason.into_pyobject(py)?.into_any()),
        })
        .collect()
}

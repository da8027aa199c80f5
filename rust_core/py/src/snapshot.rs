//! The read side: an immutable view of one generation.

use std::collections::BTreeMap;
use std::sync::Arc;

use carrel_core::query::results::ScoredDoc;
use carrel_core::workspace::snapshot::Snapshot;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::gil::detached;
use crate::options::{PyCancelToken, PyFilter, to_bytes, to_floats};
use crate::ranking::PyCandidate;
use crate::results::{PyChunkInfo, PyCurrentChunk, PyScoredDoc};

/// See `_core.pyi`.
#[pyclass(name = "Snapshot", frozen, module = "carrel._core")]
pub struct PySnapshot(pub Arc<Snapshot>);

fn candidates(found: Vec<ScoredDoc>) -> Vec<PyScoredDoc> {
    found.into_iter().map(PyScoredDoc).collect()
}

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
        detached(py, || self.0.dense(&vector, k, floor, filter.map(|f| &f.0), &cancel.0)).map(candidates)
    }

    #[pyo3(signature = (vector, query, k, floor, filter, cancel))]
    #[allow(clippy::too_many_arguments)] // one question
    fn search(
        &self,
        py: Python<'_>,
        vector: &[u8],
        query: &str,
        k: usize,
        floor: f32,
        filter: Option<&PyFilter>,
        cancel: &PyCancelToken,
    ) -> PyResult<(Vec<PyScoredDoc>, Vec<PyScoredDoc>)> {
        let vector = to_floats(vector);
        let (dense, lexical) = detached(py, || self.0.search(&vector, query, k, floor, filter.map(|f| &f.0), &cancel.0))?;
        Ok((candidates(dense), candidates(lexical)))
    }

    #[pyo3(signature = (query, k, filter, cancel))]
    fn holders(
        &self,
        py: Python<'_>,
        query: &str,
        k: usize,
        filter: Option<&PyFilter>,
        cancel: &PyCancelToken,
    ) -> PyResult<Vec<PyScoredDoc>> {
        detached(py, || self.0.covering_chunks(query, k, filter.map(|f| &f.0), &cancel.0)).map(candidates)
    }

    #[pyo3(signature = (names, k, filter))]
    fn definitions(&self, py: Python<'_>, names: Vec<String>, k: usize, filter: Option<&PyFilter>) -> PyResult<Vec<PyScoredDoc>> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        detached(py, || self.0.definitions(&names, k, filter.map(|f| &f.0))).map(candidates)
    }

    #[pyo3(signature = (query, vector, docs, quoted=""))]
    fn evidence(&self, py: Python<'_>, query: &str, vector: &[u8], docs: Vec<u64>, quoted: &str) -> Vec<PyCandidate> {
        let vector = to_floats(vector);
        let found = py.detach(|| {
            let mut found = self.0.evidence(query, &vector, &docs);
            if !quoted.is_empty() {
                self.0.find_quotes(query, quoted, &mut found);
            }
            found
        });
        found.into_iter().map(PyCandidate).collect()
    }

    fn rarities(&self, py: Python<'_>, words: Vec<String>) -> Vec<f32> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        py.detach(|| self.0.rarities(&words))
    }

    fn ties(&self, py: Python<'_>, path: &str, docs: Vec<u64>) -> Vec<f32> {
        py.detach(|| self.0.relatedness(path, &docs))
    }

    fn describe(&self, py: Python<'_>, docs: Vec<u64>) -> Vec<PyChunkInfo> {
        py.detach(|| self.0.describe(&docs)).into_iter().map(PyChunkInfo).collect()
    }

    fn file_chunks(&self, py: Python<'_>, path: &str) -> Vec<PyChunkInfo> {
        py.detach(|| self.0.file_chunks(path)).into_iter().map(PyChunkInfo).collect()
    }

    fn paths(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.paths())
    }

    fn secrets(&self, py: Python<'_>, path: &str) -> Vec<(String, u32, u32)> {
        let found = py.detach(|| self.0.secrets(path));
        found.into_iter().map(|secret| (secret.kind, secret.start_line, secret.end_line)).collect()
    }

    fn lines(&self, py: Python<'_>, path: &str, start_line: u32, end_line: u32) -> Option<String> {
        py.detach(|| self.0.lines(path, start_line, end_line))
    }

    fn text(&self, py: Python<'_>, path: &str) -> Option<String> {
        py.detach(|| self.0.text(path))
    }

    fn vector<'py>(&self, py: Python<'py>, doc: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &to_bytes(&self.0.vector(doc)))
    }

    fn fresh<'py>(&self, py: Python<'py>, docs: Vec<u64>, cancel: &PyCancelToken) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let checked = detached(py, || self.0.read_current(&docs, &cancel.0))?;
        checked
            .into_iter()
            .map(|one| match one {
                Ok(current) => Ok(Bound::new(py, PyCurrentChunk::new(py, current)?)?.into_any()),
                Err(reason) => Ok(reason.into_pyobject(py)?.into_any()),
            })
            .collect()
    }
}

//! The read side.

use std::collections::BTreeMap;
use std::sync::Arc;

use carrel_core::snapshot;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::chunks::{Candidate, ChunkInfo, FreshChunk};
use crate::gil::detached;
use crate::options::{CancelToken, Filter, to_bytes, to_floats};

/// An immutable view of one generation plus the unsaved buffers.
#[pyclass(frozen, module = "carrel._core")]
pub struct Snapshot(pub Arc<snapshot::Snapshot>);

/// A fresh chunk, or why there is none.
#[derive(IntoPyObject)]
enum FreshOrReason {
    Fresh(FreshChunk),
    Reason(String),
}

#[pymethods]
impl Snapshot {
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

    fn languages(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, usize>> {
        detached(py, || Ok(self.0.languages()))
    }

    fn dense(
        &self,
        py: Python<'_>,
        vector: &[u8],
        k: usize,
        floor: f32,
        filter: Option<&Filter>,
        cancel: &CancelToken,
    ) -> PyResult<Vec<Candidate>> {
        detached(py, || self.0.dense(&to_floats("vector", vector)?, k, floor, filter.map(|f| &f.0), &cancel.0)).map(candidates)
    }

    fn lexical(&self, py: Python<'_>, query: &str, k: usize, filter: Option<&Filter>, cancel: &CancelToken) -> PyResult<Vec<Candidate>> {
        detached(py, || self.0.lexical(query, k, filter.map(|f| &f.0), &cancel.0)).map(candidates)
    }

    #[allow(clippy::needless_pass_by_value)]
    fn definitions(&self, py: Python<'_>, names: Vec<String>, k: usize, filter: Option<&Filter>) -> PyResult<Vec<Candidate>> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        detached(py, || self.0.definitions(&names, k, filter.map(|f| &f.0))).map(candidates)
    }

    /// For each doc, the share of the question's weight that its whole file holds, 0..1.
    #[allow(clippy::needless_pass_by_value)]
    fn file_shares(&self, py: Python<'_>, query: &str, docs: Vec<u64>) -> PyResult<Vec<f32>> {
        detached(py, || Ok(self.0.file_shares(query, &docs)))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn describe(&self, py: Python<'_>, docs: Vec<u64>) -> PyResult<Vec<ChunkInfo>> {
        detached(py, || Ok(self.0.describe(&docs))).map(infos)
    }

    fn file_chunks(&self, py: Python<'_>, path: &str) -> PyResult<Vec<ChunkInfo>> {
        detached(py, || Ok(self.0.file_chunks(path))).map(infos)
    }

    fn paths(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || Ok(self.0.paths()))
    }

    /// These lines as they stand now; None where the file may not be read or is gone.
    fn lines(&self, py: Python<'_>, path: &str, start_line: u32, end_line: u32) -> PyResult<Option<String>> {
        detached(py, || Ok(self.0.lines(path, start_line, end_line)))
    }

    fn vector<'py>(&self, py: Python<'py>, doc: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &to_bytes(&self.0.vector(doc)))
    }

    /// The chunks as they stand now, in order; a string says why one can't be given.
    #[allow(clippy::needless_pass_by_value)]
    fn fresh(&self, py: Python<'_>, docs: Vec<u64>, cancel: &CancelToken) -> PyResult<Vec<FreshOrReason>> {
        let found = detached(py, || self.0.fresh(&docs, &cancel.0))?;
        let convert = |fresh: Result<_, String>| fresh.map_or_else(FreshOrReason::Reason, |f| FreshOrReason::Fresh(FreshChunk(f)));
        Ok(found.into_iter().map(convert).collect())
    }
}

fn candidates(found: Vec<snapshot::Candidate>) -> Vec<Candidate> {
    found.into_iter().map(Candidate).collect()
}

/// Chunks for Python.
pub fn infos(found: Vec<snapshot::ChunkInfo>) -> Vec<ChunkInfo> {
    found.into_iter().map(ChunkInfo).collect()
}

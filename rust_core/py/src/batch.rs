//! A run's values: what to do, what was cut, what was done.

use std::sync::Arc;

use carrel_core::store;
use pyo3::prelude::*;

use crate::gil::detached;
use crate::options::{CancelToken, Embedder, to_floats};

/// The difference between the workspace and the index.
#[pyclass(frozen, module = "carrel._core")]
pub struct Plan(pub store::Plan);

#[pymethods]
impl Plan {
    #[getter]
    fn added(&self) -> usize {
        self.0.added
    }

    #[getter]
    fn changed(&self) -> usize {
        self.0.changed
    }

    #[getter]
    fn removed(&self) -> usize {
        self.0.removed
    }

    #[getter]
    fn unchanged(&self) -> usize {
        self.0.unchanged
    }

    #[getter]
    fn skipped(&self) -> usize {
        self.0.skipped
    }

    /// Files that `cut` has not taken yet.
    #[getter]
    fn pending(&self) -> usize {
        self.0.pending()
    }

    #[getter]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Files that were read and cut, with the chunks that need a vector.
#[pyclass(frozen, module = "carrel._core")]
pub struct Batch(pub Arc<store::Batch>);

#[pymethods]
impl Batch {
    #[getter]
    fn files(&self) -> usize {
        self.0.files()
    }

    #[getter]
    fn added_chunks(&self) -> usize {
        self.0.added_chunks()
    }

    #[getter]
    fn kept_chunks(&self) -> usize {
        self.0.kept_chunks()
    }

    fn embed(&self, py: Python<'_>, embedder: &Embedder, cancel: &CancelToken) -> PyResult<()> {
        detached(py, || self.0.embed(&*embedder.0, &cancel.0))
    }

    /// What a remote model embeds for each added chunk.
    fn texts(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || Ok(self.0.texts()))
    }

    fn set_vectors(&self, py: Python<'_>, vectors: &[u8]) -> PyResult<()> {
        detached(py, || self.0.set_vectors(&to_floats("vectors", vectors)?))
    }

    /// Leave these files as they were; the next run tries them again.
    #[allow(clippy::needless_pass_by_value)]
    fn fail(&self, py: Python<'_>, paths: Vec<String>, reason: &str) -> PyResult<()> {
        detached(py, || self.0.fail(&paths, reason))
    }

    fn paths(&self) -> Vec<String> {
        self.0.paths()
    }
}

/// What a commit did.
#[pyclass(frozen, module = "carrel._core")]
pub struct Commit(pub store::Commit);

#[pymethods]
impl Commit {
    #[getter]
    fn added(&self) -> usize {
        self.0.added
    }

    #[getter]
    fn changed(&self) -> usize {
        self.0.changed
    }

    #[getter]
    fn removed(&self) -> usize {
        self.0.removed
    }

    /// Touched but with the same content.
    #[getter]
    fn unchanged(&self) -> usize {
        self.0.unchanged
    }

    /// Found unusable only on reading.
    #[getter]
    fn skipped(&self) -> usize {
        self.0.skipped
    }

    #[getter]
    fn failed(&self) -> usize {
        self.0.failed
    }

    /// Chunks that were embedded.
    #[getter]
    fn chunks(&self) -> usize {
        self.0.chunks
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

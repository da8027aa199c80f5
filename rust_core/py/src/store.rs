//! The write side.

use std::sync::Arc;

use carrel_core::store;
use pyo3::prelude::*;

use crate::batch::{Batch, Commit, Plan};
use crate::chunks::hex;
use crate::gil::detached;
use crate::options::{CancelToken, CutOptions, WalkOptions};
use crate::snapshot::Snapshot;

/// The index of one workspace on disk. One process writes (`role`), others follow.
#[pyclass(frozen, module = "carrel._core")]
pub struct Store(Arc<store::Store>);

#[pymethods]
impl Store {
    /// Open or create the index in `directory` for the workspace `root`.
    #[staticmethod]
    #[pyo3(signature = (directory, root, *, embedder_id, dim, walk, cut, in_memory = false))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        directory: String,
        root: String,
        embedder_id: String,
        dim: usize,
        walk: &WalkOptions,
        cut: &CutOptions,
        in_memory: bool,
    ) -> PyResult<Self> {
        let (walk, cut) = (walk.0.clone(), cut.0.clone());
        let config = store::StoreConfig { directory: directory.into(), root: root.into(), embedder_id, dim, walk, cut, in_memory };
        detached(py, || store::Store::open(config)).map(|store| Self(Arc::new(store)))
    }

    #[getter]
    fn role(&self) -> &'static str {
        if self.0.is_writer() { "writer" } else { "follower" }
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    #[getter]
    fn bytes_on_disk(&self) -> u64 {
        self.0.bytes_on_disk()
    }

    #[getter]
    fn directory(&self) -> String {
        self.0.directory().to_string_lossy().into_owned()
    }

    /// What was mended or could not be used at opening, in words for a person.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.0.problems()
    }

    /// Become the writer if nobody is.
    fn try_lead(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.try_lead())
    }

    /// Load a newer generation that another process committed.
    fn follow(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.follow())
    }

    fn scan(&self, py: Python<'_>, cancel: &CancelToken) -> PyResult<Plan> {
        detached(py, || self.0.scan(&cancel.0)).map(Plan)
    }

    #[allow(clippy::needless_pass_by_value)]
    fn check(&self, py: Python<'_>, paths: Vec<String>, cancel: &CancelToken) -> PyResult<Plan> {
        detached(py, || self.0.check(&paths, &cancel.0)).map(Plan)
    }

    fn force(&self, py: Python<'_>, cancel: &CancelToken) -> PyResult<Plan> {
        detached(py, || self.0.force(&cancel.0)).map(Plan)
    }

    #[pyo3(signature = (plan, cancel, max_bytes = 8_000_000))]
    fn cut(&self, py: Python<'_>, plan: &Plan, cancel: &CancelToken, max_bytes: u64) -> PyResult<Option<Batch>> {
        let batch = detached(py, || self.0.cut(&plan.0, &cancel.0, max_bytes))?;
        Ok(batch.map(|batch| Batch(Arc::new(batch))))
    }

    fn commit(&self, py: Python<'_>, batch: &Batch, cancel: &CancelToken) -> PyResult<Commit> {
        detached(py, || self.0.commit(&batch.0, &cancel.0)).map(Commit)
    }

    fn compact(&self, py: Python<'_>, cancel: &CancelToken) -> PyResult<bool> {
        detached(py, || self.0.compact(&cancel.0))
    }

    fn cut_buffer(&self, py: Python<'_>, path: &str, text: &str, cancel: &CancelToken) -> PyResult<Batch> {
        detached(py, || self.0.cut_buffer(path, text, &cancel.0)).map(|batch| Batch(Arc::new(batch)))
    }

    fn commit_buffer(&self, py: Python<'_>, batch: &Batch) -> PyResult<()> {
        detached(py, || self.0.commit_buffer(&batch.0))
    }

    fn close_buffer(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        detached(py, || self.0.close_buffer(path))
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        detached(py, || self.0.snapshot()).map(Snapshot)
    }

    /// None if this file may be read and sent, else the reason.
    fn gate(&self, py: Python<'_>, path: &str) -> PyResult<Option<&'static str>> {
        detached(py, || Ok(self.0.gate(path).map(carrel_core::types::SkipReason::code)))
    }

    #[pyo3(signature = (limit = 1000))]
    fn skipped(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<(String, &'static str)>> {
        detached(py, || Ok(self.0.skipped(limit).into_iter().map(|s| (s.path, s.reason.code())).collect()))
    }

    fn get_meta(&self, py: Python<'_>, key: &str) -> PyResult<Option<String>> {
        detached(py, || self.0.get_meta(key))
    }

    fn set_meta(&self, py: Python<'_>, key: &str, value: &str) -> PyResult<()> {
        detached(py, || self.0.set_meta(key, value))
    }

    /// (path, mtime in ms, chunk ids) of every file.
    fn index_state(&self, py: Python<'_>) -> PyResult<Vec<(String, i64, Vec<String>)>> {
        let hexes = |ids: Vec<u128>| ids.into_iter().map(hex).collect();
        detached(py, || Ok(self.0.index_state().into_iter().map(|(path, time, ids)| (path, time, hexes(ids))).collect()))
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.clear())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            self.0.close();
            Ok(())
        })
    }
}

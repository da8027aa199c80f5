//! Watching a workspace for changes on disk.

use carrel_core::workspace::watch::{Watch, WatchLimit};
use pyo3::prelude::*;

use crate::gil::detached;

/// See `_core.pyi`.
#[pyclass(name = "Watch", frozen, module = "carrel._core")]
pub struct PyWatch(pub Watch);

#[pymethods]
impl PyWatch {
    fn next(&self, py: Python<'_>) -> PyResult<Option<(Vec<String>, bool)>> {
        let changes = detached(py, || self.0.next())?;
        Ok(changes.map(|changes| (changes.paths, changes.everything)))
    }

    fn settle(&self, py: Python<'_>, longest_ms: u64) {
        py.detach(|| self.0.settle(std::time::Duration::from_millis(longest_ms)));
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    #[getter]
    fn folders(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.folders())
    }

    #[getter]
    fn limit(&self, py: Python<'_>) -> Option<&'static str> {
        py.detach(|| self.0.limit()).map(|limit| match limit {
            WatchLimit::Watches => "watches",
            WatchLimit::Instances => "instances",
            WatchLimit::Refused => "refused",
        })
    }
}

//! The write side: the index of one workspace, its plans and batches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use carrel_core::base::language::Language;
use carrel_core::workspace::handle::{LanguageGlobs, StoreConfig};
use carrel_core::workspace::store::{Batch, Plan, Store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::to_python;
use crate::gil::detached;
use crate::options::{
    PyCancelToken, PyCutOptions, PyEmbedder, PyScalar, PySecretOptions, PyWalkOptions, to_floats, to_properties,
};
use crate::results::PyCommit;
use crate::snapshot::PySnapshot;
use crate::watch::PyWatch;

/// See `_core.pyi`.
#[pyclass(name = "Plan", frozen, module = "carrel._core")]
pub struct PyPlan(Plan);

#[pymethods]
impl PyPlan {
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

    #[getter]
    fn pending(&self) -> usize {
        self.0.pending()
    }

    fn keep_moved(&self) {
        self.0.keep_moved();
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Batch", frozen, module = "carrel._core")]
pub struct PyBatch(Batch);

#[pymethods]
impl PyBatch {
    #[getter]
    fn files(&self) -> usize {
        self.0.files()
    }

    fn embed(&self, py: Python<'_>, embedder: &PyEmbedder, cancel: &PyCancelToken) -> PyResult<()> {
        let model = Arc::clone(&embedder.0);
        detached(py, || self.0.embed(model.as_ref(), &cancel.0))
    }

    fn texts(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.texts())
    }

    fn text_paths(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.text_paths())
    }

    fn set_vectors(&self, py: Python<'_>, vectors: &[u8]) -> PyResult<()> {
        let floats = to_floats(vectors);
        detached(py, || self.0.set_vectors(&floats))
    }

    fn lack_vectors(&self, py: Python<'_>, first: usize, count: usize, reason: &str) -> PyResult<()> {
        detached(py, || self.0.lack_vectors(first, count, reason))
    }

    fn fail(&self, py: Python<'_>, paths: Vec<String>, reason: &str) -> PyResult<()> {
        detached(py, || self.0.fail(&paths, reason))
    }

    fn paths(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.paths())
    }

    #[pyo3(signature = (path, *, metadata = BTreeMap::new(), version = None))]
    fn set_properties(
        &self,
        py: Python<'_>,
        path: &str,
        metadata: BTreeMap<String, PyScalar>,
        version: Option<String>,
    ) -> PyResult<()> {
        let properties = to_properties(metadata, version);
        detached(py, || self.0.set_properties(path, properties))
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Store", frozen, module = "carrel._core")]
pub struct PyStore(Store);

#[pymethods]
impl PyStore {
    #[staticmethod]
    #[pyo3(signature = (directory, root, *, embedder_id, dim, walk, cut, languages = Vec::new(), secrets = None, in_memory = false))]
    #[allow(clippy::too_many_arguments)] // keywords, all but two
    fn open(
        py: Python<'_>,
        directory: PathBuf,
        root: PathBuf,
        embedder_id: String,
        dim: usize,
        walk: &PyWalkOptions,
        cut: &PyCutOptions,
        languages: Vec<(String, String)>,
        secrets: Option<&PySecretOptions>,
        in_memory: bool,
    ) -> PyResult<Self> {
        let secrets = secrets.map_or_else(Default::default, |options| options.0.clone());
        let languages = LanguageGlobs::new(languages).map_err(|error| to_python(&error))?;
        let (walk, cut) = (walk.0.clone(), cut.0);
        let config = StoreConfig { directory, root, embedder_id, dim, walk, cut, languages, secrets, in_memory };
        detached(py, || Store::open(config)).map(Self)
    }

    #[getter]
    fn role(&self) -> &'static str {
        if self.0.is_writer() { "writer" } else { "follower" }
    }

    #[getter]
    fn read_only(&self) -> bool {
        self.0.is_read_only()
    }

    #[getter]
    fn lost(&self) -> bool {
        self.0.is_lost()
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    #[getter]
    fn kept_files(&self) -> usize {
        self.0.kept_files()
    }

    #[getter]
    fn bytes_on_disk(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.0.bytes_on_disk())
    }

    #[getter]
    fn directory(&self) -> String {
        self.0.directory().to_string_lossy().into_owned()
    }

    #[getter]
    fn masked(&self, py: Python<'_>) -> (usize, u64) {
        py.detach(|| self.0.masked())
    }

    #[getter]
    fn problems(&self) -> Vec<String> {
        self.0.problems()
    }

    fn try_become_writer(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.try_lead())
    }

    fn follow(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.follow())
    }

    fn scan(&self, py: Python<'_>, cancel: &PyCancelToken) -> PyResult<PyPlan> {
        detached(py, || self.0.scan(&cancel.0)).map(PyPlan)
    }

    fn check(&self, py: Python<'_>, paths: Vec<String>, cancel: &PyCancelToken) -> PyResult<PyPlan> {
        detached(py, || self.0.check(&paths, &cancel.0)).map(PyPlan)
    }

    fn force(&self, py: Python<'_>, cancel: &PyCancelToken) -> PyResult<PyPlan> {
        detached(py, || self.0.force(&cancel.0)).map(PyPlan)
    }

    fn changed(&self, py: Python<'_>, plan: &PyPlan, cancel: &PyCancelToken) -> PyResult<Vec<String>> {
        detached(py, || self.0.behind(&plan.0, &cancel.0))
    }

    fn bring_forward(&self, py: Python<'_>, plan: &PyPlan, words: Vec<String>, cancel: &PyCancelToken) -> PyResult<usize> {
        detached(py, || self.0.bring_forward(&plan.0, &words, &cancel.0))
    }

    #[pyo3(signature = (plan, cancel, max_bytes = 8_000_000))]
    fn cut(&self, py: Python<'_>, plan: &PyPlan, cancel: &PyCancelToken, max_bytes: u64) -> PyResult<Option<PyBatch>> {
        detached(py, || self.0.cut(&plan.0, &cancel.0, max_bytes)).map(|batch| batch.map(PyBatch))
    }

    fn commit(&self, py: Python<'_>, batch: &PyBatch, cancel: &PyCancelToken) -> PyResult<PyCommit> {
        detached(py, || self.0.commit(&batch.0, &cancel.0)).map(PyCommit)
    }

    fn compact(&self, py: Python<'_>, cancel: &PyCancelToken) -> PyResult<bool> {
        detached(py, || self.0.compact(&cancel.0))
    }

    #[pyo3(signature = (path, text, cancel, *, metadata = None, version = None))]
    fn cut_buffer(
        &self,
        py: Python<'_>,
        path: &str,
        text: &str,
        cancel: &PyCancelToken,
        metadata: Option<BTreeMap<String, PyScalar>>,
        version: Option<String>,
    ) -> PyResult<PyBatch> {
        let given = metadata.is_some() || version.is_some();
        let properties = given.then(|| to_properties(metadata.unwrap_or_default(), version));
        detached(py, || {
            let batch = self.0.cut_buffer(path, text, &cancel.0)?;
            match properties {
                // A text that may not be read, or can't be used, is in no batch.
                Some(properties) if batch.files() > 0 => batch.set_properties(path, properties).map(|()| batch),
                _ => Ok(batch),
            }
        })
        .map(PyBatch)
    }

    fn commit_buffer(&self, py: Python<'_>, batch: &PyBatch) -> PyResult<()> {
        detached(py, || self.0.commit_buffer(&batch.0))
    }

    fn close_buffer(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        detached(py, || self.0.close_buffer(path))
    }

    fn watch(&self) -> PyWatch {
        PyWatch(self.0.watch())
    }

    fn snapshot(&self) -> PyResult<PySnapshot> {
        self.0.snapshot().map(PySnapshot).map_err(|error| to_python(&error))
    }

    fn refusal(&self, py: Python<'_>, path: &str) -> Option<String> {
        py.detach(|| self.0.access_error(path)).map(|reason| reason.to_string())
    }

    fn name_language(&self, py: Python<'_>, path: &str, language: &str) -> PyResult<bool> {
        let language =
            Language::from_name(language).ok_or_else(|| PyValueError::new_err(format!("{language:?} is no language")))?;
        Ok(py.detach(|| self.0.name_language(path, language)))
    }

    fn holds(&self, py: Python<'_>, path: &str, data: &[u8]) -> bool {
        py.detach(|| self.0.holds(path, data))
    }

    #[pyo3(signature = (limit = 1000))]
    fn skipped(&self, py: Python<'_>, limit: usize) -> Vec<(String, &'static str)> {
        py.detach(|| self.0.skipped(limit)).into_iter().map(|skipped| (skipped.path, skipped.reason.code())).collect()
    }

    fn skipped_counts(&self, py: Python<'_>) -> BTreeMap<String, usize> {
        py.detach(|| self.0.skipped_counts())
    }

    #[getter]
    fn guessed_encodings(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.guessed_encodings())
    }

    #[getter]
    fn failed_count(&self) -> usize {
        self.0.failed_count()
    }

    fn failed(&self, py: Python<'_>) -> Vec<(String, String)> {
        py.detach(|| self.0.failed())
    }

    fn get_meta(&self, py: Python<'_>, key: &str) -> PyResult<Option<String>> {
        detached(py, || self.0.get_meta(key))
    }

    fn set_meta(&self, py: Python<'_>, key: &str, value: &str) -> PyResult<()> {
        detached(py, || self.0.set_meta(key, value))
    }

    fn index_state(&self, py: Python<'_>) -> Vec<(String, i64, Vec<String>)> {
        let state = py.detach(|| self.0.index_state());
        state.into_iter().map(|(path, mtime, ids)| (path, mtime, ids.iter().map(|id| format!("{id:032x}")).collect())).collect()
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.clear())
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

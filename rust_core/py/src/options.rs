//! Plain values that Python hands in: tokens, options, filters, models.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use carrel_core::base::cancel::CancelToken;
use carrel_core::base::types::{FileProperties, Scalar};
use carrel_core::index::cut::{CutOptions, LineChunk};
use carrel_core::index::embed::{HashedEmbedder, LocalEmbedder, StaticModel};
use carrel_core::index::secrets::{Detector, SecretOptions};
use carrel_core::query::filter::{Filter, FilterOptions};
use carrel_core::workspace::walk::WalkOptions;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_python;

/// See `_core.pyi`.
#[pyclass(name = "CancelToken", frozen, module = "carrel._core")]
#[derive(Default)]
pub struct PyCancelToken(pub CancelToken);

#[pymethods]
impl PyCancelToken {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// See `_core.pyi`.
#[pyclass(name = "WalkOptions", frozen, module = "carrel._core")]
pub struct PyWalkOptions(pub WalkOptions);

#[pymethods]
impl PyWalkOptions {
    #[new]
    #[pyo3(signature = (*, max_file_bytes = 500_000, exclude = Vec::new(), excluded_folders = None, kept_folders = Vec::new()))]
    fn new(max_file_bytes: u64, exclude: Vec<String>, excluded_folders: Option<Vec<String>>, kept_folders: Vec<String>) -> Self {
        let excluded_folders = excluded_folders.unwrap_or_else(|| WalkOptions::default().excluded_folders);
        Self(WalkOptions { max_file_bytes, exclude, excluded_folders, kept_folders })
    }
}

/// See `_core.pyi`.
#[pyclass(name = "SecretOptions", frozen, module = "carrel._core")]
pub struct PySecretOptions(pub SecretOptions);

#[pymethods]
impl PySecretOptions {
    #[new]
    #[pyo3(signature = (*, patterns = Vec::new(), allow_paths = Vec::new(), allow_rules = Vec::new()))]
    fn new(patterns: Vec<String>, allow_paths: Vec<String>, allow_rules: Vec<String>) -> PyResult<Self> {
        let options = SecretOptions { patterns, allow_paths, allow_rules };
        Detector::new(&options).map_err(|error| to_python(&error))?;
        Ok(Self(options))
    }
}

/// See `_core.pyi`.
#[pyclass(name = "CutOptions", frozen, module = "carrel._core")]
pub struct PyCutOptions(pub CutOptions);

#[pymethods]
impl PyCutOptions {
    #[new]
    #[pyo3(signature = (*, min_chars = 50, max_chars = 8_000, class_lines = 30, text_chars = 2_000, line_chunk = (60, 5), always_lines = None))]
    fn new(
        min_chars: usize,
        max_chars: usize,
        class_lines: u32,
        text_chars: usize,
        line_chunk: (u32, u32),
        always_lines: Option<(u32, u32)>,
    ) -> Self {
        let size = |(lines, overlap): (u32, u32)| LineChunk { lines, overlap };
        Self(CutOptions {
            max_chars,
            min_chars,
            class_lines,
            text_chars,
            line_chunk: size(line_chunk),
            always_lines: always_lines.map(size),
        })
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Embedder", frozen, module = "carrel._core")]
pub struct PyEmbedder(pub Arc<dyn LocalEmbedder>);

#[pymethods]
impl PyEmbedder {
    #[staticmethod]
    fn hashed() -> Self {
        Self(Arc::new(HashedEmbedder))
    }

    #[staticmethod]
    fn static_model(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| StaticModel::open(&path)).map_err(|error| to_python(&error))?;
        Ok(Self(Arc::new(model)))
    }

    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    #[getter]
    fn floor(&self) -> f32 {
        self.0.floor()
    }

    fn embed_query<'py>(&self, py: Python<'py>, text: &str) -> Bound<'py, PyBytes> {
        let mut vector = vec![0.0; self.0.dim()];
        py.detach(|| self.0.embed_query(text, &mut vector));
        PyBytes::new(py, &to_bytes(&vector))
    }
}

/// A value of a file's metadata. A boolean is an integer to Python, so it comes first.
#[derive(FromPyObject)]
pub enum PyScalar {
    /// True or false, and not 1 or 0.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
}

/// What Python says of a file.
pub fn to_properties(metadata: BTreeMap<String, PyScalar>, version: Option<String>) -> FileProperties {
    let scalar = |value| match value {
        PyScalar::Bool(value) => Scalar::Bool(value),
        PyScalar::Integer(number) => Scalar::Integer(number),
        PyScalar::Float(number) => Scalar::Float(number),
        PyScalar::Text(text) => Scalar::Text(text),
    };
    FileProperties { version, metadata: metadata.into_iter().map(|(key, value)| (key, scalar(value))).collect() }
}

/// Floats as the bytes that cross the boundary.
pub fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The floats in bytes that crossed the boundary.
pub fn to_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

/// See `_core.pyi`.
#[pyclass(name = "Filter", frozen, module = "carrel._core")]
pub struct PyFilter(pub Filter);

#[pymethods]
impl PyFilter {
    #[new]
    #[pyo3(signature = (*, path_globs = Vec::new(), exclude_globs = Vec::new(), languages = Vec::new(), symbol = None, sources = Vec::new(), updated_after = None, metadata = BTreeMap::new()))]
    fn new(
        path_globs: Vec<String>,
        exclude_globs: Vec<String>,
        languages: Vec<String>,
        symbol: Option<String>,
        sources: Vec<String>,
        updated_after: Option<i64>,
        metadata: BTreeMap<String, Vec<String>>,
    ) -> PyResult<Self> {
        let options = FilterOptions { path_globs, exclude_globs, languages, symbol, sources, updated_after, metadata };
        Filter::new(options).map(Self).map_err(|error| to_python(&error))
    }
}

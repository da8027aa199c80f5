//! What a caller passes in: tokens, options, filters, embedders.

use std::sync::Arc;

use carrel_core::cancel::CancelToken as Token;
use carrel_core::cut::{CutOptions as Cut, LineChunk};
use carrel_core::embed::{HashedEmbedder, LocalEmbedder};
use carrel_core::error::Error;
use carrel_core::snapshot::{Filter as CoreFilter, FilterOptions};
use carrel_core::walk::WalkOptions as Walk;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_python;
use crate::gil::detached;

/// A flag that stops the work it is given to.
#[pyclass(frozen, module = "carrel._core")]
#[derive(Default)]
pub struct CancelToken(pub Token);

#[pymethods]
impl CancelToken {
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

/// Which files count.
#[pyclass(frozen, module = "carrel._core")]
pub struct WalkOptions(pub Walk);

#[pymethods]
impl WalkOptions {
    #[new]
    #[pyo3(signature = (*, max_file_bytes = 500_000, exclude = Vec::new(), excluded_folders = None))]
    fn new(max_file_bytes: u64, exclude: Vec<String>, excluded_folders: Option<Vec<String>>) -> Self {
        let default = Walk::default();
        let excluded_folders = excluded_folders.unwrap_or_else(|| default.excluded_folders.clone());
        Self(Walk { max_file_bytes, exclude, excluded_folders })
    }
}

/// How files are cut.
#[pyclass(frozen, module = "carrel._core")]
pub struct CutOptions(pub Cut);

#[pymethods]
impl CutOptions {
    #[new]
    #[pyo3(signature = (*, min_chars = 50, max_chars = 8_000, class_lines = 30, text_chars = 2_000, line_chunk = (60, 5), always_lines = None))]
    fn new(
        py: Python<'_>,
        min_chars: u32,
        max_chars: u32,
        class_lines: u32,
        text_chars: u32,
        line_chunk: (u32, u32),
        always_lines: Option<(u32, u32)>,
    ) -> PyResult<Self> {
        let lines = |field: &'static str, (lines, overlap): (u32, u32)| {
            if overlap < lines {
                Ok(LineChunk { lines, overlap })
            } else {
                Err(to_python(py, &Error::invalid(field, "must be (lines, overlap) with fewer lines of overlap than lines")))
            }
        };
        if max_chars == 0 || min_chars > max_chars {
            return Err(to_python(py, &Error::invalid("max_chars", "must be at least 1 and min_chars")));
        }
        Ok(Self(Cut {
            min_chars: min_chars as _,
            max_chars: max_chars as _,
            class_lines: class_lines as _,
            text_chars: text_chars as _,
            line_chunk: lines("line_chunk", line_chunk)?,
            always_lines: always_lines.map(|l| lines("always_lines", l)).transpose()?,
        }))
    }
}

/// An embedding model that runs inside the core.
#[pyclass(frozen, module = "carrel._core")]
pub struct Embedder(pub Arc<dyn LocalEmbedder>);

#[pymethods]
impl Embedder {
    #[staticmethod]
    fn hashed() -> Self {
        Self(Arc::new(HashedEmbedder))
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

    fn embed_query<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
        let vector = detached(py, || {
            let mut vector = vec![0.0; self.0.dim()];
            self.0.embed_query(text, &mut vector);
            Ok(vector)
        })?;
        Ok(PyBytes::new(py, &to_bytes(&vector)))
    }
}

/// Which files and chunks a search may find.
#[pyclass(frozen, module = "carrel._core")]
pub struct Filter(pub CoreFilter);

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (*, path_globs = Vec::new(), exclude_globs = Vec::new(), languages = Vec::new(), symbol = None, sources = Vec::new(), updated_after = None))]
    fn new(
        py: Python<'_>,
        path_globs: Vec<String>,
        exclude_globs: Vec<String>,
        languages: Vec<String>,
        symbol: Option<String>,
        sources: Vec<String>,
        updated_after: Option<i64>,
    ) -> PyResult<Self> {
        let options = FilterOptions { path_globs, exclude_globs, languages, symbol, sources, updated_after };
        CoreFilter::new(options).map(Self).map_err(|error| to_python(py, &error))
    }
}

/// Vectors cross as little-endian float32.
pub fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The other way; `field` names the parameter in the error.
pub fn to_floats(field: &'static str, bytes: &[u8]) -> Result<Vec<f32>, Error> {
    let (values, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() {
        Ok(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
    } else {
        Err(Error::invalid(field, format!("{} bytes are no float32 values", bytes.len())))
    }
}

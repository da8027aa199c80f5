//! Functions that need no store.

use carrel_core::cancel::CancelToken;
use carrel_core::language::Language;
use carrel_core::{hash, store};
use pyo3::prelude::*;

use crate::chunks::{ChunkInfo, hex};
use crate::gil::detached;
use crate::options::CutOptions;
use crate::snapshot::infos;

/// Cut one text without a store.
#[pyfunction]
pub fn cut_text(py: Python<'_>, path: &str, text: &str, options: &CutOptions) -> PyResult<Vec<ChunkInfo>> {
    detached(py, || store::cut_text(path, text, &options.0, &CancelToken::new())).map(infos)
}

/// The language of a path, by its name.
#[pyfunction]
pub fn detect_language(path: &str) -> Option<&'static str> {
    Language::detect(path).map(Language::name)
}

/// The names of all languages.
#[pyfunction]
pub fn languages() -> Vec<&'static str> {
    Language::all().map(Language::name).collect()
}

/// The hash that tells files apart.
#[pyfunction]
pub fn hash_bytes(py: Python<'_>, data: &[u8]) -> PyResult<String> {
    detached(py, || Ok(hex(hash::xxh3_128(data))))
}

//! Functions that need no store.

use carrel_core::cancel::CancelToken;
use carrel_core::error::Error;
use carrel_core::language::Language;
use carrel_core::tokens::Encoding;
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

/// Tokens of `text` in an OpenAI encoding, exactly.
#[pyfunction]
pub fn count_tokens(py: Python<'_>, text: &str, encoding: &str) -> PyResult<usize> {
    detached(py, || Ok(encoding_of(encoding)?.count(text)))
}

/// The longest prefix of whole characters with at most `max_tokens` tokens.
#[pyfunction]
pub fn trim_tokens(py: Python<'_>, text: &str, max_tokens: usize, encoding: &str) -> PyResult<String> {
    detached(py, || Ok(text[..encoding_of(encoding)?.trim(text, max_tokens)].to_owned()))
}

fn encoding_of(name: &str) -> Result<Encoding, Error> {
    Encoding::from_name(name).ok_or_else(|| Error::invalid("encoding", format!("{name:?} is neither cl100k_base nor o200k_base")))
}

//! What needs no store: cutting one text, counting tokens, naming languages.

use std::path::PathBuf;

use carrel_core::base::cancel::CancelToken;
use carrel_core::base::error::Error;
use carrel_core::base::hash::xxh3_128;
use carrel_core::base::language::Language;
use carrel_core::base::tokens::Encoding;
use carrel_core::base::types::FileProperties;
use carrel_core::index::cut::cut;
use carrel_core::index::secrets::{Detector, masked};
use carrel_core::query::results::ChunkInfo;
use carrel_core::workspace::handle::LanguageGlobs;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::to_python;
use crate::gil::detached;
use crate::options::{PyCancelToken, PyCutOptions, PySecretOptions, PyWalkOptions};
use crate::results::PyChunkInfo;

/// See `_core.pyi`.
#[pyfunction]
pub fn cut_text(py: Python<'_>, path: &str, text: &str, options: &PyCutOptions) -> PyResult<Vec<PyChunkInfo>> {
    let language = match Language::of_file(path, text) {
        Language::OTHER => Language::TEXT,
        language => language,
    };
    let file = detached(py, || cut(path, language, text, &options.0, &CancelToken::new()))?;
    let info = |(i, chunk)| ChunkInfo {
        doc: i as u64,
        path: path.to_owned(),
        language,
        file_hash: xxh3_128(text.as_bytes()),
        updated_at: 0,
        properties: FileProperties::default(),
        overlay: true,
        chunk,
    };
    Ok(file.chunks.iter().cloned().enumerate().map(|pair| PyChunkInfo(info(pair))).collect())
}

/// See `_core.pyi`.
#[pyfunction]
pub fn list_secrets(
    py: Python<'_>,
    root: PathBuf,
    walk: &PyWalkOptions,
    secrets: &PySecretOptions,
    cancel: &PyCancelToken,
) -> PyResult<Vec<(String, Option<u32>, String)>> {
    let seen = detached(py, || carrel_core::workspace::secret_listing::list_secrets(&root, &walk.0, &secrets.0, &cancel.0))?;
    Ok(seen.into_iter().map(|one| (one.path, one.line, one.kind)).collect())
}

/// See `_core.pyi`.
#[pyfunction]
pub fn mask_secrets(py: Python<'_>, path: &str, text: &str, secrets: &PySecretOptions) -> PyResult<String> {
    detached(py, || {
        let found = Detector::new(&secrets.0)?.find(path, text);
        Ok(masked(text, &found).0)
    })
}

fn encoding(name: &str) -> PyResult<Encoding> {
    let unknown = || Error::invalid("encoding", format!("{name:?} is not one of cl100k_base and o200k_base"));
    Encoding::from_name(name).ok_or_else(|| to_python(&unknown()))
}

/// See `_core.pyi`.
#[pyfunction]
#[pyo3(name = "count_tokens", signature = (text, encoding))]
pub fn count_tokens(py: Python<'_>, text: &str, encoding: &str) -> PyResult<usize> {
    let table = self::encoding(encoding)?;
    Ok(py.detach(|| table.count(text)))
}

/// See `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (text, max_tokens, encoding))]
pub fn trim_tokens<'a>(py: Python<'_>, text: &'a str, max_tokens: usize, encoding: &str) -> PyResult<&'a str> {
    let table = self::encoding(encoding)?;
    Ok(&text[..py.detach(|| table.trim(text, max_tokens))])
}

/// See `_core.pyi`.
#[pyfunction]
pub fn detect_language(path: &str) -> Option<&'static str> {
    Language::detect(path).map(Language::name)
}

/// See `_core.pyi`.
#[pyfunction]
pub fn languages() -> Vec<&'static str> {
    Language::all().map(Language::name).collect()
}

/// See `_core.pyi`.
#[pyfunction]
pub fn check_languages(languages: Vec<(String, String)>) -> PyResult<()> {
    LanguageGlobs::new(languages).map(drop).map_err(|error| to_python(&error))
}

/// See `_core.pyi`.
#[pyfunction]
pub fn register_grammar(name: &str, capsule: &Bound<'_, PyCapsule>) -> PyResult<&'static str> {
    let pointer = capsule.pointer_checked(Some(c"tree_sitter.Language"))?;
    // SAFETY: a capsule of this name holds a `TSLanguage` that lives as long as the process: that is the convention of the
    // tree-sitter bindings, and grammars are static data. Its ABI version is checked before anything else of it is used.
    let grammar = unsafe { tree_sitter::Language::from_raw(pointer.as_ptr().cast()) };
    carrel_core::index::parse::register_grammar(name, grammar).map(Language::name).map_err(|error| to_python(&error))
}

/// See `_core.pyi`.
#[pyfunction]
pub fn registrable_grammars() -> Vec<&'static str> {
    carrel_core::index::parse::registrable_grammars().collect()
}

/// See `_core.pyi`.
#[pyfunction]
pub fn give_back_memory(py: Python<'_>) {
    py.detach(|| {
        carrel_core::index::parse::give_back();
        carrel_core::base::memory::give_back();
    });
}

/// See `_core.pyi`.
#[pyfunction]
pub fn simd_kernel() -> &'static str {
    carrel_core::base::simd::Kernel::best().name
}

//! `carrel._core`: frozen classes over `carrel-core`. [`gil`] runs work that may fail without the GIL, [`errors`] alone maps
//! errors; what each class means is written in `python/carrel/_core.pyi`.

#![allow(clippy::needless_pass_by_value)] // arguments come out of Python objects by value

mod errors;
mod functions;
mod gil;
mod options;
mod question;
mod ranking;
mod results;
mod snapshot;
mod store;
mod watch;

use pyo3::prelude::*;

/// The module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FORMAT_VERSION", carrel_core::formats::database::FORMAT_VERSION)?;
    module.add_class::<options::PyCancelToken>()?;
    module.add_class::<options::PyWalkOptions>()?;
    module.add_class::<options::PySecretOptions>()?;
    module.add_class::<options::PyCutOptions>()?;
    module.add_class::<options::PyEmbedder>()?;
    module.add_class::<options::PyFilter>()?;
    module.add_class::<results::PyScoredDoc>()?;
    module.add_class::<results::PyChunkInfo>()?;
    module.add_class::<ranking::PyCandidate>()?;
    module.add_class::<question::PyParsedQuery>()?;
    module.add_class::<ranking::PyRankingContext>()?;
    module.add_class::<ranking::PyEditorContext>()?;
    module.add_class::<results::PyCurrentChunk>()?;
    module.add_class::<results::PyCommit>()?;
    module.add_class::<snapshot::PyReadFiles>()?;
    module.add_class::<snapshot::PySnapshot>()?;
    module.add_class::<store::PyPlan>()?;
    module.add_class::<store::PyBatch>()?;
    module.add_class::<store::PyStore>()?;
    module.add_class::<watch::PyWatch>()?;
    module.add_function(wrap_pyfunction!(functions::cut_text, module)?)?;
    module.add_function(wrap_pyfunction!(functions::count_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(functions::trim_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(functions::detect_language, module)?)?;
    module.add_function(wrap_pyfunction!(functions::languages, module)?)?;
    module.add_function(wrap_pyfunction!(functions::check_languages, module)?)?;
    module.add_function(wrap_pyfunction!(functions::register_grammar, module)?)?;
    module.add_function(wrap_pyfunction!(functions::registrable_grammars, module)?)?;
    module.add_function(wrap_pyfunction!(functions::give_back_memory, module)?)?;
    module.add_function(wrap_pyfunction!(functions::list_secrets, module)?)?;
    module.add_function(wrap_pyfunction!(functions::mask_secrets, module)?)?;
    module.add_function(wrap_pyfunction!(question::split_names, module)?)?;
    module.add_function(wrap_pyfunction!(question::stem, module)?)?;
    module.add_function(wrap_pyfunction!(ranking::rank, module)?)?;
    module.add_function(wrap_pyfunction!(ranking::score, module)?)?;
    module.add_function(wrap_pyfunction!(ranking::contributions, module)?)?;
    module.add_function(wrap_pyfunction!(ranking::ranking_weights, module)?)?;
    module.add_function(wrap_pyfunction!(ranking::path_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(question::best_lines, module)?)?;
    module.add_function(wrap_pyfunction!(question::passages, module)?)?;
    module.add_function(wrap_pyfunction!(functions::simd_kernel, module)?)?;
    Ok(())
}

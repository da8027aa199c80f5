//! The Python module `carrel._core`: frozen classes over `carrel-core`.
//!
//! Nothing is decided here. Every method converts its arguments, leaves the interpreter ([`gil::detached`], the one place that
//! releases the GIL), calls the core, and converts the answer or the error ([`errors::to_python`], the one map of errors).
//! `python/carrel/_core.pyi` describes this module; a test compares the two.

mod batch;
mod chunks;
mod errors;
mod gil;
mod options;
mod snapshot;
mod store;
mod text;

/// The module `carrel._core`.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{Batch, Commit, Plan};
    #[pymodule_export]
    use crate::chunks::{Candidate, ChunkInfo, FreshChunk};
    #[pymodule_export]
    use crate::options::{CancelToken, CutOptions, Embedder, Filter, WalkOptions};
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::text::{count_tokens, cut_text, detect_language, hash_bytes, languages, trim_tokens};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("FORMAT_VERSION", carrel_core::db::FORMAT_VERSION)
    }
}

//! What searches and runs give back to Python: frozen values.

use carrel_core::base::types::Scalar;
use carrel_core::query::results::{ChunkInfo, ScoredDoc};
use carrel_core::workspace::snapshot::CurrentChunk;
use carrel_core::workspace::store::Commit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// See `_core.pyi`.
#[pyclass(name = "ScoredDoc", frozen, module = "carrel._core")]
pub struct PyScoredDoc(pub ScoredDoc);

#[pymethods]
impl PyScoredDoc {
    #[getter]
    fn doc(&self) -> u64 {
        self.0.doc
    }

    #[getter]
    fn score(&self) -> f32 {
        self.0.score
    }
}

/// See `_core.pyi`.
#[pyclass(name = "ChunkInfo", frozen, module = "carrel._core")]
pub struct PyChunkInfo(pub ChunkInfo);

#[pymethods]
impl PyChunkInfo {
    #[getter]
    fn doc(&self) -> u64 {
        self.0.doc
    }

    #[getter]
    fn id(&self) -> String {
        format!("{:032x}", self.0.chunk.id)
    }

    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn language(&self) -> &'static str {
        self.0.language.name()
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.0.language.source()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.0.chunk.kind.name()
    }

    #[getter]
    fn symbol(&self) -> &str {
        &self.0.chunk.symbol
    }

    #[getter]
    fn container(&self) -> &str {
        &self.0.chunk.container
    }

    #[getter]
    fn signature(&self) -> &str {
        &self.0.chunk.signature
    }

    #[getter]
    fn definitions(&self) -> Vec<String> {
        self.0.chunk.definitions.clone()
    }

    #[getter]
    fn start_line(&self) -> u32 {
        self.0.chunk.span.start_line
    }

    #[getter]
    fn end_line(&self) -> u32 {
        self.0.chunk.span.end_line
    }

    #[getter]
    fn content_hash(&self) -> String {
        format!("{:032x}", self.0.file_hash)
    }

    #[getter]
    fn updated_at(&self) -> i64 {
        self.0.updated_at
    }

    #[getter]
    fn version(&self) -> Option<&str> {
        self.0.properties.version.as_deref()
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (key, value) in &self.0.properties.metadata {
            match value {
                Scalar::Text(text) => metadata.set_item(key, text)?,
                Scalar::Integer(number) => metadata.set_item(key, number)?,
                Scalar::Float(number) => metadata.set_item(key, number)?,
                Scalar::Bool(value) => metadata.set_item(key, value)?,
            }
        }
        Ok(metadata)
    }

    #[getter]
    fn overlay(&self) -> bool {
        self.0.overlay
    }
}

/// See `_core.pyi`.
#[pyclass(name = "CurrentChunk", frozen, module = "carrel._core")]
pub struct PyCurrentChunk {
    info: Py<PyChunkInfo>,
    imports: Vec<String>,
    text: String,
    start_character: u32,
    end_character: u32,
    moved: bool,
    masked: u32,
}

impl PyCurrentChunk {
    /// Hand a checked chunk to Python.
    pub fn new(py: Python<'_>, current: CurrentChunk) -> PyResult<Self> {
        let CurrentChunk { info, imports, text, start_character, end_character, moved, masked } = current;
        Ok(Self { info: Py::new(py, PyChunkInfo(info))?, imports, text, start_character, end_character, moved, masked })
    }
}

#[pymethods]
impl PyCurrentChunk {
    #[getter]
    fn info(&self, py: Python<'_>) -> Py<PyChunkInfo> {
        self.info.clone_ref(py)
    }

    #[getter]
    fn imports(&self) -> Vec<String> {
        self.imports.clone()
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn start_character(&self) -> u32 {
        self.start_character
    }

    #[getter]
    fn end_character(&self) -> u32 {
        self.end_character
    }

    #[getter]
    fn moved(&self) -> bool {
        self.moved
    }

    #[getter]
    fn masked(&self) -> u32 {
        self.masked
    }
}

/// See `_core.pyi`.
#[pyclass(name = "Commit", frozen, module = "carrel._core")]
pub struct PyCommit(pub Commit);

#[pymethods]
impl PyCommit {
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
    fn failed(&self) -> usize {
        self.0.failed
    }

    #[getter]
    fn chunks(&self) -> usize {
        self.0.chunks
    }

    #[getter]
    fn trivial(&self) -> usize {
        self.0.trivial
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation
    }
}

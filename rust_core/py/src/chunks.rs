//! What searches give.

use carrel_core::freshness;
use carrel_core::snapshot;
use carrel_core::types::ChunkKind;
use pyo3::prelude::*;

/// A chunk with the score that one search gave it.
#[pyclass(frozen, module = "carrel._core")]
pub struct Candidate(pub snapshot::Candidate);

#[pymethods]
impl Candidate {
    #[getter]
    fn doc(&self) -> u64 {
        self.0.doc
    }

    #[getter]
    fn score(&self) -> f32 {
        self.0.score
    }

    #[getter]
    fn matched(&self) -> Vec<String> {
        self.0.matched.clone()
    }

    fn __repr__(&self) -> String {
        format!("Candidate(doc={}, score={:.4})", self.0.doc, self.0.score)
    }
}

/// Everything that is recorded of a chunk.
#[pyclass(frozen, module = "carrel._core")]
#[derive(Clone)]
pub struct ChunkInfo(pub snapshot::ChunkInfo);

#[pymethods]
impl ChunkInfo {
    #[getter]
    fn doc(&self) -> u64 {
        self.0.doc
    }

    #[getter]
    fn id(&self) -> String {
        hex(self.0.chunk.id)
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
        if self.0.language.is_prose() { "docs" } else { "code" }
    }

    #[getter]
    fn kind(&self) -> &'static str {
        kind_name(self.0.chunk.kind)
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
    fn imports(&self) -> Vec<String> {
        self.0.imports.clone()
    }

    #[getter]
    fn start_line(&self) -> u32 {
        self.0.chunk.span.start_line
    }

    #[getter]
    fn end_line(&self) -> u32 {
        self.0.chunk.span.end_line
    }

    /// Hash of the file that it was cut from.
    #[getter]
    fn content_hash(&self) -> String {
        hex(self.0.file_hash)
    }

    #[getter]
    fn updated_at(&self) -> i64 {
        self.0.updated_at
    }

    /// From an unsaved buffer.
    #[getter]
    fn overlay(&self) -> bool {
        self.0.overlay
    }

    fn __repr__(&self) -> String {
        let span = self.0.chunk.span;
        format!("ChunkInfo({}:{}-{} {:?})", self.0.path, span.start_line, span.end_line, self.0.chunk.symbol)
    }
}

/// A chunk whose text was checked at this moment.
#[pyclass(frozen, module = "carrel._core")]
pub struct FreshChunk(pub freshness::FreshChunk);

#[pymethods]
impl FreshChunk {
    #[getter]
    fn info(&self) -> ChunkInfo {
        ChunkInfo(self.0.info.clone())
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    #[getter]
    fn start_character(&self) -> u32 {
        self.0.start_character
    }

    #[getter]
    fn end_character(&self) -> u32 {
        self.0.end_character
    }

    #[getter]
    fn moved(&self) -> bool {
        self.0.moved
    }
}

/// Hashes cross as 32 hexadecimal digits.
pub fn hex(hash: u128) -> String {
    format!("{hash:032x}")
}

fn kind_name(kind: ChunkKind) -> &'static str {
    match kind {
        ChunkKind::Function => "function",
        ChunkKind::Method => "method",
        ChunkKind::Class => "class",
        ChunkKind::ClassHeader => "class_header",
        ChunkKind::Declaration => "declaration",
        ChunkKind::Section => "section",
        ChunkKind::Text => "text",
        ChunkKind::Cell => "cell",
        ChunkKind::Lines => "lines",
    }
}

//! Vectors that a caller brings, each under an id and with values to filter by: a store of vectors that reads no files.
//!
//! A record is kept as a file of one chunk: its path is the id, its metadata are the values. So it is committed, replaced, deleted,
//! merged and followed as files are. Beside its quantised vector it has what quantising left of it, as the vector of a further model:
//! with both a component is exact to a part in 28,000 of the largest one.

use std::collections::HashMap;
use std::sync::Arc;

use super::Store;
use super::batch::{BatchContents, CutEntry};
use crate::base::error::{Error, Result};
use crate::base::file_state::Stamp;
use crate::base::language::Language;
use crate::base::types::{Chunk, ChunkKind, FileProperties, Span};
use crate::formats::segment::{FileDraft, FileEntry, SegmentBuilder};
use crate::formats::vectors::{REMAINDER, Vectors};

/// A vector with what it may be found by.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorRecord {
    /// Names it.
    pub id: u128,
    /// As many values as the store has dimensions; they are scaled to length 1, zeros stay.
    pub vector: Vec<f32>,
    /// What a filter compares.
    pub properties: FileProperties,
}

impl Store {
    /// Add or replace records, of equal ids the last, then delete ids, in one commit. An error for a vector of other dimensions;
    /// nothing has changed then.
    pub fn put_records(&self, records: &[VectorRecord], delete: &[u128]) -> Result<()> {
        self.check_writer()?;
        let dim = self.workspace.config.dim;
        if let Some(wrong) = records.iter().find(|record| record.vector.len() != dim) {
            return Err(Error::invalid("vector", format!("has {} values; this store has {dim} dimensions", wrong.vector.len())));
        }
        let mut last: HashMap<u128, &VectorRecord> = records.iter().map(|record| (record.id, record)).collect();
        for id in delete {
            last.remove(id);
        }
        let mut kept: Vec<&VectorRecord> = last.into_values().collect();
        kept.sort_unstable_by_key(|record| record.id);
        let body = BatchContents {
            files: kept.iter().map(|record| entry(record)).collect(),
            removed: delete.iter().map(|&id| path_of(id)).collect(),
            ..BatchContents::default()
        };
        let mut builder = SegmentBuilder::new(dim);
        for (record, entry) in kept.iter().zip(&body.files) {
            builder.push(draft(record, entry, dim));
        }
        let bytes = (!kept.is_empty()).then(|| builder.finish());
        let files: Vec<&CutEntry> = body.files.iter().collect();
        self.commit_built(&body, &files, bytes).map(drop)
    }
}

/// The path under which a record is kept.
fn path_of(id: u128) -> String {
    format!("{id:032x}")
}

fn draft(record: &VectorRecord, entry: &CutEntry, dim: usize) -> FileDraft {
    let file = FileEntry {
        path: &entry.path,
        language: entry.language,
        hash: entry.hash,
        size: 0,
        mtime_ns: 0,
        updated_at: 0,
        imports: &[],
    };
    let length = record.vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let factor = if length.is_finite() && length > 0.0 { length.recip() } else { 0.0 };
    let unit: Vec<f32> = record.vector.iter().map(|value| value * factor).collect();
    let (mut vectors, mut remainders) = (Vectors::default(), Vectors::default());
    vectors.push(&unit);
    let row = vectors.row(0, dim);
    let remainder: Vec<f32> = unit.iter().zip(row.steps()).map(|(value, step)| value - f32::from(step) * row.scale).collect();
    remainders.push(&remainder);
    FileDraft::of_vector(&file, entry.chunks[0].clone(), row)
        .with_properties(&record.properties)
        .with_vectors_of(REMAINDER, dim, remainders)
}

fn entry(record: &VectorRecord) -> CutEntry {
    let chunk = Chunk {
        id: record.id,
        span: Span { start_byte: 0, end_byte: 0, start_line: 1, end_line: 1 },
        kind: ChunkKind::Text,
        symbol: String::new(),
        container: String::new(),
        signature: String::new(),
        definitions: Vec::new(),
    };
    CutEntry {
        path: path_of(record.id),
        language: Language::TEXT,
        hash: record.id,
        stamp: Stamp::default(),
        text: Arc::from(""),
        unmasked: None,
        chunks: vec![chunk],
        imports: Vec::new(),
        trivial: 0,
        origins: Vec::new(),
        properties: FileProperties::default(),
        secrets: Vec::new(),
        is_generated: false,
        old: None,
        is_new: true,
    }
}

//! Segments of nothing but vectors, for whoever times their scan: also `examples/scan_vectors.rs`.

use carrel_core::base::error::Result;
use carrel_core::base::language::Language;
use carrel_core::base::types::{Chunk, ChunkKind, Span};
use carrel_core::formats::segment::{FileEntry, Segment, SegmentBuilder};
use carrel_core::formats::vectors::Vectors;

/// A segment in memory whose chunks have these vectors of `dim` numbers, in this order.
pub fn segment<V: AsRef<[f32]>>(vectors: impl IntoIterator<Item = V>, dim: usize, chunks_per_file: usize) -> Result<Segment> {
    let span = Span { start_byte: 0, end_byte: 0, start_line: 1, end_line: 1 };
    let chunk = Chunk {
        id: 0,
        span,
        kind: ChunkKind::Lines,
        symbol: String::new(),
        container: String::new(),
        signature: String::new(),
        definitions: Vec::new(),
    };
    let file = FileEntry { path: "f", language: Language::TEXT, hash: 0, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
    let mut builder = SegmentBuilder::new(dim);
    let mut vectors = vectors.into_iter();
    loop {
        let mut of_file = Vectors::default();
        vectors.by_ref().take(chunks_per_file).for_each(|vector| of_file.push(vector.as_ref()));
        if of_file.is_empty() {
            return Segment::from_bytes(&builder.finish());
        }
        let rows: Vec<_> = (0..of_file.len()).map(|row| of_file.row(row, dim)).collect();
        builder.add_file(&file, &vec![chunk.clone(); rows.len()], "", &rows);
    }
}

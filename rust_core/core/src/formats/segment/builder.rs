//! Building a segment from cut files.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::FileEntry;
use super::format::{CHUNKS_PER_BLOCK, Header, OWN_MODEL, Part, Section, assemble};
use super::properties::{Marks, SparseWriter, pack_properties, pack_secrets};
use super::record::{self, RecordState};
use crate::base::error::{Error, Result};
use crate::base::types::{Chunk, FileProperties, SecretSpan};
use crate::formats::bytes::{put_bytes, put_varint, put_zigzag};
use crate::formats::postings::dictionary::DictionaryWriter;
use crate::formats::postings::fields::Frequencies;
use crate::formats::postings::terms::{ChunkTerms, Field, Occurrence, definition_hash, length_codes};
use crate::formats::vectors::{Planes, VectorRow, Vectors};

/// A file made ready for a segment. Making it is the expensive part (every word is hashed) and needs no builder, so a batch of
/// files is drafted on all cores and pushed in order.
#[derive(Debug, Default)]
pub struct FileDraft {
    record: Vec<u8>,
    chunks: Vec<Chunk>,
    occurrences: Vec<Occurrence>,
    lengths: Vec<[u8; 3]>,
    pub(super) vectors: Vectors,
    /// Vectors of further models, each with its dimensions.
    models: BTreeMap<u16, (usize, Vectors)>,
    properties: Vec<u8>,
    secrets: Vec<u8>,
    marks: Marks,
}

impl FileDraft {
    /// Draft `file` with its chunks, the text that their spans point into, and a vector for each chunk. Unless each chunk has one
    /// of the segment's dimensions, all count as zero; a span outside the text counts as empty.
    pub fn new(file: &FileEntry<'_>, chunks: Vec<Chunk>, text: &str, vectors: &[VectorRow<'_>]) -> Self {
        let mut draft = Self { record: file_record(file), ..Self::default() };
        let mut terms = ChunkTerms::default();
        for (i, chunk) in chunks.iter().enumerate() {
            let span = chunk.span.start_byte as usize..chunk.span.end_byte as usize;
            terms.add(Field::Name, &chunk.symbol);
            terms.add(Field::Name, &chunk.signature);
            terms.add(Field::Path, file.path);
            terms.add(Field::Body, text.get(span).unwrap_or_default());
            let lengths = terms.finish(i as u32, &mut draft.occurrences);
            draft.lengths.push(length_codes(lengths));
            let mut defined: Vec<u64> = chunk.definitions.iter().map(|d| definition_hash(d)).collect();
            defined.sort_unstable();
            defined.dedup();
            let once = Frequencies::new(0, 0, 1);
            draft.occurrences.extend(defined.into_iter().map(|hash| Occurrence { hash, chunk: i as u32, frequencies: once }));
            draft.vectors.push_row(vectors.get(i).copied().unwrap_or_default());
        }
        draft.chunks = chunks;
        draft
    }

    /// Say what its source says of the file.
    #[must_use]
    pub fn with_properties(mut self, properties: &FileProperties) -> Self {
        self.properties = pack_properties(properties);
        self
    }

    /// Say where secrets of the file were masked, in the order of the lines.
    #[must_use]
    pub fn with_secrets(mut self, secrets: &[SecretSpan]) -> Self {
        self.secrets = pack_secrets(secrets);
        self
    }

    /// Say what is to be known of the file beside.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// Add the vectors of a further model, whose number is 1 or more: one for each chunk, else all count as zero.
    #[must_use]
    pub fn with_vectors_of(mut self, model: u16, dim: usize, vectors: Vectors) -> Self {
        debug_assert_ne!(model, OWN_MODEL);
        self.models.insert(model, (dim, vectors));
        self
    }

    /// How many chunks it has.
    pub fn chunk_count(&self) -> u32 {
        self.chunks.len() as u32
    }
}

fn file_record(file: &FileEntry<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(file.path.len() + 64);
    out.extend_from_slice(&file.hash.to_le_bytes());
    out.push(file.language.id());
    put_varint(&mut out, file.size);
    put_zigzag(&mut out, file.mtime_ns);
    put_zigzag(&mut out, file.updated_at);
    put_bytes(&mut out, file.path.as_bytes());
    put_varint(&mut out, file.imports.len() as u64);
    let mut before: &str = "";
    for import in file.imports {
        let mut shared = import.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
        while !import.is_char_boundary(shared) {
            shared -= 1;
        }
        put_varint(&mut out, shared as u64);
        put_bytes(&mut out, &import.as_bytes()[shared..]);
        before = import;
    }
    out
}

/// The sections of a segment while they grow; what building and merging share.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub dim: usize,
    pub files: u32,
    pub chunks: u32,
    file_starts: Vec<u8>,
    file_offsets: Vec<u8>,
    file_data: Vec<u8>,
    chunk_offsets: Vec<u8>,
    chunk_data: Vec<u8>,
    ids: Vec<u8>,
    pub lengths: Vec<u8>,
    pub vectors: Vectors,
    models: BTreeMap<u16, (usize, Vectors)>,
    properties: SparseWriter,
    secrets: SparseWriter,
    marks: SparseWriter,
    state: RecordState,
    in_file: bool,
}

impl Sections {
    pub fn new(dim: usize) -> Self {
        Self { dim, ..Self::default() }
    }

    /// Begin a file with its records as they are stored; those of properties and secrets may be empty.
    pub fn begin_file(&mut self, record: &[u8], properties: &[u8], secrets: &[u8], marks: Marks) {
        self.properties.push(self.files, properties);
        self.secrets.push(self.files, secrets);
        self.marks.push(self.files, marks.record());
        self.file_starts.extend_from_slice(&self.chunks.to_le_bytes());
        self.file_offsets.extend_from_slice(&(self.file_data.len() as u32).to_le_bytes());
        self.file_data.extend_from_slice(record);
        self.files += 1;
        self.in_file = false;
    }

    /// Add a chunk's record and id. Lengths, scale and vector are appended by the caller.
    pub fn push_chunk(&mut self, chunk: &Chunk) {
        let block_start = (self.chunks as usize).is_multiple_of(CHUNKS_PER_BLOCK);
        if block_start {
            self.chunk_offsets.extend_from_slice(&(self.chunk_data.len() as u32).to_le_bytes());
        }
        record::put(&mut self.chunk_data, &mut self.state, chunk, block_start || !self.in_file);
        self.ids.extend_from_slice(&chunk.id.to_le_bytes());
        self.in_file = true;
        self.chunks += 1;
    }

    /// Add vectors for the chunks of the file that was begun last, all of which were pushed: `count` rows.
    pub fn push_vectors(&mut self, rows: Option<Planes<'_>>, count: usize) {
        match rows {
            Some(rows) => self.vectors.extend(rows),
            None => self.vectors.push_zeros(if self.dim > 0 { count } else { 0 }, self.dim),
        }
    }

    /// The same for a further model. Files that have none of its vectors get zeros. An error where it has other dimensions already.
    pub fn push_vectors_of(&mut self, model: u16, dim: usize, rows: Option<Planes<'_>>, count: usize) -> Result<()> {
        let before = self.chunks as usize - count;
        let (known, vectors) = self.models.entry(model).or_insert_with(|| (dim, Vectors::default()));
        if *known != dim {
            return Err(Error::invalid("vectors", format!("model {model} has {known} dimensions elsewhere, not {dim}")));
        }
        vectors.push_zeros(before - vectors.len(), dim);
        match rows {
            Some(rows) => vectors.extend(rows),
            None => vectors.push_zeros(count, dim),
        }
        Ok(())
    }

    pub fn finish(mut self, words: &DictionaryWriter) -> Vec<u8> {
        self.file_starts.extend_from_slice(&self.chunks.to_le_bytes());
        let header =
            Header { dim: self.dim as u32, files: self.files, chunks: self.chunks, terms: words.terms, ..Header::default() };
        for (dim, vectors) in self.models.values_mut() {
            vectors.push_zeros(self.chunks as usize - vectors.len(), *dim);
        }
        let (properties, secrets, generated) = (self.properties.finish(), self.secrets.finish(), self.marks.finish());
        let dims: Vec<[u8; 4]> = self.models.values().map(|(dim, _)| (*dim as u32).to_le_bytes()).collect();
        let own = |section, bytes| Part { section, model: OWN_MODEL, bytes };
        let mut parts = vec![
            own(Section::FileStarts, &self.file_starts[..]),
            own(Section::FileOffsets, &self.file_offsets),
            own(Section::FileData, &self.file_data),
            own(Section::ChunkOffsets, &self.chunk_offsets),
            own(Section::ChunkData, &self.chunk_data),
            own(Section::ChunkIds, &self.ids),
            own(Section::Lengths, &self.lengths),
            own(Section::TermBlocks, &words.index),
            own(Section::TermData, &words.data),
            own(Section::Postings, &words.postings),
        ];
        parts.extend(properties.as_deref().map(|bytes| own(Section::Properties, bytes)));
        parts.extend(secrets.as_deref().map(|bytes| own(Section::Secrets, bytes)));
        parts.extend(generated.as_deref().map(|bytes| own(Section::Generated, bytes)));
        if self.dim > 0 {
            parts.extend(vector_parts(OWN_MODEL, &self.vectors));
        }
        for ((model, (_, vectors)), dim) in self.models.iter().zip(&dims) {
            parts.push(Part { section: Section::Dimensions, model: *model, bytes: dim });
            parts.extend(vector_parts(*model, vectors));
        }
        assemble(&header, &parts)
    }
}

fn vector_parts(model: u16, vectors: &Vectors) -> [Part<'_>; 3] {
    let part = |section, bytes| Part { section, model, bytes };
    [
        part(Section::Scales, &vectors.scales[..]),
        part(Section::VectorHighs, &vectors.high),
        part(Section::VectorLows, &vectors.low),
    ]
}

/// Collects drafts into a segment.
#[derive(Debug)]
pub struct SegmentBuilder {
    sections: Sections,
    occurrences: Vec<Occurrence>,
}

impl SegmentBuilder {
    /// An empty segment for vectors of `dim` dimensions; with 0 it holds none.
    pub fn new(dim: usize) -> Self {
        Self { sections: Sections::new(dim), occurrences: Vec::new() }
    }

    /// Draft and push in one go.
    pub fn add_file(&mut self, file: &FileEntry<'_>, chunks: &[Chunk], text: &str, vectors: &[VectorRow<'_>]) {
        self.push(FileDraft::new(file, chunks.to_vec(), text, vectors));
    }

    /// Add a file. Files keep the order in which they are pushed.
    pub fn push(&mut self, draft: FileDraft) {
        let FileDraft { record, chunks, occurrences, lengths, vectors, models, properties, secrets, marks } = draft;
        let Self { sections, occurrences: all } = self;
        let first = sections.chunks;
        sections.begin_file(&record, &properties, &secrets, marks);
        for (chunk, codes) in chunks.iter().zip(lengths) {
            sections.push_chunk(chunk);
            sections.lengths.extend_from_slice(&codes);
        }
        let fitting = vectors.fits(chunks.len(), sections.dim) && sections.dim > 0;
        sections.push_vectors(fitting.then(|| vectors.planes()), chunks.len());
        for (model, (dim, vectors)) in &models {
            let fitting = vectors.fits(chunks.len(), *dim);
            // Of other dimensions than before they are of no use.
            let _ = sections.push_vectors_of(*model, *dim, fitting.then(|| vectors.planes()), chunks.len());
        }
        all.extend(occurrences.into_iter().map(|o| Occurrence { chunk: o.chunk + first, ..o }));
    }

    /// Chunks so far.
    pub fn chunk_count(&self) -> u32 {
        self.sections.chunks
    }

    /// Files so far.
    pub fn file_count(&self) -> u32 {
        self.sections.files
    }

    /// The segment file.
    pub fn finish(mut self) -> Vec<u8> {
        // Half of the work of finishing. Called from a pool, it uses that pool.
        self.occurrences.par_sort_unstable_by_key(Occurrence::order);
        let mut words = DictionaryWriter::default();
        let mut list = Vec::new();
        for group in self.occurrences.chunk_by(|a, b| a.hash == b.hash) {
            list.clear();
            list.extend(group.iter().map(|o| (o.chunk, o.frequencies)));
            // Two terms of one chunk may share a hash, once in billions: the list must still ascend.
            list.dedup_by_key(|p| p.0);
            words.push(group[0].hash, &list);
        }
        drop(std::mem::take(&mut self.occurrences));
        self.sections.finish(&words)
    }
}

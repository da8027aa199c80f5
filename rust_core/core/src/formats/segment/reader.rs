//! Reading a segment, from memory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memmap2::{Mmap, MmapMut};

use super::format::{self, CHUNKS_PER_BLOCK, Header, Section};
use super::properties::{Marks, Sparse, count_secrets, unpack_properties, unpack_secrets};
use super::record::{self, Record, RecordState};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::types::{Chunk, ChunkKind, FileProperties, SecretSpan, Span};
use crate::formats::bytes::{Cursor, read_u32};
use crate::formats::postings::dictionary::Dictionary;
use crate::formats::vectors::{Planes, VectorRow};

/// From here on a segment has its memory in large pages: some of them.
#[cfg(target_os = "linux")]
const LARGE: usize = 8 << 20;

/// An open segment. Ordinals beyond its files or chunks give empty answers.
pub struct Segment {
    /// A copy in memory that begins on a page, so that vectors lie on cache lines. Not the file itself, mapped: who cut that short
    /// or wrote to it would end this process with SIGBUS, or change what it reads.
    bytes: Mmap,
    header: Header,
    /// The chunks that lack their vector, found when first asked for.
    without_vector: OnceLock<Box<[u32]>>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Segment {{ files: {}, chunks: {} }}", self.header.files, self.header.chunks)
    }
}

/// A file of a segment.
#[derive(Clone, Copy, Debug)]
pub struct FileRef<'a> {
    /// Relative to the workspace root, `/`-separated.
    pub path: &'a str,
    /// Its language.
    pub language: Language,
    /// `xxh3_128` of the raw bytes.
    pub hash: u128,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When its content was last changed, by its modification time then, seconds since 1970.
    pub updated_at: i64,
    imports: &'a [u8],
}

/// The vectors that a further model has made of a segment's chunks.
#[derive(Clone, Copy, Debug)]
pub struct ModelVectors<'a> {
    dim: usize,
    planes: Planes<'a>,
}

impl<'a> ModelVectors<'a> {
    /// Their dimensions.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// A chunk's vector; zeros where it has none.
    pub fn row(&self, chunk: u32) -> VectorRow<'a> {
        self.planes.row(chunk as usize, self.dim)
    }

    pub(super) fn planes(&self) -> Planes<'a> {
        self.planes
    }
}

impl FileRef<'_> {
    /// What it imports, as written, in order.
    pub fn imports(&self) -> Vec<String> {
        let mut cursor = Cursor::new(self.imports, 0);
        let mut imports: Vec<String> = Vec::new();
        for _ in 0..cursor.varint() {
            if cursor.is_empty() {
                break;
            }
            let shared = usize::try_from(cursor.varint()).unwrap_or(usize::MAX);
            let mut import = imports.last().and_then(|before| before.get(..shared)).unwrap_or_default().to_owned();
            import.push_str(cursor.text());
            imports.push(import);
        }
        imports
    }
}

impl Segment {
    /// Open a segment that is in memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::open(Path::new("(memory)"), bytes.len(), |copy| {
            copy.copy_from_slice(bytes);
            Ok(())
        })
    }

    /// Read a segment file. Magic, version, length and checksum are checked before anything else is looked at. What happens to
    /// the file afterwards changes nothing.
    pub fn read(path: &Path) -> Result<Self> {
        let damaged = |reason: &str| Error::Damaged { path: path.to_owned(), reason: reason.to_owned() };
        // Windows doesn't even open a folder.
        let mut file = File::open(path).map_err(|e| if path.is_dir() { damaged("no file") } else { Error::io(path, e) })?;
        let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
        if !metadata.is_file() {
            return Err(damaged("no file"));
        }
        Self::open(path, usize::try_from(metadata.len()).unwrap_or(usize::MAX), |copy| {
            file.read_exact(copy).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => damaged("cut short while it was read"),
                _ => Error::io(path, e),
            })
        })
    }

    fn open(path: &Path, size: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Self> {
        if size == 0 {
            return Err(Error::Damaged { path: path.to_owned(), reason: "empty".to_owned() });
        }
        let no_memory = |e| Error::io(path, e);
        let mut copy = MmapMut::map_anon(size).map_err(no_memory)?;
        #[cfg(target_os = "linux")]
        if size >= LARGE {
            // Small pages take longer to get than a file takes to read, and make a scan slower. Best effort.
            let _ = copy.advise(memmap2::Advice::HugePage);
        }
        fill(&mut copy)?;
        let bytes = copy.make_read_only().map_err(no_memory)?;
        let header = format::open(&bytes, path)?;
        let segment = Self { bytes, header, without_vector: OnceLock::new() };
        segment.check_file_starts(path)?;
        Ok(segment)
    }

    /// Every chunk must belong to one file: ranges of chunks are trusted afterwards.
    fn check_file_starts(&self, path: &Path) -> Result<()> {
        let starts = self.section(Section::FileStarts);
        let mut before = 0;
        for i in 0..=self.header.files {
            let start = read_u32(starts, i as usize * 4);
            if start < before || (i == 0 && start != 0) || (i == self.header.files && start != self.header.chunks) {
                return Err(Error::Damaged { path: PathBuf::from(path), reason: "chunks without a file".to_owned() });
            }
            before = start;
        }
        Ok(())
    }

    fn section(&self, section: Section) -> &[u8] {
        &self.bytes[self.header.place(section)]
    }

    /// Dimensions of its vectors; 0 where it has none.
    pub fn dim(&self) -> usize {
        self.header.dim as usize
    }

    /// Whether it holds vectors of the model in use.
    pub fn has_vectors(&self) -> bool {
        self.header.dim > 0
    }

    /// The chunks whose model gave no vector yet, ascending.
    pub fn chunks_without_vector(&self) -> &[u32] {
        self.without_vector.get_or_init(|| if self.has_vectors() { self.vectors().absent().collect() } else { Box::default() })
    }

    /// Whether it has sections that a newer Carrel wrote and this build doesn't know: a merge would lose them.
    pub fn has_unknown_sections(&self) -> bool {
        self.header.has_unknown
    }

    /// How many files it has, live or not.
    pub fn file_count(&self) -> u32 {
        self.header.files
    }

    /// How many chunks it has, live or not.
    pub fn chunk_count(&self) -> u32 {
        self.header.chunks
    }

    /// The whole segment, as its file should be.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of each section, by name, for `status` and benchmarks.
    pub fn section_sizes(&self) -> Vec<(&'static str, u64)> {
        use Section as S;
        [
            ("files", vec![S::FileStarts, S::FileOffsets, S::FileData]),
            ("chunks", vec![S::ChunkOffsets, S::ChunkData]),
            ("ids", vec![S::ChunkIds]),
            ("lengths", vec![S::Lengths]),
            ("terms", vec![S::TermBlocks, S::TermData]),
            ("postings", vec![S::Postings]),
            ("vectors", vec![S::Scales, S::VectorHighs, S::VectorLows]),
            ("properties", vec![S::Properties, S::Secrets]),
        ]
        .into_iter()
        .map(|(name, sections)| (name, sections.into_iter().map(|s| self.header.place(s).len() as u64).sum()))
        .collect()
    }

    /// A file.
    pub fn file(&self, file: u32) -> FileRef<'_> {
        let mut cursor = if file < self.header.files {
            Cursor::new(self.section(Section::FileData), read_u32(self.section(Section::FileOffsets), file as usize * 4) as usize)
        } else {
            Cursor::new(&[], 0)
        };
        let hash = cursor.take(16).first_chunk().map_or(0, |b| u128::from_le_bytes(*b));
        let language = Language::from_id(cursor.byte()).unwrap_or(Language::TEXT);
        let (size, mtime_ns, updated_at) = (cursor.varint(), cursor.zigzag(), cursor.zigzag());
        FileRef { path: cursor.text(), language, hash, size, mtime_ns, updated_at, imports: cursor.rest() }
    }

    /// The record of a file as it is stored, for copying.
    pub(super) fn file_record(&self, file: u32) -> &[u8] {
        let (data, offsets) = (self.section(Section::FileData), self.section(Section::FileOffsets));
        let start = (read_u32(offsets, file as usize * 4) as usize).min(data.len());
        let end = if file + 1 < self.header.files { read_u32(offsets, file as usize * 4 + 4) as usize } else { data.len() };
        data.get(start..end).unwrap_or_default()
    }

    /// What its source says of a file.
    pub fn properties(&self, file: u32) -> FileProperties {
        unpack_properties(self.properties_record(file))
    }

    /// Whether a source says something of any file.
    pub fn has_properties(&self) -> bool {
        !self.section(Section::Properties).is_empty()
    }

    /// What is to be known of a file beside its chunks.
    pub fn marks(&self, file: u32) -> Marks {
        Marks::of_record(Sparse::new(self.section(Section::Generated)).record(file))
    }

    /// The files whose encoding is a guess.
    pub fn guessed_encodings(&self) -> impl Iterator<Item = u32> {
        let marked = Sparse::new(self.section(Section::Generated)).iter();
        marked.filter(|(_, record)| Marks::of_record(record).is_guess).map(|(file, _)| file)
    }

    /// Where secrets of a file were masked.
    pub fn secrets(&self, file: u32) -> Vec<SecretSpan> {
        unpack_secrets(self.secrets_record(file))
    }

    /// The files in which secrets were masked, and how many in each.
    pub fn secret_counts(&self) -> impl Iterator<Item = (u32, u64)> {
        Sparse::new(self.section(Section::Secrets)).iter().map(|(file, record)| (file, count_secrets(record)))
    }

    /// The stored properties of a file, for copying.
    pub(super) fn properties_record(&self, file: u32) -> &[u8] {
        Sparse::new(self.section(Section::Properties)).record(file)
    }

    /// The stored secrets of a file, for copying.
    pub(super) fn secrets_record(&self, file: u32) -> &[u8] {
        Sparse::new(self.section(Section::Secrets)).record(file)
    }

    /// The chunks of a file.
    pub fn file_chunks(&self, file: u32) -> Range<u32> {
        if file >= self.header.files {
            return 0..0;
        }
        let starts = self.section(Section::FileStarts);
        read_u32(starts, file as usize * 4)..read_u32(starts, file as usize * 4 + 4)
    }

    /// The file of a chunk.
    pub fn file_of(&self, chunk: u32) -> u32 {
        let starts = self.section(Section::FileStarts);
        let (mut low, mut high) = (0, self.header.files);
        while low < high {
            let middle = u32::midpoint(low, high);
            if read_u32(starts, middle as usize * 4 + 4) <= chunk { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// A chunk with everything that is recorded of it.
    pub fn chunk(&self, chunk: u32) -> Chunk {
        let (record, state) = self.record(chunk);
        record.to_chunk(self.chunk_id(chunk), &state)
    }

    /// A chunk's place, cheaper than the whole chunk.
    pub fn span(&self, chunk: u32) -> Span {
        self.record(chunk).0.span
    }

    /// A chunk's kind, cheaper than the whole chunk.
    pub fn kind(&self, chunk: u32) -> ChunkKind {
        self.record(chunk).0.kind
    }

    /// A chunk's kind, place and symbol, cheaper than the whole chunk.
    pub fn outline(&self, chunk: u32) -> (ChunkKind, Span, String) {
        let (record, state) = self.record(chunk);
        (record.kind, record.span, record.symbol(&state))
    }

    /// Look at the names that a chunk defines.
    pub fn each_definition(&self, chunk: u32, look: impl FnMut(&str)) {
        if chunk < self.header.chunks {
            self.record(chunk).0.each_definition(look);
        }
    }

    fn record(&self, chunk: u32) -> (Record<'_>, RecordState) {
        let block = chunk as usize / CHUNKS_PER_BLOCK;
        let start = read_u32(self.section(Section::ChunkOffsets), block * 4) as usize;
        let mut cursor = Cursor::new(self.section(Section::ChunkData), start);
        let mut state = RecordState::default();
        let mut record = record::take(&mut cursor, &mut state);
        for _ in 0..chunk as usize % CHUNKS_PER_BLOCK {
            record = record::take(&mut cursor, &mut state);
        }
        (record, state)
    }

    /// Look at the names that these chunks define, in order, without walking to each.
    pub fn each_defined_name(&self, range: Range<u32>, mut look: impl FnMut(&str)) {
        let range = range.start..range.end.min(self.header.chunks);
        if range.is_empty() {
            return;
        }
        let mut state = RecordState::default();
        let first_in_block = range.start - range.start % CHUNKS_PER_BLOCK as u32;
        let start = read_u32(self.section(Section::ChunkOffsets), range.start as usize / CHUNKS_PER_BLOCK * 4) as usize;
        let mut cursor = Cursor::new(self.section(Section::ChunkData), start);
        for chunk in first_in_block..range.end {
            let record = record::take(&mut cursor, &mut state);
            if chunk >= range.start {
                record.each_definition(&mut look);
            }
        }
    }

    /// Look at every chunk in order, as [`Segment::chunk`] gives it but without walking to each.
    pub(super) fn each_chunk(&self, range: Range<u32>, mut look: impl FnMut(u32, Chunk)) {
        let mut state = RecordState::default();
        let first_in_block = range.start - range.start % CHUNKS_PER_BLOCK as u32;
        let start = read_u32(self.section(Section::ChunkOffsets), range.start as usize / CHUNKS_PER_BLOCK * 4) as usize;
        let mut cursor = Cursor::new(self.section(Section::ChunkData), start);
        for chunk in first_in_block..range.end {
            let record = record::take(&mut cursor, &mut state);
            if chunk >= range.start {
                look(chunk, record.to_chunk(self.chunk_id(chunk), &state));
            }
        }
    }

    /// A chunk's id.
    pub fn chunk_id(&self, chunk: u32) -> u128 {
        let bytes = self.section(Section::ChunkIds).get(chunk as usize * 16..).and_then(|b| b.first_chunk());
        bytes.map_or(0, |b| u128::from_le_bytes(*b))
    }

    /// A chunk's vector.
    pub fn vector(&self, chunk: u32) -> VectorRow<'_> {
        self.vectors().row(chunk as usize, self.dim())
    }

    /// The vectors of a further model, by its number; `None` where it has made none.
    pub fn vectors_of(&self, model: u16) -> Option<ModelVectors<'_>> {
        let bytes = |section| Some(&self.bytes[self.header.place_of(model, section)?]);
        let dim = read_u32(bytes(Section::Dimensions)?, 0) as usize;
        let (high, low) = (bytes(Section::VectorHighs)?, bytes(Section::VectorLows)?);
        Some(ModelVectors { dim, planes: Planes { high, low, scales: bytes(Section::Scales)? } })
    }

    /// The numbers of the further models.
    pub fn further_models(&self) -> impl Iterator<Item = u16> {
        self.header.models()
    }

    /// All vectors of the model in use; empty where there are none.
    pub(crate) fn vectors(&self) -> Planes<'_> {
        Planes {
            high: self.section(Section::VectorHighs),
            low: self.section(Section::VectorLows),
            scales: self.section(Section::Scales),
        }
    }

    /// Field length codes, three a chunk.
    pub(crate) fn lengths(&self) -> &[u8] {
        self.section(Section::Lengths)
    }

    /// The terms.
    pub(crate) fn dictionary(&self) -> Dictionary<'_> {
        Dictionary {
            index: self.section(Section::TermBlocks),
            data: self.section(Section::TermData),
            postings: self.section(Section::Postings),
            terms: self.header.terms,
        }
    }
}

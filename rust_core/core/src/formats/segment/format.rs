//! The byte layout of a segment file.
//!
//! Everything is little-endian; numbers are read byte-wise, so nothing depends on alignment (vectors start at a multiple of
//! 64 bytes for speed only). `varint` is LEB128, `text` is a varint length and UTF-8 bytes.
//!
//! ```text
//! 0    8  magic "CarrelSg"
//! 8    4  format version
//! 12   4  vector dimensions
//! 16   8  length of the whole file
//! 24   8  xxh3_64 of every byte from 32 on, its seed the dimensions
//! 32   4  files          36  4  chunks        40  8  terms
//! 48  24  sum of field lengths in terms: name, path, body (3 x u64)
//! 72   .  section table: offset u64, length u64 for each of `Section`
//! .    .  the sections, in the order of `Section`
//!
//! FileStarts   u32 each (files + 1)  first chunk of the file
//! FileOffsets  u32 each              where its record begins in FileData
//! FileData     hash 16, language 1, varint size, zigzag mtime_ns, zigzag updated_at, text path,
//!              varint imports, each: varint bytes shared with the one before, text rest
//! ChunkOffsets u32 for every 16th chunk, into ChunkData
//! ChunkData    records, see `segment/record.rs`; a chunk is read by walking at most 15 records before it
//! ChunkIds     16 bytes each
//! Lengths      3 bytes a chunk: field lengths on a coarse scale (`postings/fields.rs`)
//! Scales       two f32 a chunk: scale and slack
//! TermBlocks   for every 32nd term: hash u64, offset in TermData u64, offset in Postings u64
//! TermData     terms by ascending hash, see `postings/dictionary.rs`
//! Postings     posting lists of terms that are in two chunks or more, see `postings/list.rs`
//! VectorHighs  the high halves of the vectors, see `vectors.rs`
//! VectorLows   the low halves
//! ```
//!
//! Terms are kept as 36-bit hashes, not as text: nobody asks a segment for its words, and text would be a sixth of the
//! index. An absent word meets a stored hash by chance about once in 170,000 questions at 400,000 terms.

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::formats::bytes::{read_u32, read_u64};
use crate::formats::vectors::{SCALES_BYTES, plane_bytes};

/// First bytes of every segment.
pub const MAGIC: [u8; 8] = *b"CarrelSg";
/// Version of this layout. Another one is refused and built again.
pub const VERSION: u32 = 3;
/// Bytes before the checksummed part.
pub const CHECKED_FROM: usize = 32;
/// Chunks that share one offset.
pub const CHUNKS_PER_BLOCK: usize = 16;
/// Where vectors are aligned to.
const VECTOR_ALIGNMENT: usize = 64;
const TABLE_AT: usize = 72;

/// The parts of a segment, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Section {
    /// First chunk of each file.
    FileStarts,
    /// Offsets of file records.
    FileOffsets,
    /// File records.
    FileData,
    /// Offsets of blocks of chunk records.
    ChunkOffsets,
    /// Chunk records.
    ChunkData,
    /// Chunk ids.
    ChunkIds,
    /// Field lengths.
    Lengths,
    /// Scales and slacks of the vectors.
    Scales,
    /// Index over blocks of terms.
    TermBlocks,
    /// Terms.
    TermData,
    /// Long posting lists.
    Postings,
    /// High halves of the vectors.
    VectorHighs,
    /// Low halves of the vectors.
    VectorLows,
}

/// How many sections there are.
pub const SECTIONS: usize = Section::VectorLows as usize + 1;

/// The numbers at the beginning of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Dimensions of a vector.
    pub dim: u32,
    /// Number of files.
    pub files: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// Number of terms.
    pub terms: u64,
    /// Sum of field lengths over all chunks.
    pub length_sums: [u64; 3],
    /// Byte offset and length of each section.
    pub sections: [(u64, u64); SECTIONS],
}

/// Write header and sections as one file.
pub fn assemble(mut header: Header, sections: &[&[u8]; SECTIONS]) -> Vec<u8> {
    let mut at = TABLE_AT + SECTIONS * 16;
    for (i, section) in sections.iter().enumerate() {
        if i >= Section::VectorHighs as usize {
            at = at.next_multiple_of(VECTOR_ALIGNMENT);
        }
        header.sections[i] = (at as u64, section.len() as u64);
        at += section.len();
    }
    let mut out = Vec::with_capacity(at);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&header.dim.to_le_bytes());
    out.extend_from_slice(&(at as u64).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&header.files.to_le_bytes());
    out.extend_from_slice(&header.chunks.to_le_bytes());
    out.extend_from_slice(&header.terms.to_le_bytes());
    for sum in header.length_sums {
        out.extend_from_slice(&sum.to_le_bytes());
    }
    for (offset, length) in header.sections {
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
    }
    for (section, (offset, _)) in sections.iter().zip(header.sections) {
        out.resize(offset as usize, 0);
        out.extend_from_slice(section);
    }
    seal(&mut out);
    out
}

/// Put the checksum of the present content into `file`.
pub fn seal(file: &mut [u8]) {
    let sum = checksum(file);
    file[24..32].copy_from_slice(&sum.to_le_bytes());
}

/// Of the content, with the dimensions as its seed: nothing else would notice them changed in a segment without chunks.
fn checksum(file: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(&file[CHECKED_FROM..], read_u32(file, 12).into())
}

/// Check `file` from its magic to its checksum and to the size of every section, and give its numbers.
pub fn open(file: &[u8], path: &Path) -> Result<Header> {
    let damaged = |reason: &str| Error::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    if file.len() < TABLE_AT + SECTIONS * 16 {
        return Err(damaged("too short"));
    }
    if file[..8] != MAGIC {
        return Err(damaged("not a segment"));
    }
    if read_u32(file, 8) != VERSION {
        return Err(damaged("another format version"));
    }
    if read_u64(file, 16) != file.len() as u64 {
        return Err(damaged("wrong length"));
    }
    if read_u64(file, 24) != checksum(file) {
        return Err(damaged("checksum differs"));
    }
    let mut header = Header {
        dim: read_u32(file, 12),
        files: read_u32(file, 32),
        chunks: read_u32(file, 36),
        terms: read_u64(file, 40),
        length_sums: [read_u64(file, 48), read_u64(file, 56), read_u64(file, 64)],
        ..Header::default()
    };
    for (i, section) in header.sections.iter_mut().enumerate() {
        let (offset, length) = (read_u64(file, TABLE_AT + i * 16), read_u64(file, TABLE_AT + i * 16 + 8));
        if offset.checked_add(length).is_none_or(|end| end > file.len() as u64) {
            return Err(damaged("a section leaves the file"));
        }
        *section = (offset, length);
    }
    let (files, chunks) = (header.files as u64, header.chunks as u64);
    let fixed = [
        (Section::FileStarts, (files + 1) * 4),
        (Section::FileOffsets, files * 4),
        (Section::ChunkOffsets, chunks.div_ceil(CHUNKS_PER_BLOCK as u64) * 4),
        (Section::ChunkIds, chunks * 16),
        (Section::Lengths, chunks * 3),
        (Section::Scales, chunks * SCALES_BYTES as u64),
        (Section::VectorHighs, chunks * plane_bytes(header.dim as usize) as u64),
        (Section::VectorLows, chunks * plane_bytes(header.dim as usize) as u64),
    ];
    if fixed.iter().any(|&(section, bytes)| header.sections[section as usize].1 != bytes) {
        return Err(damaged("a section has the wrong size"));
    }
    Ok(header)
}

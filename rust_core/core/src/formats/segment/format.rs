//! The byte layout of a segment file.
//!
//! Everything is little-endian; numbers are read byte-wise, so nothing depends on alignment (vectors start at a multiple of
//! 64 bytes for speed only). `varint` is LEB128, `text` is a varint length and UTF-8 bytes.
//!
//! ```text
//! 0    8  magic "CarrelSg"
//! 8    4  format version
//! 12   4  vector dimensions; 0 in a segment without vectors
//! 16   8  length of the whole file
//! 24   8  xxh3_64 of every byte from 32 on, its seed version << 32 | dimensions
//! 32   4  files          36  4  chunks        40  8  terms
//! 48  24  unused, 0 (earlier segments have sums of field lengths)
//! 72   4  sections       76  4  unused, 0
//! 80   .  section table, an entry for each: tag u16, model u16, flags u32, offset u64, length u64
//! .    .  the sections
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
//! Properties   version and metadata of the files that have some, see `segment/properties.rs`
//! Secrets      where secrets of files were masked, see `segment/properties.rs`; never a value
//! Dimensions   u32, the dimensions of a further model's vectors
//! Generated    which files say that a program wrote them, see `segment/properties.rs`
//! ```
//!
//! The three sections of vectors are there when there are vectors. `model` is 0 in every entry but those of vectors by a
//! further model, which has a number of its own from 1 on, and its dimensions besides. A reader skips a section that it doesn't know,
//! unless the entry's flags say [`REQUIRED`]: then only a newer Carrel understands the file. A segment with a section that was skipped
//! is not merged, since nobody here could carry the section over.
//!
//! Version 3 had the first thirteen sections and a table of their offsets and lengths alone. It is still read.
//!
//! Terms are kept as 36-bit hashes, not as text: nobody asks a segment for its words, and text would be a sixth of the
//! index. An absent word meets a stored hash by chance about once in 170,000 questions at 400,000 terms.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::formats::bytes::{read_u32, read_u64};
use crate::formats::vectors::{SCALES_BYTES, plane_bytes};

/// First bytes of every segment.
pub const MAGIC: [u8; 8] = *b"CarrelSg";
/// Version of this layout.
pub const VERSION: u32 = 4;
/// The oldest layout that is read.
const OLDEST: u32 = 3;
/// Flag of a section that a reader must know to understand the file.
pub const REQUIRED: u32 = 1;
/// Bytes before the checksummed part.
pub const CHECKED_FROM: usize = 32;
/// Chunks that share one offset.
pub const CHUNKS_PER_BLOCK: usize = 16;
/// Where vectors are aligned to.
const VECTOR_ALIGNMENT: usize = 64;
const UNUSED_AT: usize = 48;
/// Where the number of sections stands, and in version 3 the table.
const COUNT_AT: usize = 72;
const TABLE_AT: usize = 80;
const ENTRY_BYTES: usize = 24;
/// Bytes of an entry in version 3.
const OLD_ENTRY_BYTES: usize = 16;
/// The number of the model in use among a segment's models.
pub const OWN_MODEL: u16 = 0;

/// The parts of a segment. The discriminants are the tags in the file: append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
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
    /// Versions and metadata of files.
    Properties,
    /// Where secrets were masked.
    Secrets,
    /// The dimensions of a further model's vectors.
    Dimensions,
    /// Files that a program wrote.
    Generated,
}

impl Section {
    const ALL: [Self; 17] = [
        Self::FileStarts,
        Self::FileOffsets,
        Self::FileData,
        Self::ChunkOffsets,
        Self::ChunkData,
        Self::ChunkIds,
        Self::Lengths,
        Self::Scales,
        Self::TermBlocks,
        Self::TermData,
        Self::Postings,
        Self::VectorHighs,
        Self::VectorLows,
        Self::Properties,
        Self::Secrets,
        Self::Dimensions,
        Self::Generated,
    ];
    /// How many sections version 3 had: the first ones.
    const OLD: usize = Self::VectorLows as usize + 1;

    fn of_tag(tag: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|section| *section as u16 == tag)
    }

    /// Whether a segment may lack it.
    pub fn is_optional(self) -> bool {
        matches!(
            self,
            Self::Scales
                | Self::VectorHighs
                | Self::VectorLows
                | Self::Properties
                | Self::Secrets
                | Self::Dimensions
                | Self::Generated
        )
    }
}

/// The numbers at the beginning of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Dimensions of a vector; 0 without vectors.
    pub dim: u32,
    /// Number of files.
    pub files: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// Number of terms.
    pub terms: u64,
    /// Byte offset and length of each section; nothing for those that the segment lacks.
    pub sections: [Place; Section::ALL.len()],
    /// The further models' sections.
    pub models: BTreeMap<(u16, Section), Place>,
    /// Whether it has sections that this build doesn't know.
    pub has_unknown: bool,
}

/// Byte offset and length.
type Place = (u64, u64);

impl Header {
    /// Where a section is; an empty range for one that the segment lacks.
    pub fn place(&self, section: Section) -> Range<usize> {
        let (offset, length) = self.sections[section as usize];
        offset as usize..(offset + length) as usize
    }

    /// Where a section of a further model is.
    pub fn place_of(&self, model: u16, section: Section) -> Option<Range<usize>> {
        let (offset, length) = *self.models.get(&(model, section))?;
        Some(offset as usize..(offset + length) as usize)
    }

    /// The numbers of the further models.
    pub fn models(&self) -> impl Iterator<Item = u16> {
        self.models.keys().filter(|(_, section)| *section == Section::Dimensions).map(|(model, _)| *model)
    }
}

/// A section to be written.
pub struct Part<'a> {
    /// What it is.
    pub section: Section,
    /// Whose vectors it holds.
    pub model: u16,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// Write header and sections as one file.
pub fn assemble(header: &Header, parts: &[Part<'_>]) -> Vec<u8> {
    let mut at = TABLE_AT + parts.len() * ENTRY_BYTES;
    let offsets: Vec<usize> = parts
        .iter()
        .map(|part| {
            if matches!(part.section, Section::VectorHighs | Section::VectorLows) {
                at = at.next_multiple_of(VECTOR_ALIGNMENT);
            }
            at += part.bytes.len();
            at - part.bytes.len()
        })
        .collect();
    let mut out = Vec::with_capacity(at);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&header.dim.to_le_bytes());
    out.extend_from_slice(&(at as u64).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&header.files.to_le_bytes());
    out.extend_from_slice(&header.chunks.to_le_bytes());
    out.extend_from_slice(&header.terms.to_le_bytes());
    out.extend_from_slice(&[0; COUNT_AT - UNUSED_AT]);
    out.extend_from_slice(&(parts.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for (part, offset) in parts.iter().zip(&offsets) {
        let flags = if part.section.is_optional() { 0 } else { REQUIRED };
        out.extend_from_slice(&(part.section as u16).to_le_bytes());
        out.extend_from_slice(&part.model.to_le_bytes());
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&(*offset as u64).to_le_bytes());
        out.extend_from_slice(&(part.bytes.len() as u64).to_le_bytes());
    }
    for (part, offset) in parts.iter().zip(offsets) {
        out.resize(offset, 0);
        out.extend_from_slice(part.bytes);
    }
    seal(&mut out);
    out
}

/// Put the checksum of the present content into `file`.
pub fn seal(file: &mut [u8]) {
    let sum = checksum(file);
    file[24..32].copy_from_slice(&sum.to_le_bytes());
}

/// Of the content. Its seed is what stands before it: nothing else would notice that the version or, in a segment without chunks,
/// the dimensions were changed. Version 3 left itself out.
fn checksum(file: &[u8]) -> u64 {
    let (version, dim) = (u64::from(read_u32(file, 8)), u64::from(read_u32(file, 12)));
    let seed = if version > OLDEST.into() { version << 32 | dim } else { dim };
    xxhash_rust::xxh3::xxh3_64_with_seed(&file[CHECKED_FROM..], seed)
}

/// Check `file` from its magic to its checksum and to the size of every section, and give its numbers.
pub fn open(file: &[u8], path: &Path) -> Result<Header> {
    let damaged = |reason: &str| Error::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    if file.len() < TABLE_AT {
        return Err(damaged("too short"));
    }
    if file[..8] != MAGIC {
        return Err(damaged("not a segment"));
    }
    let version = read_u32(file, 8);
    if version < OLDEST {
        return Err(damaged("another format version"));
    }
    if read_u64(file, 16) != file.len() as u64 {
        return Err(damaged("wrong length"));
    }
    if read_u64(file, 24) != checksum(file) {
        return Err(damaged("checksum differs"));
    }
    if version > VERSION {
        return Err(Error::NewerSegment { path: path.to_owned(), what: format!("segment format {version}") });
    }
    let mut header = Header {
        dim: read_u32(file, 12),
        files: read_u32(file, 32),
        chunks: read_u32(file, 36),
        terms: read_u64(file, 40),
        ..Header::default()
    };
    if version == VERSION {
        read_table(file, path, &mut header)?;
    } else {
        read_old_table(file, path, &mut header)?;
    }
    check_sizes(file, &header).map_err(damaged)?;
    Ok(header)
}

/// Read the table of tagged sections.
fn read_table(file: &[u8], path: &Path, header: &mut Header) -> Result<()> {
    let damaged = |reason: &str| Error::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    let table = (read_u32(file, COUNT_AT) as usize).checked_mul(ENTRY_BYTES).and_then(|bytes| file.get(TABLE_AT..)?.get(..bytes));
    let mut found = [false; Section::ALL.len()];
    for entry in table.ok_or_else(|| damaged("its table leaves the file"))?.chunks_exact(ENTRY_BYTES) {
        let (tag, model) = (read_u32(entry, 0) as u16, (read_u32(entry, 0) >> 16) as u16);
        let place = (read_u64(entry, 8), read_u64(entry, 16));
        if place.0.checked_add(place.1).is_none_or(|end| end > file.len() as u64) {
            return Err(damaged("a section leaves the file"));
        }
        let Some(section) = Section::of_tag(tag) else {
            if read_u32(entry, 4) & REQUIRED != 0 {
                return Err(Error::NewerSegment { path: path.to_owned(), what: format!("section {tag}") });
            }
            header.has_unknown = true;
            continue;
        };
        let twice = if model == OWN_MODEL {
            header.sections[section as usize] = place;
            std::mem::replace(&mut found[section as usize], true)
        } else {
            header.models.insert((model, section), place).is_some()
        };
        if twice {
            return Err(damaged("a section is there twice"));
        }
    }
    // A section that every reader needs is written even when it is empty.
    if Section::ALL.into_iter().zip(found).any(|(section, found)| !found && !section.is_optional()) {
        return Err(damaged("a section is missing"));
    }
    Ok(())
}

/// Read the table of version 3: thirteen sections in a fixed order.
fn read_old_table(file: &[u8], path: &Path, header: &mut Header) -> Result<()> {
    let damaged = |reason: &str| Error::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    let table = file.get(COUNT_AT..COUNT_AT + Section::OLD * OLD_ENTRY_BYTES).ok_or_else(|| damaged("too short"))?;
    for (entry, section) in table.chunks_exact(OLD_ENTRY_BYTES).zip(&mut header.sections) {
        let place = (read_u64(entry, 0), read_u64(entry, 8));
        if place.0.checked_add(place.1).is_none_or(|end| end > file.len() as u64) {
            return Err(damaged("a section leaves the file"));
        }
        *section = place;
    }
    if header.dim == 0 {
        // It had scales all the same.
        header.sections[Section::Scales as usize].1 = 0;
    }
    Ok(())
}

/// Check the sections whose size follows from the numbers.
fn check_sizes(file: &[u8], header: &Header) -> std::result::Result<(), &'static str> {
    let (files, chunks) = (u64::from(header.files), u64::from(header.chunks));
    let fixed = [
        (Section::FileStarts, (files + 1) * 4),
        (Section::FileOffsets, files * 4),
        (Section::ChunkOffsets, chunks.div_ceil(CHUNKS_PER_BLOCK as u64) * 4),
        (Section::ChunkIds, chunks * 16),
        (Section::Lengths, chunks * 3),
    ];
    let size = |section: Section| header.sections[section as usize].1;
    let has_vectors = header.dim > 0;
    let vectors = vector_sizes(chunks, header.dim);
    if fixed.into_iter().any(|(section, bytes)| size(section) != bytes)
        || vectors.into_iter().any(|(section, bytes)| size(section) != if has_vectors { bytes } else { 0 })
    {
        return Err("a section has the wrong size");
    }
    for (model, section) in header.models.keys() {
        let dim = match header.place_of(*model, Section::Dimensions) {
            Some(place) if place.len() == 4 => read_u32(file, place.start),
            _ => return Err("vectors without their dimensions"),
        };
        let sizes = vector_sizes(chunks, dim);
        let whole = sizes.into_iter().all(|(s, bytes)| header.place_of(*model, s).is_some_and(|p| p.len() as u64 == bytes));
        if !whole || !(*section == Section::Dimensions || sizes.iter().any(|(known, _)| known == section)) {
            return Err("a further model's section has the wrong size");
        }
    }
    Ok(())
}

fn vector_sizes(chunks: u64, dim: u32) -> [(Section, u64); 3] {
    let plane = chunks.saturating_mul(plane_bytes(dim as usize) as u64);
    [(Section::Scales, chunks * SCALES_BYTES as u64), (Section::VectorHighs, plane), (Section::VectorLows, plane)]
}

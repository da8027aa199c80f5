//! What few files have: versions and metadata from their source, places where secrets were masked, and marks, as of generated ones.
//!
//! These sections are sparse: u32 how many files are in it, for each, ascending, u32 its ordinal and u32 where its record begins
//! among the records that follow.
//!
//! ```text
//! Properties  byte whether there is a version, if so text version; varint values, each: text key, byte type, value
//!             (0 text, 1 zigzag, 2 f64, 3 false, 4 true)
//! Secrets     varint count, each: varint lines between its first and the one before, varint lines in it less 1, text rule
//! Generated   a byte: 1 generated, 2 its encoding is a guess, 4 it isn't Unicode
//! ```

use crate::base::types::{FileProperties, Scalar, SecretSpan};
use crate::formats::bytes::{Cursor, put_bytes, put_varint, put_zigzag, read_u32};

const ENTRY_BYTES: usize = 8;
/// What is to be known of a file beside its chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// A program wrote it.
    pub is_generated: bool,
    /// It is in an encoding that isn't Unicode.
    pub is_legacy: bool,
    /// Nothing names that encoding.
    pub is_guess: bool,
}

impl Marks {
    pub(super) fn record(self) -> &'static [u8] {
        const RECORDS: [&[u8]; 8] = [&[], &[1], &[2], &[3], &[4], &[5], &[6], &[7]];
        let marks = [(self.is_generated, 1), (self.is_guess, 2), (self.is_legacy, 4)];
        RECORDS[marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum::<usize>()]
    }

    pub(super) fn of_record(record: &[u8]) -> Self {
        let marks = record.first().copied().unwrap_or_default();
        Self { is_generated: marks & 1 != 0, is_guess: marks & 2 != 0, is_legacy: marks & 4 != 0 }
    }
}

/// Records of some files.
#[derive(Clone, Copy)]
pub(super) struct Sparse<'a> {
    section: &'a [u8],
}

impl<'a> Sparse<'a> {
    pub fn new(section: &'a [u8]) -> Self {
        Self { section }
    }

    /// How many files have a record.
    fn len(self) -> usize {
        (read_u32(self.section, 0) as usize).min(self.section.len() / ENTRY_BYTES)
    }

    /// The record of a file; empty for one that has none.
    pub fn record(self, file: u32) -> &'a [u8] {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let found = read_u32(self.section, 4 + middle * ENTRY_BYTES);
            if found == file {
                return self.at(middle);
            }
            if found < file { low = middle + 1 } else { high = middle }
        }
        &[]
    }

    /// All of them, with their files.
    pub fn iter(self) -> impl Iterator<Item = (u32, &'a [u8])> {
        (0..self.len()).map(move |i| (read_u32(self.section, 4 + i * ENTRY_BYTES), self.at(i)))
    }

    fn at(self, i: usize) -> &'a [u8] {
        let records = self.section.get(4 + self.len() * ENTRY_BYTES..).unwrap_or_default();
        let start = |i: usize| read_u32(self.section, 8 + i * ENTRY_BYTES) as usize;
        let end = if i + 1 < self.len() { start(i + 1) } else { records.len() };
        records.get(start(i)..end).unwrap_or_default()
    }
}

/// Collects records of some files.
#[derive(Debug, Default)]
pub(super) struct SparseWriter {
    entries: Vec<(u32, u32)>,
    records: Vec<u8>,
}

impl SparseWriter {
    /// Add the record of a file, if it has one. Files come in order.
    pub fn push(&mut self, file: u32, record: &[u8]) {
        if !record.is_empty() {
            self.entries.push((file, self.records.len() as u32));
            self.records.extend_from_slice(record);
        }
    }

    /// The section; `None` where no file has a record.
    pub fn finish(self) -> Option<Vec<u8>> {
        if self.entries.is_empty() {
            return None;
        }
        let mut out = (self.entries.len() as u32).to_le_bytes().to_vec();
        for (file, start) in self.entries {
            out.extend_from_slice(&file.to_le_bytes());
            out.extend_from_slice(&start.to_le_bytes());
        }
        out.extend_from_slice(&self.records);
        Some(out)
    }
}

/// Empty where nothing is said.
pub(super) fn pack_properties(properties: &FileProperties) -> Vec<u8> {
    let mut out = Vec::new();
    if properties.is_empty() {
        return out;
    }
    out.push(u8::from(properties.version.is_some()));
    if let Some(version) = &properties.version {
        put_bytes(&mut out, version.as_bytes());
    }
    put_varint(&mut out, properties.metadata.len() as u64);
    for (key, value) in &properties.metadata {
        put_bytes(&mut out, key.as_bytes());
        match value {
            Scalar::Text(text) => {
                out.push(0);
                put_bytes(&mut out, text.as_bytes());
            }
            Scalar::Integer(number) => {
                out.push(1);
                put_zigzag(&mut out, *number);
            }
            Scalar::Float(number) => {
                out.push(2);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Scalar::Bool(value) => out.push(3 + u8::from(*value)),
        }
    }
    out
}

pub(super) fn unpack_properties(record: &[u8]) -> FileProperties {
    let mut properties = FileProperties::default();
    let mut cursor = Cursor::new(record, 0);
    if cursor.byte() == 1 {
        properties.version = Some(cursor.text().to_owned());
    }
    for _ in 0..cursor.varint() {
        if cursor.is_empty() {
            break;
        }
        let key = cursor.text().to_owned();
        let value = match cursor.byte() {
            0 => Scalar::Text(cursor.text().to_owned()),
            1 => Scalar::Integer(cursor.zigzag()),
            2 => Scalar::Float(cursor.take(8).first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b))),
            kind => Scalar::Bool(kind == 4),
        };
        properties.metadata.insert(key, value);
    }
    properties
}

/// Empty where there is none.
pub(super) fn pack_secrets(secrets: &[SecretSpan]) -> Vec<u8> {
    let mut out = Vec::new();
    if secrets.is_empty() {
        return out;
    }
    put_varint(&mut out, secrets.len() as u64);
    let mut before = 0;
    for secret in secrets {
        put_varint(&mut out, secret.start_line.saturating_sub(before).into());
        put_varint(&mut out, secret.end_line.saturating_sub(secret.start_line).into());
        put_bytes(&mut out, secret.kind.as_bytes());
        before = secret.start_line;
    }
    out
}

pub(super) fn unpack_secrets(record: &[u8]) -> Vec<SecretSpan> {
    let mut cursor = Cursor::new(record, 0);
    let mut secrets = Vec::new();
    let mut before = 0_u32;
    for _ in 0..cursor.varint() {
        if cursor.is_empty() {
            break;
        }
        let start_line = before.saturating_add(cursor.varint() as u32);
        let end_line = start_line.saturating_add(cursor.varint() as u32);
        secrets.push(SecretSpan { kind: cursor.text().to_owned(), start_line, end_line });
        before = start_line;
    }
    secrets
}

/// How many secrets a record names.
pub(super) fn count_secrets(record: &[u8]) -> u64 {
    Cursor::new(record, 0).varint()
}

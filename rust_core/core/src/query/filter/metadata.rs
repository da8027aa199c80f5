//! A filter by what is recorded of a chunk and of its file, compared exactly.

use std::collections::BTreeMap;

use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::types::{Chunk, FileProperties};
use crate::formats::segment::FileRef;

type FileField = for<'a> fn(&FileRef<'a>) -> &'a str;
type ChunkField = fn(&Chunk) -> &str;

/// What is the same for every chunk of a file.
const FILE_FIELDS: [(&str, FileField); 3] =
    [("language", |file| file.language.name()), ("path", |file| file.path), ("source", |file| file.language.source())];

/// What differs between the chunks of a file.
const CHUNK_FIELDS: [(&str, ChunkField); 3] =
    [("container", |chunk| &chunk.container), ("kind", |chunk| chunk.kind.name()), ("symbol", |chunk| &chunk.symbol)];

/// Values by field: a chunk passes if each of its fields is one of those given for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    files: Vec<(FileField, Vec<String>)>,
    chunks: Vec<(ChunkField, Vec<String>)>,
    /// Keys of the file's own metadata.
    own: Vec<(String, Vec<String>)>,
}

impl Metadata {
    /// Tell the fields apart: a name that is none of the built-in ones is a key of the file's own metadata. One without values
    /// allows nothing.
    pub fn new(asked: &BTreeMap<String, Vec<String>>) -> Result<Self> {
        let mut metadata = Self::default();
        for (name, values) in asked {
            if let Some((_, field)) = FILE_FIELDS.iter().find(|(known, _)| known == name) {
                metadata.files.push((*field, values.clone()));
            } else if let Some((_, field)) = CHUNK_FIELDS.iter().find(|(known, _)| known == name) {
                metadata.chunks.push((*field, values.clone()));
            } else {
                metadata.own.push((name.clone(), values.clone()));
            }
            if name == "language"
                && let Some(unknown) = values.iter().find(|value| Language::from_name(value).is_none())
            {
                return Err(Error::invalid("metadata", format!("{unknown:?} is not a language that Carrel knows")));
            }
        }
        Ok(metadata)
    }

    pub fn restricts_files(&self) -> bool {
        !self.files.is_empty() || !self.own.is_empty()
    }

    pub fn restricts_chunks(&self) -> bool {
        !self.chunks.is_empty()
    }

    pub fn allows_file(&self, file: &FileRef<'_>) -> bool {
        self.files.iter().all(|(field, values)| values.iter().any(|value| value == field(file)))
    }

    /// Whether the file's own metadata passes. `properties` reads them, where something is asked of them.
    pub fn allows_properties(&self, properties: impl FnOnce() -> FileProperties) -> bool {
        if self.own.is_empty() {
            return true;
        }
        let metadata = properties().metadata;
        let holds = |key: &str, values: &[String]| {
            metadata.get(key).map(ToString::to_string).is_some_and(|found| values.contains(&found))
        };
        self.own.iter().all(|(key, values)| holds(key, values))
    }

    pub fn allows_chunk(&self, chunk: &Chunk) -> bool {
        self.chunks.iter().all(|(field, values)| values.iter().any(|value| value == field(chunk)))
    }
}

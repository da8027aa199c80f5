//! Files that were read and cut, on their way into the index.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::file_state::Stamp;
use crate::base::language::Language;
use crate::base::masked_text::Unmasked;
use crate::base::sync::locked;
use crate::base::types::{Chunk, EmbedInput, FileProperties, SecretSpan};
use crate::formats::database::UnusableRow;
use crate::formats::segment::{Marks, Segment};
use crate::formats::vectors::Vectors;
use crate::index::embed::LocalEmbedder;
use crate::index::embed::descriptor::embedded_text;

/// Where a chunk's vector comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// The chunk of this ordinal in the file's old segment: its id is the same, so its vector is.
    Kept(u32),
    /// The vector of this number among the batch's new ones.
    Added(u32),
}

/// A file with its chunks.
#[derive(Debug)]
pub(super) struct CutEntry {
    pub path: String,
    pub language: Language,
    pub hash: u128,
    pub stamp: Stamp,
    pub text: Arc<str>,
    /// What the text was before its secrets were masked, if there were any.
    pub unmasked: Option<Arc<Unmasked>>,
    pub chunks: Vec<Chunk>,
    pub imports: Vec<String>,
    /// Pieces that were too small to become chunks.
    pub trivial: usize,
    pub origins: Vec<Origin>,
    /// What its source says of it.
    pub properties: FileProperties,
    /// Where its secrets were masked.
    pub secrets: Vec<SecretSpan>,
    /// Whether it says that a program wrote it.
    pub marks: Marks,
    /// The segment that kept chunks are copied from.
    pub old: Option<Arc<Segment>>,
    pub is_new: bool,
}

impl CutEntry {
    pub fn body(&self, chunk: &Chunk) -> &str {
        self.text.get(chunk.span.start_byte as usize..chunk.span.end_byte as usize).unwrap_or_default()
    }

    /// Chunks whose vector is not there yet.
    pub fn lacking_chunks(&self, vectors: Option<&Vectors>, dim: usize) -> usize {
        let lacks = |origin: &&Origin| match origin {
            Origin::Added(number) => vectors.is_some_and(|all| all.row(*number as usize, dim).is_absent()),
            Origin::Kept(_) => false,
        };
        self.origins.iter().filter(lacks).count()
    }

    fn added(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter().zip(&self.origins).filter(|(_, origin)| matches!(origin, Origin::Added(_))).map(|(chunk, _)| chunk)
    }
}

/// What a batch holds until it is committed.
#[derive(Debug, Default)]
pub(super) struct BatchContents {
    pub files: Vec<CutEntry>,
    /// Read, and found to be as they were.
    pub touched: Vec<(String, Stamp)>,
    pub unusable: Vec<UnusableRow>,
    pub removed: Vec<String>,
    /// No longer on disk and never in the index, only on the list of unusable ones.
    pub forgotten: Vec<String>,
    pub failed: Vec<(String, String)>,
    /// Files of which some chunks are stored without their vector, with the reason.
    pub lacking: BTreeMap<String, String>,
    pub vectors: Option<Vectors>,
}

impl BatchContents {
    /// The files that the next run has to try again, with the reason: those that failed, and those that lack vectors.
    pub fn unfinished(&self) -> impl Iterator<Item = (&String, &String)> {
        let failed = |path: &str| self.failed.iter().any(|(known, _)| known == path);
        let lacking = self.lacking.iter().filter(move |(path, _)| !failed(path));
        self.failed.iter().map(|(path, reason)| (path, reason)).chain(lacking)
    }
}

/// Files that were read and cut, with the chunks that need a vector. [`super::Store::commit`] takes it once.
#[derive(Debug)]
pub struct Batch {
    body: Mutex<Option<BatchContents>>,
    dim: usize,
    files: usize,
    added: usize,
    kept: usize,
    pub(super) buffer: bool,
}

impl Batch {
    /// Number the added chunks and count.
    pub(super) fn new(mut body: BatchContents, dim: usize, buffer: bool) -> Self {
        let (mut added, mut kept) = (0, 0);
        for origin in body.files.iter_mut().flat_map(|f| &mut f.origins) {
            match origin {
                Origin::Added(number) => {
                    *number = added;
                    added += 1;
                }
                Origin::Kept(_) => kept += 1,
            }
        }
        let files = body.files.len();
        Self { body: Mutex::new(Some(body)), dim, files, added: added as usize, kept, buffer }
    }

    /// Files that were cut.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Chunks that need a vector.
    pub fn added_chunks(&self) -> usize {
        self.added
    }

    /// Chunks whose vectors are known.
    pub fn kept_chunks(&self) -> usize {
        self.kept
    }

    /// The paths of the files.
    pub fn paths(&self) -> Vec<String> {
        locked(&self.body).iter().flat_map(|b| b.files.iter().map(|f| f.path.clone())).collect()
    }

    /// What a remote model embeds for each added chunk: a descriptor, then the body.
    pub fn texts(&self) -> Vec<String> {
        let texts = |f: &CutEntry| f.added().map(|c| embedded_text(&f.path, c, f.body(c))).collect::<Vec<_>>();
        locked(&self.body).iter().flat_map(|b| b.files.iter().flat_map(texts)).collect()
    }

    /// The file of each of [`Batch::texts`], in the same order.
    pub fn text_paths(&self) -> Vec<String> {
        locked(&self.body).iter().flat_map(|b| b.files.iter().flat_map(|f| f.added().map(|_| f.path.clone()))).collect()
    }

    /// Give every added chunk the vector of a local model.
    pub fn embed(&self, embedder: &dyn LocalEmbedder, cancel: &CancelToken) -> Result<()> {
        if embedder.dim() != self.dim {
            return Err(Error::invalid("embedder", format!("has {} dimensions, the index has {}", embedder.dim(), self.dim)));
        }
        let mut guard = locked(&self.body);
        let Some(body) = guard.as_mut() else { return Err(committed()) };
        let embed_file = |file: &CutEntry| -> Result<Vectors> {
            let mut vectors = Vectors::default();
            let mut floats = vec![0.0; self.dim];
            for chunk in file.added() {
                cancel.check()?;
                let input = EmbedInput {
                    path: &file.path,
                    kind: chunk.kind,
                    symbol: &chunk.symbol,
                    container: &chunk.container,
                    signature: &chunk.signature,
                    body: file.body(chunk),
                };
                embedder.embed_chunk(&input, &mut floats);
                vectors.push(&floats);
            }
            Ok(vectors)
        };
        // One small file is done before another thread wakes.
        let of_files: Vec<Vectors> = if body.files.len() == 1 {
            body.files.iter().map(embed_file).collect::<Result<_>>()?
        } else {
            super::indexing_pool().install(|| body.files.par_iter().map(embed_file).collect::<Result<_>>())?
        };
        let mut all = Vectors::default();
        for vectors in of_files {
            all.extend(vectors.planes());
        }
        body.vectors = Some(all);
        Ok(())
    }

    /// Give the added chunks their vectors, in the order of [`Batch::texts`]: `dim` values each. They are scaled to length 1.
    pub fn set_vectors(&self, floats: &[f32]) -> Result<()> {
        if floats.len() != self.added * self.dim {
            let message = format!("{} values, but {} chunks of {} dimensions need a vector", floats.len(), self.added, self.dim);
            return Err(Error::invalid("vectors", message));
        }
        let mut guard = locked(&self.body);
        let Some(body) = guard.as_mut() else { return Err(committed()) };
        let mut vectors = Vectors::default();
        let mut unit = vec![0.0; self.dim];
        for row in floats.chunks_exact(self.dim.max(1)) {
            let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            let factor = if length.is_finite() && length > 0.0 { length.recip() } else { 0.0 };
            unit.iter_mut().zip(row).for_each(|(unit, value)| *unit = value * factor);
            vectors.push(&unit);
        }
        body.vectors = Some(vectors);
        Ok(())
    }

    /// Have `count` of the added chunks, from the `first` of [`Batch::texts`] on, stored without the vector that was set: words find
    /// them, and the next run gives them one.
    pub fn lack_vectors(&self, first: usize, count: usize, reason: &str) -> Result<()> {
        let mut guard = locked(&self.body);
        let Some(body) = guard.as_mut() else { return Err(committed()) };
        let numbers = first..first.saturating_add(count).min(self.added);
        let Some(vectors) = &mut body.vectors else {
            return Err(Error::invalid("batch", "its chunks have no vectors yet: call set_vectors first"));
        };
        vectors.make_absent(numbers.clone(), self.dim);
        for file in &body.files {
            let concerned = |origin: &Origin| matches!(origin, Origin::Added(number) if numbers.contains(&(*number as usize)));
            if file.origins.iter().any(concerned) {
                body.lacking.entry(file.path.clone()).or_insert_with(|| reason.to_owned());
            }
        }
        Ok(())
    }

    /// Leave these files as they were in the index; the next run tries them again.
    pub fn fail(&self, paths: &[String], reason: &str) -> Result<()> {
        let mut guard = locked(&self.body);
        let Some(body) = guard.as_mut() else { return Err(committed()) };
        for path in paths {
            if body.files.iter().any(|f| &f.path == path) && !body.failed.iter().any(|(failed, _)| failed == path) {
                body.failed.push((path.clone(), reason.to_owned()));
            }
        }
        Ok(())
    }

    /// Keep what the source of a file says of it; without this a file keeps what was said before.
    pub fn set_properties(&self, path: &str, properties: FileProperties) -> Result<()> {
        let mut guard = locked(&self.body);
        let Some(body) = guard.as_mut() else { return Err(committed()) };
        match body.files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.properties = properties,
            None => return Err(Error::invalid("path", format!("{path:?} is not in this batch"))),
        }
        Ok(())
    }

    /// Take the body for a commit, if every chunk that will be stored has its vector.
    pub(super) fn take(&self) -> Result<BatchContents> {
        let mut guard = locked(&self.body);
        let Some(body) = guard.take() else { return Err(committed()) };
        let failed = |file: &CutEntry| body.failed.iter().any(|(path, _)| *path == file.path);
        if self.dim > 0 && body.vectors.is_none() && body.files.iter().any(|f| f.added().next().is_some() && !failed(f)) {
            *guard = Some(body);
            return Err(Error::invalid("batch", "its chunks have no vectors yet: call embed or set_vectors first"));
        }
        Ok(body)
    }

    /// Give the body back after a commit that did not happen, so that the caller may try again.
    pub(super) fn put_back(&self, body: BatchContents) {
        *locked(&self.body) = Some(body);
    }
}

fn committed() -> Error {
    Error::invalid("batch", "was committed already")
}

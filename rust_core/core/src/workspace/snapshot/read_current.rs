//! From a chunk of the index to its text as it is now.
//!
//! No text is stored. Before anything is shown, its file is asked for again: may it still be read, and is it what was indexed? If
//! not, it is cut again and the chunk is looked for: by id, then by symbol, then by place. What can't be found is not returned.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::{Read as _, Seek, SeekFrom};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::Snapshot;
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::file_state::{LastChange, modified_ns};
use crate::base::lines::lines_between;
use crate::base::masked_text::{Mask, Unmasked};
use crate::base::sync::locked;
use crate::base::types::{Chunk, SkipReason, Span};
use crate::index::cut::{cut, is_text_of};
use crate::index::segment_set::BufferText;
use crate::query::lexical::FilePlace;
use crate::query::results::{ChunkInfo, Doc};
use crate::workspace::folder::OpenFile;
use crate::workspace::read::Source;
use crate::workspace::walk::{AccessPolicy, AccessSession};

/// Bytes of the mark of UTF-8, which is no part of a file's text.
const UTF8_MARK_BYTES: u64 = 3;
/// Why a chunk with lines that whoever asks doesn't want can't be returned.
const LEFT_OUT: &str = "left out of this question";

/// A chunk as it is now, or why it can't be returned.
pub type Read = std::result::Result<CurrentChunk, String>;

/// A chunk whose text was checked against the buffer or the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentChunk {
    /// The chunk as it is now.
    pub info: ChunkInfo,
    /// What its file imports.
    pub imports: Vec<String>,
    /// Its text now.
    pub text: String,
    /// Where it begins in its first line, in UTF-16 units.
    pub start_character: u32,
    /// Where it ends in its last line, in UTF-16 units.
    pub end_character: u32,
    /// It is not where, or not what, the index says.
    pub moved: bool,
    /// How many secrets in its text were masked.
    pub masked: u32,
}

/// Lines of a file, 1-based and inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The file.
    pub path: String,
    /// Its first line.
    pub first: u32,
    /// Its last line.
    pub last: u32,
}

impl LineRange {
    fn overlaps(&self, path: &str, span: Span) -> bool {
        self.path == path && self.first <= span.end_line && span.start_line <= self.last
    }
}

/// The files that were read as a whole for one question, so that its second look at one doesn't read it again. To be dropped with the question.
#[derive(Debug, Default)]
pub struct ReadFiles {
    known: Mutex<HashMap<String, Arc<Source>>>,
    reads: AtomicUsize,
}

impl ReadFiles {
    /// Return how many times a file was read as a whole.
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// What was read of a file, if it is still in the state that it had then.
    fn unchanged(&self, path: &str, now: &Metadata) -> Option<Arc<Source>> {
        let known = Arc::clone(locked(&self.known).get(path)?);
        let same = (known.size, known.mtime_ns, known.change) == (now.len(), modified_ns(now), LastChange::of(now));
        same.then_some(known)
    }

    fn keep(&self, path: &str, source: &Arc<Source>) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        locked(&self.known).insert(path.to_owned(), Arc::clone(source));
    }
}

/// A file as it is now.
struct CurrentFile {
    text: FileText,
    hash: u128,
    /// Its chunks, once something asked for them.
    chunks: Option<(Vec<Chunk>, Vec<String>)>,
}

/// Where a text comes from.
enum FileText {
    Disk(Arc<Source>),
    Buffer(BufferText),
}

impl FileText {
    fn text(&self) -> &str {
        match self {
            Self::Disk(source) => &source.text,
            Self::Buffer(buffer) => &buffer.text,
        }
    }

    /// What it was before its secrets were masked, if it had some.
    fn unmasked(&self) -> Option<&Unmasked> {
        match self {
            Self::Disk(source) => source.unmasked.as_deref(),
            Self::Buffer(buffer) => buffer.unmasked.as_deref(),
        }
    }
}

impl Snapshot {
    /// Read these chunks as they are now, in order, each checked against buffer or disk; or say why one can't be returned.
    pub fn read_current(&self, docs: &[Doc], cancel: &CancelToken) -> Result<Vec<Read>> {
        let mut out = Vec::with_capacity(docs.len());
        self.read_each(docs, &ReadFiles::default(), cancel, |read| {
            out.push(read);
            true
        })?;
        Ok(out)
    }

    /// Read the best of these chunks as [`Snapshot::read_current`] does, from the first on until `limit` can be returned. One that
    /// overlaps lines of `left_out` can't, nor one that overlaps a chunk before it. Files that are still as in `files` aren't read
    /// again; whether they may be read is asked anew.
    pub fn read_best(
        &self,
        docs: &[Doc],
        limit: usize,
        left_out: &[LineRange],
        files: &ReadFiles,
        cancel: &CancelToken,
    ) -> Result<Vec<Read>> {
        let (mut out, mut given) = (Vec::new(), Vec::<LineRange>::new());
        if limit == 0 {
            return Ok(out);
        }
        self.read_each(docs, files, cancel, |read| {
            out.push(read.and_then(|current| {
                let (path, span) = (&current.info.path, current.info.chunk.span);
                if left_out.iter().any(|lines| lines.overlaps(path, span)) {
                    return Err(LEFT_OUT.to_owned());
                }
                if let Some(before) = given.iter().find(|lines| lines.overlaps(path, span)) {
                    return Err(format!("overlaps lines {}-{}", before.first, before.last));
                }
                given.push(LineRange { path: path.clone(), first: span.start_line, last: span.end_line });
                Ok(current)
            }));
            given.len() < limit
        })?;
        Ok(out)
    }

    /// Read chunks until `take` has enough of them.
    fn read_each(&self, docs: &[Doc], known: &ReadFiles, cancel: &CancelToken, mut take: impl FnMut(Read) -> bool) -> Result<()> {
        let mut session = self.workspace.access.as_ref().map(AccessPolicy::session);
        let mut files: HashMap<String, std::result::Result<CurrentFile, String>> = HashMap::new();
        for &doc in docs {
            cancel.check()?;
            let read = if let Some(info) = self.info(doc) {
                let current =
                    files.entry(info.path.clone()).or_insert_with(|| self.read_file(doc, &info, session.as_mut(), known));
                match current {
                    Ok(current) => self.refresh(info, current, cancel)?,
                    Err(reason) => Err(reason.clone()),
                }
            } else {
                Err("not in this snapshot".to_owned())
            };
            if !take(read) {
                break;
            }
        }
        Ok(())
    }

    /// These lines of a file (1-based, inclusive) as they stand now; `None` where it may not be read, is gone or is shorter. A file that
    /// is still as in `files` isn't read again.
    pub fn lines(&self, path: &str, first: u32, last: u32, files: &ReadFiles) -> Option<String> {
        let file = self.file_at(self.place_of(path)?, files)?;
        lines_between(file.text(), first, last).map(str::to_owned)
    }

    /// All of an indexed file as it stands now; `None` where it may not be read or is gone.
    pub fn text(&self, path: &str) -> Option<String> {
        self.text_at(self.place_of(path)?)
    }

    pub(super) fn text_at(&self, place: FilePlace) -> Option<String> {
        Some(self.file_at(place, &ReadFiles::default())?.text().to_owned())
    }

    fn file_at(&self, place: FilePlace, files: &ReadFiles) -> Option<FileText> {
        let doc = self.first_chunk(place)?;
        let mut session = self.workspace.access.as_ref().map(AccessPolicy::session);
        Some(self.read_file(doc, &self.info(doc)?, session.as_mut(), files).ok()?.text)
    }

    /// The texts of these chunks, where their files may be read and they are as they were indexed. `known` keeps the files that were
    /// read for that as a whole, which few are.
    pub(super) fn indexed_texts(&self, docs: &[Doc], known: &ReadFiles) -> Vec<Option<String>> {
        let mut session = self.workspace.access.as_ref().map(AccessPolicy::session);
        let mut by_path: Vec<(usize, ChunkInfo)> =
            docs.iter().enumerate().filter_map(|(place, &doc)| Some((place, self.info(doc)?))).collect();
        by_path.sort_by(|(_, a), (_, b)| a.path.cmp(&b.path));
        let mut texts = vec![None; docs.len()];
        // One file after the other: a process may hold few open.
        for of_file in by_path.chunk_by(|(_, a), (_, b)| a.path == b.path) {
            let (_, first) = &of_file[0];
            let mut opened = session.as_mut().filter(|_| !first.overlay).and_then(|session| session.open(&first.path).ok());
            if opened.is_none() && !first.overlay {
                continue;
            }
            let mut whole = None;
            for (place, info) in of_file {
                let in_place = opened.as_mut().and_then(|opened| text_in_place(opened, info));
                texts[*place] = in_place.or_else(|| {
                    let read = || self.read_file(info.doc, info, session.as_mut(), known).ok();
                    let current = whole.get_or_insert_with(read).as_ref().filter(|current| current.hash == info.file_hash)?;
                    let span = info.chunk.span;
                    current.text.text().get(span.start_byte as usize..span.end_byte as usize).map(str::to_owned)
                });
            }
        }
        texts
    }

    fn read_file(
        &self,
        doc: Doc,
        info: &ChunkInfo,
        session: Option<&mut AccessSession<'_>>,
        known: &ReadFiles,
    ) -> std::result::Result<CurrentFile, String> {
        let why = |reason: SkipReason| format!("{}: {reason}", info.path);
        if info.overlay {
            self.workspace.admit_buffer(&info.path).map_err(why)?;
            let buffer = self.searcher.buffer_text(doc).ok_or_else(|| why(SkipReason::Gone))?;
            return Ok(CurrentFile { hash: info.file_hash, text: FileText::Buffer(buffer.clone()), chunks: None });
        }
        let opened = session.ok_or(SkipReason::Gone).and_then(|session| session.open(&info.path)).map_err(why)?;
        let source = if let Some(source) = known.unchanged(&info.path, &opened.metadata) {
            source
        } else {
            let source = Arc::new(self.workspace.read_again(opened, &info.path).map_err(why)?);
            known.keep(&info.path, &source);
            source
        };
        Ok(CurrentFile { hash: source.hash, text: FileText::Disk(source), chunks: None })
    }

    fn refresh(
        &self,
        mut info: ChunkInfo,
        current: &mut CurrentFile,
        cancel: &CancelToken,
    ) -> Result<std::result::Result<CurrentChunk, String>> {
        let before = info.chunk.span;
        let mut imports = None;
        if current.hash != info.file_hash {
            if current.chunks.is_none() {
                let language = self.workspace.language_of(&info.path, current.text.text()).unwrap_or(info.language);
                let file = cut(&info.path, language, current.text.text(), &self.workspace.config.cut, cancel)?;
                current.chunks = Some((file.chunks, file.imports));
            }
            let (chunks, now_imports) = current.chunks.as_ref().map_or((&[][..], &[][..]), |(c, i)| (c, i));
            imports = Some(now_imports.to_vec());
            let Some(now) = find(&info.chunk, chunks) else {
                return Ok(Err(format!("{}:{}-{}: changed beyond recognition", info.path, before.start_line, before.end_line)));
            };
            info.chunk = now.clone();
            info.file_hash = current.hash;
        }
        let span = info.chunk.span;
        let Some(text) = current.text.text().get(span.start_byte as usize..span.end_byte as usize) else {
            return Ok(Err(format!("{}: the index does not fit the file: index it again", info.path)));
        };
        let (start_character, end_character) = match current.text.unmasked() {
            None => characters(current.text.text(), span.start_byte, span.end_byte),
            Some(whole) => {
                characters(&whole.text, original(&whole.masks, span.start_byte), original(&whole.masks, span.end_byte))
            }
        };
        let masked = current.text.unmasked().map_or(0, |whole| masks_in(&whole.masks, span));
        let moved = (span.start_line, span.end_line) != (before.start_line, before.end_line);
        let imports = imports.unwrap_or_else(|| self.imports(info.doc));
        Ok(Ok(CurrentChunk { imports, text: text.to_owned(), start_character, end_character, moved, masked, info }))
    }
}

/// Return the text of a chunk, if it stands in its file as it was indexed: read by itself, and known by the chunk's id. That of a file in
/// another encoding than UTF-8, or with a secret before it, stands elsewhere. It is to be compared, not shown: of secrets it has
/// those that no rule knew when it was indexed.
fn text_in_place(opened: &mut OpenFile, info: &ChunkInfo) -> Option<String> {
    let (file, span) = (&mut opened.file, info.chunk.span);
    if u64::from(span.end_byte) > opened.metadata.len() {
        return None;
    }
    let mut bytes = vec![0; span.end_byte.checked_sub(span.start_byte)? as usize];
    [0, UTF8_MARK_BYTES].into_iter().find_map(|before| {
        file.seek(SeekFrom::Start(before + u64::from(span.start_byte))).ok()?;
        file.read_exact(&mut bytes).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?;
        is_text_of(&info.chunk, &info.path, text).then(|| text.to_owned())
    })
}

/// The chunk that `old` has become.
fn find<'a>(old: &Chunk, now: &'a [Chunk]) -> Option<&'a Chunk> {
    if let Some(same) = now.iter().find(|c| c.id == old.id) {
        return Some(same);
    }
    let distance = |c: &&Chunk| c.span.start_line.abs_diff(old.span.start_line);
    if !old.symbol.is_empty() {
        let named = now.iter().filter(|c| c.symbol == old.symbol && c.container == old.container);
        // Overloads share a symbol; the signature tells them apart while it lasts.
        return named
            .clone()
            .filter(|c| c.signature == old.signature)
            .min_by_key(distance)
            .or_else(|| named.min_by_key(distance));
    }
    // Nameless code: the place with most of its lines, if that is still the same kind of thing.
    let shared =
        |c: &Chunk| (c.span.end_line.min(old.span.end_line) + 1).saturating_sub(c.span.start_line.max(old.span.start_line));
    now.iter().filter(|c| c.kind == old.kind && shared(c) > 0).max_by_key(|c| shared(c))
}

/// The place in the original text of a byte of the masked one.
fn original(masks: &[Mask], byte: u32) -> u32 {
    let byte = byte as usize;
    let Some(mask) = masks[..masks.partition_point(|mask| mask.start < byte)].last() else { return byte as u32 };
    let place = if byte < mask.end { mask.original_start } else { mask.original_end + (byte - mask.end) };
    place as u32
}

/// How many secrets are masked in a span.
fn masks_in(masks: &[Mask], span: Span) -> u32 {
    let inside = |mask: &&Mask| mask.is_secret && mask.start < span.end_byte as usize && mask.end > span.start_byte as usize;
    masks.iter().filter(inside).count() as u32
}

/// UTF-16 columns of two bytes. Looks back from each to its line's start: a table of all lines would cost more than the rest.
fn characters(text: &str, start: u32, end: u32) -> (u32, u32) {
    let column = |byte: u32| {
        let before = text.get(..byte as usize).unwrap_or_default();
        let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        before[start..].encode_utf16().count() as u32
    };
    (column(start), column(end))
}

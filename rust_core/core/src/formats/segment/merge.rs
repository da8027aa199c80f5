//! One segment out of several, without any source text.

use super::builder::Sections;
use super::{FileMask, Segment};
use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::formats::postings::dictionary::DictionaryWriter;
use crate::formats::postings::fields::Frequencies;
use crate::formats::postings::list::PostingList;

const GONE: u32 = u32::MAX;
/// Terms between two looks at the token: some tenths of a millisecond.
const TERMS_PER_CHECK: usize = 1024;

/// For each merged segment, the new ordinal of each of its files; `None` for those that were left out.
pub type NewOrdinals = Vec<Vec<Option<u32>>>;

/// Make one segment of the masked files of `parts`, in order. Gives the file and the new ordinals. Parts with vectors must have the
/// same dimensions; in a segment of which some files have none, theirs are zeros. An error for a part with sections that this build
/// doesn't know: they would be lost.
pub fn merge(parts: &[(&Segment, &FileMask)], cancel: &CancelToken) -> Result<(Vec<u8>, NewOrdinals)> {
    let dim = parts.iter().map(|(segment, _)| segment.dim()).max().unwrap_or(0);
    if parts.iter().any(|(segment, _)| segment.dim() != dim && segment.has_vectors()) {
        return Err(Error::invalid("parts", "segments of different vector dimensions can't be merged"));
    }
    if parts.iter().any(|(segment, _)| segment.has_unknown_sections()) {
        return Err(Error::invalid("parts", "a segment with sections of a newer Carrel can't be merged: they would be lost"));
    }
    let mut sections = Sections::new(dim);
    let mut new_files = Vec::with_capacity(parts.len());
    let mut new_chunks = Vec::with_capacity(parts.len());
    for (segment, mask) in parts {
        let mut files = vec![None; segment.file_count() as usize];
        let mut chunks = vec![GONE; segment.chunk_count() as usize];
        for file in mask.iter().filter(|&f| f < segment.file_count()) {
            cancel.check()?;
            files[file as usize] = Some(sections.files);
            copy_file(segment, file, &mut sections, &mut chunks)?;
        }
        new_files.push(files);
        new_chunks.push(chunks);
    }
    let words = merge_terms(parts, &new_chunks, cancel)?;
    Ok((sections.finish(&words), new_files))
}

fn copy_file(segment: &Segment, file: u32, sections: &mut Sections, new_chunks: &mut [u32]) -> Result<()> {
    let range = segment.file_chunks(file);
    let rows = range.start as usize..range.end as usize;
    let (properties, secrets) = (segment.properties_record(file), segment.secrets_record(file));
    sections.begin_file(segment.file_record(file), properties, secrets, segment.marks(file));
    segment.each_chunk(range, |old, chunk| {
        new_chunks[old as usize] = sections.chunks;
        sections.push_chunk(&chunk);
    });
    sections.lengths.extend_from_slice(&segment.lengths()[rows.start * 3..rows.end * 3]);
    let own = segment.has_vectors().then(|| segment.vectors().rows(rows.clone(), segment.dim()));
    sections.push_vectors(own, rows.len());
    for model in segment.further_models() {
        if let Some(found) = segment.vectors_of(model) {
            let dim = found.dim();
            sections.push_vectors_of(model, dim, Some(found.planes().rows(rows.clone(), dim)), rows.len())?;
        }
    }
    Ok(())
}

/// Walk all dictionaries side by side; the lists of equal hashes become one. Parts follow each other in the new segment, so
/// joined lists ascend by themselves.
fn merge_terms(parts: &[(&Segment, &FileMask)], new_chunks: &[Vec<u32>], cancel: &CancelToken) -> Result<DictionaryWriter> {
    let mut terms: Vec<_> = parts.iter().map(|(segment, _)| segment.dictionary().iter().peekable()).collect();
    let mut words = DictionaryWriter::default();
    let mut list: Vec<(u32, Frequencies)> = Vec::new();
    let mut seen = 0_usize;
    while let Some(hash) = terms.iter_mut().filter_map(|t| t.peek().map(|(hash, _)| *hash)).min() {
        seen += 1;
        if seen.is_multiple_of(TERMS_PER_CHECK) {
            cancel.check()?;
        }
        list.clear();
        for (part, chunks) in terms.iter_mut().zip(new_chunks) {
            while let Some((_, postings)) = part.next_if(|(found, _)| *found == hash) {
                append(&mut list, postings, chunks);
            }
        }
        words.push(hash, &list);
    }
    Ok(words)
}

fn append(list: &mut Vec<(u32, Frequencies)>, postings: PostingList<'_>, new_chunks: &[u32]) {
    postings.each(|old, frequencies| {
        let chunk = new_chunks.get(old as usize).copied().unwrap_or(GONE);
        // A forged list might not ascend; a written one must.
        if chunk != GONE && list.last().is_none_or(|(before, _)| *before < chunk) {
            list.push((chunk, frequencies));
        }
    });
}

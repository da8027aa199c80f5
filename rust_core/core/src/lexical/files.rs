//! How much of a question a file as a whole speaks of. A file on a subject says its words all over, in chunks that each hold few.

use super::fields::code_length;
use super::query::{possible, terms_of};
use super::score::saturate;
use crate::segment::View;

/// How much the length of a file counts: half of what it does for a chunk, since long files are long for many reasons.
const FILE_B: f32 = 0.4;

/// For each of `files` (view, file ordinal), the share of the question's weight that its bodies hold together, from 0 to 1.
pub fn file_shares(views: &[View<'_>], query: &str, files: &[(u32, u32)]) -> Vec<f32> {
    let terms = terms_of(views, query);
    let whole = possible(&terms);
    let (total_length, total_files) = views.iter().fold((0_u64, 0_u64), |(length, count), view| {
        (length.saturating_add(view.segment.length_sums()[2]), count + u64::from(view.segment.file_count()))
    });
    let average = (total_length as f32 / total_files.max(1) as f32).max(1.0);
    let share = |&(view, file): &(u32, u32)| {
        let Some(seen) = views.get(view as usize) else { return 0.0 };
        let chunks = seen.segment.file_chunks(file);
        let lengths = seen.segment.lengths().as_chunks::<3>().0;
        let length: u32 = chunks.clone().filter_map(|chunk| lengths.get(chunk as usize)).map(|codes| code_length(codes[2])).sum();
        let correction = 1.0 - FILE_B + FILE_B * length as f32 / average;
        let held: f32 = terms
            .iter()
            .filter_map(|term| Some((term.idf, term.lists[view as usize]?)))
            .map(|(idf, list)| {
                let mut seeker = list.seeker();
                let count: u32 = chunks.clone().filter_map(|chunk| seeker.get(chunk)).map(|f| f.counts()[2]).sum();
                idf * saturate(count as f32 / correction)
            })
            .sum();
        if whole > 0.0 { (held / whole).clamp(0.0, 1.0) } else { 0.0 }
    };
    files.iter().map(share).collect()
}

//! Line windows: how a file without a grammar is cut (60 lines, 5 overlap), and any file on request (50 and 5).

use super::piece::{Joins, Piece};
use super::split::{is_shorter, split_span};
use super::{CutOptions, LineChunk};
use crate::base::lines::LineTable;
use crate::base::types::ChunkKind;

/// Return the windows of `size` over `text`. None lies inside the one before it. One that is longer than a chunk may be loses its
/// overlap and is split; one that is too small for a chunk joins the one before.
pub fn pieces(text: &str, size: LineChunk, options: &CutOptions) -> Vec<Piece> {
    let table = LineTable::new(text);
    let count = table.count();
    let lines = size.lines.max(1);
    let overlap = size.overlap.min(lines - 1);
    let start_of = |line: u32| if line > count { text.len() } else { table.start_of(line) as usize };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut first: u32 = 1;
    loop {
        let last = first.saturating_add(lines - 1).min(count);
        let (start, end) = (start_of(first), start_of(last + 1));
        let body = text[start..end].trim_end();
        for (from, to) in split_span(text, start, start + body.len(), options.max_chars) {
            match pieces.last_mut() {
                Some(before)
                    if is_shorter(&text[from..to], options.min_chars)
                        && is_shorter(&text[before.start..to.max(before.start)], options.max_chars + 1) =>
                {
                    before.end = before.end.max(to);
                }
                _ => pieces.push(Piece { joins: Joins::Never, ..Piece::new(from, to, ChunkKind::Lines) }),
            }
        }
        if last >= count {
            return pieces;
        }
        first = last + 1 - overlap;
    }
}

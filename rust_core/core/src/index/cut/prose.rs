//! Prose: blocks of whole paragraphs (spec C1, D1).

use super::CutOptions;
use super::piece::{Joins, Piece};
use super::split::{is_shorter, split_span};
use crate::base::types::ChunkKind;

/// The symbol of every block of prose.
pub const TEXT_BLOCK: &str = "TEXT_BLOCK";

/// Return the paragraphs of `text`, joined while a block stays within `text_chars`; a longer paragraph is broken at sentences.
pub fn pieces(text: &str, options: &CutOptions) -> Vec<Piece> {
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for (start, end) in paragraphs(text) {
        match blocks.last_mut() {
            Some(last) if is_shorter(&text[last.0..end], options.text_chars + 1) => last.1 = end,
            _ => blocks.push((start, end)),
        }
    }
    let parts = blocks.into_iter().flat_map(|(start, end)| split_span(text, start, end, options.text_chars));
    parts
        .map(|(start, end)| Piece {
            symbol: TEXT_BLOCK.to_owned(),
            joins: Joins::Never,
            ..Piece::new(start, end, ChunkKind::Text)
        })
        .collect()
}

/// Return the byte ranges of runs of lines that aren't blank.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let mut open = false;
    for line in text.split_inclusive(['\n', '\r']) {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        // The `\n` of a `\r\n` is no blank line.
        if line == "\n" && text[..start].ends_with('\r') {
            continue;
        }
        if line.trim().is_empty() {
            open = false;
        } else if open && let Some(last) = found.last_mut() {
            last.1 = end;
        } else {
            found.push((start, end));
            open = true;
        }
    }
    found
}

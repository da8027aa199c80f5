//! Jupyter notebooks by cells: a chunk is a cell's source as it stands in the file, so that its lines are the file's lines. It is
//! named by the path of headings above it.

use tree_sitter::Node;

use super::CutOptions;
use super::markdown::heading;
use super::piece::{Joins, Piece};
use super::split::split_span;
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::types::ChunkKind;
use crate::index::parse::{Parsed, TIME_LIMIT, parse};

/// Return the cells of `text`, or `None` if it isn't a notebook. Outputs and metadata are in no cell.
pub fn pieces(text: &str, options: &CutOptions, cancel: &CancelToken) -> Result<Option<Vec<Piece>>> {
    let parsed = parse(Language::JSON, text, TIME_LIMIT, cancel, |root| cells(root, text, options))?;
    Ok(if let Parsed::Tree(pieces) = parsed { pieces } else { None })
}

fn cells(root: Node<'_>, text: &str, options: &CutOptions) -> Option<Vec<Piece>> {
    let cells = value(root.named_child(0)?, "cells", text)?;
    let mut pieces = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut cursor = cells.walk();
    for (number, cell) in cells.named_children(&mut cursor).filter(|node| node.kind() == "object").enumerate() {
        let Some(source) = value(cell, "source", text) else { continue };
        if !text[source.byte_range()].contains(char::is_alphanumeric) {
            continue;
        }
        let kind = value(cell, "cell_type", text).map_or("cell", |node| text[node.byte_range()].trim_matches('"'));
        let mut own: Option<Vec<String>> = None;
        for (level, title) in titles(source, text).into_iter().filter(|_| kind == "markdown") {
            path.retain(|(above, _)| *above < level);
            path.push((level, title));
            own.get_or_insert_with(|| path.iter().map(|(_, title)| title.clone()).collect());
        }
        let names = own.unwrap_or_else(|| {
            path.iter().map(|(_, title)| title.clone()).chain([format!("{kind} cell {}", number + 1)]).collect()
        });
        let container = names.split_last().map_or(String::new(), |(_, above)| above.join("."));
        for (start, end) in split_span(text, source.start_byte(), source.end_byte(), options.max_chars) {
            let (symbol, container) = (names.join(" > "), container.clone());
            pieces.push(Piece { symbol, container, joins: Joins::Never, ..Piece::new(start, end, ChunkKind::Cell) });
        }
    }
    Some(pieces)
}

/// Return the headings in a cell's source, which is a string or a list of them: how deep each is, and its title.
fn titles(source: Node<'_>, text: &str) -> Vec<(usize, String)> {
    let lines = text[source.byte_range()].lines().flat_map(|line| line.split("\\n"));
    lines
        .filter_map(|line| heading(line.trim_start_matches([' ', '\t', '[', ',', '"']).trim_end_matches([',', '"', ']', ' '])))
        .collect()
}

/// Return the value of `key` in a JSON object.
fn value<'tree>(object: Node<'tree>, key: &str, text: &str) -> Option<Node<'tree>> {
    let mut cursor = object.walk();
    object
        .named_children(&mut cursor)
        .filter(|pair| pair.kind() == "pair")
        .find(|pair| pair.child_by_field_name("key").is_some_and(|name| text[name.byte_range()].trim_matches('"') == key))
        .and_then(|pair| pair.child_by_field_name("value"))
}

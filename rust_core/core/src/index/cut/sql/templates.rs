//! Cut what templates of SQL define, as dbt's do: `{% macro name(…) %} … {% endmacro %}`.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::patterns::regex;
use crate::base::types::ChunkKind;
use crate::index::cut::names::one_line;
use crate::index::cut::piece::{Joins, Piece};

/// The first mark of a block that has a name, and the last of any such block.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let word = "macro|test|data_test|snapshot|materialization";
    regex(&format!(r"\{{%[-+]?\s*(?:({word})\s+(\w+)(?s:.*?)|end({word})\s*[-+]?)%\}}"))
});

/// Return the blocks of `text`, each with the comment right before it.
pub fn blocks(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut open = None;
    for mark in MARK.captures_iter(text) {
        let (Some(whole), word) = (mark.get(0), mark.get(1).or(mark.get(3))) else { continue };
        match (mark.get(2), open) {
            (Some(name), None) => open = Some((whole, name.as_str(), word.map(|word| word.as_str()))),
            (None, Some((first, name, begun))) if begun == word.map(|word| word.as_str()) => {
                let before = text[..first.start()].trim_end();
                let is_near = text[before.len()..first.start()].matches('\n').count() <= 1;
                let comment = before.ends_with("#}").then(|| before.rfind("{#")).flatten().filter(|_| is_near);
                pieces.push(Piece {
                    symbol: name.to_owned(),
                    signature: one_line(first.as_str()),
                    definitions: vec![name.to_owned()],
                    joins: Joins::Never,
                    ..Piece::new(comment.unwrap_or(first.start()), whole.end(), ChunkKind::Function)
                });
                open = None;
            }
            _ => {}
        }
    }
    pieces
}

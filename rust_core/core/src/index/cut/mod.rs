//! A file's text to chunks (spec A1, A8, B3, C1).
//!
//! Code with a grammar is cut along its syntax tree ([`syntax`]), Markdown by headings, prose by underlined titles and
//! paragraphs, notebooks by cells, everything else in windows of lines. All ways give pieces, which go through the same size rules ([`piece`]).

mod depth;
mod imports;
mod languages;
mod markdown;
mod names;
mod notebook;
mod piece;
mod prose;
mod roles;
mod rules;
mod split;
mod sql;
mod syntax;
mod windows;

pub use piece::is_text_of;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::types::CutFile;
use crate::index::parse::{Parsed, TIME_LIMIT, parse};

/// Size of line windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineChunk {
    /// Lines of a window.
    pub lines: u32,
    /// Lines that it shares with the one before.
    pub overlap: u32,
}

/// Of the rules by which files are cut and chunks are named: raised with them, so that an index made by others is made again.
const RULES: u32 = 4;

/// How chunks are sized. Characters are Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOptions {
    /// Longer pieces are split.
    pub max_chars: usize,
    /// Shorter pieces join a neighbour, or are left out as trivial.
    pub min_chars: usize,
    /// A type of fewer lines is one chunk, if it is no longer than a chunk may be.
    pub class_lines: u32,
    /// Longest block of prose.
    pub text_chars: usize,
    /// Windows of files without a grammar (spec B3).
    pub line_chunk: LineChunk,
    /// Windows for every file, whatever its language (spec A1).
    pub always_lines: Option<LineChunk>,
}

impl CutOptions {
    /// Name the sizes and the rules that are in force: what was cut under another name is cut again.
    pub fn version(&self) -> String {
        format!("{RULES} {self:?}")
    }
}

impl Default for CutOptions {
    fn default() -> Self {
        Self {
            max_chars: 8_000,
            min_chars: 50,
            class_lines: 30,
            text_chars: 2_000,
            line_chunk: LineChunk { lines: 60, overlap: 5 },
            always_lines: None,
        }
    }
}

/// Cut one file. The only error is cancellation: whatever the text is, there is a result, with a reason where it is coarser than
/// the language would allow.
pub fn cut(path: &str, language: Language, text: &str, options: &CutOptions, cancel: &CancelToken) -> Result<CutFile> {
    cancel.check()?;
    if let Some(size) = options.always_lines {
        return Ok(piece::number(path, text, windows::pieces(text, size, options), options.min_chars));
    }
    if language == Language::MARKDOWN {
        return Ok(piece::finish(path, text, markdown::pieces(text, options), options));
    }
    if language == Language::SQL {
        return Ok(piece::finish(path, text, sql::pieces(text), options));
    }
    if language.is_prose() {
        return Ok(piece::finish(path, text, prose::pieces(text, options), options));
    }
    if language == Language::NOTEBOOK {
        if let Some(pieces) = notebook::pieces(text, options, cancel)? {
            return Ok(piece::number(path, text, pieces, options.min_chars));
        }
        return Ok(by_lines(path, text, options, Some("not a notebook that can be read".to_owned())));
    }
    if depth::is_too_deep(language, text) {
        return Ok(by_lines(path, text, options, Some("it is nested too deep to parse".to_owned())));
    }
    match parse(language, text, TIME_LIMIT, cancel)? {
        Parsed::Tree(tree) => {
            // A grammar that is at odds with its own tables must not take the whole index run down with it.
            let walked = catch_unwind(AssertUnwindSafe(|| syntax::pieces(&tree, text, language, options)));
            drop(tree);
            let Ok((pieces, imports)) = walked else {
                return Ok(by_lines(path, text, options, Some("the syntax tree could not be read".to_owned())));
            };
            let mut file = piece::finish(path, text, pieces, options);
            file.imports = imports;
            Ok(file)
        }
        Parsed::NoGrammar => Ok(by_lines(path, text, options, None)),
        Parsed::TooSlow => {
            Ok(by_lines(path, text, options, Some(format!("parsing took longer than {} s", TIME_LIMIT.as_secs()))))
        }
        Parsed::Unusable => Ok(by_lines(path, text, options, Some("this build can't use the language's grammar".to_owned()))),
    }
}

fn by_lines(path: &str, text: &str, options: &CutOptions, fallback: Option<String>) -> CutFile {
    let pieces = windows::pieces(text, options.line_chunk, options);
    CutFile { fallback, ..piece::number(path, text, pieces, options.min_chars) }
}

#[cfg(test)]
mod tests;

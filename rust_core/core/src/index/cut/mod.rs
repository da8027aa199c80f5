//! A file's text to chunks.
//!
//! Code with a grammar is cut along its syntax tree ([`syntax`]), SQL by statements, other code by the first lines of definitions
//! ([`outline`]), documents by their headings, prose without any by paragraphs, notebooks by cells, everything else in windows of
//! lines. Code of another language within a file ([`embedded`]) is cut by its own. All ways give pieces, which go through the same
//! size rules ([`piece`]).

mod depth;
mod embedded;
mod imports;
mod languages;
mod macros;
mod markdown;
mod marks;
mod named_places;
mod names;
mod node_roles;
mod notebook;
mod outline;
mod piece;
mod prose;
mod roles;
mod split;
mod sql;
mod syntax;
mod windows;

pub use piece::is_text_of;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tree_sitter::Node;

use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::types::{ChunkKind, CutFile};
use crate::index::parse::{Parsed, TIME_LIMIT, parse};
use piece::Piece;

/// Size of line windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineChunk {
    /// Lines of a window.
    pub lines: u32,
    /// Lines that it shares with the one before.
    pub overlap: u32,
}

/// Of the rules by which files are cut and chunks are named: raised with them, so that an index made by others is made again.
const RULES: u32 = 14;

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
    /// Windows of files without a grammar.
    pub line_chunk: LineChunk,
    /// Windows for every file, whatever its language.
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
    if language == Language::NOTEBOOK {
        if let Some(pieces) = notebook::pieces(text, options, cancel)? {
            return Ok(piece::number(path, text, pieces, 1));
        }
        return Ok(by_lines(path, text, options, Some("not a notebook that can be read".to_owned())));
    }
    let mut parts = parts(language, text, options, cancel)?;
    let inner = inner_parts(path, language, text, options, &mut parts, cancel)?;
    if parts.pieces.is_empty() && inner.is_empty() {
        return Ok(by_lines(path, text, options, parts.fallback));
    }
    if parts.pieces.is_empty() {
        parts.pieces = windows::pieces(text, LineChunk { overlap: 0, ..options.line_chunk }, options);
    }
    let mut pieces = piece::overlay(text, parts.pieces, inner);
    embedded::name_component(path, language, text, &mut pieces);
    Ok(CutFile { imports: parts.imports, fallback: parts.fallback, ..piece::finish(path, text, pieces, options) })
}

/// What the rules of one language make of a text.
#[derive(Default)]
struct Parts {
    /// In the order of the text; none where nothing says how to cut it.
    pieces: Vec<Piece>,
    imports: Vec<String>,
    fallback: Option<String>,
}

fn parts(language: Language, text: &str, options: &CutOptions, cancel: &CancelToken) -> Result<Parts> {
    let of = |pieces| Ok(Parts { pieces, ..Parts::default() });
    match language {
        Language::MARKDOWN => return of(markdown::pieces(text, options)),
        Language::SQL => return of(sql::pieces(text, options)),
        _ if language.is_prose() => return of(prose::pieces(text, language, options)),
        _ => {}
    }
    // What stands outside the blocks of such a file is a page.
    let language = if embedded::is_made_of_blocks(language) { Language::HTML } else { language };
    let outlined = |fallback| Ok(Parts { pieces: outline_and_rest(text, language, options), fallback, ..Parts::default() });
    if depth::is_too_deep(language, text) {
        return outlined(Some("it is nested too deep to parse".to_owned()));
    }
    // A grammar that is at odds with its own tables must not take the whole index run down with it.
    let read = |root: Node<'_>| {
        catch_unwind(AssertUnwindSafe(|| {
            let (pieces, imports) = syntax::pieces(root, text, language, options);
            (pieces, imports, syntax::broken(root))
        }))
    };
    let walked = match parse(language, text, TIME_LIMIT, cancel, read)? {
        Parsed::Tree(walked) => walked,
        Parsed::NoGrammar => return outlined(None),
        Parsed::TooSlow => return outlined(Some(format!("parsing took longer than {} s", TIME_LIMIT.as_secs()))),
        Parsed::Unusable => return outlined(Some("this build can't use the language's grammar".to_owned())),
    };
    let Ok((mut pieces, mut imports, mut broken)) = walked else {
        return outlined(Some("the syntax tree could not be read".to_owned()));
    };
    // The walk reads names in `text` itself: only the tree is that of the other one.
    if !broken.is_empty()
        && let Some(plain) = macros::without_lone(language, text)
        && let Parsed::Tree(Ok(again)) = parse(language, &plain, TIME_LIMIT, cancel, read)?
        && defined(&again.0) > defined(&pieces)
    {
        (pieces, imports, broken) = again;
    }
    // A grammar without a table only guesses what defines something.
    let is_guess = languages::rules(language).is_none();
    if broken.is_empty() && !is_guess {
        return Ok(Parts { pieces, imports, fallback: None });
    }
    // Where the grammar failed, a definition that the tree doesn't have, or not to its end, is cut by its first line.
    let known = Known::new(&pieces);
    let lost = outline(text, language, options, |at, found| {
        let is_broken = broken.iter().any(|range| found.start < range.end && range.start < found.end);
        (is_guess || (is_broken && found.is_definition())) && !known.has(text, at, found)
    });
    Ok(Parts { pieces: piece::overlay(text, pieces, lost), imports, fallback: None })
}

/// Count the names that pieces define themselves and as members. A function that swallows a file has the rest of it within.
fn defined(pieces: &[Piece]) -> usize {
    let members = |piece: &Piece| if piece.kind == ChunkKind::Class { piece.inner.len() } else { 0 };
    pieces.iter().map(|piece| piece.definitions.len() + members(piece)).sum()
}

/// The pieces of a tree, in the order of the text, with how far those up to each reach.
struct Known<'a> {
    pieces: &'a [Piece],
    reach: Vec<usize>,
}

impl<'a> Known<'a> {
    fn new(pieces: &'a [Piece]) -> Self {
        let reach = pieces.iter().scan(0, |reach, piece| {
            *reach = piece.end.max(*reach);
            Some(*reach)
        });
        Self { pieces, reach: reach.collect() }
    }

    /// Return the pieces that have the byte `at`.
    fn around(&self, at: usize) -> impl Iterator<Item = &'a Piece> {
        let first = self.reach.partition_point(|&reach| reach <= at);
        self.pieces[first..].iter().take_while(move |piece| piece.start <= at).filter(move |piece| at < piece.end)
    }

    /// Tell whether a piece defines what `found` does, whose first line begins at `at`, and reaches as far.
    fn has(&self, text: &str, at: usize, found: &Piece) -> bool {
        let is_type = matches!(found.kind, ChunkKind::Class | ChunkKind::ClassHeader);
        self.around(at).any(|piece| {
            found.definitions.iter().all(|name| piece.defines(name))
                && (piece.is_definition() || !found.is_definition())
                && (is_type || piece.end >= found.end || piece::is_closing(&text[piece.end..found.end]))
        })
    }
}

/// Return the definitions that `is_wanted` chooses, by where their first lines begin.
fn outline(text: &str, language: Language, options: &CutOptions, is_wanted: impl Fn(usize, &Piece) -> bool) -> Vec<Piece> {
    let found = outline::pieces(text, language, options);
    found.into_iter().filter(|(at, piece)| is_wanted(*at, piece)).map(|(_, piece)| piece).collect()
}

/// Return the definitions of a text, and windows of lines for what is long between them. Empty where nothing is defined.
fn outline_and_rest(text: &str, language: Language, options: &CutOptions) -> Vec<Piece> {
    let mut pieces = outline(text, language, options, |_, _| true);
    if pieces.is_empty() {
        return pieces;
    }
    let places: Vec<(usize, usize)> = pieces.iter().map(|piece| (piece.start, piece.end)).collect();
    let mut at = 0;
    for (start, end) in places.into_iter().chain([(text.len(), text.len())]) {
        // What is defined within another definition leaves nothing between them.
        let between = text.get(at..start).unwrap_or_default();
        if between.matches('\n').count() > options.line_chunk.lines as usize {
            let rest = windows::pieces(between, LineChunk { overlap: 0, ..options.line_chunk }, options);
            pieces.extend(rest.into_iter().map(|mut piece| {
                piece.shift(at);
                piece
            }));
        }
        at = at.max(end);
    }
    pieces.sort_by_key(|piece| (piece.start, piece.end));
    pieces
}

/// Return the pieces of code of other languages in a file, and add what it imports to `outer`.
fn inner_parts(
    path: &str,
    language: Language,
    text: &str,
    options: &CutOptions,
    outer: &mut Parts,
    cancel: &CancelToken,
) -> Result<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let began = Instant::now();
    for region in embedded::regions(path, language, text) {
        if began.elapsed() > TIME_LIMIT {
            break; // what is left stays with the file around it
        }
        // A document's code stays in its section, unless that would tear it.
        let is_whole = |piece: &Piece| piece.start <= region.outer.start && region.outer.end <= piece.end;
        if language == Language::MARKDOWN && outer.pieces.iter().any(is_whole) {
            continue;
        }
        let code = region.code(text);
        let mut inner = parts(region.language, &code, options, cancel)?;
        if !embedded::is_made_of_blocks(language) && !inner.pieces.iter().any(Piece::is_definition) {
            continue;
        }
        if inner.pieces.is_empty() {
            inner.pieces = windows::pieces(&code, LineChunk { overlap: 0, ..options.line_chunk }, options);
        }
        inner.pieces.iter_mut().for_each(|piece| piece.shift(region.start()));
        if language == Language::MARKDOWN {
            let section = outer.pieces.iter().rfind(|piece| piece.start <= region.outer.start).map_or("", |piece| &piece.symbol);
            inner.pieces.iter_mut().for_each(|piece| piece.belong_to(section));
        }
        if let Some(first) = inner.pieces.first_mut() {
            first.start = first.start.min(region.outer.start);
        }
        if let Some(last) = inner.pieces.last_mut()
            && !piece::is_closing(&text[last.end.min(region.outer.end)..region.outer.end])
        {
            last.end = last.end.max(region.outer.end);
        }
        pieces.append(&mut inner.pieces);
        let new = inner.imports.into_iter().filter(|name| !outer.imports.contains(name));
        outer.imports.extend(new.collect::<Vec<_>>());
    }
    Ok(pieces)
}

fn by_lines(path: &str, text: &str, options: &CutOptions, fallback: Option<String>) -> CutFile {
    let pieces = windows::pieces(text, options.line_chunk, options);
    CutFile { fallback, ..piece::number(path, text, pieces, options.min_chars) }
}

#[cfg(test)]
mod tests;

//! A [`Piece`]: a stretch of a file on its way to become a chunk, and the size rules that pieces go through.

use std::collections::{HashMap, HashSet};

use super::CutOptions;
use super::split::{is_shorter, skip_blank_lines, split_span};
use crate::base::hash::chunk_id;
use crate::base::lines::LineTable;
use crate::base::types::{Chunk, ChunkKind, CutFile, Span};

/// Consecutive small declarations are joined up to this many bytes: about a screenful, which one vector can still describe.
const JOINED_BYTES: usize = 1_500;
/// A declaration above this size stands alone.
const SMALL_BYTES: usize = 600;

/// Which pieces may be joined with which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Only when it is too small to stand alone.
    Never,
    /// With its neighbours of the same sort, while they are small.
    Small,
    /// With the rest of the same type's header (where the type begins tells it from others).
    Header(usize),
    /// The same, but for what stands between a type's members: it leaves the name to a longer one that it is joined with.
    Member(usize),
    /// With the next clause of the same function.
    Clause,
}

/// A stretch of the text with what the walk knows about it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What it will be.
    pub kind: ChunkKind,
    /// Its symbol, or empty.
    pub symbol: String,
    /// The enclosing chain.
    pub container: String,
    /// Declaration without body, or empty.
    pub signature: String,
    /// Names it defines.
    pub definitions: Vec<String>,
    /// Names that functions and types within a function have, each with the byte where its definition begins.
    pub inner: Vec<(usize, String)>,
    /// Whether it is an import.
    pub import: bool,
    /// What it may be joined with.
    pub joins: Joins,
}

impl Piece {
    /// Make a piece of `kind` with no names.
    pub fn new(start: usize, end: usize, kind: ChunkKind) -> Self {
        Self {
            start,
            end,
            kind,
            symbol: String::new(),
            container: String::new(),
            signature: String::new(),
            definitions: Vec::new(),
            inner: Vec::new(),
            import: false,
            joins: Joins::Small,
        }
    }

    fn len(&self) -> usize {
        self.end - self.start
    }

    /// Return the part from `start` to `end`: what the piece is called belongs to its first part.
    fn part(&self, text: &str, start: usize, end: usize) -> Self {
        let mut part = self.clone();
        if start > self.start && self.kind != ChunkKind::Section {
            let kind = if self.is_definition() { ChunkKind::Declaration } else { self.kind };
            part = Self { container: self.container.clone(), joins: self.joins, ..Self::new(start, end, kind) };
        }
        (part.start, part.end) = (start, end);
        part.definitions.retain(|name| text[start..end].contains(name.as_str()));
        part.inner = self.inner_of(start, end);
        part
    }

    fn inner_of(&self, start: usize, end: usize) -> Vec<(usize, String)> {
        self.inner.iter().filter(|(at, _)| (start..end).contains(at)).cloned().collect()
    }

    /// Tell whether it is a function or type.
    pub fn is_definition(&self) -> bool {
        matches!(self.kind, ChunkKind::Function | ChunkKind::Method | ChunkKind::Class | ChunkKind::ClassHeader)
    }

    /// Tell whether it has this name, or it is a type of which a member has it.
    pub fn defines(&self, name: &str) -> bool {
        let is_member = || self.kind == ChunkKind::Class && self.inner.iter().any(|(_, inner)| inner == name);
        self.definitions.iter().any(|own| own == name) || is_member()
    }

    /// Move it by `bytes` to where its text stands in the whole file.
    pub fn shift(&mut self, bytes: usize) {
        self.start += bytes;
        self.end += bytes;
        self.inner.iter_mut().for_each(|(at, _)| *at += bytes);
        if let Joins::Header(id) | Joins::Member(id) = &mut self.joins {
            *id += bytes;
        }
    }

    /// Make it a part of a document's section that has the title `section`.
    pub fn belong_to(&mut self, section: &str) {
        self.kind = ChunkKind::Section;
        self.joins = Joins::Never;
        self.container = section.replace(" > ", ".");
        self.symbol = [section, &self.symbol].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
    }

    fn is_named_unit(&self) -> bool {
        !matches!(self.kind, ChunkKind::Declaration | ChunkKind::Section) || self.joins == Joins::Never
    }
}

/// Turn the pieces of a file, in order and not overlapping, into its chunks: fill the gaps, join, split, number.
pub fn finish(path: &str, text: &str, pieces: Vec<Piece>, options: &CutOptions) -> CutFile {
    let pieces = fill_gaps(text, pieces);
    let pieces = join_alike(text, pieces, options.max_chars);
    let pieces = join_small(text, pieces, options);
    let pieces = split_large(text, pieces, options.max_chars);
    number(path, text, pieces, options.min_chars)
}

/// Widen each piece to whole lines, and make a piece of every stretch between two that says something.
///
/// A line that two pieces share belongs to the first. Where one of the two has no other line, they become one piece.
fn fill_gaps(text: &str, pieces: Vec<Piece>) -> Vec<Piece> {
    let mut filled: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut at = 0;
    for mut piece in pieces {
        piece.start = line_start(text, skip_blank_lines(text, piece.start, piece.end.max(piece.start)));
        piece.end = line_end(text, trimmed_end(text, piece.start, piece.end.max(piece.start)));
        if let Some(last) = filled.last_mut()
            && piece.start < last.end
        {
            let is_part = last.start >= piece.start && (piece.is_definition() || !last.is_definition());
            if is_part || piece.end <= last.end {
                absorb(last, piece);
                at = at.max(last.end);
                continue;
            }
            piece.start = skip_blank_lines(text, last.end, piece.end);
        }
        if piece.start >= piece.end {
            continue;
        }
        push_gap(text, at, piece.start, &mut filled);
        at = piece.end;
        filled.push(piece);
    }
    push_gap(text, at, text.len(), &mut filled);
    filled
}

fn push_gap(text: &str, start: usize, end: usize, filled: &mut Vec<Piece>) {
    if is_closing(&text[start..end]) {
        return;
    }
    let ends = text[start..end].split_inclusive('\n').take_while(|line| is_closing(line)).map(str::len).sum::<usize>();
    let from = skip_blank_lines(text, start + ends, end);
    let mut piece = Piece::new(from, trimmed_end(text, from, end), ChunkKind::Declaration);
    if let Some(before) = filled.last() {
        piece.container.clone_from(&before.container);
    }
    filled.push(piece);
}

/// Lay the pieces `over` on those of `base`: a place that both cover is `over`'s, and the rest of a piece of `base` stays. Both are
/// in the order of the text, and what lies over takes whole lines.
pub fn overlay(text: &str, base: Vec<Piece>, mut over: Vec<Piece>) -> Vec<Piece> {
    for piece in &mut over {
        piece.start = line_start(text, piece.start);
        piece.end = line_end(text, trimmed_end(text, piece.start, piece.end));
    }
    let mut pieces = Vec::with_capacity(base.len() + over.len());
    let mut first = 0;
    for piece in base {
        while over.get(first).is_some_and(|cover| cover.end <= piece.start) {
            first += 1;
        }
        let mut at = piece.start;
        for cover in over[first..].iter().map(|cover| (cover.start, cover.end)).chain([(piece.end, piece.end)]) {
            let until = cover.0.min(piece.end);
            if at < until && !is_closing(&text[at..until]) {
                pieces.push(piece.part(text, at, until));
            }
            at = at.max(cover.1);
            if at >= piece.end {
                break;
            }
        }
    }
    pieces.extend(over);
    pieces.sort_by_key(|piece| (piece.start, piece.end));
    pieces
}

/// Tell whether a stretch holds nothing but the ends of what came before: brackets, separators and closing words.
pub(super) fn is_closing(gap: &str) -> bool {
    const WORDS: &[&str] = &["end", "fi", "done", "esac", "#endif", "endif", "?>", "END", "GO", "/"];
    gap.split(|c: char| c.is_whitespace() || "{}()[];,".contains(c))
        .all(|word| word.is_empty() || WORDS.contains(&word) || (word.starts_with("</") && word.ends_with('>')))
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |line| line + 1)
}

/// Return the end of `at`'s line, without its line end and the blanks before it.
fn line_end(text: &str, at: usize) -> usize {
    at + text[at..].split(['\n', '\r']).next().unwrap_or_default().trim_end().len()
}

fn trimmed_end(text: &str, start: usize, end: usize) -> usize {
    start + text[start..end].trim_end().len()
}

/// Join runs of imports, of small declarations, of one type's header parts, of one function's clauses.
fn join_alike(text: &str, pieces: Vec<Piece>, max_chars: usize) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some(last) = joined.last_mut() else {
            joined.push(piece);
            continue;
        };
        let total = piece.end - last.start;
        let alike = match (last.joins, piece.joins) {
            (Joins::Header(a) | Joins::Member(a), Joins::Member(b)) => a == b && total <= max_chars,
            (Joins::Clause, Joins::Clause) => last.symbol == piece.symbol && !piece.symbol.is_empty() && total <= max_chars,
            (Joins::Small, Joins::Small) => {
                last.import == piece.import
                    && last.kind == piece.kind
                    && last.container == piece.container
                    && total <= JOINED_BYTES.min(max_chars)
                    && last.len().min(piece.len()) <= SMALL_BYTES
                    && piece.len() <= SMALL_BYTES
            }
            _ => false,
        };
        if alike && is_closing(&text[last.end..piece.start]) { absorb(last, piece) } else { joined.push(piece) }
    }
    joined
}

/// Join what is too small for a chunk of its own with a neighbour: one in the same type rather than outside, a loose
/// declaration rather than a function, the next piece rather than the one before.
fn join_small(text: &str, mut pieces: Vec<Piece>, options: &CutOptions) -> Vec<Piece> {
    let mut done: Vec<Piece> = Vec::with_capacity(pieces.len());
    pieces.reverse();
    while let Some(mut piece) = pieces.pop() {
        if !is_shorter(&text[piece.start..piece.end], options.min_chars) {
            done.push(piece);
            continue;
        }
        // 0: can't be joined; else the higher the better.
        let worth = |first: &Piece, second: &Piece, neighbour: &Piece| {
            let apart = !is_closing(&text[first.end..second.start]);
            if apart || !is_shorter(&text[first.start..second.end], options.max_chars + 1) {
                return 0;
            }
            1 + 2 * u8::from(neighbour.container == piece.container) + u8::from(!neighbour.is_named_unit())
        };
        let next = pieces.last().map_or(0, |next| worth(&piece, next, next));
        let previous = done.last().map_or(0, |previous| worth(previous, &piece, previous));
        if next > 0 && next >= previous {
            if let Some(next) = pieces.pop() {
                absorb(&mut piece, next);
            }
            pieces.push(piece);
        } else if previous > 0
            && let Some(last) = done.last_mut()
        {
            absorb(last, piece);
        } else {
            done.push(piece);
        }
    }
    done
}

/// Make `into` reach to the end of `other`. The names of the weightier one stay; both go on being defined.
fn absorb(into: &mut Piece, mut other: Piece) {
    let mut definitions = std::mem::take(&mut into.definitions);
    definitions.append(&mut other.definitions);
    let mut inner = std::mem::take(&mut into.inner);
    inner.append(&mut other.inner);
    let end = other.end;
    let both_loose = !into.is_named_unit() && !other.is_named_unit();
    if both_loose && into.kind == other.kind {
        if into.symbol.is_empty() {
            into.symbol = other.symbol;
            into.signature = other.signature;
        } else if !other.symbol.is_empty() {
            into.symbol.clear();
            into.signature.clear();
        }
        // An import line next to a constant: what it joined is no longer only imports.
        into.import &= other.import;
    } else if weight(&other) > weight(into) {
        *into = Piece { start: into.start, ..other };
    }
    into.end = end;
    let mut seen = HashSet::new();
    definitions.retain(|name| seen.insert(name.clone()));
    (into.definitions, into.inner) = (definitions, inner);
}

/// Tell which of two joined pieces gives the name: a function over a declaration, then the longer one, then the first.
fn weight(piece: &Piece) -> (bool, usize) {
    (piece.is_named_unit(), if matches!(piece.joins, Joins::Clause | Joins::Header(_)) { usize::MAX } else { piece.len() })
}

/// Return where a text declares a name: where it stands as in the signature, after the same word, else where it stands first.
fn declared_at(text: &str, name: &str, signature: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str, word: &str| {
        let mut places = text.match_indices(word).map(|(at, _)| at);
        places.find(|&at| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
    };
    let head = word(signature, name).map(|at| {
        let before = signature[..at].trim_end();
        &signature[before.rfind(' ').map_or(0, |space| space + 1)..at + name.len()]
    });
    head.and_then(|head| text.find(head)).or_else(|| word(text, name)).unwrap_or(0)
}

fn split_large(text: &str, pieces: Vec<Piece>, max_chars: usize) -> Vec<Piece> {
    let mut parts = Vec::with_capacity(pieces.len());
    for mut piece in pieces {
        // Definitions are searched by name: the part where the declaration stands is the one to find. A long comment may come before.
        let definitions = std::mem::take(&mut piece.definitions);
        let place = |name: &str| piece.start + declared_at(&text[piece.start..piece.end], name, &piece.signature);
        let mut placed: Vec<(usize, String)> = definitions.into_iter().map(|name| (place(&name), name)).collect();
        for (start, end) in split_span(text, piece.start, piece.end, max_chars) {
            let inner = piece.inner_of(start, end);
            let definitions = placed.extract_if(.., |(at, _)| *at < end).map(|(_, name)| name).collect();
            parts.push(Piece { start, end, definitions, inner, ..piece.clone() });
        }
    }
    parts
}

/// Tell whether a text is that of a chunk of `path`, by its id: false where the file has an equal chunk before it.
pub fn is_text_of(chunk: &Chunk, path: &str, text: &str) -> bool {
    let Chunk { kind, symbol, container, signature, .. } = chunk;
    chunk_id(&parts_of_id(path, *kind, symbol, container, signature, text), 0) == chunk.id
}

/// Return the texts that a chunk's id is made of, see [`Chunk::id`].
fn parts_of_id<'a>(
    path: &'a str,
    kind: ChunkKind,
    symbol: &'a str,
    container: &'a str,
    signature: &'a str,
    text: &'a str,
) -> [&'a str; 6] {
    [path, kind.name(), symbol, container, signature, text]
}

/// Give each piece that is large enough its id, and count those that are left out.
pub fn number(path: &str, text: &str, pieces: Vec<Piece>, min_chars: usize) -> CutFile {
    let lines = LineTable::new(text);
    let mut file = CutFile::default();
    // A file that is all small pieces is a small file, not one without content: it must be found by its name.
    let all_small = pieces.iter().all(|piece| is_shorter(&text[piece.start..piece.end], min_chars));
    let min_chars = if all_small { 1 } else { min_chars };
    let mut seen: HashMap<u128, u32> = HashMap::new();
    for mut piece in pieces {
        let body = &text[piece.start..piece.end];
        if is_shorter(body, min_chars) {
            file.trivial += usize::from(!is_closing(body));
            continue;
        }
        let parts = parts_of_id(path, piece.kind, &piece.symbol, &piece.container, &piece.signature, body);
        let first_id = chunk_id(&parts, 0);
        let occurrence = seen.entry(first_id).and_modify(|count| *count += 1).or_insert(0);
        let id = if *occurrence == 0 { first_id } else { chunk_id(&parts, *occurrence) };
        for (_, name) in piece.inner {
            if !piece.definitions.contains(&name) {
                piece.definitions.push(name);
            }
        }
        file.chunks.push(Chunk {
            id,
            span: span(&lines, piece.start, piece.end),
            kind: piece.kind,
            symbol: piece.symbol,
            container: piece.container,
            signature: piece.signature,
            definitions: piece.definitions,
        });
    }
    file
}

fn span(lines: &LineTable, start: usize, end: usize) -> Span {
    Span {
        start_byte: start as u32,
        end_byte: end as u32,
        start_line: lines.line_of(start as u32),
        end_line: lines.line_of(end.max(start + 1) as u32 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_text_says_nothing() {
        for (gap, expected) in [("", true), ("\n  }\n);\n", true), ("\nend\nend\n", true), ("\n// x\n", false), ("a", false)] {
            assert_eq!(is_closing(gap), expected, "{gap:?}");
        }
    }

    #[test]
    fn the_same_text_twice_has_two_ids() {
        let text = "same line of some length here\nsame line of some length here\n";
        let piece = |start| Piece { joins: Joins::Never, ..Piece::new(start, start + 29, ChunkKind::Function) };
        let options = CutOptions { min_chars: 5, ..CutOptions::default() };
        let file = finish("a.py", text, vec![piece(0), piece(30)], &options);
        assert_eq!(file.chunks.len(), 2);
        assert_ne!(file.chunks[0].id, file.chunks[1].id);
    }
}

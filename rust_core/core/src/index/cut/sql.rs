//! SQL by statements, in any dialect: a scanner knows quotes, comments, blocks and what ends a statement, and no more of the grammar.
//!
//! A statement ends at `;` (or what `DELIMITER` says), at a line of `GO` or `/`, and before a line that begins with `CREATE`. The body
//! of a routine ends where its blocks do, or at such a line.

mod objects;
mod templates;

use objects::{head, inner, is_one_of, is_routine, is_word, members, object, word};

use super::CutOptions;
use super::names::one_line;
use super::piece::{Joins, Piece, overlay};
use super::split::is_shorter;
use crate::base::types::ChunkKind;

/// Words behind `END` that close what wasn't counted as a block.
const NO_BLOCK: &[&str] = &["if", "loop", "while", "repeat", "for"];
/// Words behind `BEGIN` that begin no block.
const NO_BODY: &[&str] = &["tran", "transaction", "work", "distributed", "dialog", "immediate", "deferred", "exclusive"];
/// Marks that nothing closes, up to which others of their kind are looked for: each costs a look at the rest of the text.
const MOST_UNCLOSED: usize = 16;

/// Return the statements and the templates' blocks of `text` in its order.
pub fn pieces(text: &str, options: &CutOptions) -> Vec<Piece> {
    let blocks = templates::blocks(text);
    if blocks.is_empty() {
        return statements(text, options);
    }
    let mut plain = text.to_owned();
    for Piece { start, end, .. } in &blocks {
        let blank = text[*start..*end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
        plain.replace_range(*start..*end, &blank.collect::<String>());
    }
    overlay(text, statements(&plain, options), blocks)
}

fn statements(text: &str, options: &CutOptions) -> Vec<Piece> {
    let mut scanner = Scanner { text, at: 0, delimiter: ";", batches: batches(text), unclosed: Vec::new(), looked: (1, 0, 0) };
    let mut pieces = Vec::new();
    while let Some((start, first, end)) = scanner.statement() {
        let piece = piece(text, start, first, end);
        let whole = &text[start..end];
        let is_whole = whole.lines().count() < options.class_lines as usize && is_shorter(whole, options.max_chars + 1);
        if piece.kind == ChunkKind::Function && !is_whole && has_members(&text[first..end], &piece) {
            pieces.extend(members(text, &piece));
        } else {
            pieces.push(piece);
        }
    }
    pieces
}

/// Tell whether a routine is a package, whose members are routines of their own.
fn has_members(statement: &str, piece: &Piece) -> bool {
    !piece.inner.is_empty() && matches!(object(statement), Some(("package", _)))
}

/// Lines that tell batches apart, by where they begin: `true` for one that ends a batch, `false` for one that begins a routine.
fn batches(text: &str) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let says = line.trim();
        if ends_batch(says) {
            found.push((at, true));
        } else if is_word(says.get(..6).unwrap_or_default(), "create")
            && matches!(object(says), Some((kind, _)) if is_routine(kind))
        {
            found.push((at, false));
        }
        at += line.len();
    }
    found
}

fn ends_batch(line: &str) -> bool {
    line == "/"
        || line
            .get(..2)
            .is_some_and(|head| is_word(head, "go") && line[2..].bytes().all(|b| b.is_ascii_digit() || b == b' ' || b == b';'))
}

fn piece(text: &str, start: usize, first: usize, end: usize) -> Piece {
    let statement = &text[first..end];
    let plain = head(statement);
    let verb = word(&plain);
    let mut piece = Piece::new(start, end, ChunkKind::Declaration);
    let Some((kind, name)) = is_one_of(verb, &["create", "alter"]).then(|| object(statement)).flatten() else {
        return Piece { inner: inner(text, first, end, None), ..piece };
    };
    piece.inner = inner(text, first, end, Some(kind));
    // What alters a table adds to it, and what alters a routine or view says all of it again.
    let defines = is_word(verb, "create") || is_routine(kind) || is_word(kind, "view");
    if is_routine(kind) {
        piece.kind = ChunkKind::Function;
    }
    if defines && (is_routine(kind) || is_one_of(kind, &["table", "view", "type"])) {
        piece.joins = Joins::Never;
    }
    piece.symbol = if name.owner.is_empty() { name.own.clone() } else { format!("{}.{}", name.owner, name.own) };
    piece.container = name.owner;
    piece.signature = one_line(statement.lines().next().unwrap_or_default().trim_end_matches(['(', ' ']));
    piece.definitions = if defines { vec![name.own] } else { Vec::new() };
    piece
}

/// Return one past the quoted text or comment that begins at `at`, if one does. One that nothing closes is none.
fn skipped(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let closed = |open: usize, close: &str| rest[open..].find(close).map(|length| at + open + length + close.len());
    match rest.as_bytes().first()? {
        b'#' if is_hash_comment(text, at) => Some(at + rest.find('\n').unwrap_or(rest.len())),
        b'-' if rest.starts_with("--") => Some(at + rest.find('\n').unwrap_or(rest.len())),
        b'/' if rest.starts_with("/*") => closed(2, "*/"),
        b'$' => {
            let tag = rest[1..].find('$').map(|length| &rest[..length + 2])?;
            let is_tag = tag[1..tag.len() - 1].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if is_tag { closed(tag.len(), tag) } else { None }
        }
        quote @ (b'\'' | b'"' | b'`') => {
            let bytes = rest.as_bytes();
            let mut end = 1;
            while end < bytes.len() {
                if bytes[end] == *quote {
                    let goes_on = bytes.get(end + 1).is_some_and(|next| !next.is_ascii_whitespace() && !b",);".contains(next));
                    if bytes.get(end + 1) == Some(quote) {
                        end += 1;
                    } else if bytes[end - 1] != b'\\' || !goes_on {
                        return Some(at + end + 1);
                    }
                }
                end += 1;
            }
            None
        }
        _ => None,
    }
}

/// Tell whether `MySQL`'s mark of a comment stands at `at`: elsewhere it is a part of a name or an operator.
fn is_hash_comment(text: &str, at: usize) -> bool {
    let before = text[..at].rsplit('\n').next().unwrap_or_default();
    before.trim().is_empty() && (before.is_empty() || !text[at + 1..].starts_with(|c: char| c.is_alphanumeric() || c == '#'))
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// What ends a statement.
    delimiter: &'a str,
    batches: Vec<(usize, bool)>,
    /// Which quotes and comments were opened and never closed: the first byte of each.
    unclosed: Vec<char>,
    /// Where the last look for a block began and ended, and what it gave: each statement up to there asks for the same.
    looked: (usize, usize, usize),
}

impl<'a> Scanner<'a> {
    /// Return one past the quoted text or comment at `at`, if there is one.
    fn skip(&mut self, at: usize) -> Option<usize> {
        let byte = self.text.as_bytes()[at];
        let most = if byte == b'$' { MOST_UNCLOSED } else { 1 };
        if byte == b'$' && self.text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit) {
            return None; // a placeholder
        }
        if !b"#-/$'\"`".contains(&byte)
            || self.text[at..].starts_with("/*!")
            || self.unclosed.iter().filter(|known| **known == char::from(byte)).count() >= most
        {
            return None;
        }
        let end = skipped(self.text, at);
        if end.is_none() && (!b"#-/".contains(&byte) || self.text[at..].starts_with("/*")) {
            self.unclosed.push(byte.into());
        }
        end
    }

    /// Return where the first word behind comments stands, and the last blank line before it.
    fn leading(&mut self, start: usize) -> (usize, Option<usize>) {
        let (mut at, mut gap) = (start, None);
        while at < self.text.len() && self.text[at..].starts_with(['#', '-', '/']) {
            let Some(end) = self.skip(at) else { break };
            at = end + (self.text[end..].len() - self.text[end..].trim_start().len());
            if self.text[end..at].matches('\n').count() > 1 {
                gap = Some(end);
            }
        }
        (at, gap)
    }

    /// Return the line at `at`, without blanks around it.
    fn line(&self, at: usize) -> &'a str {
        self.text[at..].split('\n').next().unwrap_or_default().trim()
    }

    /// Return where the next statement begins with its comment, where its first word is, and one past its end.
    fn statement(&mut self) -> Option<(usize, usize, usize)> {
        loop {
            self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
            if self.at >= self.text.len() {
                return None;
            }
            let line = self.line(self.at);
            if line.get(..9).is_some_and(|word| is_word(word, "delimiter")) {
                self.delimiter = Some(line[9..].trim()).filter(|mark| !mark.is_empty()).unwrap_or(";");
            } else if !ends_batch(line) && !line.starts_with('\\') {
                break;
            }
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        }
        let start = self.at;
        let (first, gap) = self.leading(start);
        // A comment that a blank line parts from what follows is a piece of its own.
        let (first, end) = gap.map_or_else(|| (first, self.end(first)), |gap| (start, gap));
        self.at = (end.max(start + 1)..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(self.text.len());
        Some((start, first.min(self.at), self.at))
    }

    /// Return one past the end of the statement whose first word is at `first`.
    fn end(&mut self, first: usize) -> usize {
        let text = self.text;
        let plain = head(&text[first..]);
        let verb = word(&plain);
        let kind = is_one_of(verb, &["create", "alter"]).then(|| object(&text[first..])).flatten().map(|(kind, _)| kind);
        let is_block = is_word(verb, "declare") && !text[first + verb.len()..].trim_start().starts_with('@');
        let is_routine = kind.is_some_and(is_routine) || is_block;
        let batch = self.batches[self.batches.partition_point(|(at, _)| *at <= first)..].first();
        let to_batch = is_routine && batch.is_some_and(|(_, ends)| *ends);
        let mut blocks = usize::from(kind.is_some_and(|kind| is_word(kind, "package")));
        let (mut brackets, mut has_body, mut begins_line, mut body) = (0_usize, false, false, None);
        let mut at = first;
        while at < text.len() {
            if let Some(end) = self.skip(at) {
                has_body |= text[at..].starts_with('$');
                at = end;
                continue;
            }
            if text[at..].starts_with(self.delimiter) && (self.delimiter != ";" || (blocks == 0 && !to_batch)) {
                let end = at + self.delimiter.len();
                // Oracle's declarations stand before the block: `;` ends none of them.
                let is_done = self.delimiter != ";" || !is_routine || has_body;
                if is_done || *body.get_or_insert_with(|| self.next_block(end)) < end {
                    return if is_word(verb, "copy") { self.copied(first, end) } else { end };
                }
            }
            let found = word(&text[at..]);
            if found.is_empty() {
                match text.as_bytes()[at] {
                    b'\n' if ends_batch(self.line(at + 1)) => return at,
                    b'\n' => begins_line = true,
                    b'(' => brackets += 1,
                    b')' => brackets = brackets.saturating_sub(1),
                    _ => {}
                }
                begins_line &= text.as_bytes()[at].is_ascii_whitespace();
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            let opens_statement = begins_line && at > first && brackets == 0 && blocks == 0 && (!is_routine || has_body);
            if opens_statement && is_word(found, "create") {
                return at;
            }
            begins_line = false;
            at += found.len();
            let after = text[at..].trim_start();
            let next = word(after);
            if is_word(found, "case") || (is_word(found, "begin") && !is_one_of(next, NO_BODY) && !after.starts_with(';')) {
                blocks += 1;
            } else if is_word(found, "end") && !is_one_of(next, NO_BLOCK) {
                has_body |= blocks == 1;
                blocks = blocks.saturating_sub(1);
                if is_word(next, "case") {
                    // `END CASE` closes one block and opens none.
                    at = text.len() - after.len() + next.len();
                }
            }
        }
        text.len()
    }

    /// Return where the next block begins within the batch of `at`; 0 if none does.
    fn next_block(&mut self, at: usize) -> usize {
        if (self.looked.0..self.looked.1).contains(&at) {
            return self.looked.2;
        }
        let (stop, block) = self.look_for_block(at);
        self.looked = (at, stop, block);
        block
    }

    /// Return where that look ended, and what it gives.
    fn look_for_block(&self, at: usize) -> (usize, usize) {
        let until = self.batches[self.batches.partition_point(|(line, _)| *line <= at)..].first();
        let rest = &self.text[at..until.map_or(self.text.len(), |(line, _)| *line)];
        let mut place = at;
        for word in rest.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
            match word.get(..word.len().min(6)) {
                Some(head) if is_word(head.trim_end(), "begin") => return (place, place),
                Some(head) if is_word(head, "create") => return (place, 0),
                _ => place += word.len(),
            }
        }
        (place, 0)
    }

    /// Return the end of the rows behind `COPY … FROM stdin;`.
    fn copied(&self, first: usize, end: usize) -> usize {
        let is_inline = self.text[first..end].to_ascii_lowercase().contains("from stdin");
        let rows = is_inline.then(|| self.text[end..].find("\n\\.")).flatten();
        rows.map_or(end, |length| end + length + 3)
    }
}

#[cfg(test)]
mod tests;

//! Definitions by their first lines: how a file is cut where no syntax tree says what it holds.
//!
//! A line that begins as a definition does in its language opens one, and the indentation says where it ends. That is enough for
//! languages without a grammar, and for code that a grammar couldn't read.

use super::CutOptions;
use super::marks::{self, Marks};
use super::names::{Name, one_line};
use super::piece::{Joins, Piece, is_closing};
use super::split::is_shorter;
use crate::base::language::Language;
use crate::base::types::ChunkKind;
use crate::index::parse::grammar;

/// Words that go on with the definition above them, however far they are indented.
const CONTINUING: &[&str] =
    &["else", "elsif", "elif", "rescue", "ensure", "catch", "except", "finally", "begin", "then", "do", "where", "is", "as"];
/// Words that begin a statement and no function.
const STATEMENTS: &[&str] = &[
    "if",
    "else",
    "for",
    "foreach",
    "while",
    "switch",
    "return",
    "catch",
    "new",
    "throw",
    "do",
    "case",
    "sizeof",
    "assert",
    "yield",
    "await",
    "using",
    "in",
    "delete",
    "typedef",
    "lock",
    "with",
    "try",
    "synchronized",
    "super",
    "defer",
    "guard",
    "when",
    "goto",
];
/// Longest list of parameters that is read.
const LONGEST_HEAD: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Function,
    /// Anything with definitions in it.
    Type,
    /// A namespace: it lends its name to what stands in it.
    Scope,
    /// A constant, a target: what has a name and no members.
    Other,
}

/// A definition's first line.
struct Mark {
    line: usize,
    kind: Kind,
    name: Name,
    /// Whether no word stands before its name: only in a type is that a definition.
    bare: bool,
    /// Whether it is one of a list (see [`listed`]).
    listed: bool,
}

/// A definition, by its lines: its comment's first, its own first, and one past its last.
#[derive(Debug)]
struct Item {
    top: usize,
    line: usize,
    end: usize,
    kind: Kind,
    name: Name,
    inside: Vec<Item>,
    /// The names of functions in what holds no pieces of its own, each with its line.
    within: Vec<(usize, String)>,
}

/// A line of the text: where it begins, how far it is indented, the rest, and whether it begins within a comment.
struct Line<'a> {
    start: usize,
    indent: usize,
    says: &'a str,
    commented: bool,
}

/// Return the definitions of `text` as pieces in its order, each with the byte where its first line begins, which its comment may
/// stand before. Empty for a language without marks.
pub fn pieces(text: &str, language: Language, options: &CutOptions) -> Vec<(usize, Piece)> {
    let Some(marks) = marks::of(language) else { return Vec::new() };
    let hash_comments = !matches!(language, Language::C | Language::CPP | Language::CSHARP | Language::OBJECTIVE_C);
    let flat = grammar(language).is_none();
    let outline = Outline { text, lines: lines(text, language), options, hash_comments, heads: marks.heads, flat };
    let mut pieces = Vec::new();
    for item in outline.items(&marks) {
        outline.emit(&item, "", false, &mut pieces);
    }
    pieces
}

fn lines(text: &str, language: Language) -> Vec<Line<'_>> {
    let (opens, closes) = match language.name() {
        "ocaml" | "f-sharp" | "pascal" => ("(*", "*)"),
        "haskell" | "elm" => ("{-", "-}"),
        "powershell" => ("<#", "#>"),
        "nim" => ("#[", "]#"),
        _ => ("/*", "*/"),
    };
    // Behind the last mark that closes one nothing is a comment.
    let last = text.rfind(closes).unwrap_or(0);
    let (mut at, mut comment_end) = (0, 0);
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let says = line.trim();
        let indent = line.chars().take_while(|c| matches!(c, ' ' | '\t')).map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let commented = at < comment_end;
        if !commented && at < last && says.starts_with(opens) {
            let inside = at + line.len() - line.trim_start().len() + opens.len();
            comment_end = text[inside..].find(closes).map_or(at, |end| inside + end);
        }
        lines.push(Line { start: at, indent, says, commented });
        at += line.len();
    }
    lines
}

struct Outline<'a> {
    text: &'a str,
    lines: Vec<Line<'a>>,
    options: &'a CutOptions,
    /// Whether `#` begins a comment rather than an instruction of a preprocessor.
    hash_comments: bool,
    /// See [`Marks::heads`].
    heads: bool,
    /// Whether what stands in a definition may be no deeper than it, as in assembly: no language with a grammar is written so.
    flat: bool,
}

impl Outline<'_> {
    /// Return the outermost definitions with those in them. What stands in a function is part of it.
    fn items(&self, marks: &Marks) -> Vec<Item> {
        let found = self.found(marks);
        let mut open: Vec<Item> = Vec::new();
        let mut outermost = Vec::new();
        for (at, Mark { line, kind, name, bare, listed }) in found.iter().enumerate() {
            close(&mut open, *line, &mut outermost);
            let may_stand = match open.last().map(|around| around.kind) {
                Some(Kind::Type) => true,
                Some(Kind::Scope) | None => !bare,
                Some(Kind::Function | Kind::Other) => false,
            };
            if !may_stand {
                let is_within =
                    |around: &&mut Item| if *listed { around.kind == Kind::Other } else { *kind == Kind::Function && !bare };
                if let Some(around) = open.last_mut().filter(is_within) {
                    around.within.push((*line, name.own.clone()));
                }
                continue;
            }
            let indent = self.lines[*line].indent;
            let next = found[at + 1..].iter().find(|other| other.line > *line && self.lines[other.line].indent <= indent);
            let next = next.map_or(self.lines.len(), |other| self.top(other.line)).max(line + 1);
            let top = self.top(*line).max(open.last().map_or(0, |around| around.line + 1));
            let mut end = self.end(*line, *kind, &name.own, next);
            // What is only compiled under a condition begins with it.
            while end > line + 1 && (self.lines[end - 1].says.is_empty() || self.lines[end - 1].says.starts_with("#if")) {
                end -= 1;
            }
            open.push(Item { top, line: *line, end, kind: *kind, name: name.clone(), inside: Vec::new(), within: Vec::new() });
        }
        close(&mut open, usize::MAX, &mut outermost);
        outermost
    }

    /// Return the lines that begin a definition.
    fn found(&self, marks: &Marks) -> Vec<Mark> {
        const GROUPS: &[(&str, Kind)] = &[
            ("f", Kind::Function),
            ("f2", Kind::Function),
            ("t", Kind::Type),
            ("t2", Kind::Type),
            ("s", Kind::Scope),
            ("o", Kind::Other),
            ("o2", Kind::Other),
        ];
        let (mut found, mut lists) = (Vec::new(), Vec::new());
        for captures in marks.pattern.captures_iter(self.text) {
            let named = |group| captures.name(group).map(|name| name.as_str());
            let at = captures.get(0).map_or(0, |whole| whole.start());
            let line = self.lines.partition_point(|line| line.start <= at).saturating_sub(1);
            if let Some(list) = captures.name("list").filter(|_| !self.lines[line].commented) {
                lists.push((line, list.start()));
            }
            let Some((written, kind)) = GROUPS.iter().find_map(|(group, kind)| Some((named(group)?, *kind))) else { continue };
            let Some(mut name) = Name::parse(written).or_else(|| plain_name(written)) else { continue };
            if let Some(owner) = named("owner") {
                owner.clone_into(&mut name.owner);
            }
            // A word behind one that defines (`sub new`) is a name.
            let is_statement = STATEMENTS.contains(&name.own.as_str()) && self.lines[line].says.starts_with(&name.own);
            if !is_statement && !self.lines[line].commented {
                found.push(Mark { line, kind, name, bare: false, listed: false });
            }
        }
        if marks.heads {
            found.extend((0..self.lines.len()).filter_map(|line| self.head(line)));
            found.sort_by_key(|mark| mark.line);
            found.dedup_by_key(|mark| mark.line);
        }
        let listed: Vec<Mark> = lists.into_iter().flat_map(|(line, from)| self.listed(line, from)).collect();
        let is_new = |mark: &Mark| found.binary_search_by_key(&mark.line, |known| known.line).is_err();
        let mut listed: Vec<Mark> = listed.into_iter().filter(is_new).collect();
        found.append(&mut listed);
        found.sort_by_key(|mark| mark.line);
        found
    }

    /// Return what a list defines that begins in `line` at the byte `from`: there, and in the lines below that are as deep as the first.
    fn listed(&self, line: usize, from: usize) -> Vec<Mark> {
        let indent = self.lines[line].indent;
        let own = self.text[from..].lines().next().unwrap_or_default();
        let is_said = |at: &usize| !self.lines[*at].says.is_empty() && !self.lines[*at].says.starts_with('#');
        let below = (line + 1..self.lines.len()).filter(is_said).take_while(|at| self.lines[*at].indent > indent);
        let depth = below.clone().next().map_or(0, |at| self.lines[at].indent);
        let entries = below.filter(|at| self.lines[*at].indent == depth).map(|at| (at, self.lines[at].says));
        let names = |(line, says)| marks::listed(says).into_iter().filter_map(move |name| Some((line, Name::parse(name)?)));
        let mark = |(line, name)| Mark { line, kind: Kind::Other, name, bare: false, listed: true };
        std::iter::once((line, own)).chain(entries).flat_map(names).map(mark).collect()
    }

    /// Return the name of the function whose parameters begin in `line`: words, a list in brackets and then a block.
    fn head(&self, line: usize) -> Option<Mark> {
        let Line { start, says, commented, .. } = self.lines[line];
        let before = says.split('(').next().filter(|before| before.len() < says.len() && !commented)?.trim_end();
        let is_plain = |c: char| c.is_alphanumeric() || "_$:~<>*&,.?[] #".contains(c);
        if !before.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '~' || c == '#') || !before.chars().all(is_plain) {
            return None;
        }
        let words: Vec<&str> = before.split_whitespace().collect();
        if words.iter().any(|word| STATEMENTS.contains(word)) || (before.starts_with('#') && words.len() > 1) {
            return None;
        }
        let text = &self.text[start..];
        let text = &text[text.find('(')?..];
        let mut depth = 0_usize;
        let close = text.bytes().take(LONGEST_HEAD).position(|byte| {
            depth = match byte {
                b'(' => depth + 1,
                b')' => depth - 1,
                _ => depth,
            };
            depth == 0
        })?;
        let after = &text[close + 1..];
        let stop = after.bytes().take(LONGEST_HEAD).position(|byte| b"{;=}\"".contains(&byte))?;
        let says_more = after[..stop].trim_end().ends_with(',');
        (after[stop..].starts_with('{') || after[stop..].starts_with("=>")).then_some(())?;
        if says_more || after[..stop].contains("\n\n") {
            return None;
        }
        let name = Name::parse(words.last()?.trim_start_matches(['*', '&', '#']))?;
        let bare = words.len() == 1 && name.owner.is_empty() && !self.is_return_type(line);
        Some(Mark { line, kind: Kind::Function, name, bare, listed: false })
    }

    /// Tell whether the line before `line` is the return type of the function that begins there.
    fn is_return_type(&self, line: usize) -> bool {
        line > 0 && {
            let before = self.lines[line - 1].says;
            !before.is_empty() && before.chars().all(|c| c.is_alphanumeric() || "_ *&:<>,".contains(c)) && !before.ends_with(':')
        }
    }

    /// Return the first line of the comment, attributes and return type that stand right before `line`.
    fn top(&self, line: usize) -> usize {
        const LEADING: &[&str] = &["//", "/*", "*", "--", "@", "[", ";;", "%", "(*", "{-", "'''", "template"];
        let indent = self.lines[line].indent;
        let leads = |line: &Line<'_>| {
            let is_hash = line.says.starts_with('#');
            // The last line of a template's parameters.
            let ends_list = self.heads && line.says.ends_with('>') && !is_hash;
            line.commented
                || line.indent.abs_diff(indent) <= 1
                    && (LEADING.iter().any(|mark| line.says.starts_with(mark)) || (self.hash_comments && is_hash) || ends_list)
        };
        let mut top = line;
        let one_word = !self.lines[line].says.split('(').next().unwrap_or_default().contains(' ');
        if self.heads && one_word && self.is_return_type(line) && self.lines[line - 1].indent == indent {
            top -= 1;
        }
        while top > 0 && leads(&self.lines[top - 1]) {
            top -= 1;
        }
        top
    }

    /// Return one past the last line of what begins in `line` and is called `name`; at most `next`.
    fn end(&self, line: usize, kind: Kind, name: &str, next: usize) -> usize {
        let Line { indent, says, .. } = self.lines[line];
        let mut rest = (line + 1..next).filter(|at| !self.lines[*at].says.is_empty());
        // What was declared is written out below, as in Elm: its name stands there again.
        let repeats = |at: usize| {
            let Line { indent: of, says, .. } = self.lines[at];
            let rest = says.strip_prefix(name).filter(|_| self.flat && kind == Kind::Function && of == indent);
            rest.is_some_and(|rest| rest.starts_with(' '))
        };
        let goes_on = |at: usize| {
            let Line { indent: of, says, .. } = self.lines[at];
            let word = says.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
            let closes = says.starts_with(['}', ')', ']', '{', ':']) || is_closing(says);
            let continues = closes || CONTINUING.contains(&word.as_str()) || word.starts_with("end");
            of > indent || (of == indent && continues) || repeats(at) || (says.starts_with('#') && !self.hash_comments)
        };
        if says.starts_with('#') && !self.hash_comments {
            // A macro goes on while its lines end in a backslash.
            return (line..next).find(|at| !self.lines[*at].says.ends_with('\\')).map_or(next, |at| at + 1);
        }
        let is_closed = says.contains('{')
            && says.matches('{').count() == says.matches('}').count()
            && !rest.clone().next().is_some_and(repeats);
        match rest.clone().next() {
            // Nothing below is indented: it goes on to the next definition, as a label of assembly does.
            Some(below) if self.flat && kind != Kind::Other && !is_closed && !goes_on(below) && !says.ends_with([';', '}']) => {
                next
            }
            Some(_) => rest.find(|at| !goes_on(*at) || is_closed).unwrap_or(next),
            None => next,
        }
    }

    /// Add the pieces of `item`, which stands in `chain`.
    fn emit(&self, item: &Item, chain: &str, in_type: bool, pieces: &mut Vec<(usize, Piece)>) {
        let end = self.lines.get(item.end).map_or(self.text.len(), |line| line.start);
        let (start, at) = (self.lines[item.top].start, self.lines[item.line].start);
        let owner = [chain, &item.name.owner].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        let symbol = if owner.is_empty() { item.name.own.clone() } else { format!("{owner}.{}", item.name.own) };
        let piece = |kind, end| Piece {
            symbol: symbol.clone(),
            container: owner.clone(),
            signature: one_line(self.lines[item.line].says.trim_end_matches(['{', '=']).trim_end()),
            definitions: vec![item.name.own.clone()],
            inner: item.within.iter().map(|(line, name)| (self.lines[*line].start, name.clone())).collect(),
            joins: Joins::Never,
            ..Piece::new(start, end, kind)
        };
        let is_whole = item.end - item.top < self.options.class_lines as usize
            && is_shorter(&self.text[start..end], self.options.max_chars + 1);
        match item.kind {
            Kind::Function if in_type || !owner.is_empty() => pieces.push((at, piece(ChunkKind::Method, end))),
            Kind::Function => pieces.push((at, piece(ChunkKind::Function, end))),
            Kind::Other => {
                let joins = if item.end > item.line + 1 { Joins::Never } else { Joins::Small };
                pieces.push((at, Piece { joins, ..piece(ChunkKind::Declaration, end) }));
            }
            Kind::Scope => item.inside.iter().for_each(|inner| self.emit(inner, &symbol, false, pieces)),
            Kind::Type if is_whole || item.inside.is_empty() => {
                let mut whole = piece(ChunkKind::Class, end);
                let members = item.inside.iter().map(|inner| inner.name.own.clone());
                whole.definitions.extend(members.filter(|name| *name != item.name.own));
                pieces.push((at, whole));
            }
            Kind::Type => {
                let first = item.inside.first().map_or(end, |inner| self.lines[inner.top].start);
                let head = piece(ChunkKind::ClassHeader, first);
                let head = Piece {
                    symbol: format!("{symbol} (header)"),
                    container: symbol.clone(),
                    joins: Joins::Header(start),
                    ..head
                };
                pieces.push((at, head));
                item.inside.iter().for_each(|inner| self.emit(inner, &symbol, true, pieces));
            }
        }
    }
}

/// Put each definition that ends before `line` into the one around it.
fn close(open: &mut Vec<Item>, line: usize, outermost: &mut Vec<Item>) {
    while let Some(item) = open.pop_if(|item| item.end <= line) {
        open.last_mut().map_or(&mut *outermost, |around| &mut around.inside).push(item);
    }
}

/// Return a name that isn't one of a programming language (`%.o`, `build-all`).
fn plain_name(written: &str) -> Option<Name> {
    let own = written.trim();
    (!own.is_empty() && own.len() <= 80).then(|| Name { own: own.to_owned(), owner: String::new() })
}

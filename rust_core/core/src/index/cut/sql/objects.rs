//! Tell which object a statement of SQL makes, its name, and the objects that are made within it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::patterns::regex;
use crate::base::types::ChunkKind;
use crate::index::cut::names::{Name, one_line};
use crate::index::cut::piece::{Joins, Piece};

/// Objects that are made of statements of their own.
const ROUTINES: &[&str] = &["procedure", "proc", "function", "trigger", "package", "event"];
/// Other objects that `CREATE` makes.
const OBJECTS: &[&str] = &[
    "table",
    "view",
    "index",
    "type",
    "sequence",
    "schema",
    "database",
    "domain",
    "extension",
    "role",
    "user",
    "policy",
    "synonym",
    "aggregate",
    "rule",
    "server",
    "macro",
    "stage",
    "pipe",
    "task",
    "stream",
    "dictionary",
    "publication",
    "subscription",
];
/// Words between the kind of an object and its name.
const PASSED: &[&str] = &["if", "not", "exists", "concurrently", "body", "only"];
/// Words that begin what may hold statements of its own, in a block or in quotes.
const HOLDERS: &[&str] = &["if", "do", "begin", "exec", "execute"];
/// Within so many bytes a statement says what it makes.
const LONGEST_HEAD: usize = 600;

/// Marks of text that `MySQL` alone reads, as its dumps have it: `/*!50003 CREATE … */`.
static CONDITIONAL: LazyLock<Regex> = LazyLock::new(|| regex(r"/\*!\d*|\*/"));
static MEMBER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?im)^[ \t]*(?:(?:member|static|constructor) +)?(?:procedure|function)\s+"));
static CREATE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\bcreate\s"));
/// A table that lives as long as its session: other statements of a routine ask it by its name.
static TEMPORARY: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\bcreate\s+table\s+(?:tempdb\.\S{0,20})?#|\bcreate\s+(?:(?:local|global)\s+)?temp(?:orary)?\s+table\s")
});

pub fn is_word(word: &str, known: &str) -> bool {
    word.eq_ignore_ascii_case(known)
}

pub fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| is_word(word, known))
}

pub fn is_routine(kind: &str) -> bool {
    is_one_of(kind, ROUTINES)
}

/// Return the first `bytes` of `text`, or fewer.
fn within(text: &str, bytes: usize) -> &str {
    &text[..(0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)]
}

/// Return the head of a statement as `MySQL` reads it.
pub fn head(statement: &str) -> Cow<'_, str> {
    let head = within(statement, LONGEST_HEAD);
    if head.contains("/*!") { CONDITIONAL.replace_all(head, " ").trim_start().to_owned().into() } else { head.into() }
}

/// Return what a statement that begins with `CREATE` or `ALTER` is about: the word for its kind, and its name.
pub fn object(statement: &str) -> Option<(&'static str, Name)> {
    let head = head(statement);
    let mut rest = &*head;
    let mut next = || {
        let word = rest.split(is_gap).next().unwrap_or_default();
        rest = rest[word.len()..].trim_start_matches(is_gap);
        (word, rest)
    };
    next();
    let kinds = || ROUTINES.iter().chain(OBJECTS);
    let (kind, mut rest) = (0..12).find_map(|_| {
        let (word, rest) = next();
        kinds().find(|kind| is_word(word, kind)).map(|kind| (*kind, rest))
    })?;
    while let Some(word) = rest.split(is_gap).next().filter(|word| is_one_of(word, PASSED)) {
        rest = rest[word.len()..].trim_start_matches(is_gap);
    }
    (!is_word(word(rest), "on")).then(|| name(rest)).flatten().map(|name| (kind, name))
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || c == '('
}

/// Return the name that `text` begins with: words, or anything in quotes, parted by dots.
fn name(text: &str) -> Option<Name> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let close = match rest.chars().next()? {
            '[' => Some(']'),
            quote @ ('"' | '`') => Some(quote),
            _ => None,
        };
        let (part, after) = if let Some(close) = close {
            rest[1..].split_once(close).map(|(part, after)| (part.to_owned(), after))?
        } else {
            let end = rest.find(|c: char| is_gap(c) || ";,.".contains(c)).unwrap_or(rest.len());
            (Name::parse(&rest[..end]).map_or_else(String::new, |name| name.own), &rest[end..])
        };
        parts.push(part);
        let Some(more) = after.strip_prefix('.') else { break };
        rest = more;
    }
    let own = parts.pop().filter(|own| !own.trim().is_empty())?;
    parts.retain(|part| !part.is_empty());
    Some(Name { own, owner: parts.join(".") })
}

/// Return the names that a statement defines within, each with the byte where its definition begins.
pub fn inner(text: &str, first: usize, end: usize, kind: Option<&str>) -> Vec<(usize, String)> {
    let statement = &text[first..end];
    let is_commented = |at: usize| statement[..at].rsplit('\n').next().is_some_and(|line| line.contains("--"));
    let found = |begins: &Regex, named: fn(&str, usize) -> Option<Name>| {
        let places = begins.find_iter(statement).filter(|found| !is_commented(found.start()));
        places.filter_map(|found| Some((first + found.start(), named(&statement[found.start()..], found.len())?.own))).collect()
    };
    match kind {
        Some(kind) if is_one_of(kind, &["package", "type"]) => found(&MEMBER, |text, head| name(&text[head..])),
        Some(kind) if is_routine(kind) => found(&TEMPORARY, |text, _| object(text).map(|(_, name)| name)),
        None if is_one_of(word(statement), HOLDERS) => found(&CREATE, |text, _| object(text).map(|(_, name)| name)),
        _ => Vec::new(),
    }
}

/// Return a package that is too long for one piece as its head and its members, each with the comment before it.
pub fn members(text: &str, package: &Piece) -> Vec<Piece> {
    let mut starts: Vec<usize> = package.inner.iter().map(|(at, _)| comment_before(text, *at)).collect();
    starts.push(package.end);
    let head = Piece { end: starts[0], inner: Vec::new(), ..package.clone() };
    let members = package.inner.iter().zip(starts.windows(2)).map(|((at, own), span)| Piece {
        symbol: format!("{}.{own}", package.symbol),
        container: package.symbol.clone(),
        signature: one_line(text[*at..].trim_start().lines().next().unwrap_or_default()),
        definitions: vec![own.clone()],
        joins: Joins::Never,
        ..Piece::new(span[0], span[1], ChunkKind::Method)
    });
    std::iter::once(head).chain(members).collect()
}

/// Return where the lines of comments before the line at `at` begin.
fn comment_before(text: &str, at: usize) -> usize {
    let mut top = text[..at].rfind('\n').map_or(0, |end| end + 1);
    while let Some(above) = text[..top].strip_suffix('\n') {
        let begins = above.rfind('\n').map_or(0, |end| end + 1);
        if !above[begins..].trim_start().starts_with("--") {
            break;
        }
        top = begins;
    }
    top
}

/// Return the word that `text` begins with.
pub fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

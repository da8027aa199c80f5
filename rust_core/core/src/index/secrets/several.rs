//! Values that a name in the plural is given: the literals of its list or map, the lines below it, the elements within it.

use super::bindings::{REACH_OF_LIST, entries};
use super::named::Name;
use super::operators::{is_quote, skip_blanks, skip_white};
use super::values::Style;
use super::work::Work;

type Range = (usize, usize);

/// Return what may be the values, and whether each is a literal.
pub(super) fn values(text: &[u8], (from, to, _): Name, style: Style, work: &mut Work) -> Vec<(Range, bool)> {
    let at = to + text[to..].iter().take(8).take_while(|b| b"\"'*_`:".contains(b)).count();
    let ended = skip_blanks(text, at);
    let heads = text[to..at].contains(&b':') && matches!(text.get(ended), Some(b'\n' | b'\r')) && style != Style::Code;
    let opens = text[..from].ends_with(b"<") && text.get(to) == Some(&b'>');
    if !work.take(if heads || opens { REACH_OF_LIST } else { 1 }) {
        return Vec::new();
    }
    if opens {
        return elements(&text[from..to], text, to).into_iter().map(|range| (range, false)).collect();
    }
    if heads && !text.get(skip_white(text, ended)).is_some_and(|b| b"[{(".contains(b) || is_quote(*b)) {
        return lines(text, from, ended).into_iter().map(|range| (range, false)).collect();
    }
    let (literals, read) = entries(text, from, to, style);
    work.take(read - to);
    let mut found: Vec<(Range, bool)> = literals.into_iter().map(|range| (range, true)).collect();
    if found.is_empty() && style == Style::Config {
        found.extend(flow(text, ended).into_iter().map(|range| (range, false)));
    }
    found
}

/// Return the entries of a list and the values of a map that stand on the lines below their name, up to a line that is neither.
fn lines(text: &[u8], from: usize, end: usize) -> Vec<Range> {
    let line = |at: usize| text[..at].iter().rposition(|&b| b == b'\n').map_or(0, |line| line + 1);
    let indent = |at: usize| at - line(at);
    let own = indent(skip_blanks(text, line(from)));
    let mut start = text[end..].iter().position(|&b| b == b'\n').map_or(text.len(), |length| end + length + 1);
    let mut found = Vec::new();
    for row in text[start..text.len().min(start + REACH_OF_LIST)].split_inclusive(|&b| b == b'\n') {
        let first = start + row.iter().take_while(|b| b.is_ascii_whitespace()).count();
        start += row.len();
        if first >= start || text[first] == b'#' {
            continue;
        }
        let is_entry = matches!(text[first..start], [b'-' | b'*', b' ', ..]);
        let key = text[first..start].windows(2).position(|pair| pair == b": ").map(|at| first + at + 2);
        let belongs = if is_entry { indent(first) >= own } else { key.is_some() && indent(first) > own };
        if !belongs {
            break;
        }
        found.extend(word(text, key.unwrap_or(first + 2), start));
    }
    found
}

/// Return the only word of a line's rest, without its quotes and what follows as a comment.
fn word(text: &[u8], at: usize, end: usize) -> Option<Range> {
    let edge = |b: &&u8| b.is_ascii_whitespace() || b"\"'`*".contains(b);
    let first = at + text[at..end].iter().take_while(edge).count();
    let length = text[first..end].iter().take_while(|b| !b.is_ascii_whitespace()).count();
    let rest = text[first + length..end].trim_ascii();
    let last = first + length - text[first..first + length].iter().rev().take_while(|b| b"\"'`*,".contains(b)).count();
    (first < last && (rest.is_empty() || b"#(".contains(&rest[0]))).then_some((first, last))
}

/// Return the entries of a list of YAML in brackets and without quotes: `[a, b]`.
fn flow(text: &[u8], at: usize) -> Vec<Range> {
    let Some(first) = (text.get(at) == Some(&b'[')).then_some(at + 1) else { return Vec::new() };
    let Some(length) = text[first..].iter().take(REACH_OF_LIST).position(|&b| b == b']') else { return Vec::new() };
    let mut start = first;
    let parts = text[first..first + length].split_inclusive(|&b| b == b',');
    let words = parts.filter_map(|part| {
        start += part.len();
        word(text, start - part.len(), start)
    });
    words.collect()
}

/// Return the texts of the elements within the element of this name.
fn elements(name: &[u8], text: &[u8], at: usize) -> Vec<Range> {
    let mut start = at;
    let mut found = Vec::new();
    for part in text[at..text.len().min(at + REACH_OF_LIST)].split_inclusive(|&b| b == b'<') {
        if part.starts_with(b"/") && part[1..].starts_with(name) {
            break;
        }
        start += part.len();
        if let Some(tag) = part.strip_suffix(b"<").and_then(|part| part.iter().position(|&b| b == b'>')) {
            found.extend(word(text, start - part.len() + tag + 1, start - 1));
        }
    }
    found
}

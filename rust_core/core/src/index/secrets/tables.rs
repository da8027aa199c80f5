//! Tables: a value stands right of the cell that names it, or below it (`| password | ... |`, columns of CSV, `<td>`, `<dt>`).

use super::foreign;
use super::named::class_of;
use super::values::{Class, Style, is_secret, is_strong};
use super::work::Work;

/// A name is no longer, in bytes.
const LONGEST_LABEL: usize = 48;
/// A line, or an element of HTML, is followed no further.
const LONGEST_LINE: usize = 8_192;
/// In a table no token is shorter.
pub(super) const SHORTEST_TOKEN: usize = 12;
/// Elements that label what follows them.
const LABELS: &[&str] = &["td", "th", "dt", "b", "strong", "label", "li", "span"];
/// What ends the row, the list or the paragraph of a label.
const ENDS: &[&[u8]] = &[b"</tr", b"</table", b"</dl", b"</p", b"</li", b"</div"];
/// So many rows below a heading are looked at.
const MOST_ROWS: usize = 10_000;

type Range = (usize, usize);

/// How the cells of a file's tables are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// By signs or blanks, within a text.
    Text,
    /// By commas, semicolons or tabs: the file is a table.
    Records,
    /// By tags.
    Markup,
}

/// Return the values of the label that stands around `start..end`, if it is a cell of a table.
pub(super) fn values(text: &[u8], (start, end): Range, layout: Layout, work: &mut Work) -> Vec<Range> {
    if !work.take(LONGEST_LABEL) {
        return Vec::new();
    }
    let found = match layout {
        Layout::Markup => beside_in_markup(text, start, end, work),
        Layout::Records => beside(text, start, end, b"\t,;", work),
        Layout::Text => beside(text, start, end, b"|\t", work),
    };
    let Some((class, ranges)) = found else { return Vec::new() };
    let is_value = |&(first, last): &Range| {
        // What a machine made is long: a column of tokens may be one of words.
        (class == Class::Password || last - first >= SHORTEST_TOKEN)
            && std::str::from_utf8(&text[first..last]).is_ok_and(|value| is_secret(value, class, Style::Prose, true))
    };
    ranges.into_iter().map(|range| if is_value(&range) { range } else { of_login(text, range) }).filter(is_value).collect()
}

/// Return the password of a cell that holds a user's name before it: `app / …`, `app:…`. Without one, nothing of the cell.
fn of_login(text: &[u8], (first, last): Range) -> Range {
    let joint = text[first..last].iter().position(|b| b"/: ".contains(b)).map_or(last, |at| first + at + 1);
    let start = joint + text[joint..last].iter().take_while(|b| b"/: `".contains(b)).count();
    let is_made = std::str::from_utf8(&text[start..last]).is_ok_and(is_strong);
    if is_made { (start, last) } else { (last, last) }
}

type Found = Option<(Class, Vec<Range>)>;

/// Read a table whose cells are separated by a sign.
fn beside(text: &[u8], start: usize, end: usize, signs: &[u8], work: &mut Work) -> Found {
    let line = line_around(text, start)?;
    if !work.take(line.1 - line.0) {
        return None;
    }
    let row = &text[line.0..line.1];
    let sign = signs.iter().copied().find(|sign| row.contains(sign));
    let cells = cells_of(text, line, sign);
    let column = cells.iter().position(|&(first, last)| first <= start && end <= last)?;
    let class = class_of_label(&text[cells[column].0..cells[column].1])?;
    let mut ranges: Vec<Range> = cells[column + 1..].iter().copied().find(|cell| cell.0 < cell.1).into_iter().collect();
    let below = text.get(line.1 + 1..).unwrap_or_default();
    let rule = below.iter().position(|&b| b == b'\n').map_or(below, |end| &below[..end]).trim_ascii();
    let ruled = !rule.is_empty() && rule.iter().all(|b| b"|+-=: \t".contains(b));
    let heads_file = text[..line.0].trim_ascii().is_empty() && matches!(sign, Some(b'\t' | b',' | b';'));
    if ruled || heads_file {
        let mut at = line.1 + 1;
        for _ in 0..MOST_ROWS {
            let Some(line) = line_around(text, at).filter(|line| line.1 > line.0 && work.take(line.1 - line.0)) else { break };
            ranges.extend(cells_of(text, line, sign).get(column));
            at = line.1 + 1;
        }
    }
    Some((class, ranges))
}

/// Read markup: the label is the text of an element, and the next text is its value; below the heading of a column, so is the cell
/// of each row.
fn beside_in_markup(text: &[u8], start: usize, end: usize, work: &mut Work) -> Found {
    let from = start - text[..start].iter().rev().take(LONGEST_LABEL).position(|&b| b == b'>')?;
    let to = end + text[end..].iter().take(LONGEST_LABEL).position(|&b| b == b'<')?;
    let class = class_of_label(&text[from..to])?;
    let opening = text[..from].iter().rev().take(LONGEST_LINE).position(|&b| b == b'<').map(|back| from - back)?;
    let element = text[opening..from].split(|b| !b.is_ascii_alphanumeric()).next()?;
    if !work.take(LONGEST_LINE) || !LABELS.iter().any(|label| element.eq_ignore_ascii_case(label.as_bytes())) {
        return None;
    }
    let mut ranges: Vec<Range> = next_text(text, to).into_iter().collect();
    let before = &text[from.saturating_sub(LONGEST_LINE)..from];
    let head = before.windows(3).rposition(|tag| tag.eq_ignore_ascii_case(b"<tr")).map_or(&[][..], |row| &before[row..]);
    // A row's own label has its value beside it; a heading has nothing but headings there.
    if head.windows(3).any(|tag| tag.eq_ignore_ascii_case(b"<th")) {
        let column = cells_in_markup(head).count();
        let rest = &text[to..];
        let table = rest.windows(7).position(|tag| tag.eq_ignore_ascii_case(b"</table")).unwrap_or(rest.len());
        let mut at = 0;
        for _ in 0..MOST_ROWS {
            let row = rest[at..table].windows(3).position(|tag| tag.eq_ignore_ascii_case(b"<tr")).map(|place| at + place + 3);
            let Some(row) = row.filter(|row| work.take(row - at)) else { break };
            let close =
                rest[row..table].windows(4).position(|tag| tag.eq_ignore_ascii_case(b"</tr")).map_or(table, |end| row + end);
            let cell = cells_in_markup(&rest[row..close]).nth(column.saturating_sub(1));
            ranges.extend(cell.and_then(|cell| next_text(text, to + row + cell)));
            at = close;
        }
        work.take(at.max(table.min(LONGEST_LINE)));
    }
    Some((class, ranges))
}

/// Return where the cells begin in a row of HTML.
fn cells_in_markup(row: &[u8]) -> impl Iterator<Item = usize> {
    let is_cell = |tag: &[u8]| tag.eq_ignore_ascii_case(b"<td") || tag.eq_ignore_ascii_case(b"<th");
    row.windows(3).enumerate().filter(move |(_, tag)| is_cell(tag)).map(|(at, _)| at)
}

/// Return the next text after tags, blanks and a colon.
fn next_text(text: &[u8], at: usize) -> Option<Range> {
    let limit = text.len().min(at + LONGEST_LINE);
    let mut at = at;
    while at < limit {
        match text[at] {
            b'<' if ENDS.iter().any(|tag| text[at..].len() > tag.len() && text[at..at + tag.len()].eq_ignore_ascii_case(tag)) => {
                return None;
            }
            b'<' => at += text[at..limit].iter().position(|&b| b == b'>')? + 1,
            b' ' | b'\t' | b'\r' | b'\n' | b':' => at += 1,
            _ => {
                let length = text[at..limit].iter().position(|b| b"<\r\n".contains(b))?;
                return Some((at, at + text[at..at + length].trim_ascii_end().len()));
            }
        }
    }
    None
}

/// Return the line around a place, without its end.
fn line_around(text: &[u8], at: usize) -> Option<Range> {
    let before = text.get(..at)?.iter().rev().take(LONGEST_LINE).position(|&b| b == b'\n').unwrap_or(at.min(LONGEST_LINE));
    let after = text[at..].iter().take(LONGEST_LINE).position(|&b| b == b'\n').unwrap_or((text.len() - at).min(LONGEST_LINE));
    Some((at - before, at + after))
}

/// Return the cells of a line, without blanks and quotes around them. Without a sign, two blanks separate.
fn cells_of(text: &[u8], (from, to): Range, sign: Option<u8>) -> Vec<Range> {
    let mut cells = Vec::new();
    let mut first = from;
    let mut quoted = false;
    for at in from..=to {
        let byte = text.get(at).filter(|_| at < to).copied();
        quoted ^= byte == Some(b'"') && matches!(sign, Some(b',' | b';'));
        let ends = match (byte, sign) {
            (None, _) => true,
            (byte, Some(_)) => byte == sign && !quoted && text[..at].last() != Some(&b'\\'),
            (Some(byte), None) => byte == b' ' && text.get(at + 1) == Some(&b' '),
        };
        if ends {
            let cell = trimmed(text, first, at);
            // A run of blanks makes no cell, nor does what is outside the borders.
            let outside = sign == Some(b'|') && (cells.is_empty() && first == from || at == to);
            if cell.0 < cell.1 || sign.is_some() && !outside {
                cells.push(cell);
            }
            first = at + 1;
        }
    }
    cells
}

fn trimmed(text: &[u8], first: usize, last: usize) -> Range {
    let is_edge = |b: &u8| b.is_ascii_whitespace() || b"\"'`*".contains(b);
    let start = first + text[first..last].iter().take_while(|b| is_edge(b)).count();
    let end = last - text[start..last].iter().rev().take_while(|b| is_edge(b)).count();
    (start, end.max(start))
}

/// Tell what the label of a value promises: `Password`, `DB password (prod):`, `API key`.
fn class_of_label(label: &[u8]) -> Option<Class> {
    let label = std::str::from_utf8(label).ok().filter(|label| label.len() <= LONGEST_LABEL)?;
    let label = label.split(['(', '[']).next()?.trim_matches(|c: char| !c.is_alphanumeric());
    if foreign::is_password(label) {
        return Some(Class::Password);
    }
    let words = label.split_ascii_whitespace().collect::<Vec<_>>();
    if words.len() > 4 || words.is_empty() { None } else { class_of(&words.join("_")) }
}

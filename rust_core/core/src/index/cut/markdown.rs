//! Markdown by sections: one chunk from a heading to the next, named by the path of headings (`Install > Linux`).
//!
//! A line scanner is enough for headings, fences and front matter, knows no syntax errors and never backtracks.

use super::CutOptions;
use super::named_places::{NamedPlace, named_places};
use super::piece::{Joins, Piece};
use super::split::split_span_at;
use crate::base::language::Language;
use crate::base::types::ChunkKind;

pub(super) struct Heading {
    pub start: usize,
    pub level: usize,
    pub title: String,
}

/// Return the sections of `text`, each at most `text_chars` long (about 500 tokens).
pub fn pieces(text: &str, options: &CutOptions) -> Vec<Piece> {
    let front_matter = front_matter(text);
    let mut headings = headings(text, front_matter);
    if let Some(first) = headings.first_mut()
        && front_matter > 0
        && text[front_matter..first.start].trim().is_empty()
    {
        first.start = 0; // by itself front matter answers nothing
    }
    sections(text, headings, &named_places(text, Language::MARKDOWN), options)
}

/// Return where the text begins that follows front matter; 0 where there is none.
fn front_matter(text: &str) -> usize {
    let mut end = 0;
    let mut fence = "";
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let body = line.trim_end();
        end += line.len();
        match number {
            0 if matches!(body, "---" | "+++") => fence = body,
            0 => return 0,
            _ if body == fence || (fence == "---" && body == "...") => return end,
            _ => {}
        }
    }
    0
}

/// Return the sections between `headings`, each named by its path of titles and with the places in it that have names.
pub(super) fn sections(text: &str, mut headings: Vec<Heading>, places: &[NamedPlace], options: &CutOptions) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut before = None;
    for heading in &mut headings {
        let own = heading.start;
        // A target stands before what it names.
        while let Some(place) = places[..places.partition_point(|place| place.start < heading.start)].last()
            && before.is_none_or(|before| place.start > before)
            && text[place.below.min(heading.start)..heading.start].trim().is_empty()
        {
            heading.start = place.start;
        }
        before = Some(own);
    }
    let first = headings.first().map_or(text.len(), |heading| heading.start);
    push_section(text, 0, first, &path, places, options, &mut pieces);
    for (index, heading) in headings.iter().enumerate() {
        path.retain(|(level, _)| *level < heading.level);
        path.push((heading.level, &heading.title));
        let end = headings.get(index + 1).map_or(text.len(), |next| next.start);
        push_section(text, heading.start, end, &path, places, options, &mut pieces);
    }
    pieces
}

fn push_section(
    text: &str,
    start: usize,
    end: usize,
    path: &[(usize, &str)],
    places: &[NamedPlace],
    options: &CutOptions,
    pieces: &mut Vec<Piece>,
) {
    let titles: Vec<&str> = path.iter().map(|(_, title)| *title).filter(|title| !title.is_empty()).collect();
    let container = titles.split_last().map_or(String::new(), |(_, above)| above.join("."));
    let end = start + text[start..end].trim_end().len();
    let is_place = |at: usize| places.binary_search_by_key(&at, |place| place.start).is_ok();
    for (from, to) in split_span_at(text, start, end, options.text_chars, is_place) {
        pieces.push(Piece {
            symbol: titles.join(" > "),
            container: container.clone(),
            definitions: names_within(places, from, to),
            joins: Joins::Never,
            ..Piece::new(from, to, ChunkKind::Section)
        });
    }
}

/// Return the names of the places between two.
pub(super) fn names_within(places: &[NamedPlace], start: usize, end: usize) -> Vec<String> {
    let within = &places[places.partition_point(|place| place.start < start)..];
    let mut names: Vec<String> = Vec::new();
    for name in within.iter().take_while(|place| place.start < end).flat_map(|place| &place.names) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Return the headings outside fenced code, from a place on.
fn headings(text: &str, from: usize) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut previous: Option<(usize, &str)> = None;
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_end();
        let indent = body.len() - body.trim_start_matches(' ').len();
        let content = &body[indent..];
        if let Some((mark, length)) = fence {
            let closing = content.trim_start_matches(mark);
            if content.len() - closing.len() >= length * mark.len_utf8() && closing.is_empty() {
                fence = None;
            }
            continue;
        }
        if indent > 3 {
            previous = None;
            continue;
        }
        if let Some(mark) = content.chars().next().filter(|c| matches!(c, '`' | '~')) {
            let length = content.chars().take_while(|c| *c == mark).count();
            if length >= 3 {
                fence = Some((mark, length));
                previous = None;
                continue;
            }
        }
        if let Some((level, title)) = heading(content) {
            found.push(Heading { start, level, title });
            previous = None;
        } else if let (Some(level), Some((above, title))) = (setext(content), previous) {
            found.push(Heading { start: above, level, title: clean(title) });
            previous = None;
        } else {
            // Only a paragraph of one line can become a heading here; longer ones are rare and read as text.
            let starts_paragraph = previous.is_none() && !content.is_empty() && !content.starts_with(['>', '-', '*', '|', '+']);
            previous = starts_paragraph.then_some((start, content));
        }
    }
    found
}

/// Return how deep the heading is that a line is, and its title.
pub(super) fn heading(content: &str) -> Option<(usize, String)> {
    let level = content.bytes().take_while(|byte| *byte == b'#').count();
    let title = &content[level..];
    let is_heading = (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, clean(title.trim().trim_end_matches('#'))))
}

fn setext(content: &str) -> Option<usize> {
    let mark = content.chars().next()?;
    let level = match mark {
        '=' => 1,
        '-' => 2,
        _ => return None,
    };
    content.chars().all(|c| c == mark).then_some(level)
}

/// Return a title as text: no emphasis, code marks or links, one line, at most 80 characters.
pub(super) fn clean(title: &str) -> String {
    let mut plain = String::new();
    let mut in_target = false;
    let mut last = ' ';
    for c in title.trim().chars() {
        match c {
            '(' if last == ']' => in_target = true,
            ')' if in_target => in_target = false,
            '`' | '*' | '[' | ']' => {}
            _ if in_target => {}
            _ => plain.push(c),
        }
        last = c;
    }
    plain.trim().chars().take(80).collect()
}

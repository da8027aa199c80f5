//! Prose: sections between titles, else blocks of whole paragraphs.

use super::CutOptions;
use super::markdown::{Heading, clean, names_within, sections};
use super::named_places::named_places;
use super::piece::{Joins, Piece};
use super::split::{is_shorter, split_span};
use crate::base::language::Language;
use crate::base::types::ChunkKind;

/// The symbol of every block of prose.
pub const TEXT_BLOCK: &str = "TEXT_BLOCK";

/// Return the sections of `text`, where it has titles. Else its paragraphs, joined while a block stays within `text_chars`; a longer
/// paragraph is broken at sentences.
pub fn pieces(text: &str, language: Language, options: &CutOptions) -> Vec<Piece> {
    let headings = match language {
        Language::ASCIIDOC => marked(text, '='),
        Language::ORG => marked(text, '*'),
        _ => Vec::new(),
    };
    let headings = if headings.is_empty() { underlined(text) } else { headings };
    let places = named_places(text, language);
    if !headings.is_empty() {
        return sections(text, headings, &places, options);
    }
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for (start, end) in paragraphs(text) {
        match blocks.last_mut() {
            Some(last) if is_shorter(&text[last.0..end], options.text_chars + 1) => last.1 = end,
            _ => blocks.push((start, end)),
        }
    }
    let parts = blocks.into_iter().flat_map(|(start, end)| split_span(text, start, end, options.text_chars));
    parts
        .map(|(start, end)| Piece {
            symbol: TEXT_BLOCK.to_owned(),
            definitions: names_within(&places, start, end),
            joins: Joins::Never,
            ..Piece::new(start, end, ChunkKind::Text)
        })
        .collect()
}

/// Return the titles that begin with `mark`, the oftener the deeper: `AsciiDoc`'s and Org's. What `AsciiDoc` shows between two equal lines
/// of marks holds none.
fn marked(text: &str, mark: char) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut verbatim: Option<&str> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let (from, body) = (start, line.trim_end());
        start += line.len();
        if let Some(fence) = verbatim {
            verbatim = verbatim.filter(|_| body != fence);
            continue;
        }
        if mark == '=' && is_fence(body) {
            verbatim = Some(body);
            continue;
        }
        let title = body.trim_start_matches(mark);
        let level = body.len() - title.len();
        if level > 0 && title.starts_with(' ') && title.contains(char::is_alphanumeric) {
            found.push(Heading { start: from, level, title: clean(title.trim_end_matches(mark)) });
        }
    }
    found
}

/// Tell whether a line begins or ends what `AsciiDoc` takes as it stands: a listing, a literal, a passthrough, a comment.
fn is_fence(line: &str) -> bool {
    let first = line.chars().next().unwrap_or(' ');
    line == "```" || (line.len() >= 4 && "-.+/".contains(first) && line.chars().all(|c| c == first))
}

/// Return the titles that are underlined, as reStructuredText and many plain texts write them: one line, behind a blank line or a line
/// over it, and under it at least as many of one mark. How deep a title is says the order in which its marks first appear.
fn underlined(text: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut kinds: Vec<(char, bool)> = Vec::new();
    // The two lines before: where they begin, and their text.
    let (mut above, mut title): ((usize, &str), (usize, &str)) = ((0, ""), (0, ""));
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_end();
        let over = underline(above.1, title.1);
        let mut is_underline = false;
        if let Some(mark) = underline(body, title.1)
            && (above.1.is_empty() || over == Some(mark))
        {
            let kind = (mark, over.is_some());
            let level = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            let from = if over.is_some() { above.0 } else { title.0 };
            found.push(Heading { start: from, level, title: clean(title.1) });
            is_underline = true;
        }
        above = title;
        // An underline is not the line over the next title.
        title = (start, if is_underline { "" } else { body });
    }
    found
}

/// Return the mark of which `line` is made, if it is long enough to stand under `title`.
fn underline(line: &str, title: &str) -> Option<char> {
    let mark = line.chars().next().filter(|c| "=-~^\"'*+#:._`".contains(*c))?;
    let length = line.chars().count();
    let indented = title.starts_with([' ', '\t']);
    let says = title.chars().any(char::is_alphanumeric);
    (says && !indented && length >= 3 && length >= title.trim().chars().count() && line.chars().all(|c| c == mark))
        .then_some(mark)
}

/// Return the byte ranges of runs of lines that aren't blank.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let mut open = false;
    for line in text.split_inclusive(['\n', '\r']) {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        // The `\n` of a `\r\n` is no blank line.
        if line == "\n" && text[..start].ends_with('\r') {
            continue;
        }
        if line.trim().is_empty() {
            open = false;
        } else if open && let Some(last) = found.last_mut() {
            last.1 = end;
        } else {
            found.push((start, end));
            open = true;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        underlined(text).into_iter().map(|heading| (heading.level, heading.title)).collect()
    }

    #[test]
    fn an_underline_is_not_the_line_over_the_next_title() {
        let text = "First\n=====\nSecond\n======\nDeeper\n------\nText.\n";
        assert_eq!(found(text), [(0, "First".to_owned()), (0, "Second".to_owned()), (1, "Deeper".to_owned())]);
    }

    #[test]
    fn titles_are_underlined_and_as_deep_as_their_marks_came() {
        let text = "=====\nGuide\n=====\n\nText.\n\nFirst\n=====\n\nDeeper\n------\r\nText.\n\nSecond\n======\nText.\n";
        let expected = [(0, "Guide"), (1, "First"), (2, "Deeper"), (1, "Second")];
        assert_eq!(found(text), expected.map(|(level, title)| (level, title.to_owned())));
        let symbols: Vec<_> = pieces(text, Language::RST, &CutOptions::default()).into_iter().map(|piece| piece.symbol).collect();
        assert_eq!(symbols, ["Guide", "Guide > First", "Guide > First > Deeper", "Guide > Second"]);
    }

    #[test]
    fn documents_of_asciidoc_and_org_have_their_own_titles() {
        let check = |language: Language, text: &str, expected: &[&str]| {
            let symbols: Vec<_> = pieces(text, language, &CutOptions::default()).into_iter().map(|piece| piece.symbol).collect();
            assert_eq!(symbols, expected, "{text}");
        };
        let guide = "= Guide\n:toc:\n\nText.\n\n== First\n\n----\n== an example\n----\n\n==== Deeper ====\nText.\n\n== Second\n";
        check(Language::ASCIIDOC, guide, &["Guide", "Guide > First", "Guide > First > Deeper", "Guide > Second"]);
        check(Language::ASCIIDOC, "Guide\n=====\n\nText.\n", &["Guide"]);
        check(Language::ASCIIDOC, "Text with a = b.\n\n* a list\n", &[TEXT_BLOCK]);
        check(
            Language::ORG,
            "#+title: Notes\n\n* First\n- a list\n** Deeper\nText.\n* Second\n",
            &["", "First", "First > Deeper", "Second"],
        );
    }

    #[test]
    fn what_only_looks_like_a_title_is_none() {
        let cases = [
            "Text above.\nThe last line of a paragraph\n----------------------------\n",
            "A title that is longer than its line\n-----\n",
            "    an example\n    ----------\n",
            "Name   Size\n=====  ====\na      1\n",
            "One.\n\n----\n\nTwo.\n",
            "---\ntitle: A page\n---\nText.\n",
        ];
        for text in cases {
            assert_eq!(found(text), [], "{text:?}");
        }
    }
}

//! Where to break a text that is too long for one chunk.

/// Tell whether `text` has fewer than `chars` characters.
pub fn is_shorter(text: &str, chars: usize) -> bool {
    // A character has at most four bytes, so most texts are decided without counting.
    text.len() < chars || (text.len() / 4 < chars && text.chars().count() < chars)
}

/// Break `text[start..end]` into parts of at most `max_chars` characters, of about equal size, at the best boundary near
/// the wanted place: a blank line, then the least indented line, then any line. Only a line that is longer than a part may be is
/// broken itself: at a sentence or a word, and at a character when nothing else is there. In formatted code the least indented line is where a statement begins. Blanks between parts are dropped.
pub fn split_span(text: &str, start: usize, end: usize, max_chars: usize) -> Vec<(usize, usize)> {
    split_span_at(text, start, end, max_chars, |_| false)
}

/// The same, where a line that begins at a place is better than any other.
pub fn split_span_at(
    text: &str,
    start: usize,
    end: usize,
    max_chars: usize,
    is_place: impl Fn(usize) -> bool,
) -> Vec<(usize, usize)> {
    let max_chars = max_chars.max(1);
    let mut parts = Vec::new();
    let mut at = start;
    while at < end {
        let rest = &text[at..end];
        if is_shorter(rest, max_chars + 1) {
            parts.push((at, end));
            break;
        }
        let cut = at + boundary(rest, max_chars, |byte| is_place(at + byte));
        let part_end = at + text[at..cut].trim_end().len();
        if part_end > at {
            parts.push((at, part_end));
        }
        at = skip_blank_lines(text, cut, end);
    }
    parts
}

/// Return the first byte after `from` that begins a line which isn't blank (its indentation is kept), at most `end`.
pub(super) fn skip_blank_lines(text: &str, from: usize, end: usize) -> usize {
    let rest = &text[from..end];
    let blank = rest.len() - rest.trim_start().len();
    let kept = rest[..blank].rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
    if blank == rest.len() { end } else { from + kept }
}

/// Return the byte at which `rest`, which is longer than `max_chars`, is best broken; more than 0.
fn boundary(rest: &str, max_chars: usize, is_place: impl Fn(usize) -> bool) -> usize {
    // Equal parts rather than a full one and a rump; the window is what lies around the wanted place. Bytes stand in for
    // characters when the number of parts is guessed, which only matters for how equal they are.
    let limit = rest.char_indices().nth(max_chars).map_or(rest.len(), |(byte, _)| byte);
    let parts = rest.len().div_ceil(limit);
    let wanted = (rest.len() / parts).min(limit);
    let low = wanted - wanted / 3;
    let high = (wanted + wanted / 6).min(limit);
    let line_limit = limit + usize::from(rest[limit..].starts_with(['\n', '\r']));
    best_line(rest, low, high, wanted, is_place)
        .or_else(|| rfind_before(rest, 1, line_limit, |c| "\n\r".contains(c)))
        .or_else(|| rfind_before(rest, low, limit, |c| ".!?;}。".contains(c)))
        .or_else(|| rfind_before(rest, 1, limit, char::is_whitespace))
        .unwrap_or(limit)
}

/// Return the start of the best line between `low` and `high`.
fn best_line(rest: &str, low: usize, high: usize, wanted: usize, is_place: impl Fn(usize) -> bool) -> Option<usize> {
    let low = ceil_boundary(rest, low);
    let mut best: Option<((bool, usize, usize), usize)> = None;
    let bytes = rest.as_bytes();
    for at in low.max(1)..high {
        if bytes[at - 1] != b'\n' {
            continue;
        }
        let line = rest[at..].split('\n').next().unwrap_or_default();
        let body = line.trim_start();
        // A closing bracket is the least indented line of its statement, but belongs to what stands before it.
        if body.is_empty() || body.starts_with(['}', ')', ']']) {
            continue;
        }
        let after_blank = rest[..at - 1].trim_end_matches([' ', '\t', '\r']).ends_with('\n');
        let indent = (line.len() - body.len()).min(64);
        let cost = (!is_place(at), if after_blank { indent } else { indent * 2 + 4 }, at.abs_diff(wanted));
        if best.is_none_or(|(known, _)| cost < known) {
            best = Some((cost, at));
        }
    }
    best.map(|(_, at)| at)
}

/// One past the last character in `rest[low..high]` that `is` accepts.
fn rfind_before(rest: &str, low: usize, high: usize, is: impl Fn(char) -> bool) -> Option<usize> {
    let (low, high) = (ceil_boundary(rest, low), ceil_boundary(rest, high).min(high));
    let window = rest.get(low..high)?;
    let (at, found) = window.char_indices().rev().find(|(_, c)| is(*c))?;
    Some(low + at + found.len_utf8())
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, max: usize, expected: &[&str]) {
        let parts: Vec<&str> = split_span(text, 0, text.len(), max).into_iter().map(|(a, b)| &text[a..b]).collect();
        assert_eq!(parts, expected);
    }

    #[test]
    fn breaks_at_statements_lines_sentences_and_words() {
        check("a = 1\nb = 2\n", 20, &["a = 1\nb = 2\n"]);
        check("if a:\n    b()\nif c:\n    d()\n", 16, &["if a:\n    b()", "if c:\n    d()\n"]);
        check("One is here. Two is there.", 16, &["One is here.", " Two is there."]);
        check("aaaa bbbb cccc", 8, &["aaaa ".trim(), "bbbb cccc".get(..4).unwrap(), "cccc"]);
    }

    proptest! {
        #[test]
        fn parts_hold_all_text_within_the_limit(text in "[a-zé漢 \n\r\t;.}]{0,400}", max in 1_usize..60) {
            let parts = split_span(&text, 0, text.len(), max);
            let mut at = 0;
            for (start, end) in parts {
                prop_assert!(text[at..start].trim().is_empty());
                prop_assert!(text[start..end].chars().count() <= max);
                prop_assert!(start < end);
                at = end;
            }
            prop_assert!(text[at..].trim().is_empty());
        }
    }
}

//! Lines that no person reads: data in one line, and whole files of them.

use std::ops::Range;

/// Shorter texts are read as they are: a one-line JSON file is still a file that people open.
const FROM_BYTES: usize = 5_000;
/// How much of a text tells whether its lines are long.
const SAMPLE_BYTES: usize = 64 * 1024;
/// Average from which a text's lines are long. Hand-written code stays under 60; data tables under 300.
const LONG_AVERAGE: usize = 500;
/// So much of a long line stays: what it is called and how it ends.
const KEPT_START: usize = 200;
const KEPT_END: usize = 40;
/// A backslash so shortly before a place may belong to an escape that goes on after it.
const LONGEST_ESCAPE: usize = 12;

/// Tell whether a program rather than a person laid the text out: long lines throughout.
pub fn looks_minified(text: &str) -> bool {
    if text.len() < FROM_BYTES {
        return false;
    }
    let sample = &text.as_bytes()[..text.len().min(SAMPLE_BYTES)];
    // So many line ends are enough; most texts have them soon.
    let enough = sample.len() / (LONG_AVERAGE + 1);
    if sample.iter().filter(|&&b| b == b'\n' || b == b'\r').take(enough).count() >= enough {
        return false;
    }
    let (mut long, mut ordinary, mut in_comment) = (0, 0, false);
    for line in text.split(['\n', '\r']).map(str::trim) {
        if line.len() > LONG_AVERAGE && !is_prose(line) {
            long += 1;
            in_comment = false;
        } else if in_comment || line.starts_with("/*") {
            in_comment = !line.contains("*/");
        } else if line.contains(char::is_alphanumeric) && !is_comment(line) {
            ordinary += 1;
        }
    }
    ordinary < long
}

/// Return the middles of the lines that nobody reads: longer than a whole file may be in one line, and no prose.
pub fn unread(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_end = |&byte: &u8| byte == b'\n' || byte == b'\r';
    let mut at = 0;
    let mut found = Vec::new();
    // From the last line end that is near enough to the next such: what lies between is in shorter lines, and isn't looked at.
    while let Some(near) = bytes.get(at..).and_then(|left| left.get(..FROM_BYTES)) {
        if let Some(end) = near.iter().rposition(is_end) {
            at += end + 1;
            continue;
        }
        let behind = at + FROM_BYTES;
        let end = bytes[behind..].iter().position(is_end).map_or(bytes.len(), |end| behind + end + 1);
        let line = &text[at..end];
        if line.len() > FROM_BYTES && !is_prose(line) {
            found.push(at + boundary(line, KEPT_START)..at + boundary(line, line.trim_end().len().saturating_sub(KEPT_END)));
        }
        at = end;
    }
    found
}

/// Find a place at or before `at` that lies within no character and no escape.
fn boundary(line: &str, at: usize) -> usize {
    let at = (0..=at).rev().find(|&at| line.is_char_boundary(at)).unwrap_or_default();
    let before = &line.as_bytes()[..at];
    let near = at.saturating_sub(LONGEST_ESCAPE);
    let Some(first) = before[near..].iter().position(|&byte| byte == b'\\') else { return at };
    before[..near + first].iter().rposition(|&byte| byte != b'\\').map_or(0, |other| other + 1)
}

/// Tell whether a line is a paragraph: words between spaces, in sentences.
fn is_prose(line: &str) -> bool {
    let (mut spaces, mut marks, mut ends, mut wide) = (0, 0, 0, 0);
    let mut after_end = false;
    for c in line.chars() {
        match c {
            ' ' => {
                spaces += 1;
                ends += usize::from(after_end);
            }
            '。' | '！' | '？' | '۔' | '।' => ends += 1,
            '{' | '}' | '[' | ']' | '<' | '>' | ';' | '=' | '"' | '|' => marks += 1,
            '\u{2e80}'.. => wide += 3,
            _ => {}
        }
        after_end = matches!(c, '.' | '!' | '?' | ':');
    }
    let bytes = line.len();
    (spaces * 12 > bytes || wide * 2 > bytes) && marks * 30 < bytes && ends * 400 > bytes
}

/// Tell whether a line of ordinary length is only a comment, as a bundle has it on top.
fn is_comment(line: &str) -> bool {
    ["//", "#", "<!--", "--", "%", ";"].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODE: &str = "function stamp() {\n  draw(LOGO);\n  return LOGO;\n}\n";

    fn data(bytes: usize) -> String {
        (0..bytes).map(|i| char::from(b"A9z/+q"[i * 7 % 6])).collect()
    }

    fn paragraph(bytes: usize) -> String {
        "The fare is paid back when the train is late, as the table below shows. ".repeat(bytes / 70)
    }

    #[track_caller]
    fn check(text: &str, minified: bool, unread_lines: usize) {
        assert_eq!((looks_minified(text), unread(text).len()), (minified, unread_lines), "{text:.200}");
    }

    #[test]
    fn only_lines_of_data_are_left_out() {
        check(&format!("const LOGO = '{}';\n{CODE}", data(12_000)), false, 1);
        check(&format!("SEEDS = %w[{}]\r\n{CODE}", "seed00001 ".repeat(1_800)), false, 1);
        check(&format!("{CODE}x = [{}]", r#"{"iban": "DE00", "amount": 0}, "#.repeat(300)), false, 1);
        check(&format!("import React from 'react';\nexport const LOGO = '{}';\n", data(12_000)), false, 1);
        check(&"let value = compute(input);\n".repeat(2_000), false, 0);
        check(&paragraph(20_000), false, 0);
        check(&format!("# Fares\n\n{}\n", paragraph(3_000)).repeat(9), false, 0);
        check(&"雨が降った日は運賃を半分返します。".repeat(400), false, 0);
        check(&"var a=1;".repeat(100), false, 0);
    }

    #[test]
    fn a_bundle_is_long_lines_throughout() {
        check(&"var a=1;function b(){return a}".repeat(2_000), true, 1);
        check(
            &format!("/*! A library\n(c) its authors\n * and others\n */\n{}\n//# sourceMappingURL=a.map\n", data(9_000)),
            true,
            1,
        );
        check(&format!("{}\n", data(700)).repeat(30), true, 0);
    }

    #[test]
    fn an_escape_is_left_whole() {
        let line = format!("\"{}\\n\\\"{}\"", "a".repeat(KEPT_START - 2), "\\\\\\\"".repeat(2_000));
        let [middle] = &unread(&line)[..] else { panic!("{:?}", unread(&line)) };
        let kept = format!("{}…{}", &line[..middle.start], &line[middle.end..]);
        assert!(serde_json::from_str::<String>(&kept).is_ok(), "{kept}");
    }

    proptest! {
        #[test]
        fn every_long_line_is_seen(lengths in proptest::collection::vec(FROM_BYTES - 2..FROM_BYTES + 3, 1..4), ends in "[\r\n]{4}") {
            let text: String = lengths.iter().zip(ends.chars()).map(|(&length, end)| data(length - 1) + &end.to_string()).collect();
            prop_assert_eq!(unread(&text).len(), lengths.iter().filter(|&&length| length > FROM_BYTES).count());
        }

        #[test]
        fn what_is_left_out_is_the_middle_of_a_line(lines in proptest::collection::vec(("[a\\\\é\"]{0,9}", 1_usize..2_000), 1..6), end in "(\r\n|\n|\r)") {
            let text = lines.iter().map(|(part, times)| part.repeat(*times)).collect::<Vec<_>>().join(&end);
            let with_end = text.split_inclusive('\n').flat_map(|line| line.split_inclusive('\r'));
            prop_assert_eq!(unread(&text).len(), with_end.filter(|line| line.len() > FROM_BYTES && !is_prose(line)).count());
            let mut before = 0;
            for range in unread(&text) {
                prop_assert!(before <= range.start && range.start <= range.end);
                prop_assert!(!text[range.clone()].contains(['\n', '\r']));
                before = range.end;
            }
        }
    }
}

//! The strings in a text of any programming language, and the placeholders in them.

use std::ops::Range;

use super::phrase::words_of;

/// In bytes: what is longer is a document.
const LONGEST_STRING: usize = 2000;
/// In bytes.
const LONGEST_PLACEHOLDER: usize = 200;

/// A string of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Literal<'a> {
    /// Where it stands with its quotes, in bytes.
    pub(super) at: Range<usize>,
    /// The words between its placeholders, in order; none is empty.
    pub(super) pieces: Vec<Vec<&'a str>>,
    /// It begins with a placeholder.
    pub(super) opens: bool,
    /// It ends with one.
    pub(super) closes: bool,
    /// There is a space in it.
    pub(super) spoken: bool,
}

/// The strings of a text in any language, with their places: between double quotes, single quotes or backticks, and between three
/// of them.
pub(super) fn literals(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let open = at + text.as_bytes()[at..].iter().position(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
            let quote = text.as_bytes()[open];
            at = open + 1;
            if quote == b'\'' && is_apostrophe(&text[..open]) {
                continue;
            }
            let triple = text.as_bytes()[open..].starts_with(&[quote; 3]);
            if triple && quote == b'`' {
                // A fence around an example, whose strings are strings.
                at = open + text[open..].find(|c| c != '`').unwrap_or(text.len() - open);
                continue;
            }
            let start = open + if triple { 3 } else { 1 };
            let lines = triple || (quote == b'`' && may_be_template(&text[..open]));
            if let Some(end) = end_of(text, start, quote, triple, lines) {
                at = end + if triple { 3 } else { 1 };
                return Some((open..at, &text[start..end]));
            }
            if triple {
                // A long document: what stands behind it is code again.
                at = text[start..].find(&text[open..start]).map_or(start, |end| start + end + 3);
            }
        }
    })
}

/// Whether a backtick behind this text may begin a string of several lines: in speech one stands behind a word and a space.
fn may_be_template(before: &str) -> bool {
    let word = before.trim_end();
    let name = &word[word.trim_end_matches(char::is_alphanumeric).len()..];
    name.is_empty() || word.len() == before.len() || ["return", "throw", "case", "default", "yield", "await"].contains(&name)
}

/// Whether a single quote behind this text is within a word, or begins the name of a lifetime: `don't` and `&'a`, but not `f'…'`.
fn is_apostrophe(before: &str) -> bool {
    before.ends_with(['&', '<'])
        || before.chars().rev().take_while(|c| c.is_alphanumeric()).take(3).count() > 2
        || before.chars().next_back().is_some_and(|c| c.is_alphabetic() && !"bBfFlLrRuU".contains(c))
}

/// Where the string that begins at `start` ends.
fn end_of(text: &str, start: usize, quote: u8, triple: bool, lines: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() && at - start <= LONGEST_STRING {
        match bytes[at] {
            b'\\' => at += if bytes[at + 1..].starts_with(b"\r\n") { 2 } else { 1 },
            b'\n' if !lines => return None,
            byte if byte == quote && (!triple || bytes[at..].starts_with(&[byte; 3])) => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

impl<'a> Literal<'a> {
    /// Take a string apart that stands at `at`; none as soon as it has a word that isn't asked for.
    pub(super) fn read(inner: &'a str, at: Range<usize>, is_asked: &mut impl FnMut(&str) -> bool) -> Option<Self> {
        let mut pieces: Vec<Vec<&str>> = Vec::new();
        let mut piece: Vec<&str> = Vec::new();
        let (mut opens, mut closes) = (false, false);
        let (mut from, mut place) = (0, 0);
        // What stands before `from` is a placeholder.
        let mut follows = false;
        while let Some(found) = inner.as_bytes()[place..].iter().position(|byte| MAY_BREAK.contains(byte)) {
            place += found;
            let is_end = inner[place..].starts_with("%n");
            if let Some(length) = placeholder(&inner[place..], inner[..place].chars().next_back()).filter(|_| !is_end) {
                words_between(&inner[from..place], follows, true, is_asked, &mut piece)?;
                opens |= pieces.is_empty() && piece.is_empty();
                closes = true;
                if !piece.is_empty() {
                    pieces.push(std::mem::take(&mut piece));
                }
                place += length;
                (from, follows) = (place, true);
            } else if inner[place..].starts_with('\\') || is_end {
                words_between(&inner[from..place], follows, false, is_asked, &mut piece)?;
                place += escape(&inner[place..]);
                (from, follows) = (place, false);
            } else {
                place += 1;
            }
        }
        words_between(&inner[from..], follows, false, is_asked, &mut piece)?;
        if !piece.is_empty() {
            closes = false;
            pieces.push(piece);
        }
        Some(Self { at, pieces, opens, closes, spoken: inner.contains(char::is_whitespace) })
    }
}

/// What placeholders and escapes begin with.
const MAY_BREAK: [u8; 6] = *b"%{$#\\:";

/// Add the words of a part of a string; none once one of them is not asked for. One that touches a placeholder is left out, since the
/// value may go on in it.
fn words_between<'a>(
    part: &'a str,
    follows: bool,
    precedes: bool,
    is_asked: &mut impl FnMut(&str) -> bool,
    words: &mut Vec<&'a str>,
) -> Option<()> {
    // A dot may join the value to a number: `10.0.0.{host}`, `{major}.12`.
    let part_of = |value_side: &mut dyn Iterator<Item = char>| -> fn(char) -> bool {
        let is_joined = value_side.next() == Some('.') && value_side.next().is_some_and(|c| c.is_ascii_digit());
        if is_joined { |c| is_word(c) || c == '.' } else { is_word }
    };
    let inner = if follows { part.trim_start_matches(part_of(&mut part.chars())) } else { part };
    let inner = if precedes { inner.trim_end_matches(part_of(&mut inner.chars().rev())) } else { inner };
    for (_, word) in words_of(inner) {
        if !is_asked(word) {
            return None;
        }
        words.push(word);
    }
    Some(())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many bytes an escape takes that begins here, Java's `%n` among them, with a terminal's colour behind it.
fn escape(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes[0] == b'%' {
        return 2;
    }
    let run = |from: usize, most: usize| bytes[from..].iter().take(most).take_while(|b| b.is_ascii_hexdigit()).count();
    let length = match bytes.get(1) {
        Some(b'x') => 2 + run(2, 2),
        Some(b'u') => 2 + run(2, 4),
        Some(b'0'..=b'7') => 1 + run(1, 3),
        _ => return 1 + text[1..].chars().next().map_or(0, char::len_utf8),
    };
    match text[length..].strip_prefix('[') {
        Some(rest) => match rest.find(|c: char| !(c.is_ascii_digit() || c == ';')) {
            Some(end) if rest.as_bytes()[end].is_ascii_alphabetic() => length + end + 2,
            _ => length,
        },
        None => length,
    }
}

/// How many bytes a placeholder takes that begins here; `before` is the character before it.
fn placeholder(text: &str, before: Option<char>) -> Option<usize> {
    let bytes = text.as_bytes();
    let until = |close: char| text.find(close).map(|at| at + 1).filter(|&end| end <= LONGEST_PLACEHOLDER);
    let is_name = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let name_to = |at: usize| at + text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at);
    match bytes.first()? {
        b'{' => balanced(text, '{', '}'),
        b'$' | b'#' if bytes.get(1) == Some(&b'{') => balanced(&text[1..], '{', '}').map(|length| length + 1),
        b'\\' if bytes.get(1) == Some(&b'(') => balanced(&text[1..], '(', ')').map(|length| length + 1),
        b'$' if is_name(1) => Some(name_to(1)),
        b'$' if bytes.get(1).is_some_and(|b| b.is_ascii_digit() || b"?@*#!".contains(b)) => Some(2),
        b':' if is_name(1) && before.is_none_or(|c| !c.is_alphanumeric() && c != ':') => Some(name_to(1)),
        b'%' => match bytes.get(1)? {
            b'(' => until(')').map(|end| {
                let spec = end + text[end..].find(|c: char| !"-+# 0123456789.".contains(c)).unwrap_or(0);
                if is_name(spec) { spec + 1 } else { end }
            }),
            b'{' => balanced(&text[1..], '{', '}').map(|length| length + 1),
            b'@' => Some(2),
            _ => {
                let flags = 1 + text[1..].find(|c: char| !"-+#0123456789.*$".contains(c))?;
                let size = flags + text[flags..].find(|c: char| !"hlzjtL".contains(c)).unwrap_or(text.len() - flags);
                let conversion = bytes.get(size).filter(|byte| b"sdiufFeEgGxXoOqvrcTpwbam".contains(byte));
                if conversion.is_none() && size == flags + 1 && b"tj".contains(&bytes[flags]) {
                    // Go's %t, JavaScript's %j.
                    Some(size)
                } else if conversion.is_some() {
                    Some(size + 1)
                } else if flags == 1 && !is_word(text[1..].chars().next()?) && bytes[1] != b'%' {
                    // PL/pgSQL's `%` alone; behind a number or a word, and at the beginning, it is a sign.
                    before.is_some_and(|c| !is_word(c) && c != '%').then_some(1)
                } else {
                    (flags > 1 && bytes[flags - 1].is_ascii_digit()).then_some(flags)
                }
            }
        },
        _ => None,
    }
}

/// The bytes up to the bracket that closes the first one.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < LONGEST_PLACEHOLDER) {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Literal, literals, placeholder};

    #[test]
    fn strings_are_told_from_apostrophes() {
        let of = |text: &str| literals(text).map(|(_, inner)| inner.to_owned()).collect::<Vec<_>>();
        assert_eq!(of(r#"say("it's fine") or f'x' or b"y""#), ["it's fine", "x", "y"]);
        assert_eq!(of("// don't stop\nname = 'a\\'b'"), ["a\\'b"]);
        assert_eq!(of("\"\"\"two\nlines\"\"\" 'open\nx = `three\nlines`"), ["two\nlines", "three\nlines"]);
        assert!(of("\"").is_empty());
    }

    #[test]
    fn placeholders_are_as_long_as_they_are() {
        for (text, length) in [
            ("%s", Some(2)),
            ("%-05.2lf!", Some(8)),
            ("%(name)s", Some(8)),
            ("%1$s", Some(4)),
            ("%1 ", Some(2)),
            ("{a[{b}]}c", Some(8)),
            ("${a}", Some(4)),
            ("$name.", Some(5)),
            ("#{a}", Some(4)),
            ("\\(a(b))", Some(7)),
            (":name ", Some(5)),
            ("100", None),
            ("% of", None),
            ("{open", None),
            ("$5 a", Some(2)),
            ("%(time).2f", Some(10)),
            ("%t", Some(2)),
            ("%j", Some(2)),
            ("%m", Some(2)),
            ("%", None),
        ] {
            assert_eq!(placeholder(text, None), length, "{text}");
        }
        assert_eq!(placeholder(":name", Some('a')), None, "a::name and key:value are no placeholders");
    }

    #[test]
    fn pieces_are_between_placeholders_and_escapes_divide_words() {
        let read = Literal::read("{} could not\\nopen {}", 0..0, &mut |_| true).unwrap();
        assert_eq!(read.pieces, [["could", "not", "open"]]);
        assert!(read.opens && read.closes);
        let read = Literal::read("bind to 10.0.0.{host} with {major}.12 alone.", 0..0, &mut |_| true).unwrap();
        assert_eq!(read.pieces, [vec!["bind", "to"], vec!["with"], vec!["alone"]]);
    }
}

//! Where a value begins and ends: in quotes, without, or over several lines.

use super::operators::{LONGEST_NAME, is_name, is_quote, quote_length, skip_blanks};
use super::values::Style;

/// A value reaches no further.
pub(super) const LONGEST_VALUE: usize = 4_096;

/// Return the value at `at` that stands without quotes of its own, and whether it is a literal all the same.
pub(super) fn bare_value(text: &[u8], at: usize, style: Style) -> Option<(usize, usize, bool)> {
    let mut at = skip_blanks(text, at);
    if style == Style::Prose {
        at = skip_blanks(text, at + text[at..].iter().take(3).take_while(|b| b"*_`".contains(b)).count());
        at += text[at..].iter().take(3).take_while(|b| b"*`".contains(b)).count();
    }
    let quote = quote_length(text, at);
    if quote > 0 && style != Style::Prose {
        let first = at + quote;
        let rest = &text[first..text.len().min(first + LONGEST_VALUE)];
        let length = rest.windows(quote).position(|window| window == &text[at..first] || window[0] == b'\n')?;
        return Some((first, first + length, true));
    }
    if style == Style::Config && matches!(text.get(at), Some(b'|' | b'>')) {
        return block_scalar(text, at).map(|(first, last)| (first, last, false));
    }
    let ends: &[u8] = if text[..at].ends_with(b":-")
        || text[..at].ends_with(b":=") && style == Style::Shell
        || style == Style::Code && is_default(text, at)
    {
        b"}\"'\n"
    } else if style == Style::Code && is_entry(text, at) {
        b"\"'`\n"
    } else {
        b""
    };
    if !ends.is_empty() {
        let length = text[at..].iter().take(LONGEST_VALUE).position(|b| ends.contains(b))?;
        return Some((at, at + length, true));
    }
    // What a program's address or connection string holds is a literal.
    let is_part = is_parameter(text, at) || is_connection_string(text, at);
    if style == Style::Code && !is_part {
        return None;
    }
    bare(text, at, style).map(|(first, last)| (first, last, is_part && text[..at].ends_with(b"=")))
}

/// Read the literal whose quote is at `at`: the range of its value, and the place after its end. `escaped` says that the quote has a
/// backslash before it: JSON within a string.
pub(super) fn quoted(text: &[u8], at: usize, escaped: bool) -> Option<(usize, usize, usize)> {
    let quote = text[at];
    let mut first = at + 1;
    let many_lines = text[first..].starts_with(&[quote, quote]);
    if many_lines {
        first += 2;
        first += text[first..].iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_whitespace()).count();
    }
    let last = literal(text, first, quote, escaped).or_else(|| {
        let line = text[first..].iter().take(LONGEST_VALUE).position(|&b| b == b'\n');
        line.filter(|_| many_lines).map(|length| first + length)
    })?;
    let end = last + text[last..].iter().take(3).take_while(|&&b| b == quote || escaped && b == b'\\').count();
    // A raw literal of C++ has brackets within its quotes.
    let is_raw =
        text[at.saturating_sub(2)..at].ends_with(b"R") && text[first..last].starts_with(b"(") && text[..last].ends_with(b")");
    Some(if is_raw { (first + 1, last - 1, end) } else { (first, last, end) })
}

/// Tell whether the word `at..end` says how the literal after it is read: `b"..."`, `LR"(...)"`, `N'...'`.
pub(super) fn is_prefix(text: &[u8], at: usize, end: usize) -> bool {
    end - at <= 2 && text.get(end).copied().is_some_and(is_quote) && text[at..end].iter().all(|b| b"bBrRuUfFlLN8".contains(b))
}

/// Return the first line of a block of YAML: `password: |`.
fn block_scalar(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let head = text[at..].iter().take(8).position(|&b| b == b'\n')?;
    let first = at + head + 1 + text[at + head + 1..].iter().take(200).take_while(|&&b| b == b' ').count();
    let length = text[first..].iter().take(LONGEST_VALUE).take_while(|b| !b.is_ascii_whitespace()).count();
    (length > 0).then_some((first, first + length))
}

/// Tell whether the name that ends before `at` is a parameter of an address: `?access_token=...`.
fn is_parameter(text: &[u8], at: usize) -> bool {
    matches!(before_name(text, at), Some(b'?' | b'&')) && text[at - 1] == b'='
}

/// Tell whether a literal begins with the name that ends before `at`, as an entry of an environment does: `"PASSWORD=..."`.
fn is_entry(text: &[u8], at: usize) -> bool {
    before_name(text, at).is_some_and(is_quote) && text[at - 1] == b'='
}

/// Tell whether what begins at `at` is the default of a placeholder: `${db.password:...}`.
fn is_default(text: &[u8], at: usize) -> bool {
    before_name(text, at) == Some(b'{') && text[at - 1] == b':'
}

/// Tell whether the name before `at` is an option of a command: `--token …`.
fn is_option(text: &[u8], at: usize) -> bool {
    let name = text[..at].trim_ascii_end();
    let length = name.iter().rev().take(LONGEST_NAME).take_while(|&&b| is_name(b)).count();
    name[name.len() - length..].starts_with(b"--")
}

/// Tell whether another parameter of an address begins at `at`: `b=...`.
fn is_next_parameter(text: &[u8], at: usize) -> bool {
    let name = text[at..].iter().take(LONGEST_NAME).take_while(|&&b| is_name(b)).count();
    name > 0 && text.get(at + name) == Some(&b'=')
}

/// Return the byte before the name that ends, with its sign, before `at`.
fn before_name(text: &[u8], at: usize) -> Option<u8> {
    let back = text[..at].iter().rev().take(LONGEST_NAME).position(|&b| !is_name(b) && !b".=:".contains(&b))?;
    Some(text[at - back - 1])
}

/// Return where the literal that begins at `first` ends, on its line.
fn literal(text: &[u8], first: usize, quote: u8, escaped: bool) -> Option<usize> {
    let mut at = first;
    while at < text.len() && at - first < LONGEST_VALUE {
        match text[at] {
            b'\n' | b'\r' => return None,
            b'\\' if escaped && text.get(at + 1) == Some(&quote) => return Some(at),
            b'\\' => at += 2,
            byte if byte == quote && !escaped => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Return the characters of the value at `at`.
fn bare(text: &[u8], at: usize, style: Style) -> Option<(usize, usize)> {
    let mut at = at;
    if style == Style::Config {
        // YAML's tags and anchors: `!!str hunter2`.
        while matches!(text.get(at), Some(b'!' | b'&')) {
            let word = text[at..].iter().take(40).take_while(|b| !b.is_ascii_whitespace()).count();
            let next = skip_blanks(text, at + word);
            if next == at + word || matches!(text.get(next), Some(b'}' | b']' | b',' | b'#')) {
                break;
            }
            at = next;
        }
    }
    let ends = |place: usize| match text[place] {
        b'&' => style == Style::Shell || style != Style::Config && is_next_parameter(text, place + 1),
        b'\'' | b'`' | b',' => style != Style::Config,
        b'\\' => style == Style::Prose || matches!(text.get(place + 1), Some(b'n' | b'r' | b'"')),
        byte => byte.is_ascii_whitespace() || b"\";<".contains(&byte),
    };
    let length = (at..text.len()).take(LONGEST_VALUE).take_while(|&place| !ends(place)).count();
    let mut last = at + length;
    // In JSON and in calls the value ends before what closes around it.
    while last > at && matches!(text[last - 1], b',' | b')' | b']' | b'}') && style != Style::Shell {
        last -= 1;
    }
    if style == Style::Prose {
        last -= text[at..last].iter().rev().take_while(|b| b".,:;".contains(b)).count();
    }
    // Of several words the value is none: `password: the one that you chose`. A comment may follow.
    let rest = skip_blanks(text, last);
    let lone = style != Style::Config
        || is_option(text, at)
        || is_next_parameter(text, rest)
        || [&b"-->"[..], b"*/"].iter().any(|sign| text[rest..].starts_with(sign))
        || matches!(text.get(rest), None | Some(b'\n' | b'\r' | b'#' | b';' | b'/' | b',' | b'<' | b'"' | b'}' | b')' | b'\\'));
    (last > at && (lone || is_connection_string(text, at))).then_some((at, last))
}

/// Tell whether the value at `at` is part of a connection string: `Server=db;User Id=app;Password=...;`, `host=db user=app
/// password=...`.
fn is_connection_string(text: &[u8], at: usize) -> bool {
    let line = text[..at].iter().rev().take(400).position(|&b| b == b'\n').map_or(at.saturating_sub(400), |back| at - back);
    let end = at + text[at..].iter().take(400).take_while(|&&b| b != b'\n').count();
    let around = text[line..end].to_ascii_lowercase();
    [
        &b"server="[..],
        b"data source=",
        b"host=",
        b"user id=",
        b"uid=",
        b"user=",
        b"accountname=",
        b"endpoint=",
        b"dbname=",
        b"database=",
        b"initial catalog=",
    ]
    .iter()
    .any(|mark| around.windows(mark.len()).any(|window| window == *mark))
}

//! Where a value begins and ends: in quotes, without, or over several lines.

use super::operators::{LONGEST_NAME, is_name, is_quote, skip_blanks};
use super::values::Style;

/// A value reaches no further.
const LONGEST_VALUE: usize = 4_096;

/// Return the value at `at`: its range, and whether it is a literal.
pub(super) fn value_at(text: &[u8], at: usize, style: Style, quoted_only: bool) -> Option<(usize, usize, bool)> {
    let mut at = skip_blanks(text, at);
    // A literal may be wrapped, or stand on the next line.
    for wrapper in [
        &b"SecretStr("[..],
        b"Secret(",
        b"String::from(",
        b"Some(",
        b"bytes(",
        b"str(",
        b"Buffer.from(",
        b"[]byte(",
        b"String(",
        b"(",
        b"\n",
        b"\\\n",
        b"\r\n",
    ] {
        if text[at..].starts_with(wrapper) {
            let inner = skip_blanks(text, at + wrapper.len());
            let inner_quote = skip_prefix(text, inner);
            if text.get(inner_quote).copied().is_some_and(is_quote) {
                at = inner;
            }
            break;
        }
    }
    let quote_at = skip_prefix(text, at);
    let escaped = text.get(quote_at) == Some(&b'\\');
    let quote = *text.get(quote_at + usize::from(escaped)).unwrap_or(&b' ');
    if is_quote(quote) {
        let mut first = quote_at + usize::from(escaped) + 1;
        if text[first..].starts_with(&[quote, quote]) {
            first += 2; // a text of many lines
        }
        return literal(text, first, quote, escaped).map(|last| (first, last, true));
    }
    if let Some(first) = fallback(text, at).filter(|_| !quoted_only) {
        let quote = text[first - 1];
        return literal(text, first, quote, false).map(|last| (first, last, true));
    }
    if style == Style::Config && matches!(text.get(at), Some(b'|' | b'>')) {
        return block_scalar(text, at).map(|(first, last)| (first, last, false));
    }
    if quoted_only && style != Style::Config || style == Style::Code && !is_connection_string(text, at) && !is_parameter(text, at)
    {
        return None;
    }
    bare(text, at, style).map(|(first, last)| (first, last, false))
}

/// Return where the literal begins that counts if what stands at `at` gives nothing: `getenv("X") or "..."`.
fn fallback(text: &[u8], at: usize) -> Option<usize> {
    let line = text[at..].iter().take(120).take_while(|&&b| b != b'\n').count();
    let rest = &text[at..at + line];
    let sign = [&b"|| "[..], b"?? ", b" or "]
        .into_iter()
        .find_map(|sign| rest.windows(sign.len()).position(|window| window == sign).map(|place| at + place + sign.len()))?;
    let quote = skip_blanks(text, sign);
    text.get(quote).copied().is_some_and(is_quote).then_some(quote + 1)
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
    let name = text[..at].iter().rev().take(LONGEST_NAME).position(|&b| !is_name(b) && b != b'=').map(|back| text[at - back - 1]);
    matches!(name, Some(b'?' | b'&')) && text[at - 1] == b'='
}

/// Skip what says how a literal is read: `b"..."`, `@"..."`, `L"..."`.
fn skip_prefix(text: &[u8], at: usize) -> usize {
    let length = text[at..].iter().take(2).take_while(|b| b"bBrRuUfFlL@$N".contains(b)).count();
    if text.get(at + length).copied().is_some_and(is_quote) { at + length } else { at }
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

/// Return the value at `at` that stands without quotes.
fn bare(text: &[u8], at: usize, style: Style) -> Option<(usize, usize)> {
    let mut at = at;
    if style == Style::Config {
        // YAML's tags and anchors: `!!str hunter2`.
        while matches!(text.get(at), Some(b'!' | b'&')) {
            let word = text[at..].iter().take(40).take_while(|b| !b.is_ascii_whitespace()).count();
            let next = skip_blanks(text, at + word);
            if next == at + word {
                break;
            }
            at = next;
        }
    }
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace() || b"\"'`;<,&".contains(byte) && !(style == Style::Config && b"'`&,".contains(byte))
    };
    let length = text[at..].iter().take(LONGEST_VALUE).take_while(|b| !ends(b)).count();
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

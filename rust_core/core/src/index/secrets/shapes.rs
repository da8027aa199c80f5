//! Secrets that are told by what stands around them: keys in PEM blocks, passwords in addresses, manifests of Kubernetes.

use super::placeholders::is_placeholder;
use super::values::{Class, Style, is_secret};

/// What begins a look at each.
pub(super) const URL: &str = "://";
pub(super) const PEM: &str = "-----begin";
pub(super) const BASIC: &str = "basic ";
pub(super) const KUBERNETES: &[&str] =
    &["kind: secret", "kind:secret", "kind: \"secret\"", "\"kind\": \"secret\"", "\"kind\":\"secret\""];

/// A key without its end is followed no further.
const LONGEST_KEY: usize = 30_000;
/// Fewer characters of Base64 are no key, but `...` or a word in its place.
const SHORTEST_KEY: usize = 40;
/// A line of a key has so many digits at least, the last one aside.
const KEY_LINE: usize = 24;
const LONGEST_LOGIN: usize = 400;

type Range = (usize, usize);

/// Return the password, or the token in its place, of an address whose `://` ends at `at`.
pub(super) fn url_password(text: &[u8], at: usize) -> Option<Range> {
    let length = |ends: &[u8]| {
        let ends = |b: &u8| b.is_ascii_whitespace() || ends.contains(b);
        text[at..].iter().take(LONGEST_LOGIN).take_while(|b| !ends(b)).count()
    };
    let last_at = |length: usize| text[at..at + length].iter().rposition(|&b| b == b'@');
    // People write `#` and its like without an escape, though they end a host. A port isn't a password.
    let strict = length(b"\"'`<>/?#\\|,");
    let host = text[at..at + strict].iter().rposition(|&b| b == b':').map_or(strict, |colon| colon + 1);
    let is_port = text[at + host..at + strict].iter().all(u8::is_ascii_digit);
    let login = last_at(strict).or_else(|| last_at(length(b"\"'`<>/")).filter(|_| !is_port))?;
    let authority = &text[at..];
    let login = &authority[..login];
    let host = authority.get(login.len() + 1)?;
    if !(host.is_ascii_alphanumeric() || b"[${%_".contains(host)) {
        return None;
    }
    let Some(colon) = login.iter().position(|&b| b == b':') else {
        let token = std::str::from_utf8(login).ok()?;
        return (token.len() >= 20 && is_secret(token, Class::Token, Style::Config, true)).then_some((at, at + login.len()));
    };
    let password = std::str::from_utf8(&login[colon + 1..]).ok()?;
    (password.len() >= 3 && !is_placeholder(password)).then_some((at + colon + 1, at + login.len()))
}

/// Return the login of an `Authorization: Basic ...` whose `Basic ` ends at `at`.
pub(super) fn basic_login(text: &[u8], at: usize) -> Option<Range> {
    let blanks = text[at..].iter().take(8).take_while(|&&b| b == b' ').count();
    let start = at + blanks;
    let is_digit = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_');
    let length = text[start..].iter().take(LONGEST_LOGIN).take_while(is_digit).count();
    let value = std::str::from_utf8(&text[start..start + length]).ok()?;
    is_secret(value, Class::Login, Style::Code, true).then_some((start, start + length))
}

/// Return the body of the private key whose `-----BEGIN` begins at `at`: what stands between the first and the last line.
pub(super) fn private_key(text: &[u8], at: usize) -> Option<Range> {
    let head = at + PEM.len();
    let name = text[head..].iter().take(64).position(|&b| b == b'-')?;
    if !text[head..head + name].ends_with(b"PRIVATE KEY") && !text[head..head + name].ends_with(b"PRIVATE KEY BLOCK") {
        return None;
    }
    let dashes = text[head + name..].iter().take_while(|&&b| b == b'-').count();
    let from = head + name + dashes;
    let window = &text[from..text.len().min(from + LONGEST_KEY)];
    // No key holds the beginning of another one.
    let end = window.windows(8).position(|w| w == b"-----END" || w == b"-----BEG").unwrap_or_else(|| {
        // Cut off: as far as it looks like Base64.
        let is_key = |b: &u8| b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b"+/=\\\"',:-".contains(b);
        window.iter().take_while(|b| is_key(b)).count()
    });
    let body = &window[..end];
    let is_digit = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let digits = body.iter().filter(|b| is_digit(b)).count();
    // A key is written in long lines; what is in none is code between two marks, or a text about keys.
    let in_lines: usize = body.split(|b| !is_digit(b)).map(<[u8]>::len).filter(|&run| run >= KEY_LINE).sum();
    if digits < SHORTEST_KEY || in_lines * 2 < digits {
        return None;
    }
    let mut first = body.iter().position(is_digit)?;
    let mut last = body.iter().rposition(is_digit)? + 1;
    // `\n` is no part of the key: it stands for a line end in a literal.
    let is_escape = |at: usize| at > 0 && body[at - 1] == b'\\' && matches!(body[at], b'n' | b'r');
    while is_escape(first) {
        first += 1 + body[first + 1..].iter().position(is_digit)?;
    }
    while last > first && is_escape(last - 1) {
        last = body[..last - 1].iter().rposition(is_digit)? + 1;
    }
    Some((from + first, from + last))
}

/// Return the values of a Kubernetes secret whose `kind` stands at `at`, in YAML or JSON, and how far all of them were read.
pub(super) fn kubernetes_values(text: &[u8], at: usize, end: usize) -> (Vec<Range>, usize) {
    if text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return (Vec::new(), end); // `SecretStore`
    }
    if text[at] == b'"' {
        return (json_values(text, at), end);
    }
    let from = rfind(&text[..at], b"\n---").map_or(0, |line| line + 1);
    let to = find(&text[at..], b"\n---").map_or(text.len(), |line| at + line);
    let mut found = Vec::new();
    let mut inside: Option<usize> = None; // the indentation of `data:`
    let mut start = from;
    for line in text[from..to].split_inclusive(|&b| b == b'\n') {
        let begin = start;
        start += line.len();
        let content = line.trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        let indent = line.iter().take_while(|&&b| b == b' ').count();
        if inside.is_some_and(|data| indent <= data) {
            inside = None;
        }
        if inside.is_none() {
            if matches!(content, b"data:" | b"stringData:") {
                inside = Some(indent);
            }
            continue;
        }
        // `key: value`; in a block of several lines every line is the value.
        let key = content.iter().position(|&b| b == b':').filter(|&colon| {
            let named = content[..colon].iter().all(|b| b.is_ascii_alphanumeric() || b"_-.\"'".contains(b));
            named && matches!(content.get(colon + 1), None | Some(b' '))
        });
        let value = key.map_or(content, |colon| content[colon + 1..].trim_ascii());
        let value = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value);
        let is_value = value.len() > 2 && std::str::from_utf8(value).is_ok_and(|value| !is_placeholder(value));
        if is_value && !matches!(value[0], b'|' | b'>' | b'#') {
            let offset = begin + find(line, value).unwrap_or(0);
            found.push((offset, offset + value.len()));
        }
    }
    (found, to)
}

fn json_values(text: &[u8], at: usize) -> Vec<Range> {
    let from = at.saturating_sub(LONGEST_KEY);
    let to = text.len().min(at + LONGEST_KEY);
    let mut found = Vec::new();
    for key in [&b"\"data\""[..], b"\"stringData\""] {
        let Some(start) = find(&text[from..to], key).map(|start| from + start + key.len()) else { continue };
        let Some(length) = text[start..to].iter().position(|&b| b == b'}') else { continue };
        // Every second literal is a value.
        let quotes: Vec<usize> = (start..start + length).filter(|&i| text[i] == b'"' && text[i - 1] != b'\\').collect();
        let values = quotes.as_chunks::<4>().0.iter().map(|[_, _, first, last]| (first + 1, *last));
        found.extend(values.filter(|&(first, last)| {
            std::str::from_utf8(&text[first..last]).is_ok_and(|value| value.len() > 2 && !is_placeholder(value))
        }));
    }
    found
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

fn rfind(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).rposition(|window| window == needle)
}

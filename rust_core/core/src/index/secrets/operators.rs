//! The ways in which files give a value to a name: signs, calls, attributes, keys beside it.

use super::values::Style;

/// A name reaches no further.
pub(super) const LONGEST_NAME: usize = 80;

/// Tell whether a byte may be in a name.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Tell whether a literal begins or ends here.
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Return the place after blanks of the same line.
pub(super) fn skip_blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take(120).take_while(|&&b| matches!(b, b' ' | b'\t')).count()
}

/// Skip a quote, which may itself be escaped: JSON within a string.
fn skip_quote(text: &[u8], at: usize) -> usize {
    match text.get(at..) {
        Some([b'\\', quote, ..]) if is_quote(*quote) => at + 2,
        Some([quote, ..]) if is_quote(*quote) => at + 1,
        _ => at,
    }
}

/// Return where the value begins that is given to the name `from..to`, and whether only a literal can be one.
pub(super) fn operator(text: &[u8], from: usize, to: usize, style: Style) -> Option<(usize, bool)> {
    let opened = text[..from].last().copied();
    let mut at = skip_quote(text, to);
    let quoted_name = at > to;
    if text.get(at) == Some(&b']') {
        at += 1;
    }
    let tight = at;
    at = skip_blanks(text, at);
    match text.get(at)? {
        b'=' => {
            let more = text[at + 1..].iter().take(2).take_while(|&&b| matches!(b, b'=' | b'>' | b'~')).count();
            Some((at + 1 + more, false))
        }
        b':' => {
            let more = text[at + 1..].iter().take(2).take_while(|&&b| matches!(b, b':' | b'=')).count();
            let after = at + 1 + more;
            Some(annotated(text, after).map_or((after, false), |value| (value, true)))
        }
        b'|' | b'?' if matches!(text.get(at + 1), Some(b'=')) => Some((at + 2, false)),
        b'|' | b'?' if text.get(at + 1) == text.get(at) && text.get(at + 2) == Some(&b'=') => Some((at + 3, false)),
        // `process.env.API_KEY || "..."`
        b'|' | b'?' if text.get(at + 1) == text.get(at) => Some((at + 2, true)),
        b'?' if text.get(at + 1) == Some(&b':') => annotated(text, at + 2).map(|value| (value, true)),
        // R, and Apple's lists of properties
        b'<' if text.get(at + 1) == Some(&b'-') => Some((at + 2, false)),
        b'<' if text[at..].starts_with(b"</key>") => after_key(text, at + 6).map(|value| (value, false)),
        // `{ get; set; } = "..."`, and a variable of Terraform with a default
        b'{' => default_of(text, at).map(|value| (value, true)),
        // `<password>...</password>` and `<property name="password">...</property>`
        b'>' if at == tight && (quoted_name || opened == Some(b'<')) => Some((at + 1, false)),
        // `{"key": "DB_PASSWORD", "value": "..."}`, and `define('DB_PASSWORD', '...')`; in a list names are values themselves.
        b',' if quoted_name => {
            let quote = from - usize::from(from > 0);
            let is_argument = text[..quote].trim_ascii_end().ends_with(b"(") || text[from..to].starts_with(b"--");
            value_key(text, at + 1).or(is_argument.then_some(at + 1)).map(|value| (value, true))
        }
        b',' if opened == Some(b'{') => Some((at + 1, true)),
        // `.password("...")`; `get_password("...")` is given a name to look for.
        b'(' if at == tight && !quoted_name && !looks_up(&text[from..to]) => Some((at + 1, true)),
        // `name: DB_PASSWORD` and `value: ...` on the next line
        b'\n' | b'\r' => value_key(text, at).map(|value| (value, false)),
        // `key="password" value="..."`, `<Password value="..."/>`
        _ if at > tight && (quoted_name || opened == Some(b'<')) => value_key(text, at).map(|value| (value, true)),
        // `#define PASSWORD "..."`, `:password "..."`
        b'"' | b'\'' if at > tight && !quoted_name && &text[from..to] != b"pass" && style != Style::Prose => Some((at, true)),
        // `the password is ...`
        b'i' if at > tight && style == Style::Prose && text[at..].starts_with(b"is ") => Some((at + 3, false)),
        // `--password ...`, `ENV PASSWORD ...`
        _ if at > tight && !quoted_name => {
            let line = text[..from].iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
            let lead = text[line..from].trim_ascii();
            let option = text[from..to].starts_with(b"--") && style != Style::Code;
            let instruction = style == Style::Shell && (lead == b"ENV" || lead == b"ARG" || lead.ends_with(b" set"));
            let directive = style == Style::Config && lead.is_empty();
            (option || instruction || directive && is_directive(&text[from..to])).then_some((at, false))
        }
        _ => None,
    }
}

/// Tell whether a function of this name takes what a secret is found by, not the secret.
fn looks_up(name: &[u8]) -> bool {
    const VERBS: [&[u8]; 12] =
        [b"get", b"find", b"fetch", b"load", b"read", b"lookup", b"has", b"clear", b"delete", b"remove", b"forget", b"list"];
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or(name);
    VERBS.iter().any(|verb| {
        let rest = last.get(verb.len()).filter(|_| last[..verb.len()].eq_ignore_ascii_case(verb));
        // `getPassword`, `get_password`, `GetPassword`; not `getaway`.
        rest.is_some_and(|b| *b == b'_' || b.is_ascii_uppercase())
    })
}

/// Tell whether configuration files give this name a value without a sign.
fn is_directive(name: &[u8]) -> bool {
    [&b"requirepass"[..], b"masterauth", b"password", b"passwd", b"secret"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Return where the value begins that follows a `<key>` in a list of properties.
fn after_key(text: &[u8], at: usize) -> Option<usize> {
    let blanks = text[at..].iter().take(80).take_while(|b| b.is_ascii_whitespace()).count();
    text[at + blanks..].starts_with(b"<string>").then_some(at + blanks + 8)
}

/// Return where the value begins that a property, or a variable, has before it is given another.
fn default_of(text: &[u8], at: usize) -> Option<usize> {
    let block = &text[at..text.len().min(at + 300)];
    let closed = block.iter().position(|&b| b == b'}')?;
    let default = block[..closed].windows(7).position(|word| word == b"default").map(|word| word + 7);
    let from = default.or_else(|| block[..closed].windows(3).any(|word| word == b"get").then_some(closed + 1))?;
    let sign = skip_blanks(text, at + from);
    (text.get(sign) == Some(&b'=')).then_some(sign + 1)
}

/// Return where the value begins after a type: `password: str = "..."`.
fn annotated(text: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(text, at);
    let is_type = |b: &u8| b.is_ascii_alphanumeric() || b"_[]., |<>?&:'*".contains(b);
    let length = text[at..].iter().take(60).take_while(|b| is_type(b)).count();
    let named = length > 0 && text[at].is_ascii_alphabetic();
    (named && text.get(at + length) == Some(&b'=') && text.get(at + length + 1) != Some(&b'=')).then_some(at + length + 1)
}

/// Return where the value begins that stands under a key of its own, beside the name: `value: ...`, `"value": "..."`,
/// `value="..."`.
fn value_key(text: &[u8], at: usize) -> Option<usize> {
    let blanks = text[at..].iter().take(120).take_while(|b| b.is_ascii_whitespace()).count();
    let at = skip_quote(text, at + blanks);
    let word = [&b"currentValue"[..], b"initialValue", b"value"]
        .into_iter()
        .find(|word| text.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))?;
    let at = skip_blanks(text, skip_quote(text, at + word.len()));
    matches!(text.get(at), Some(b':' | b'=')).then_some(at + 1)
}

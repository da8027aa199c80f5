//! The ways in which files give a value to a name: signs, calls, attributes, keys beside it.

use super::values::Style;

/// A tag is no longer.
const LONGEST_TAG: usize = 200;
/// A name reaches no further.
pub(super) const LONGEST_NAME: usize = 80;
/// A type or an index is no longer.
const LONGEST_TYPE: usize = 80;

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
    at + text.get(at..).unwrap_or_default().iter().take(120).take_while(|&&b| matches!(b, b' ' | b'\t')).count()
}

/// Return the place after blanks and ends of lines.
pub(super) fn skip_white(text: &[u8], at: usize) -> usize {
    at + text.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_whitespace()).count()
}

pub(super) fn word_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|&&b| is_name(b) && b != b'-' || b >= 0x80).count()
}

/// Return the end of the comment at `at`: of the line, or of the block.
pub(super) fn comment_end(text: &[u8], at: usize) -> Option<usize> {
    if text[at..].starts_with(b"/*") {
        return text[at..].windows(2).position(|window| window == b"*/").map(|end| at + end + 2);
    }
    text[at..].iter().position(|&b| b == b'\n').map(|end| at + end)
}

pub(super) fn is_any(word: &[u8], words: &[&str]) -> bool {
    words.iter().any(|candidate| word.eq_ignore_ascii_case(candidate.as_bytes()))
}

/// Quotes as other languages write them: entities, escapes of JSON and of addresses.
const ENCODED_QUOTES: [&[u8]; 6] = [b"&quot;", b"&#34;", b"&#39;", b"&apos;", b"\\u0022", b"%22"];

/// Return the length of the quote at `at`, which may be escaped, also more than once: JSON within strings, HTML within JSON.
pub(super) fn quote_length(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let slashes = rest.iter().take(8).take_while(|&&b| b == b'\\').count();
    if rest.get(slashes).copied().is_some_and(is_quote) {
        return slashes + 1;
    }
    ENCODED_QUOTES.iter().find(|quote| rest.starts_with(quote)).map_or(0, |quote| quote.len())
}

fn skip_quote(text: &[u8], at: usize) -> usize {
    at + quote_length(text, at)
}

/// Tell whether what stands before a value sets a variable: `setenv A …`, `set -gx A …`, `npm config set //host/:A …`.
fn sets_variable(lead: &[u8]) -> bool {
    let mut words = lead.split(|b| b.is_ascii_whitespace() || b"`\"'".contains(b)).filter(|word| !word.is_empty()).rev();
    let last = words.find(|word| !word.starts_with(b"-") && !word.starts_with(b"/"));
    last.is_some_and(|word| [&b"ENV"[..], b"ARG", b"set", b"setx", b"setenv"].contains(&word))
}

/// Return where the value begins that the name `from..to` is given without quotes.
pub(super) fn operator(text: &[u8], from: usize, to: usize, style: Style) -> Option<usize> {
    let opened = text[..from].last().copied();
    let mut at = skip_quote(text, to);
    let quoted_name = at > to;
    if text.get(at) == Some(&b']') {
        at += 1;
    }
    let tight = at;
    if let Some(value) = element_with_attributes(text, from, to) {
        return Some(value);
    }
    if style == Style::Prose {
        at += text[at..].iter().take(3).take_while(|b| b"*_`".contains(b)).count();
    }
    at = skip_blanks(text, at);
    match text.get(at)? {
        // `${DB_PASSWORD:-...}`, `${db.password:...}`
        b':' | b'-' if at == to && text[..from].ends_with(b"${") => {
            Some(at + text[at..].iter().take(2).take_while(|b| b":-=".contains(b)).count())
        }
        b'=' => Some(at + 1 + text[at + 1..].iter().take(2).take_while(|&&b| matches!(b, b'=' | b'>' | b'~')).count()),
        b':' => Some(at + 1 + text[at + 1..].iter().take(2).take_while(|&&b| matches!(b, b':' | b'=')).count()),
        b'|' | b'?' if matches!(text.get(at + 1), Some(b'=')) => Some(at + 2),
        b'|' | b'?' if text.get(at + 1) == text.get(at) && text.get(at + 2) == Some(&b'=') => Some(at + 3),
        // Apple's lists of properties
        b'<' if text[at..].starts_with(b"</key>") => element(text, at + 6),
        // `<password>...</password>`, `<property name="password">...</property>`, `<property name="password"><value>...`
        b'>' if at == tight && (quoted_name || opened == Some(b'<')) => element(text, at + 1).or(Some(at + 1)),
        // `name: DB_PASSWORD` and `value: ...` on the next line, or after a comma
        b'\n' | b'\r' => value_key(text, at),
        b',' if quoted_name => value_key(text, at + 1),
        // `the password is ...`
        b'i' if at > tight && style == Style::Prose && text[at..].starts_with(b"is ") => Some(at + 3),
        // `密码：…`, `Password → …`
        0x80.. if style == Style::Prose => Some(at + text[at..].iter().take(9).take_while(|&&b| b >= 0x80).count()),
        // `--password ...`, `ENV PASSWORD ...`
        _ if at > tight && !quoted_name => {
            let line = from - text[..from].iter().rev().take(LONGEST_NAME).take_while(|&&b| b != b'\n').count();
            let lead = text[line..from].trim_ascii();
            let option = text[from..to].starts_with(b"--") && style != Style::Code;
            let instruction = style != Style::Code && sets_variable(lead);
            let directive = style == Style::Config && lead.is_empty();
            (option || instruction || directive && is_directive(&text[from..to])).then_some(at)
        }
        _ => None,
    }
}

/// Tell whether a function of this name takes what a secret is found by, not the secret.
pub(super) fn looks_up(name: &[u8]) -> bool {
    const VERBS: [&[u8]; 12] =
        [b"get", b"find", b"fetch", b"load", b"read", b"lookup", b"has", b"clear", b"delete", b"remove", b"forget", b"list"];
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or(name);
    VERBS.iter().any(|verb| {
        let begins = last.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
        // `get`, `getPassword`, `get_password`, `GetPassword`; neither `getaway` nor `listOf`.
        begins && &last[verb.len()..] != b"Of" && last.get(verb.len()).is_none_or(|b| *b == b'_' || b.is_ascii_uppercase())
    })
}

/// Tell whether configuration files give this name a value without a sign.
fn is_directive(name: &[u8]) -> bool {
    [&b"requirepass"[..], b"masterauth", b"password", b"passwd", b"secret"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Return where the text of an element of this name begins: `<password type="x">...`, `<ns:password>...`.
fn element_with_attributes(text: &[u8], from: usize, to: usize) -> Option<usize> {
    let back = text[..from].iter().rev().take(LONGEST_NAME).take_while(|&&b| is_name(b) || b == b':').count();
    if text[..from - back].last() != Some(&b'<') {
        return None;
    }
    let end = to + text[to..].iter().take(LONGEST_TAG).take_while(|&&b| b != b'\n' && b != b'<').position(|&b| b == b'>')?;
    let first = end + 1 + text[end + 1..].iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_whitespace()).count();
    let first = first + if text[first..].starts_with(b"<![CDATA[") { 9 } else { 0 };
    (!text[..end].ends_with(b"/")).then(|| element(text, first).unwrap_or(first))
}

/// Return where the text of the element begins that stands at `at`, after blanks: `<string>`, `<value>`.
fn element(text: &[u8], at: usize) -> Option<usize> {
    let at = at + text[at..].iter().take(80).take_while(|b| b.is_ascii_whitespace()).count();
    [&b"<string>"[..], b"<value>"].into_iter().find(|tag| text[at..].starts_with(tag)).map(|tag| at + tag.len())
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

/// Return the place after a type annotation that ends with `=`; without one, where the value begins.
pub(super) fn typed(text: &[u8], at: usize) -> usize {
    let start = skip_blanks(text, at);
    let mut depth = 0_usize;
    for (offset, &byte) in text[start..].iter().enumerate().take(LONGEST_TYPE) {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' if depth > 0 => depth -= 1,
            b'=' if depth == 0 => {
                let end = start + offset;
                return if text.get(end + 1) == Some(&b'>') { at } else { end + sign_length(&text[end..]) };
            }
            b'\'' if is_lifetime(text, start + offset) => {}
            b'"' | b'\'' | b'`' | b',' if depth == 0 => return at,
            b';' | b'\n' | b'\r' | b')' | b']' | b'}' => return at,
            _ => {}
        }
    }
    at
}

/// Return the length of a sign that begins with `=`: `=`, `==`, `=>`, `=~`.
pub(super) fn sign_length(text: &[u8]) -> usize {
    1 + text[1..].iter().take(2).take_while(|b| b"=>~".contains(b)).count()
}

/// Return the place after the bracket that closes the one at `at`, if it is short and on the same line.
pub(super) fn type_end(text: &[u8], at: usize) -> Option<usize> {
    let angled = text[at] == b'<';
    let mut depth = 0_usize;
    for (offset, &byte) in text[at..].iter().enumerate().take(LONGEST_TYPE) {
        match byte {
            b'<' | b'>' if !angled => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + offset + 1);
                }
            }
            b'\n' | b'\r' => return None,
            _ => {}
        }
    }
    None
}

/// Tell whether the quote at `at` marks a lifetime of Rust or belongs to a word, and opens nothing.
pub(super) fn is_lifetime(text: &[u8], at: usize) -> bool {
    let end = word_end(text, at + 1);
    end > at + 1
        && text[at..].starts_with(b"'")
        && matches!(text.get(end), Some(b' ' | b'>' | b',' | b')' | b']' | b'+'))
        && !text[end..].iter().take(40).take_while(|&&b| b != b'\n' && b != b'"').any(|&b| b == b'\'')
}

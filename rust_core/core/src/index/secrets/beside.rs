//! Values that stand elsewhere than behind their name: in lists that run parallel (`user, password = "a", "…"`, columns of SQL), before
//! it (`value="…" name="password"`, `"…" == password`), below it on a line of its own, or behind a user's name (`login: admin / …`).

use super::literals::quoted;
use super::operators::{LONGEST_NAME, is_name, is_quote, skip_blanks, skip_white};
use super::work::Work;

/// A list of names is no longer.
const LONGEST_LIST: usize = 1_000;
/// An element or object that holds a name and its value is no longer.
const LONGEST_ENTRY: usize = 400;
/// So many rows of values are looked at.
const MOST_ROWS: usize = 10_000;
/// Keys that are given a name, and keys that are given its value.
const NAME_KEYS: [&[u8]; 7] = [b"name", b"key", b"id", b"type", b"field", b"variable", b"property"];
const VALUE_KEYS: [&[u8]; 4] = [b"value", b"val", b"content", b"default"];
/// Parts of the names of calls that compare.
const COMPARISONS: [&[u8]; 4] = [b"cmp", b"equal", b"compare", b"matches"];
/// Labels of both parts of a login.
const LOGINS: [&[u8]; 3] = [b"login", b"creds", b"credentials"];

type Range = (usize, usize);

/// Return what may be the values of the name `from..to` in a program or in settings. They are literals.
pub(super) fn values(text: &[u8], from: usize, to: usize, work: &mut Work) -> Vec<Range> {
    if !work.take(LONGEST_ENTRY) {
        return Vec::new();
    }
    let one = parallel(text, from, to).or_else(|| keyed_before(text, from)).or_else(|| compared(text, from, to));
    let one = one.or_else(|| tagged(text, from, to));
    one.map_or_else(|| column(text, from, to, work), |range| vec![range])
}

/// Return the values that a list or the line below gives to a name of YAML: `password:`, `tokens:` and `- …` on the next lines.
pub(super) fn listed(text: &[u8], to: usize) -> Vec<Range> {
    let at = to + usize::from(text.get(to).copied().is_some_and(is_quote));
    let end = skip_blanks(text, at + 1);
    if text.get(at) != Some(&b':') || !matches!(text.get(end), Some(b'\n' | b'\r')) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut start = skip_white(text, end);
    for row in text[start..text.len().min(start + LONGEST_ENTRY)].split_inclusive(|&b| b == b'\n') {
        let edge = |b: &&u8| b.is_ascii_whitespace() || b"-\"'".contains(b);
        let first = start + row.iter().take_while(edge).count();
        start += row.len();
        let last = start - row.iter().rev().take_while(|b| b.is_ascii_whitespace() || b"\"'".contains(b)).count();
        if first >= last || text[first..last].iter().any(|b| b.is_ascii_whitespace() || *b == b':') {
            break;
        }
        found.push((first, last));
    }
    found
}

/// Return the text of the element whose attribute gives the name: `<setting name="Password" …><value>…</value>`.
fn tagged(text: &[u8], from: usize, to: usize) -> Option<Range> {
    let key = key_before(text, from)?;
    let rest = &text[to..text.len().min(to + LONGEST_ENTRY)];
    let close = rest.iter().position(|b| b"<>\n".contains(b)).filter(|&at| rest[at] == b'>')?;
    if !NAME_KEYS.contains(&&text[key.0..key.1]) || !text[..key.0].ends_with(b" ") || rest[..close].ends_with(b"/") {
        return None;
    }
    let first = skip_white(text, to + close + 1);
    let first = first + if text[first..].starts_with(b"<value>") { 7 } else { 0 };
    let length = text[first..].iter().take(LONGEST_ENTRY).position(|&b| b == b'<')?;
    Some((first, first + text[first..first + length].trim_ascii_end().len()))
}

/// Return the value that has the name's place in `user, password = "a", "…"`.
fn parallel(text: &[u8], from: usize, to: usize) -> Option<Range> {
    let begin = from - text[..from].iter().rev().take(LONGEST_ENTRY).take_while(|&&b| !b"\n;\"'`".contains(&b)).count();
    let names = text[to..].iter().take(LONGEST_ENTRY).take_while(|&&b| is_name(b) || b"$., ])\t".contains(&b)).count();
    let sign = to + names;
    let before = commas(&text[begin..from]);
    let lone = before == 0 && !text[to..sign].contains(&b',');
    if lone || text[begin..from].iter().any(|b| b"={}".contains(b)) {
        return None;
    }
    let after = match &text[sign..text.len().min(sign + 3)] {
        [b'=', next, ..] if *next != b'=' => sign + 1,
        [b':', b'=', ..] => sign + 2,
        _ => return None,
    };
    let opened = after + text[after..].iter().take(LONGEST_NAME).take_while(|b| b" \t([".contains(b)).count();
    elements(text, opened, text.len().min(opened + LONGEST_ENTRY)).nth(before)?
}

/// Return the values in the column of the name in `INSERT INTO users (name, password) VALUES ('a', '…'), …`.
fn column(text: &[u8], from: usize, to: usize, work: &mut Work) -> Vec<Range> {
    let is_column = |b: u8| is_name(b) || b.is_ascii_whitespace() || b"\"`,[].".contains(&b);
    let before = text[..from].iter().rev().take(LONGEST_LIST).take_while(|&&b| is_column(b)).count();
    let after = text[to..].iter().take(LONGEST_LIST).take_while(|&&b| is_column(b)).count();
    let (open, close) = (from - before, to + after);
    if text[..open].last() != Some(&b'(') || text.get(close) != Some(&b')') || !work.take(before + after) {
        return Vec::new();
    }
    let index = commas(&text[open..from]);
    let is_word = |at: usize, word: &[u8]| text.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let mut at = skip_white(text, close + 1);
    let mut found = Vec::new();
    if is_word(at, b"from stdin") {
        at += text[at..].iter().take(LONGEST_LIST).position(|&b| b == b'\n').map_or(text.len() - at, |end| end + 1);
        for row in text[at..].split(|&b| b == b'\n').take(MOST_ROWS).take_while(|row| !row.starts_with(b"\\.")) {
            let lead: usize = row.split(|&b| b == b'\t').take(index).map(|cell| cell.len() + 1).sum();
            let cell = row.split(|&b| b == b'\t').nth(index).unwrap_or_default();
            if !work.take(row.len()) {
                break;
            }
            found.push((at + lead, at + lead + cell.len()));
            at += row.len() + 1;
        }
        found.retain(|(first, last)| first < last);
        return found;
    }
    if !is_word(at, b"values") {
        return found;
    }
    at = skip_white(text, at + 6);
    while text.get(at) == Some(&b'(') && found.len() < MOST_ROWS {
        let mut end = at + 1;
        let cells: Vec<Option<Range>> = elements(text, at + 1, text.len().min(at + 4 * LONGEST_LIST)).collect();
        found.extend(cells.get(index).copied().flatten());
        // Brackets within literals are none.
        while let Some(&byte) = text.get(end).filter(|&&b| b != b')') {
            end = if is_quote(byte) { quoted(text, end, false).map_or(end + 1, |(_, _, after)| after) } else { end + 1 };
        }
        if !work.take(2 * (end - at)) {
            break;
        }
        at = skip_white(text, end + 1);
        at = if text.get(at) == Some(&b',') { skip_white(text, at + 1) } else { text.len() };
    }
    found
}

fn commas(text: &[u8]) -> usize {
    text.split(|&b| b == b',').count() - 1
}

/// Return the elements of a list from its first to its end; of each the literal, if it is one.
fn elements(text: &[u8], first: usize, limit: usize) -> impl Iterator<Item = Option<Range>> + '_ {
    let mut at = Some(first);
    std::iter::from_fn(move || {
        let mut place = at?;
        let (mut depth, mut literal) = (0_usize, None);
        at = None;
        while place < limit {
            match text[place] {
                byte if is_quote(byte) => {
                    let (first, last, end) = quoted(text, place, text[..place].ends_with(b"\\"))?;
                    literal = Some((first, last)).filter(|_| depth == 0);
                    place = end;
                    continue;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' if depth > 0 => depth -= 1,
                b',' if depth == 0 => {
                    at = Some(place + 1);
                    break;
                }
                b')' | b']' | b'}' | b';' if depth == 0 => break,
                b'\n' if depth == 0 && literal.is_some() => break,
                _ => {}
            }
            place += 1;
        }
        Some(literal)
    })
}

/// Return the value that stands before its name in an element or object: `<input value="…" name="password">`.
fn keyed_before(text: &[u8], from: usize) -> Option<Range> {
    let key = key_before(text, text[..from].strip_suffix(b"\\").map_or(from, <[u8]>::len))?;
    if !NAME_KEYS.iter().any(|name| text[key.0..key.1].eq_ignore_ascii_case(name)) {
        return None;
    }
    let begin = key.0.saturating_sub(LONGEST_ENTRY);
    let opens = |at: &usize| b"<{}".contains(&text[*at]) || text[*at..].starts_with(b"\n\n");
    let begin = (begin..key.0).rev().find(opens).unwrap_or(begin);
    let is_key = |at: usize, word: &[u8]| {
        let end = at + word.len();
        end < key.0
            && text[at..end].eq_ignore_ascii_case(word)
            && !is_name(text[end])
            && at.checked_sub(1).is_none_or(|before| !is_name(text[before]))
    };
    let at = (begin..key.0).rev().find_map(|at| VALUE_KEYS.iter().find(|word| is_key(at, word)).map(|word| at + word.len()))?;
    // An entry of a list ends where the next begins.
    if text[at..key.0].windows(2).any(|pair| pair == b"- ") {
        return None;
    }
    let sign = text[at..].iter().position(|b| !is_quote(*b) && !b"\\ ".contains(b)).map(|skipped| at + skipped)?;
    if !b"=:".contains(&text[sign]) {
        return None;
    }
    literal_at(text, skip_blanks(text, sign + 1)).filter(|range| range.1 < from)
}

/// Return the word before the sign before a literal or word that begins at `from`.
fn key_before(text: &[u8], from: usize) -> Option<Range> {
    let back =
        |at: usize, test: &dyn Fn(u8) -> bool| at - text[..at].iter().rev().take(LONGEST_NAME).take_while(|b| test(**b)).count();
    let value = back(from, &|b| is_quote(b) || b == b'\\');
    let sign = back(value, &|b| b == b' ');
    let sign = sign.checked_sub(1).filter(|&at| b"=:".contains(&text[at]))?;
    let end = back(sign, &|b| is_quote(b) || b"\\ ".contains(&b));
    Some((back(end, &is_name), end))
}

/// Return the literal at a place, whose quotes may be escaped.
fn literal_at(text: &[u8], at: usize) -> Option<Range> {
    let escaped = text.get(at) == Some(&b'\\');
    let at = at + usize::from(escaped);
    let literal = text.get(at).copied().filter(|&b| is_quote(b)).and_then(|_| quoted(text, at, escaped));
    literal.map(|(first, last, _)| (first, last))
}

/// Return what a name is compared with: `"…" == password`, `"…".equals(password)`, `strcmp(password, "…")`.
fn compared(text: &[u8], from: usize, to: usize) -> Option<Range> {
    let line = from - text[..from].iter().rev().take(LONGEST_ENTRY).take_while(|&&b| b != b'\n').count();
    let lead = &text[line..from];
    let lead = &lead[..=lead.iter().rposition(|b| !b" \t!$@*&".contains(b))?];
    let callee = |open: usize| {
        let name = &lead[..open];
        let length = name.iter().rev().take_while(|&&b| is_name(b)).count();
        let name = name[open - length..].to_ascii_lowercase();
        COMPARISONS.iter().any(|word| name.windows(word.len()).any(|part| part == *word))
    };
    let next = skip_blanks(text, to);
    let ended = |at: usize| lead[..at].trim_ascii_end().len();
    let before = match lead.last()? {
        b'=' if lead.ends_with(b"==") && !matches!(text.get(next), Some(b'(' | b'[' | b'.')) => {
            ended(lead.iter().rposition(|b| !b"=!".contains(b))? + 1)
        }
        b'(' if text.get(next) == Some(&b',') && callee(lead.len() - 1) => {
            return literal_at(text, skip_white(text, next + 1));
        }
        b'(' if text.get(next) == Some(&b')') && callee(lead.len() - 1) => ended(lead.iter().rposition(|&b| b == b'.')?),
        b',' if text.get(next) == Some(&b')') && callee(lead.iter().rposition(|&b| b == b'(')?) => ended(lead.len() - 1),
        _ => return None,
    };
    let quote = before.checked_sub(1).map(|at| lead[at]).filter(|&b| is_quote(b))?;
    let first = lead[..before - 1].iter().rposition(|&b| b == quote)? + 1;
    Some((line + first, line + before - 1))
}

/// Return the word that stands alone below a label, as the only word of its paragraph: `Password:`, `# Password`.
pub(super) fn below(text: &[u8], from: usize, to: usize) -> Option<Range> {
    let is_mark = |b: &u8| b.is_ascii_whitespace() && *b != b'\n' || b"#*_:`>=-".contains(b);
    let begin = from - text[..from].iter().rev().take(LONGEST_NAME).take_while(|&&b| b != b'\n').count();
    let label = text[begin..from].iter().all(|b| is_mark(b) || b.is_ascii_alphabetic());
    let end = to + text[to..].iter().take(LONGEST_NAME).take_while(|b| is_mark(b)).count();
    if !label || text[begin..from].split(|b| !b.is_ascii_alphabetic()).filter(|word| !word.is_empty()).count() > 2 {
        return None;
    }
    if text.get(end) != Some(&b'\n') {
        return None;
    }
    let first = skip_white(text, end);
    let line = first + text[first..].iter().take(LONGEST_ENTRY).position(|&b| b == b'\n').unwrap_or_else(|| text.len() - first);
    let edge = |b: &&u8| b.is_ascii_whitespace() || b"`*:\"'>-".contains(b);
    let start = first + text[first..line].iter().take_while(edge).count();
    let word = start + text[start..line].iter().take_while(|b| !b.is_ascii_whitespace()).count();
    let last = word - text[start..word].iter().rev().take_while(|b| b"`*\"'".contains(b)).count();
    (start < last && text[word..line].trim_ascii().is_empty()).then_some((start, last))
}

/// Return the password of a login that a text gives behind the word at `start..end`: `login: admin / …`, `creds: bob:…`.
pub(super) fn login(text: &[u8], start: usize, end: usize) -> Option<Range> {
    let from = start - text[..start].iter().rev().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric()).count();
    let to = end + text[end..].iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric()).count();
    // `user/pass: …`; alone, `pass` is a verb as well.
    let named = text[from..to].to_ascii_lowercase();
    let both = named.starts_with(b"pass") && text[..from].trim_ascii_end().ends_with(b"/");
    let in_path = text[..from].last().is_some_and(|b| b"/._-".contains(b));
    if !both && (in_path || !LOGINS.contains(&named.as_slice())) {
        return None;
    }
    let line = to + text[to..].iter().take(LONGEST_ENTRY).take_while(|&&b| b != b'\n').count();
    let rest = &text[to..line];
    let verb = [&b" are "[..], b" is "].into_iter().find(|word| rest.starts_with(word)).map(<[u8]>::len);
    // A file is named `login.py:3`.
    let between = |b: &u8| b.is_ascii_alphabetic() || b" ()/`*\"'".contains(b);
    let length = rest.iter().take(24).take_while(|b| between(b)).count();
    let sign = verb.or_else(|| rest.get(length).filter(|b| b":=".contains(b)).map(|_| length + 1))?;
    let is_edge = |b: &&u8| b" \t`*'\"".contains(b);
    let skip = |at: usize| at + text[at..line].iter().take_while(is_edge).count();
    let user = skip(to + sign);
    let is_user = |b: &&u8| b.is_ascii_alphanumeric() || b"._@+-\\".contains(b);
    let length = text[user..line].iter().take_while(is_user).count();
    let joint = user + length;
    let parted = skip(joint);
    let value = match text.get(parted).filter(|_| parted < line)? {
        b'/' | b':' | b'|' | b',' => skip(parted + 1),
        _ if parted > joint => parted,
        _ => return None,
    };
    let word = value + text[value..line].iter().take_while(|b| !b.is_ascii_whitespace()).count();
    let last = word - text[value..word].iter().rev().take_while(|b| b"`*'\".,;)".contains(b)).count();
    (length > 0 && value < last).then_some((value, last))
}

//! Literals that are bound to a name, in any language: `password = "..."`, `pub const API_KEY: &str = "..."`, `char password[64] =
//! "..."`, `{ password: "..." }`, `set_password(user, "...")`.
//!
//! No grammar is asked, so that comments, embedded code and files that don't parse are covered as well. From the end of the name
//! [`binder`] reads over a type to what binds a value, and [`Expression`] gives the literals of that value. Which of them is a
//! secret is decided by what it looks like.

use super::literals::{LONGEST_VALUE, is_prefix, quoted};
use super::operators::{
    comment_end, is_any, is_lifetime, is_name, is_quote, looks_up, sign_length, skip_blanks, skip_white, type_end, typed,
    word_end,
};
use super::values::Style;

/// A statement is followed no further: bytes after the name, in which its literals begin.
const REACH: usize = 400;
/// So many literals of a statement are looked at.
const MOST_LITERALS: usize = 8;
/// The same of a list: its name says that they are several.
pub(super) const REACH_OF_LIST: usize = 4_000;
const MOST_ENTRIES: usize = 256;
/// So much may stand within a literal before a name that ends it.
const LONGEST_LEAD: usize = 24;
/// So many words of a type may stand between a name and its value.
const MOST_WORDS: usize = 6;
/// Words that bind a value by themselves, in small letters.
const BINDING_WORDS: &[&str] = &["value", "default", "is"];
/// Keys under which the value of the name stands.
const VALUE_KEYS: &[&str] =
    &["value", "default", "default_value", "currentvalue", "initialvalue", "content", "with", "set", "to", "do"];
/// Methods of a name that are handed its value.
const VALUE_METHODS: &[&str] = &["equals", "equalsIgnoreCase", "compareTo", "contentEquals", "set", "setValue", "eq"];

/// How a value is bound to the name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Binding {
    /// `name = value`, `name: value`, `"name" => value`.
    Value,
    /// `name(value, ...)`.
    Call,
    /// `f("name", value, ...)`: after the next comma only `default=value` is the name's.
    Argument,
    /// `"name": { "default": value, ... }`.
    Block,
    /// `{ "name": "NAME", "type": ..., "value": value }`: only what is keyed so is the name's.
    Entry,
}

/// The same for what a name was looked up by: `locator("#password").fill("...")`, `var("PASSWORD").unwrap_or("...")`.
const VALUE_METHODS_OF_RESULTS: &[&str] =
    &["fill", "type", "sendKeys", "send_keys", "val", "put", "setText", "unwrap_or", "orElse", "getOrElse", "or"];

/// What a bracket within a value was opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// A group or list, or the call of the name itself: what it holds are values.
    Group,
    /// Another call: its only argument is a value (`String::from("...")`), one of several isn't.
    Call,
    /// A look-up: what it holds names something.
    Lookup,
}

/// Return the literals that belong to the name `from..to`, as ranges of the text, in their order.
pub(super) fn literals(text: &[u8], from: usize, to: usize, style: Style) -> Vec<(usize, usize)> {
    bound(text, from, to, style, false).0
}

/// Return the literals that belong to a name in the plural, those of its list and the values of its map, and how far was read.
pub(super) fn entries(text: &[u8], from: usize, to: usize, style: Style) -> (Vec<(usize, usize)>, usize) {
    bound(text, from, to, style, true)
}

fn bound(text: &[u8], from: usize, to: usize, style: Style, several: bool) -> (Vec<(usize, usize)>, usize) {
    let name = Name::new(text, from, to);
    let (reach, most) = if several { (to + REACH_OF_LIST, MOST_ENTRIES) } else { (to + REACH, MOST_LITERALS) };
    let text = &text[..text.len().min(reach + LONGEST_VALUE)];
    let text = if name.enclosed { &text[..unescaped_quote(text, name.end)] } else { text };
    match binder(text, &name, style) {
        Some((at, binding)) => Expression { most, ..Expression::new(text, at, binding, style) }.literals(reach),
        None => (Vec::new(), to),
    }
}

/// A name and what is around it.
struct Name {
    from: usize,
    to: usize,
    /// Where the literal begins whose content the name is, or the name itself.
    opening: usize,
    /// One past the quote that closes the name, or past the name.
    end: usize,
    /// The name is a literal itself: a key or an argument.
    quoted: bool,
    /// The name stands within a text in double quotes, whose end is the end of the statement.
    enclosed: bool,
}

impl Name {
    fn new(text: &[u8], from: usize, to: usize) -> Self {
        // A selector closes a bracket before its quote: `"input[name=password]"`.
        let closing = to + usize::from(matches!(text.get(to), Some(b'\\' | b']')));
        let quote = text.get(closing).copied().filter(|&b| is_quote(b));
        // What selects or qualifies the name may stand before it: `'#password'`, `"//input[@password"`.
        let lead = text[..from].iter().rev().take(LONGEST_LEAD);
        let back = lead.take_while(|b| !b.is_ascii_whitespace()).position(|&b| quote == Some(b));
        let opening = from - back.map_or(0, |back| back + 1);
        let quoted = back.is_some();
        let line = text[..from].iter().rev().take(REACH).take_while(|&&b| b != b'\n').count();
        let mut open = false;
        let mut before = text[(from - line).min(opening)..opening].iter();
        while let Some(byte) = before.next() {
            match byte {
                b'\\' => drop(before.next()),
                b'"' => open = !open,
                _ => {}
            }
        }
        Self { from, to, opening, end: if quoted { closing + 1 } else { to }, quoted, enclosed: open }
    }
}

/// Find what binds a value to the name: where the value begins, and how it is bound.
fn binder(text: &[u8], name: &Name, style: Style) -> Option<(usize, Binding)> {
    let lead = text[..name.opening].trim_ascii_end();
    let lead = lead.strip_suffix(b"\\").unwrap_or(lead);
    let mut at = name.end;
    let is_verb = text[name.from..name.to].eq_ignore_ascii_case(b"pass");
    let (mut words, mut closed, mut macro_parameters) = (0, 0, false);
    loop {
        let next = text.get(at + 1).copied().unwrap_or(b'\n');
        match *text.get(at)? {
            b' ' | b'\t' => at += 1,
            b'\\' if matches!(next, b'\n' | b'\r') => at += 2,
            b'\\' if is_quote(next) => at += 1,
            b'\n' | b'\r' => {
                at = skip_white(text, at);
                if !matches!(text.get(at), Some(b'=' | b':')) {
                    return None;
                }
            }
            b']' | b')' if closed < 3 => {
                closed += 1;
                at += 1;
            }
            b'/' if text[at..].starts_with(b"/*") => at = comment_end(text, at)?,
            b'<' if next == b'-' => return Some((at + 2, Binding::Value)),
            b'(' if at == name.end && !name.quoted => {
                let end = type_end(text, at);
                let after = end.map(|end| skip_blanks(text, end));
                let sign = after.map(|after| &text[after..]).unwrap_or_default();
                if sign.starts_with(b"=") && !sign.starts_with(b"==") {
                    at = after?;
                } else if lead.ends_with(b"#define") {
                    macro_parameters = true;
                    at = end?;
                } else {
                    return (!looks_up(&text[name.from..name.to])).then_some((at + 1, Binding::Call));
                }
            }
            b'(' | b'[' | b'<' => at = type_end(text, at)?,
            b'{' => match type_end(text, at) {
                // `{ get; set; }`
                Some(end) if !text[at..end].iter().any(|&b| is_quote(b)) => at = end,
                // `std::string password{"..."}`, `fetch("PASSWORD") { "..." }`
                _ if text.get(skip_white(text, at + 1)).copied().is_some_and(is_quote) && (!name.quoted || closed > 0) => {
                    return Some((at + 1, Binding::Call));
                }
                _ => return (name.quoted || style == Style::Config).then_some((at + 1, Binding::Block)),
            },
            b'=' => return Some((at + sign_length(&text[at..]), Binding::Value)),
            b':' if matches!(next, b':' | b'=') => return Some((typed(text, at + 2), Binding::Value)),
            b':' => return Some((typed(text, at + 1), Binding::Value)),
            b'-' if next == b'>' && name.quoted => return Some((at + 2, Binding::Value)),
            b'|' | b'?' if next == text[at] || next == b':' => return Some((typed(text, at + 2), Binding::Value)),
            b'|' | b'+' | b'-' | b'.' | b'!' | b'&' | b'^' if next == b'=' => {
                return Some((at + 1 + sign_length(&text[at + 1..]), Binding::Value));
            }
            b'.' if !name.quoted || closed > 0 => {
                let word = word_end(text, at + 1);
                if text.get(word) == Some(&b'(') {
                    let method = &text[at + 1..word];
                    let takes_value = is_any(method, VALUE_METHODS) || closed > 0 && is_any(method, VALUE_METHODS_OF_RESULTS);
                    return takes_value.then_some((word + 1, Binding::Call));
                }
                at = word.max(at + 1);
            }
            b',' if is_value_key(text, skip_white(text, at + 1)) => return Some((at + 1, Binding::Argument)),
            b',' if name.quoted && lead.ends_with(b":") => return Some((at + 1, Binding::Entry)),
            b',' if name.quoted => {
                let is_argument = lead.ends_with(b"(") || lead.ends_with(b"{") || text[name.from..].starts_with(b"--");
                return is_argument.then_some((at + 1, Binding::Argument));
            }
            b',' => return (lead.ends_with(b"{") || lead.ends_with(b"define(")).then_some((at + 1, Binding::Value)),
            byte if is_quote(byte) && !(byte == b'\'' && is_lifetime(text, at)) => {
                let beside = words == 0 && !name.quoted && closed == 0 && style != Style::Prose && at > name.end;
                return (macro_parameters || beside && !is_verb).then_some((at, Binding::Value));
            }
            b'?' | b'!' | b'\'' | b'*' | b'&' | b'@' | b'$' | b'#' => at += 1,
            byte if is_name(byte) => {
                let end = word_end(text, at);
                let after = skip_blanks(text, end);
                if is_verb && at > name.end {
                    return None;
                }
                let (word, sign) = (&text[at..end], text.get(after).copied().unwrap_or(b'\n'));
                if name.quoted && word == b"to" && is_quote(sign) {
                    return Some((end, Binding::Value)); // a pair of Kotlin
                }
                if is_any(word, BINDING_WORDS) && (is_quote(sign) || sign == b'N')
                    || is_any(word, VALUE_KEYS) && matches!(sign, b'=' | b':')
                {
                    return Some((end, Binding::Value));
                }
                words += 1;
                if is_prefix(text, at, end) {
                    at = end;
                    words -= 1;
                    continue;
                }
                if words > MOST_WORDS || name.quoted || style == Style::Prose {
                    return None;
                }
                at = end;
            }
            _ => return None,
        }
    }
}

/// The literals of a value, read to the end of its statement.
struct Expression<'a> {
    text: &'a [u8],
    at: usize,
    binding: Binding,
    style: Style,
    brackets: Vec<Bracket>,
    /// So many literals are looked at: of a plural many, for what stands in brackets is its own, whatever it is keyed by.
    most: usize,
    /// Only what is keyed by a word such as `default` belongs to the name.
    keyed_only: bool,
    /// A `?` waits for its `:`, before which no key stands.
    conditional: bool,
    /// The last word, and whether nothing but a sign of binding came after it.
    word: (usize, usize),
    is_key: bool,
    /// The last byte that is no blank and in no comment.
    last: u8,
}

impl<'a> Expression<'a> {
    fn new(text: &'a [u8], at: usize, binding: Binding, style: Style) -> Self {
        // The value is in a bracket of the name's own, and ends with it.
        let bracketed = matches!(binding, Binding::Call | Binding::Block);
        Self {
            text,
            at,
            binding,
            style,
            most: MOST_LITERALS,
            brackets: if bracketed { vec![Bracket::Group] } else { Vec::new() },
            keyed_only: matches!(binding, Binding::Block | Binding::Entry),
            conditional: false,
            word: (at, at),
            is_key: false,
            last: if matches!(binding, Binding::Argument | Binding::Entry) { b',' } else { b'=' },
        }
    }

    /// Return the literals that begin before `reach`, and how far was read.
    fn literals(mut self, reach: usize) -> (Vec<(usize, usize)>, usize) {
        let mut found = Vec::new();
        while found.len() < self.most
            && self.at < reach
            && let Some(&byte) = self.text.get(self.at)
        {
            let next = self.text.get(self.at + 1).copied().unwrap_or(b'\n');
            let end = match byte {
                b' ' | b'\t' => Some(self.at + 1),
                b'\n' | b'\r' => self.next_line(),
                b'/' if matches!(next, b'/' | b'*') && self.last != b':' || byte == b'-' && next == b'-' => {
                    comment_end(self.text, self.at)
                }
                b'#' if next == b' ' => comment_end(self.text, self.at),
                b'\\' if is_quote(next) => self.literal(self.at + 1, true, &mut found),
                b'\'' if is_lifetime(self.text, self.at) => Some(self.at + 1),
                b'[' if next == b'[' && self.last == b'=' => self.long_brackets(&mut found),
                _ if is_quote(byte) => self.literal(self.at, false, &mut found),
                _ if is_name(byte) && byte != b'-' => {
                    let end = word_end(self.text, self.at);
                    if !is_prefix(self.text, self.at, end) {
                        (self.word, self.is_key) = ((self.at, end), false);
                        self.last = b'a';
                    }
                    Some(end)
                }
                _ => self.sign(byte),
            };
            match end {
                Some(end) => self.at = end,
                None => break,
            }
        }
        (found, self.at)
    }

    /// Read over a sign. `None` at the end of the statement.
    fn sign(&mut self, byte: u8) -> Option<usize> {
        let after_name = self.last == b'a' || matches!(self.last, b'!' | b']' | b')' | b'>');
        match byte {
            b'(' if after_name && looks_up(&self.text[self.word.0..self.word.1]) => self.brackets.push(Bracket::Lookup),
            b'(' if after_name => self.brackets.push(Bracket::Call),
            b'[' if after_name && !(self.is_of_plural() && self.last == b'!') => self.brackets.push(Bracket::Lookup),
            b'(' | b'[' | b'{' => self.brackets.push(Bracket::Group),
            b')' | b']' | b'}' => {
                self.brackets.pop()?;
                if self.brackets.is_empty() && matches!(self.binding, Binding::Call | Binding::Block) {
                    return None;
                }
            }
            b',' if self.brackets.is_empty() => {
                if !matches!(self.binding, Binding::Argument | Binding::Entry) {
                    return None;
                }
                self.keyed_only = true;
            }
            b';' if self.brackets.is_empty() => return None,
            b'?' => self.conditional = !matches!(self.text.get(self.at + 1), Some(b'?' | b'.' | b':')),
            b':' if self.conditional => self.conditional = false,
            b'=' | b':' => {
                self.is_key = true;
                self.last = byte;
                return Some(self.at + 1);
            }
            _ => {}
        }
        if !matches!(byte, b'=' | b':' | b'>') {
            self.is_key = false;
        }
        self.last = byte;
        Some(self.at + 1)
    }

    /// Read a literal of Lua: `[[...]]`.
    fn long_brackets(&mut self, found: &mut Vec<(usize, usize)>) -> Option<usize> {
        let first = self.at + 2;
        let length = self.text[first..].iter().take_while(|&&b| b != b'\n').position(|&b| b == b']')?;
        found.push((first, first + length));
        Some(first + length + 2)
    }

    /// Go on after a line end where the statement does.
    fn next_line(&self) -> Option<usize> {
        let at = skip_white(self.text, self.at);
        let continues = b"=:([{+|?\\>.&".contains(&self.last) || self.text.get(at).is_some_and(|b| b".+|?".contains(b));
        let goes_on = !self.brackets.is_empty() || self.style != Style::Prose && continues;
        goes_on.then_some(at)
    }

    /// Read the literal whose quote is at `at`, and keep it if it is the name's.
    fn literal(&mut self, at: usize, escaped: bool, found: &mut Vec<(usize, usize)>) -> Option<usize> {
        let (first, last, end) = quoted(self.text, at, escaped)?;
        let after = &self.text[skip_blanks(self.text, end)..];
        if matches!(self.last, b'{' | b',' | b'(' | b'[') && (after.starts_with(b":") || after.starts_with(b"=>")) {
            (self.word, self.is_key, self.last) = ((first, last), false, b'a');
            return Some(end);
        }
        let named = &self.text[self.word.0..self.word.1];
        let keyed = self.is_key && is_any(named, VALUE_KEYS);
        let foreign = (self.is_key && !named.is_empty() || self.keyed_only) && !keyed;
        let sole = || self.last == b'(' && self.text.get(skip_white(self.text, calls_end(self.text, end))) == Some(&b')');
        let is_value = match self.brackets.last() {
            _ if keyed => true,
            Some(Bracket::Lookup) => false,
            Some(Bracket::Call) => sole() || self.is_of_plural() && self.is_among_literals(at, end),
            _ => self.is_of_plural() || !foreign,
        };
        if is_value {
            found.push((first, last));
        }
        (self.last, self.is_key) = (b'"', false);
        Some(end)
    }

    fn is_of_plural(&self) -> bool {
        self.most == MOST_ENTRIES
    }

    /// Tell whether the arguments on both sides of the literal `at..end` are literals, too: `List.of("...", "...")`.
    fn is_among_literals(&self, at: usize, end: usize) -> bool {
        let before = self.text[..at].trim_ascii_end();
        let behind = &self.text[skip_white(self.text, end)..];
        let literal_before =
            before.strip_suffix(b",").is_some_and(|lead| lead.trim_ascii_end().last().copied().is_some_and(is_quote));
        let literal_behind =
            behind.strip_prefix(b",").is_some_and(|rest| rest.get(skip_white(rest, 0)).copied().is_some_and(is_quote));
        (before.ends_with(b"(") || literal_before) && (behind.starts_with(b")") || literal_behind)
    }
}

/// Return the place of the next double quote without a backslash.
fn unescaped_quote(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while at < text.len() && text[at] != b'"' {
        at += 1 + usize::from(text[at] == b'\\');
    }
    at.min(text.len())
}

/// Return the place after calls without arguments: `.to_owned()`.
fn calls_end(text: &[u8], at: usize) -> usize {
    if text.get(at) != Some(&b'.') {
        return at;
    }
    let word = word_end(text, at + 1);
    if text[word..].starts_with(b"()") { calls_end(text, word + 2) } else { at }
}

/// Tell whether a key such as `value` stands at `at`, quoted or not.
fn is_value_key(text: &[u8], at: usize) -> bool {
    let at = at + usize::from(text.get(at).copied().is_some_and(is_quote));
    at < text.len() && is_any(&text[at..word_end(text, at)], VALUE_KEYS)
}

//! Text to search terms: identifiers are split the way people speak about them.
//!
//! `getHTTPServer2` gives `get`, `http`, `server` and, because it was split, the whole `gethttpserver2` as well, so that both
//! a question in plain words and the exact name find it. Nothing is allocated per word: terms are handed to a callback from a
//! buffer that the [`Splitter`] reuses.

use std::ops::Range;

/// Runs of word characters longer than this are data (base64, hashes), not names: nobody types them into a search.
const LONGEST_WORD: usize = 128;

/// How a term came about, so that an embedder can weigh it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A word that stood alone: `server`, `12154`, a CJK bigram.
    Plain,
    /// One piece of a longer identifier: `server` in `getServer`.
    Part,
    /// A whole identifier that was also split: `getserver`, `ora-12154`, `8.1.4`.
    Whole,
}

/// The lower-casing, identifier-splitting tokeniser, with its buffers. Make one a thread and keep it.
#[derive(Debug, Default)]
pub struct Splitter {
    /// The lower-cased run being looked at.
    lower: String,
    /// Byte offsets in `lower` where a part begins.
    cuts: Vec<(usize, usize)>,
}

/// What a character is to the splitter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Underscore,
    Mark,
    Cjk,
    Other,
}

fn class_of(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '_' => Class::Underscore,
        _ if c.is_ascii() => Class::Other,
        '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' => Class::Mark,
        _ if is_cjk(c) => Class::Cjk,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_alphabetic() => Class::Lower,
        _ => Class::Other,
    }
}

/// Is this a character of Chinese, Japanese or Korean, which are written without spaces or nearly so?
pub fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{2e80}'..='\u{2fdf}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

impl Splitter {
    /// A tokeniser with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hand every term of `text` to `emit`, in the order of the text (the parts of an identifier before its whole).
    pub fn split(&mut self, text: &str, emit: &mut impl FnMut(&str, WordKind)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            // ASCII that can't begin a word is the commonest byte in code: skip it without decoding characters.
            if bytes[at].is_ascii() && !is_word_byte(bytes[at]) {
                at += 1;
                continue;
            }
            let end = run_end(text, at);
            if end == at {
                at = text[at..].chars().next().map_or(text.len(), |c| at + c.len_utf8());
                continue;
            }
            let run = &text[at..end];
            if text[at..].chars().next().is_some_and(|c| class_of(c) == Class::Cjk) {
                bigrams(run, emit);
            } else if run.len() <= LONGEST_WORD {
                let number = dotted_number(bytes, at, end);
                self.identifier(number.as_ref().map_or(run, |number| &text[number.start..end]), emit);
                if let Some(code_end) = error_code_end(bytes, at, end) {
                    self.error_code(text, at, end, code_end, emit);
                    at = code_end;
                    continue;
                }
                if let Some(number) = number {
                    at = number.end;
                    prefixes(&text[number.clone()], end - number.start, emit);
                    continue;
                }
            }
            at = end;
        }
    }

    /// One run of word characters: its parts, then the whole where there were several.
    fn identifier(&mut self, run: &str, emit: &mut impl FnMut(&str, WordKind)) {
        self.lower.clear();
        self.cuts.clear();
        // Nearly all names are ASCII, whose characters need no decoding.
        if run.is_ascii() {
            self.cut(run.bytes().map(char::from));
        } else {
            self.cut(run.chars());
        }
        let whole = self.lower.trim_matches('_');
        if whole.is_empty() {
            return;
        }
        // A number with letters in it (`0x3fa9`, `2fa`, `1e10`) has no parts that anybody looks for.
        if self.cuts.len() == 1 || whole.as_bytes()[0].is_ascii_digit() {
            emit(whole, WordKind::Plain);
            return;
        }
        for &(start, end) in &self.cuts {
            // One letter or digit out of a longer name says nothing and would have the longest posting lists.
            if end - start > 1 {
                emit(&self.lower[start..end], WordKind::Part);
            }
        }
        emit(whole, WordKind::Whole);
    }

    /// Put a name in small letters into the buffers, with where its parts are.
    #[inline]
    fn cut(&mut self, chars: impl Iterator<Item = char>) {
        let mut part_start = 0;
        let mut before = Class::Underscore;
        let mut chars = chars.peekable();
        while let Some(c) = chars.next() {
            let class = class_of(c);
            if class == Class::Mark {
                continue;
            }
            let next = chars.peek().map_or(Class::Other, |&n| class_of(n));
            let boundary = match (before, class) {
                (Class::Lower | Class::Digit, Class::Upper)
                | (Class::Lower | Class::Upper, Class::Digit)
                | (Class::Digit, Class::Lower) => true,
                (Class::Upper, Class::Upper) => next == Class::Lower,
                _ => false,
            };
            let here = self.lower.len();
            if boundary || class == Class::Underscore {
                self.cuts.push((part_start, here));
                part_start = here;
            }
            if class == Class::Underscore {
                part_start += 1;
            }
            if c.is_ascii() {
                self.lower.push(c.to_ascii_lowercase());
            } else {
                self.lower.extend(c.to_lowercase());
            }
            before = class;
        }
        self.cuts.push((part_start, self.lower.len()));
        self.cuts.retain(|&(start, end)| start < end);
    }

    /// `ORA-12154`: the number, then the whole code (its letters were emitted before).
    fn error_code(&mut self, text: &str, start: usize, letters_end: usize, end: usize, emit: &mut impl FnMut(&str, WordKind)) {
        for number in text[letters_end..end].split('-').filter(|n| !n.is_empty()) {
            emit(number, WordKind::Part);
        }
        self.lower.clear();
        self.lower.push_str(&text[start..end]);
        self.lower.make_ascii_lowercase();
        emit(&self.lower, WordKind::Whole);
    }
}

/// Hand every term of `text` to `emit`: [`Splitter::split`] with buffers of its own, for callers that split once.
pub fn split_words(text: &str, emit: &mut impl FnMut(&str, WordKind)) {
    Splitter::new().split(text, emit);
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where the run of word characters (or of CJK characters) that begins at `start` ends; `start` if there is none.
fn run_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() && is_word_byte(bytes[at]) {
        at += 1;
    }
    if at == bytes.len() || bytes[at].is_ascii() {
        return at;
    }
    let mut cjk = None;
    if at > start {
        cjk = Some(false);
    }
    for c in text[at..].chars() {
        let class = class_of(c);
        if class == Class::Other || (cjk.is_none() && class == Class::Mark) {
            break;
        }
        let is_cjk = class == Class::Cjk;
        if class != Class::Mark && *cjk.get_or_insert(is_cjk) != is_cjk {
            break;
        }
        at += c.len_utf8();
    }
    at
}

/// The end of `-digits` groups after letters (`ORA-12154`, `CVE-2024-3094`, `utf-16`); one digit alone is arithmetic (`n-1`).
fn error_code_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    if end - start < 2 || !bytes[start..end].iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let mut found = None;
    let mut at = end;
    while bytes.get(at) == Some(&b'-') {
        let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let next = at + 1 + digits;
        if !(2..=20).contains(&digits) || bytes.get(next).copied().is_some_and(is_word_byte) {
            break;
        }
        at = next;
        found = Some(at);
    }
    found
}

/// Return the range of a number with dots whose first digits are at the end of `start..end`: `8.1.4`, `v8.1.4`, `127.0.0.1`. More
/// than four digits are a value that was measured, and of a longer chain each eight numbers are one word.
fn dotted_number(bytes: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    const MOST_DIGITS: usize = 4;
    const MOST_DOTS: usize = 7;
    let begin = if bytes[start] | 0x20 == b'v' { start + 1 } else { start };
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let is_number = |from: usize, to: usize| (1..=MOST_DIGITS).contains(&(to - from)) && digits(from) == to - from;
    if !is_number(begin, end) {
        return None;
    }
    let mut at = end;
    for _ in 0..MOST_DOTS {
        let next = at + 1 + digits(at + 1);
        if bytes.get(at) != Some(&b'.') || !is_number(at + 1, next) || bytes.get(next).copied().is_some_and(is_word_byte) {
            break;
        }
        at = next;
    }
    (at > end).then_some(begin..at)
}

/// `8.1.4`: `8.1`, then the whole; its first number was emitted before. What is behind a dot says nothing alone.
fn prefixes(number: &str, first: usize, emit: &mut impl FnMut(&str, WordKind)) {
    for (dot, _) in number.match_indices('.').filter(|(dot, _)| *dot > first) {
        emit(&number[..dot], WordKind::Part);
    }
    emit(number, WordKind::Whole);
}

/// CJK text has no spaces: pairs of neighbours are the usual terms; a lone character is its own.
fn bigrams(run: &str, emit: &mut impl FnMut(&str, WordKind)) {
    let mut starts = run.char_indices().map(|(i, _)| i).chain(std::iter::once(run.len()));
    let (Some(mut first), Some(mut second)) = (starts.next(), starts.next()) else { return };
    let mut pairs = 0;
    for third in starts {
        emit(&run[first..third], WordKind::Plain);
        (first, second) = (second, third);
        pairs += 1;
    }
    if pairs == 0 {
        emit(&run[first..second], WordKind::Plain);
    }
}

#[cfg(test)]
mod tests;

//! Whether a text writes a message that a question pastes.
//!
//! A program prints `Could not open /tmp/a.db: locked` where its code says `"Could not open {path}: {reason}"`. No run of the
//! question's words stands in that code as a whole, and the values that were put in are often its rarest words. So the strings
//! of the text are laid over the question: their words in their order, with whatever words in place of placeholders.

use std::ops::Range;

use super::phrase::{Phrase, lowered, words_of};

/// A string of fewer words is no message by itself.
const LEAST_WORDS: u32 = 3;
/// The same of words that aren't of speech …
const LEAST_TELLING: u32 = 2;
/// … which weigh more than this.
const LEAST_WEIGHT: f32 = 0.5;
/// What weighs as much is no coincidence, whatever else the question says: three or four rare words in their order.
const FULL_WEIGHT: f32 = 7.0;
/// What stands outside of a message counts so much against it: what a logger puts before it, words of a person around it.
const OUTSIDE: f32 = 0.1;
/// A value of more words is none.
const LONGEST_VALUE: usize = 24;
/// Strings that are this close, in bytes, may be parts of one message …
const JOINED_WITHIN: usize = 80;
/// … unless a statement ends between them.
const ENDS_STATEMENT: char = ';';
/// What joins a value to the string behind it …
const JOINS_BEFORE: [&str; 3] = ["+", "..", " ."];
/// … and a string to the value behind it.
const JOINS_AFTER: [&str; 4] = ["+", "<<", "..", ". "];
/// What divides a message from what stands around it …
const DIVIDES: &str = "[]{}()|\"`\n";
/// … and what does so before a space.
const DIVIDES_BEFORE_SPACE: &str = ":.;!?-\u{2013}\u{2014}'";
/// So many parts of a question are looked for besides all of it.
const MOST_PARTS: usize = 4;
/// In bytes: what is longer is a document.
const LONGEST_STRING: usize = 2000;
/// In bytes.
const LONGEST_PLACEHOLDER: usize = 200;

/// The parts of a question that a program may have printed: those that punctuation divides it into, and all of it unless it is
/// plain speech.
pub fn printed_parts(question: &str) -> Vec<&str> {
    let mut divided = Vec::new();
    let mut from = 0;
    for (at, c) in question.char_indices() {
        let behind = at + c.len_utf8();
        let ends_word = || question[behind..].chars().next().is_some_and(char::is_whitespace);
        if DIVIDES.contains(c) || (DIVIDES_BEFORE_SPACE.contains(c) && ends_word()) {
            divided.push(&question[from..at]);
            from = behind;
        }
    }
    if from > 0 {
        divided.push(&question[from..]);
    }
    let words = |part: &&str| words_of(part).nth(LEAST_WORDS as usize - 1).is_some();
    let whole = (from > 0 || !is_plain(question)).then_some(question);
    whole.into_iter().chain(divided.into_iter().filter(words).take(MOST_PARTS)).collect()
}

/// Whether a text of no parts is speech rather than what a program printed, which has values in it or states something.
fn is_plain(text: &str) -> bool {
    let states = text.starts_with(char::is_uppercase) && !text.ends_with('?');
    !states && !text.contains(|c: char| c.is_ascii_digit())
}

/// The message of a text that says most of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Message {
    /// Share of the question's weight that its own words hold, 0 to 1.
    pub held: f32,
    /// The same of what isn't a value, where what stands outside of it hardly counts.
    pub share: f32,
    /// Its words.
    pub words: u32,
}

/// A string of a text.
#[derive(Debug, PartialEq)]
struct Literal<'a> {
    /// Where it stands with its quotes, in bytes.
    at: Range<usize>,
    /// The words between its placeholders, in order; none is empty.
    pieces: Vec<Vec<&'a str>>,
    /// It begins with a placeholder.
    opens: bool,
    /// It ends with one.
    closes: bool,
    /// There is a space in it.
    spoken: bool,
}

/// Strings that were laid over the question one behind the other.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// Where the last one ends in the text.
    end: usize,
    /// The question's words from the first to behind the last one found.
    from: usize,
    to: usize,
    opens: bool,
    closes: bool,
    weight: f32,
    words: u32,
    telling: u32,
    spoken: bool,
}

impl Phrase {
    /// The message of `text` that says most of the question; none unless all words of its strings are in it.
    pub fn message(&self, text: &str) -> Message {
        if self.is_empty() {
            return Message::default();
        }
        let mut best = Message::default();
        let mut chain: Option<Chain> = None;
        let mut lower = String::new();
        let mut is_asked = |word: &str| !self.places_of(word, &mut lower).is_empty();
        for (at, inner) in literals(text) {
            // Most strings have a word that wasn't asked for, so most are not taken apart any further.
            let Some(mut literal) = Literal::read(inner, at, &mut is_asked) else {
                chain = None;
                continue;
            };
            literal.opens |= JOINS_BEFORE.iter().any(|join| text[..literal.at.start].trim_end().ends_with(join));
            literal.closes |= JOINS_AFTER.iter().any(|join| text[literal.at.end..].trim_start().starts_with(join));
            if literal.pieces.is_empty() {
                continue;
            }
            let before = chain.filter(|chain| {
                let between = text.get(chain.end..literal.at.start);
                between.is_some_and(|between| between.len() <= JOINED_WITHIN && !between.contains(ENDS_STATEMENT))
            });
            let after = before.and_then(|chain| Some(chain.joined(&self.lay(&literal, Some(chain.to))?)));
            chain = after.or_else(|| self.lay(&literal, None));
            if let Some(chain) =
                chain.filter(|chain| chain.spoken && chain.words >= LEAST_WORDS && chain.telling >= LEAST_TELLING)
            {
                let found = self.judged(&chain);
                if (found.held, found.share) > (best.held, best.share) {
                    best = found;
                }
            }
        }
        best
    }

    /// Find the words of a string in the question, from a place on or anywhere.
    fn lay(&self, literal: &Literal<'_>, from: Option<usize>) -> Option<Chain> {
        let mut to = from.unwrap_or(0);
        let mut first = None;
        let (mut weight, mut words, mut telling) = (0.0, 0, 0);
        for piece in &literal.pieces {
            let start = self.find_piece(piece, to)?;
            if (first.is_some() || from.is_some()) && start - to > LONGEST_VALUE {
                return None;
            }
            first.get_or_insert(start);
            to = start + piece.len();
            weight += self.words[start..to].iter().map(|word| word.weight).sum::<f32>();
            words += piece.len() as u32;
            telling += self.words[start..to].iter().filter(|word| word.weight > LEAST_WEIGHT).count() as u32;
        }
        let Literal { at, opens, closes, spoken, .. } = literal;
        Some(Chain { end: at.end, from: first?, to, opens: *opens, closes: *closes, weight, words, telling, spoken: *spoken })
    }

    /// The first place from `from` on where the question has these words in a row.
    fn find_piece(&self, piece: &[&str], from: usize) -> Option<usize> {
        let mut lower = String::new();
        let places = self.places_of(piece[0], &mut lower);
        let mut holds = |start: usize| {
            let asked = self.words.get(start..start + piece.len());
            asked.is_some_and(|asked| {
                asked.iter().zip(piece).skip(1).all(|(asked, word)| asked.lower == lowered(word, &mut lower))
            })
        };
        places.iter().copied().find(|&start| start >= from && holds(start))
    }

    fn judged(&self, chain: &Chain) -> Message {
        let sum = |range: Range<usize>| self.words[range].iter().map(|word| word.weight).sum::<f32>();
        let from = if chain.opens { chain.from.saturating_sub(LONGEST_VALUE) } else { chain.from };
        let to = if chain.closes { (chain.to + LONGEST_VALUE).min(self.words.len()) } else { chain.to };
        let values = sum(from..to) - chain.weight;
        let outside = self.weight - chain.weight - values;
        let others = (chain.weight + OUTSIDE * outside).max(f32::MIN_POSITIVE);
        Message {
            held: (chain.weight / self.weight).clamp(0.0, 1.0),
            share: (chain.weight / others).max(chain.weight / FULL_WEIGHT).clamp(0.0, 1.0),
            words: chain.words,
        }
    }
}

impl Chain {
    fn joined(self, next: &Self) -> Self {
        Self {
            end: next.end,
            from: self.from,
            to: next.to,
            opens: self.opens,
            closes: next.closes,
            weight: self.weight + next.weight,
            words: self.words + next.words,
            telling: self.telling + next.telling,
            spoken: self.spoken || next.spoken,
        }
    }
}

/// The strings of a text in any language, with their places: between double quotes, single quotes or backticks, and between three
/// of them.
fn literals(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
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
    fn read(inner: &'a str, at: Range<usize>, is_asked: &mut impl FnMut(&str) -> bool) -> Option<Self> {
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
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let inner = if follows { part.trim_start_matches(is_part) } else { part };
    let inner = if precedes { inner.trim_end_matches(is_part) } else { inner };
    for (_, word) in words_of(inner) {
        if !is_asked(word) {
            return None;
        }
        words.push(word);
    }
    Some(())
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
    let name_to = |at: usize| at + text[at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - at);
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
    use proptest::prelude::*;

    use super::{Literal, Message, Phrase, literals, placeholder, printed_parts};

    fn found(question: &str, text: &str) -> Message {
        Phrase::new(question, |word| if ["the", "a", "of"].contains(&word) { 0.0 } else { 3.0 }).message(text)
    }

    #[test]
    fn punctuation_divides_what_may_be_printed_and_plain_speech_is_not_looked_for() {
        let whole = "[E 26/03/02] shop: no order for 7 - any idea what this is?";
        assert_eq!(printed_parts(whole), [whole, "E 26/03/02", " no order for 7 ", " any idea what this is?"]);
        assert_eq!(printed_parts("No space left on device"), ["No space left on device"]);
        assert_eq!(printed_parts("why 404 on this page"), ["why 404 on this page"]);
        let speech = ["", "where is the connection opened", "How does the retry work?", "?"];
        assert!(speech.iter().all(|text| printed_parts(text).is_empty()), "nothing of speech");
    }

    #[track_caller]
    fn writes(question: &str, text: &str, words: u32) {
        let message = found(question, text);
        assert!(message.share > 0.99 && message.words == words, "{question} in {text}: {message:?}");
    }

    #[track_caller]
    fn writes_not(question: &str, text: &str) {
        assert_eq!(found(question, text), Message::default(), "{question} in {text}");
    }

    #[test]
    fn placeholders_of_many_languages_take_values() {
        writes("Could not open /var/db/a.sqlite: disk full", r#"raise Error(f"Could not open {path}: {reason}")"#, 3);
        writes("Could not open /var/db/a.sqlite: disk full", r#"Error("Could not open %s: %s" % (path, reason))"#, 3);
        writes("Could not open a.db twice", r#"_("Could not open %(path)s twice")"#, 4);
        writes("Could not open a.db twice", "throw new Error(`Could not open ${this.path()} twice`)", 4);
        writes("Could not open a.db twice", r#"raise "Could not open #{path} twice""#, 4);
        writes("Could not open a.db twice", r#"fatalError("Could not open \(path) twice")"#, 4);
        writes("Could not open a.db twice", r#"die("Could not open $path twice")"#, 4);
        writes("Could not open a.db twice", "'Could not open :path twice'", 4);
        writes("took 00017 ms to open the file", r#"log("took %05d ms to open the file")"#, 6);
        writes("Could not open a.db twice", r#"[NSString stringWithFormat:@"Could not open %@ twice", path]"#, 4);
        writes("could NOT open a.db twice", r#""Could not open {} twice""#, 4);
    }

    #[test]
    fn words_stand_in_their_order() {
        writes_not("not open could a.db", r#""Could not open {}""#);
        writes_not("open a.db twice could not", r#""open {} twice {} could {} not it""#);
    }

    #[test]
    fn a_string_with_a_word_that_was_not_printed_is_another_message() {
        writes_not("Could not open a.db", r#""Could not open the database {}""#);
    }

    #[test]
    fn what_touches_a_placeholder_may_be_a_part_of_the_value() {
        writes("Failed to load model_v2.bin from cache", r#""Failed to load model_{version}.bin from cache""#, 6);
    }

    #[test]
    fn strings_side_by_side_are_one_message() {
        let code = "error('Could not open ' + path +\n      ' for writing twice');";
        writes("Could not open a.db for writing twice", code, 6);
        let apart = "error('Could not open it'); error('for writing twice');";
        assert_eq!(found("Could not open it for writing twice", apart).words, 4);
    }

    #[test]
    fn a_few_words_of_speech_are_no_message() {
        writes_not("Could not open a.db", r#"x = "open""#);
        writes_not("a value of the table is not open", r#""of {} the {} a""#);
    }

    #[test]
    fn what_says_more_of_the_question_is_taken() {
        let message = found(
            "Could not open a.db because of locked pages",
            "['Could not open', 'Could not open {} because of locked pages']",
        );
        assert_eq!(message.words, 7);
    }

    #[test]
    fn neither_values_nor_what_stands_around_a_message_lower_its_share_but_it_holds_less() {
        let values = found("port 8080 is in use already", r#""port {} is in use already""#);
        let told =
            found("starting the new build server of our team on this machine failed since port is in use", r#""port is in use""#);
        assert!(values.share > 0.99 && told.share > 0.9, "{values:?} {told:?}");
        assert!(values.held < 1.0 && told.held < values.held);
    }

    #[test]
    fn a_path_or_a_list_of_names_is_no_message() {
        writes_not("how does shop.orders.backends.Postgres connect", r#"BACKEND = "shop.orders.backends.Postgres""#);
        writes_not("how does shop/orders/deep_merge/list work", r#"require "shop/orders/deep_merge/list""#);
        writes_not("set name, user, password and host", "d['name']\nd['user']\nd['password']\nd['host']");
    }

    #[test]
    fn joined_values_do_not_lower_the_share() {
        for code in ["'Cannot read index ' + path", "<< \"Cannot read index \" << path", "'Cannot read index ' . $path"] {
            writes("Cannot read index /srv/customers/ledger/stale/pool.bin", code, 3);
        }
        writes("/srv/customers/ledger.bin has no ferry left", r#"path + " has no ferry left""#, 4);
    }

    #[test]
    fn escapes_and_line_ends_divide_words() {
        writes("Cannot mount customers read only", r#""\033[31mCannot mount %s read only\033[0m\n""#, 4);
        writes("Cannot mount customers read only", r#""\x1b[1;31mCannot mount %s read only%n""#, 4);
        writes("arena is full: wanted 128 more", "\"arena is full: \\\r\n    wanted {} more\"", 5);
        writes("Could not store report for blue", r#"printf("Could not store report for %s%n", x)"#, 5);
    }

    #[test]
    fn strings_behind_marks_that_quote_nothing_are_read() {
        let fenced = "/// ```\n/// println!(\"task {} completed polling twice\", id);\n/// ```";
        writes("task 1906 completed polling twice", fenced, 4);
        let comments = "/* see `foo' for this */\ndie(\"inode table of %s is corrupt here\");\n/* like `bar' does */";
        writes("inode table of blue is corrupt here", comments, 6);
        writes("port 7 is in use", "fn f<'a>(x: &'a str) { fail(\"port {} is in use\", 'x') }", 4);
        let long = format!("\"\"\"{}\"\"\"\nraise E(\"port {{}} is in use\")\n\"\"\"Next.\"\"\"", "word ".repeat(900));
        writes("port 7 is in use", &long, 4);
    }

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
    }

    proptest! {
        #[test]
        fn a_printed_message_is_found(
            before in "[b-z]{2,8}( [b-z]{2,8}){2,5}",
            value in "[A-Z0-9/.]{1,12}",
            after in "( [b-z]{2,8}){0,4}",
            prefix in "[a-z =(]{0,20}",
        ) {
            let message = found(&format!("{before} {value}{after}"), &format!("{prefix} \"{before} {{}}{after}\")"));
            prop_assert!(message.share > 0.99, "{message:?}");
        }

        #[test]
        fn any_text_is_read(question in ".{0,60}", text in "[\"'`%{}$#\\\\:()a-c \n\u{e9}]{0,200}") {
            let message = Phrase::new(&question, |_| 1.0).message(&text);
            prop_assert!((0.0..=1.0).contains(&message.share) && (0.0..=1.0).contains(&message.held));
        }
    }
}

//! Whether a text writes a message that a question pastes.
//!
//! A program prints `Could not open /tmp/a.db: locked` where its code says `"Could not open {path}: {reason}"`. No run of the
//! question's words stands in that code as a whole, and the values that were put in are often its rarest words. So the strings
//! of the text are laid over the question: their words in their order, with whatever words in place of placeholders.

use std::iter;
use std::ops::Range;

use super::phrase::{Phrase, lowered, words_of};
use super::string_literals::{Literal, literals};

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

/// The parts of a question that a program may have printed: those that punctuation divides it into, and all of it unless it is
/// plain speech.
pub fn printed_parts(question: &str) -> Vec<&str> {
    let mut divided = Vec::new();
    let (mut from, mut asks_only) = (0, true);
    for (at, c) in question.char_indices() {
        let behind = at + c.len_utf8();
        let ends_word = || question[behind..].chars().next().is_some_and(char::is_whitespace);
        if DIVIDES.contains(c) || (DIVIDES_BEFORE_SPACE.contains(c) && ends_word()) {
            divided.push(&question[from..at]);
            from = behind;
            asks_only &= c == '?';
        }
    }
    // Questions one after the other are speech as one alone is.
    if asks_only && is_plain(question[from..].trim_start()) && !question.contains(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    if from > 0 {
        divided.push(&question[from..]);
    }
    let words = |part: &&str| words_of(part).nth(LEAST_WORDS as usize - 1).is_some();
    iter::once(question).chain(divided.into_iter().filter(words).take(MOST_PARTS)).collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Message, Phrase, printed_parts};

    fn found(question: &str, text: &str) -> Message {
        Phrase::new(question, |word| if ["the", "a", "of"].contains(&word) { 0.0 } else { 3.0 }).message(text)
    }

    #[test]
    fn punctuation_divides_what_may_be_printed_and_plain_speech_is_not_looked_for() {
        let whole = "[E 26/03/02] shop: no order for 7 - any idea what this is?";
        assert_eq!(printed_parts(whole), [whole, "E 26/03/02", " no order for 7 ", " any idea what this is?"]);
        assert_eq!(printed_parts("No space left on device"), ["No space left on device"]);
        assert_eq!(printed_parts("why 404 on this page"), ["why 404 on this page"]);
        let asked = "Why does it end? no order for 7";
        assert_eq!(printed_parts(asked), [asked, "Why does it end", " no order for 7"]);
        let two = "How are requests tried again? where is the connection opened";
        let speech = ["", "where is the connection opened", "How does the retry work?", "?", two];
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
        writes("Could not open a.db (ro) twice", "RAISE EXCEPTION 'Could not open % (%) twice', path, mode;", 4);
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

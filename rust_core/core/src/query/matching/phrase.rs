//! What a text holds of a question word for word.
//!
//! A person who pastes an error message, a heading or an identifier wants the place that holds it as it stands. The index keeps no
//! positions of words, so this is asked of the texts of the few candidates that hold most of the question's words.

use std::collections::HashMap;

/// A question of more words is no quotation: it is told, and its parts are looked for otherwise.
const MOST_WORDS: usize = 60;

/// What an identifier in another case counts: `MAX_SIZE` is hardly ever meant by `max_size`.
const OTHER_CASE: f32 = 0.9;
/// What a word counts that is joined otherwise to the one before: `restore-keys` is hardly ever meant by `restore keys`.
const OTHER_JOINT: f32 = 0.8;
/// What joins the words of one name, as in `x-forwarded-for`, `tcp:8889`, `a/b.py` or `std::mem`.
const JOINTS: [char; 8] = ['-', '.', '/', ':', '\\', '@', '#', '>'];
/// In characters: `...` is punctuation.
const LONGEST_JOINT: usize = 2;
/// A word in capitals of so many letters is a name: `SIGTERM`, `TOXENV`. Shorter ones are often words of speech (`HTTP`, `JSON`).
const CAPITALS: usize = 5;

/// The longest run of the question's words that stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quote {
    /// Share of the question's weight that the run holds, 0 to 1.
    pub share: f32,
    /// Words in the run.
    pub words: u32,
    /// There is a name in it: an identifier in the letters' own case, or joined words that are joined alike.
    pub identifier: bool,
    /// It is all of the question, and all that one line says: a title.
    pub alone: bool,
}

/// What a word of speech weighs: `this is a message` is more than `message` …
const WORD_OF_SPEECH: f32 = 0.3;
/// … and at either end of a question, where it asks rather: `where does this message come from`.
const AT_AN_END: f32 = 0.05;

/// A question as a sequence of words with their weights.
#[derive(Debug, Default)]
pub struct Phrase {
    pub(super) words: Vec<Word>,
    /// Places of each lower-case word.
    places: HashMap<String, Vec<usize>>,
    /// What ASCII words are among them, roughly.
    ascii: Shapes,
    pub(super) weight: f32,
}

/// First letters and lengths of lower-case ASCII words: tells most other words from them before anything is hashed.
#[derive(Clone, Copy, Debug)]
struct Shapes([u64; 128]);

impl Default for Shapes {
    fn default() -> Self {
        Self([0; 128])
    }
}

impl Shapes {
    fn add(&mut self, word: &str) {
        if let Some(&first) = word.as_bytes().first().filter(|_| word.is_ascii()) {
            self.0[first as usize] |= 1 << (word.len() % 64);
        }
    }

    /// Whether a word may be one of those in other letters; always for one that isn't ASCII, since its lower case may be.
    #[inline]
    fn may_have(&self, word: &str) -> bool {
        let first = word.as_bytes().first().map_or(0, u8::to_ascii_lowercase);
        self.0.get(first as usize).is_none_or(|lengths| lengths >> (word.len() % 64) & 1 == 1) || !word.is_ascii()
    }
}

#[derive(Debug)]
pub(super) struct Word {
    text: String,
    pub(super) lower: String,
    pub(super) weight: f32,
    identifier: bool,
    /// What joins it to the word before; empty where it begins a name or stands alone.
    joint: String,
    /// It is the last of joined words.
    ends_name: bool,
}

/// A run that ends at some word of the question.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    weight: f32,
    words: u32,
    /// Words in the letters' own case.
    same_case: u32,
    identifier: bool,
    /// It holds the name that it is in from its first word on, joined alike.
    joined: bool,
}

impl Phrase {
    /// Tell whether a text has words and is short enough to be a quotation.
    pub fn may_be(text: &str) -> bool {
        (1..=MOST_WORDS).contains(&words_of(text).take(MOST_WORDS + 1).count())
    }

    /// Take a question apart; `weight` says what each of its words tells, 0 for a word of speech. Empty for a question that is too
    /// long.
    pub fn new(text: &str, mut weight: impl FnMut(&str) -> f32) -> Self {
        if !Self::may_be(text) {
            return Self::default();
        }
        let mut words: Vec<Word> = Vec::new();
        for (gap, word) in words_of(text) {
            let is_joint = !gap.is_empty() && gap.chars().count() <= LONGEST_JOINT && gap.chars().all(|c| JOINTS.contains(&c));
            let joins = is_joint && !words.is_empty();
            if let Some(before) = words.last_mut().filter(|_| joins) {
                before.ends_name = false;
            }
            words.push(Word {
                text: word.to_owned(),
                lower: word.to_lowercase(),
                weight: weight(word),
                identifier: is_identifier(word),
                joint: if joins { gap.to_owned() } else { String::new() },
                ends_name: joins,
            });
        }
        let telling = |word: &Word| word.weight > 0.0;
        let inner =
            words.iter().position(telling).unwrap_or(0)..words.iter().rposition(telling).map_or(words.len(), |last| last + 1);
        // Two words with a hyphen are often speech ("a read-only view"), unless nothing else is asked for.
        for end in 1..words.len() {
            let [before, last] = &mut words[end - 1..=end] else { continue };
            let plain = matches!(last.joint.as_str(), "-" | "/") && !(before.identifier || last.identifier);
            last.ends_name &= !(plain && before.joint.is_empty()) || inner == (end - 1..end + 1);
        }
        for (i, word) in words.iter_mut().enumerate().filter(|(_, word)| word.weight <= 0.0) {
            word.weight = if inner.contains(&i) { WORD_OF_SPEECH } else { AT_AN_END };
        }
        let (mut places, mut ascii) = (HashMap::<String, Vec<usize>>::new(), Shapes::default());
        for (i, word) in words.iter().enumerate() {
            places.entry(word.lower.clone()).or_default().push(i);
            ascii.add(&word.lower);
        }
        let total = words.iter().map(|word| word.weight).sum();
        Self { words, places, ascii, weight: total }
    }

    /// Where the question has this word, in whatever case. `buffer` is for its lower case.
    #[inline]
    pub(super) fn places_of(&self, word: &str, buffer: &mut String) -> &[usize] {
        if self.ascii.may_have(word) { self.places.get(lowered(word, buffer)).map_or(&[], Vec::as_slice) } else { &[] }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.weight <= 0.0
    }

    /// The run of the question's words that weighs most in `text`; of equal ones the longest, then the one in the same case.
    pub fn find(&self, text: &str) -> Quote {
        if self.is_empty() {
            return Quote::default();
        }
        let mut best = Run::default();
        // The runs that end at the word before, by the place of their last word.
        let mut before: Vec<(usize, Run)> = Vec::new();
        let mut here: Vec<(usize, Run)> = Vec::new();
        let mut lower = String::new();
        for (gap, word) in words_of(text) {
            here.clear();
            for &place in self.places_of(word, &mut lower) {
                let asked = &self.words[place];
                let run = before.iter().find(|(last, _)| last + 1 == place).map_or_else(Run::default, |(_, run)| *run);
                let same = asked.text == word;
                let alike = asked.joint.is_empty() || asked.joint == gap;
                let joined = asked.joint.is_empty() || (run.joined && alike);
                let of_case = if same || !asked.identifier { 1.0 } else { OTHER_CASE };
                let run = Run {
                    weight: run.weight + asked.weight * of_case * if run.words == 0 || alike { 1.0 } else { OTHER_JOINT },
                    words: run.words + 1,
                    same_case: run.same_case + u32::from(same),
                    identifier: run.identifier || (same && asked.identifier) || (joined && asked.ends_name),
                    joined,
                };
                if (run.weight, run.words, run.same_case) > (best.weight, best.words, best.same_case) {
                    best = run;
                }
                here.push((place, run));
            }
            std::mem::swap(&mut before, &mut here);
        }
        let is_whole = best.words as usize == self.words.len();
        let alone = is_whole && text.lines().any(|line| self.is_all_of(line));
        Quote { share: (best.weight / self.weight).clamp(0.0, 1.0), words: best.words, identifier: best.identifier, alone }
    }

    /// Tell whether a line says this and nothing else, whatever marks stand around it.
    fn is_all_of(&self, line: &str) -> bool {
        // As a notebook has it.
        let line = line.trim_end_matches([',', '"']);
        let line = line.strip_suffix("\\n").unwrap_or(line);
        let mut asked = self.words.iter();
        words_of(line).all(|(_, word)| asked.next().is_some_and(|own| own.lower == word.to_lowercase())) && asked.next().is_none()
    }
}

/// Runs of letters, digits and underscores, numbers with dots among them (`8.1.4`, also of `v8.1.4`), each with what stands between
/// it and the one before.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (gap, from) = rest.split_at(run(rest, false));
        let (word, after) = from.split_at(run(from, true));
        rest = after;
        let number =
            word.strip_prefix(['v', 'V']).filter(|rest| rest.contains('.') && rest.starts_with(|c: char| c.is_ascii_digit()));
        let word = number.unwrap_or(word);
        (!word.is_empty()).then_some((gap, word))
    })
}

/// Whether a byte is an ASCII letter, a digit or an underscore.
const IS_PART: [bool; 256] = {
    let mut is_part = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        is_part[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    is_part
};

/// How many bytes at the beginning of a text are parts of words, or are none. Only characters beyond ASCII are decoded.
fn run(text: &str, of_word: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        while let Some(&byte) = bytes.get(at)
            && byte.is_ascii()
            && IS_PART[byte as usize] == of_word
        {
            at += 1;
        }
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        match text[at..].chars().next() {
            Some('.') if of_word && at > 0 && is_digit(at - 1) && is_digit(at + 1) => at += 1,
            Some(c) if !c.is_ascii() && c.is_alphanumeric() == of_word => at += c.len_utf8(),
            _ => return at,
        }
    }
}

/// A word in lower case, in a buffer.
pub(super) fn lowered<'b>(word: &str, buffer: &'b mut String) -> &'b str {
    buffer.clear();
    if word.is_ascii() {
        buffer.push_str(word);
        buffer.make_ascii_lowercase();
    } else {
        buffer.push_str(&word.to_lowercase());
    }
    buffer
}

/// A name rather than a word of speech: it has an underscore, an inner capital, digits among letters or dots, or is in capitals.
fn is_identifier(word: &str) -> bool {
    let has = |test: fn(char) -> bool| word.chars().any(test);
    let inner_capital = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let in_capitals = word.chars().count() >= CAPITALS && word.chars().all(char::is_uppercase);
    word.contains('_') || inner_capital || in_capitals || (has(char::is_numeric) && has(|c| c == '.' || c.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Phrase, Shapes, words_of};

    #[track_caller]
    fn check(question: &str, text: &str, share: f32, words: u32, identifier: bool) {
        let found = Phrase::new(question, |word| if word == "the" { 0.0 } else { 1.0 }).find(text);
        assert!((found.share - share).abs() < 1e-6, "{question} in {text}: {found:?}");
        assert_eq!((found.words, found.identifier), (words, identifier), "{question} in {text}");
    }

    #[test]
    fn the_longest_run_counts() {
        check("Could not open the file", "raise E('could  not open\n the file')", 1.0, 5, false);
        check("Could not open the file", "open file; not open", 2.0 / 4.3, 2, false);
        check("Could not open", "nothing of it", 0.0, 0, false);
        check("what is max_size for", "MAX_SIZE = 1", 0.225, 1, false);
        check("what is max_size for", "self.max_size", 0.25, 1, true);
        check("what is SIGTERM for", "on sigterm", 0.225, 1, false);
        check("what is SIGTERM for", "signal.SIGTERM", 0.25, 1, true);
        check("what changed in 8.1.4", "## Version 8.1.4", 0.25, 1, true);
        check("what changed in v8.1.4", "## Version 8.1.4", 0.25, 1, true);
        check("8.1.4", "## v8.1.4", 1.0, 1, true);
        check("8.1", "8.1.4, 1.8.1, 8, 1", 0.0, 0, false);
        check("a b a b c", "a b c", 0.6, 3, false);
        check("", "a", 0.0, 0, false);
    }

    #[test]
    fn words_of_speech_count_within_a_quotation_and_hardly_around_it() {
        check("the connection the", "a connection", 1.0 / 1.1, 1, false);
        check("connection the file", "connection file", 1.0 / 2.3, 1, false);
        check("the", "the", 1.0, 1, false);
    }

    #[test]
    fn joined_words_are_one_name_where_they_are_joined_alike() {
        check("restore-keys", "with:\n  restore-keys: |", 1.0, 2, true);
        check("restore-keys", "Restore-Keys", 1.0, 2, true);
        check("restore-keys", "restore keys", 0.9, 2, false);
        check("x-forwarded-for", "forwarded-for", 2.0 / 3.0, 2, false);
        check("x-forwarded-for", "x/forwarded-for", 2.8 / 3.0, 3, false);
        check("std::mem", "use std::mem;", 1.0, 2, true);
        check("tcp:8889", "tcp: 8889", 0.9, 2, false);
        check("stop here. go on", "stop here. go on", 1.0, 4, false);
        check("stop...go", "stop...go", 1.0, 2, false);
        check("x-forwarded-for", "x-forwarded", 2.0 / 3.0, 2, false);
        check("src/app.py a->b", "src/app.py", 0.6, 3, true);
        check("where the read-only flag", "read-only flag", 3.0 / 4.3, 3, false);
        check("the read-only", "read-only", 2.0 / 2.05, 2, true);
        check("ABORT it", "ABORT", 0.5, 1, true);
        check("JSON it", "JSON", 0.5, 1, false);
        check("НЕТ it", "НЕТ", 0.5, 1, false);
    }

    #[test]
    fn a_line_that_says_nothing_else_is_a_title() {
        for (text, alone) in [
            ("= Stylesheet Modes\n\nText.", true),
            ("  \"## Stylesheet Modes\\n\",\n", true),
            ("All stylesheet modes", false),
            ("= Stylesheet\n= Modes", false),
        ] {
            assert_eq!(Phrase::new("stylesheet modes", |_| 1.0).find(text).alone, alone, "{text}");
        }
    }

    #[test]
    fn a_long_text_is_no_quotation() {
        assert!(Phrase::new(&"word ".repeat(61), |_| 1.0).is_empty());
    }

    proptest! {
        #[test]
        fn words_are_what_stands_between_other_characters(text in "[ab_9. \\-é²\u{4e2d}\u{2028}😀]{0,30}") {
            let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
            let joins = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
            let joined: String = text.char_indices().map(|(at, c)| if c == '.' && joins(at) { '_' } else { c }).collect();
            let words: Vec<String> = words_of(&text).map(|(_, word)| word.replace('.', "_")).collect();
            let expected = joined.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            prop_assert_eq!(words, expected.collect::<Vec<_>>());
            let last = words_of(&text).last().map_or(0, |(_, word)| word.as_ptr() as usize + word.len() - text.as_ptr() as usize);
            prop_assert_eq!(words_of(&text).map(|(gap, word)| gap.len() + word.len()).sum::<usize>(), last);
        }

        #[test]
        fn a_word_in_any_case_may_be_asked(word in "[a-zA-Z0-9_K]{1,70}") {
            let mut shapes = Shapes::default();
            shapes.add(&word.to_lowercase());
            prop_assert!(shapes.may_have(&word) && shapes.may_have(&word.to_uppercase()));
        }

        #[test]
        fn a_question_is_found_in_a_text_that_quotes_it(before in "[a-z ]{0,30}", question in "[b-z]{1,8}( [b-z]{1,8}){0,6}") {
            let found = Phrase::new(&question, |_| 1.0).find(&format!("{before} {question}."));
            prop_assert!((found.share - 1.0).abs() < 1e-6);
        }
    }
}

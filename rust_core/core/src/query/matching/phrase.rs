//! What a text holds of a question word for word.
//!
//! A person who pastes an error message, a heading or an identifier wants the place that holds it as it stands. The index keeps no
//! positions of words, so this is asked of the texts of the few candidates that hold most of the question's words.

use std::collections::HashMap;

/// A question of more words is no quotation: it is told, and its parts are looked for otherwise.
const MOST_WORDS: usize = 60;

/// What an identifier in another case counts: `MAX_SIZE` is hardly ever meant by `max_size`.
const OTHER_CASE: f32 = 0.9;

/// The longest run of the question's words that stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quote {
    /// Share of the question's weight that the run holds, 0 to 1.
    pub share: f32,
    /// Words in the run.
    pub words: u32,
    /// One of them is an identifier, in the letters' own case.
    pub identifier: bool,
}

/// A question as a sequence of words with their weights.
#[derive(Debug, Default)]
pub struct Phrase {
    words: Vec<Word>,
    /// Places of each lower-case word.
    places: HashMap<String, Vec<usize>>,
    weight: f32,
}

#[derive(Debug)]
struct Word {
    text: String,
    weight: f32,
    identifier: bool,
}

/// A run that ends at some word of the question.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    weight: f32,
    words: u32,
    /// Words in the letters' own case.
    same_case: u32,
    identifier: bool,
}

impl Phrase {
    /// Take a question apart; `weight` says what each of its words tells. Empty for a question that is too long.
    pub fn new(text: &str, mut weight: impl FnMut(&str) -> f32) -> Self {
        let words: Vec<&str> = words_of(text).take(MOST_WORDS + 1).collect();
        if words.len() > MOST_WORDS {
            return Self::default();
        }
        let words: Vec<Word> = words
            .into_iter()
            .map(|word| Word { text: word.to_owned(), weight: weight(word), identifier: is_identifier(word) })
            .collect();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, word) in words.iter().enumerate() {
            places.entry(word.text.to_lowercase()).or_default().push(i);
        }
        let total = words.iter().map(|word| word.weight).sum();
        Self { words, places, weight: total }
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
        for word in words_of(text) {
            lower.clear();
            if word.is_ascii() {
                lower.extend(word.chars().map(|c| c.to_ascii_lowercase()));
            } else {
                lower.push_str(&word.to_lowercase());
            }
            here.clear();
            for &place in self.places.get(&lower).map_or(&[][..], Vec::as_slice) {
                let asked = &self.words[place];
                let run = before.iter().find(|(last, _)| last + 1 == place).map_or_else(Run::default, |(_, run)| *run);
                let same = asked.text == word;
                let weight = if same || !asked.identifier { asked.weight } else { OTHER_CASE * asked.weight };
                let run = Run {
                    weight: run.weight + weight,
                    words: run.words + 1,
                    same_case: run.same_case + u32::from(same),
                    identifier: run.identifier || (same && asked.identifier),
                };
                if (run.weight, run.words, run.same_case) > (best.weight, best.words, best.same_case) {
                    best = run;
                }
                here.push((place, run));
            }
            std::mem::swap(&mut before, &mut here);
        }
        Quote { share: (best.weight / self.weight).clamp(0.0, 1.0), words: best.words, identifier: best.identifier }
    }
}

/// Runs of letters, digits and underscores.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A name rather than a word of speech: it has an underscore, an inner capital, or digits among letters.
fn is_identifier(word: &str) -> bool {
    let has = |test: fn(char) -> bool| word.chars().any(test);
    let inner_capital = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    word.contains('_') || inner_capital || (has(char::is_numeric) && has(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Phrase, Quote};

    #[track_caller]
    fn check(question: &str, text: &str, share: f32, words: u32, identifier: bool) {
        let found = Phrase::new(question, |word| if word == "the" { 0.0 } else { 1.0 }).find(text);
        assert_eq!(found, Quote { share, words, identifier }, "{question} in {text}");
    }

    #[test]
    fn the_longest_run_counts() {
        check("Could not open the file", "raise E('could  not open\n the file')", 1.0, 5, false);
        check("Could not open the file", "open file; not open", 0.5, 2, false);
        check("Could not open", "nothing of it", 0.0, 0, false);
        check("what is max_size for", "MAX_SIZE = 1", 0.225, 1, false);
        check("what is max_size for", "self.max_size", 0.25, 1, true);
        check("a b a b c", "a b c", 0.6, 3, false);
        check("", "a", 0.0, 0, false);
    }

    #[test]
    fn a_long_text_is_no_quotation() {
        assert!(Phrase::new(&"word ".repeat(61), |_| 1.0).is_empty());
    }

    proptest! {
        #[test]
        fn a_question_is_found_in_a_text_that_quotes_it(before in "[a-z ]{0,30}", question in "[b-z]{1,8}( [b-z]{1,8}){0,6}") {
            let found = Phrase::new(&question, |_| 1.0).find(&format!("{before} {question}."));
            prop_assert!((found.share - 1.0).abs() < 1e-6);
        }
    }
}

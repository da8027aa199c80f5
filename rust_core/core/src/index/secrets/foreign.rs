//! Find what other languages call a password: the words of Django's translations (`password_words.json`, made by `convert_django.py`).

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input};
use serde::Deserialize;

use super::named::{Name, class_of, words_of};
use super::operators::{LONGEST_NAME, is_name};
use super::values::Class;
use super::wording::is_jumble;

pub(super) const WORD_FILE: &str = include_str!("password_words.json");

#[derive(Deserialize)]
struct WordFile {
    words: Vec<String>,
}

/// A shorter word is part of others by chance: `senha` of `desenha`. Longer ones make compounds: `beheerderswachtwoord`.
const COMPOUND: usize = 8;

/// The words with one blank between them.
static WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let file: WordFile = serde_json::from_str(WORD_FILE).expect("made by a program");
    file.words.iter().map(|word| word.replace('-', " ")).collect()
});

/// Finds the words whose letters aren't those of ASCII. Few lines have such letters: only those are read a second time.
static ACCENTED: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = written().into_iter().filter(|word| !word.is_ascii());
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("some hundred short words")
});

/// Return the words of ASCII's letters, which are looked for with the names of English.
pub(super) fn triggers() -> Vec<String> {
    written().into_iter().filter(|word| word.is_ascii()).collect()
}

/// Return where other words stand.
pub(super) fn accented(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    let other = if text.is_ascii() { "" } else { text };
    let lines = other.split_inclusive('\n').map(move |line| {
        end += line.len();
        (line, end - line.len()..end)
    });
    let lines = lines.filter(|(line, _)| !line.is_ascii());
    lines.flat_map(move |(_, range)| ACCENTED.find_overlapping_iter(Input::new(text).range(range)).map(|hit| hit.range()))
}

/// Return each word as labels and identifiers write it.
fn written() -> Vec<String> {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    };
    let mut all: Vec<String> = Vec::new();
    for word in WORDS.iter() {
        let joints: &[&str] = if word.contains(' ') { &[" ", "_", "-", ""] } else { &[""] };
        for joint in joints {
            let written = word.replace(' ', joint);
            if !written.is_ascii() {
                all.extend([capitalised(&written), written.to_uppercase()]);
            }
            all.push(written);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Return the name around the word at `start..end`, if it is the word's own or ends with it.
pub(super) fn name_at(text: &[u8], start: usize, end: usize) -> Option<Name> {
    let word = std::str::from_utf8(&text[start..end]).ok()?;
    // A script without capitals has words without blanks between them, or endings that say nothing.
    if word.chars().next()?.to_lowercase().eq(word.chars().next()?.to_uppercase()) {
        return Some((start, end, Class::Password));
    }
    let is_letter = |b: &&u8| is_name(**b) || **b >= 0x80;
    let before = text[..start].iter().rev().take(LONGEST_NAME).take_while(|b| is_letter(b) || **b == b'.').count();
    let after = text[end..].iter().take(LONGEST_NAME).take_while(is_letter).count();
    let (lead, rest) = (&text[start - before..start], std::str::from_utf8(&text[end..end + after]).ok()?);
    let joined = lead.last().is_none_or(|b| b"_-.".contains(b) || b.is_ascii_lowercase() && word.starts_with(char::is_uppercase));
    let goes_on = rest.starts_with(|c: char| c.is_lowercase() || !c.is_ascii());
    let is_name = (joined || word.len() >= COMPOUND) && !goes_on && class_of(&format!("password{rest}")).is_some();
    is_name.then_some((start - before, end + after, Class::Password))
}

/// Tell whether a label ends with one of the words: `Hasło`, `mot de passe`, `Пароль администратора` doesn't.
pub(super) fn is_password(label: &str) -> bool {
    let label = label.to_lowercase();
    let words = words_of(&label);
    (0..words.len()).any(|first| WORDS.contains(&words[first..].join(" ")))
}

/// Tell whether a value that a word of another language names is more than a word: in a third language it may mean something else.
pub(super) fn is_more_than_a_word(value: &str) -> bool {
    let capital = value.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    capital && is_jumble(value)
        || value.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_punctuation() && !b"_-./:,".contains(&b))
}

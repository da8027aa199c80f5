//! Which lines of a long chunk to read first: those around the words of the question.

use std::collections::HashMap;

use crate::base::lines::LineTable;

/// What the line that names the chunk is worth, as a share of the whole question: it says what one is looking at.
const NAME_WEIGHT: f64 = 1.0;
/// The same when that name is what was asked for.
const TARGET_WEIGHT: f64 = 4.0;
/// What a window must be better by: sums of rounded numbers differ by less.
const LEAST_GAIN: f64 = 1e-9;

/// What is looked into.
#[derive(Clone, Copy, Debug)]
pub struct FocusInput<'a> {
    /// Its text.
    pub text: &'a str,
    /// The symbol that it defines; may be empty.
    pub symbol: &'a str,
    /// How the definition reads.
    pub signature: &'a str,
    /// The question is for this symbol.
    pub is_target: bool,
}

/// The first of the `lines` lines (from 0) that say most about a question: its words with their rarities.
///
/// It is the window whose words weigh most: each counts its rarity, and by the logarithm of how often it begins a word or a
/// piece of an identifier. Without any such word it is the first window, and of equally good ones the first.
pub fn best_lines(chunk: &FocusInput<'_>, words: &[(&str, f64)], lines: usize) -> usize {
    let table = LineTable::new(chunk.text);
    let rows = rows_of(chunk.text, &table);
    let found = words_by_row(chunk.text, rows.len(), words);
    let whole: f64 = words.iter().map(|(_, rarity)| rarity).sum();
    let bonus = whole * if chunk.is_target { TARGET_WEIGHT } else { NAME_WEIGHT };
    let name_row = name_row(&rows, chunk);

    let mut counts: HashMap<usize, u32> = HashMap::new();
    let mut value = 0.0;
    let (mut best, mut best_value) = (0, 0.0);
    for (last, here) in found.iter().enumerate() {
        for &word in here {
            let count = counts.entry(word).or_default();
            value += words[word].1 * gain(*count);
            *count += 1;
        }
        let first = (last + 1).saturating_sub(lines);
        if first > 0 {
            for &word in &found[first - 1] {
                let count = counts.entry(word).or_default();
                *count = count.saturating_sub(1);
                value -= words[word].1 * gain(*count);
            }
        }
        // A window that is not full yet is part of the one that begins at 0.
        let full = last + 1 >= lines || last + 1 == found.len();
        let named = name_row.is_some_and(|row| (first..=last).contains(&row));
        let here = value + if named { bonus } else { 0.0 };
        if full && here > best_value + LEAST_GAIN {
            (best, best_value) = (first, here);
        }
    }
    best
}

/// What one more occurrence adds to the logarithm of 1 + `count`.
fn gain(count: u32) -> f64 {
    (1.0 / (1.0 + f64::from(count))).ln_1p()
}

/// The lines with their ends, without an empty one after the last.
fn rows_of<'a>(text: &'a str, table: &LineTable) -> Vec<&'a str> {
    let rows = (1..=table.count()).filter_map(|line| text.get(table.start_of(line) as usize..table.end_of(line) as usize));
    let mut rows: Vec<&str> = rows.collect();
    if rows.last().is_some_and(|row| row.is_empty()) {
        rows.pop();
    }
    rows
}

/// Which words (by place) begin a word, or a piece of an identifier, in each row. Searches instead of splitting.
pub(super) fn words_by_row(text: &str, rows: usize, words: &[(&str, f64)]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); rows];
    let lower = text.to_lowercase();
    // Letters that change their length move all that follow: then case can't tell pieces apart.
    let cased = if lower.len() == text.len() { text } else { &lower };
    let table = LineTable::new(cased);
    for (i, (word, _)) in words.iter().enumerate().filter(|(_, (word, _))| !word.is_empty()) {
        for (at, _) in lower.match_indices(word) {
            let row = table.line_of(at as u32) as usize - 1;
            if begins_a_piece(cased, at)
                && let Some(row) = found.get_mut(row)
            {
                row.push(i);
            }
        }
    }
    found
}

fn begins_a_piece(text: &str, at: usize) -> bool {
    let Some((before, after)) = text.split_at_checked(at) else { return false };
    let Some(before) = before.chars().next_back().filter(|c| c.is_alphabetic()) else { return true };
    after.starts_with(char::is_uppercase) && !before.is_uppercase()
}

/// The line that the definition begins on, which may come after a long comment; else the first one with the name.
fn name_row(rows: &[&str], chunk: &FocusInput<'_>) -> Option<usize> {
    let symbol = chunk.symbol.strip_suffix(" (header)").unwrap_or(chunk.symbol);
    let name = symbol.rsplit(['.', ':', '#']).next().filter(|name| !name.is_empty())?;
    let signature = chunk.signature.trim();
    let start = signature.find(name).map(|at| &signature[..at + name.len()]);
    start.into_iter().chain([name]).find_map(|sign| rows.iter().position(|row| row.contains(sign)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FocusInput, best_lines};

    const WORDS: [(&str, f64); 2] = [("token", 3.0), ("expir", 2.0)];

    fn chunk(text: &str) -> FocusInput<'_> {
        FocusInput { text, symbol: "", signature: "", is_target: false }
    }

    #[test]
    fn the_window_with_the_words_is_the_best() {
        let text = format!("{}    if token.expired():\r\n{}", "    step()\r\n".repeat(40), "    step()\r\n".repeat(40));
        assert_eq!(best_lines(&chunk(&text), &WORDS, 20), 21, "the first that holds the line");
        assert_eq!(best_lines(&chunk(&text), &[("nothing", 1.0)], 20), 0);
        assert_eq!(best_lines(&chunk(""), &WORDS, 20), 0);
    }

    #[test]
    fn a_word_counts_where_a_piece_of_an_identifier_begins() {
        let at = |line: &str| best_lines(&chunk(&format!("{}{line}\n", "x\n".repeat(9))), &WORDS, 1);
        for line in ["token", "a_token", "getToken", "Token", "(token)", "TOKEN", "é token", "İ token"] {
            assert_eq!(at(line), 9, "{line}");
        }
        // Each of these is one byte longer in lower case.
        let moved = format!("{}token\n{}", "# İİİİİİİİ\n".repeat(30), "x\n".repeat(30));
        assert_eq!(best_lines(&chunk(&moved), &WORDS, 1), 30);
        for line in ["detokenise", "XTOKEN"] {
            assert_eq!(at(line), 0, "{line}");
        }
    }

    #[test]
    fn the_definition_that_is_sought_comes_before_the_comment_that_speaks_of_it() {
        let text = format!("/**\n{} */\nclass Token:\n{}", " * A token is a token.\n".repeat(40), "    pass\n".repeat(20));
        let sought = FocusInput { text: &text, symbol: "Token (header)", signature: "class Token:", is_target: true };
        let first = best_lines(&sought, &[("token", 3.0)], 20);
        assert!((first..first + 20).contains(&42), "{first}");
    }

    proptest! {
        #[test]
        fn the_window_lies_in_the_chunk(
            rows in prop::collection::vec(prop::sample::select(vec!["token = 1", "", "    expired()", "é", "İx"]), 0..60),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            lines in 1_usize..30,
        ) {
            let first = best_lines(&chunk(&rows.join(end)), &WORDS, lines);
            prop_assert!(first == 0 || first + lines <= rows.len());
        }
    }
}

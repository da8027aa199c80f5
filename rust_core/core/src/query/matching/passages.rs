//! Which lines of many chunks say most about a question: what a budgeted context is filled with.

use std::collections::HashMap;

use super::focus::words_by_row;
use super::names::name_stems;
use crate::base::lines::LineTable;

/// Lines of a passage of a longer chunk, and how far apart passages begin.
const LINES: usize = 20;
const STEP: usize = 5;
/// A chunk of up to so many lines is one passage: less would hide more than it saves.
const WHOLE: usize = 30;
/// From here on a further occurrence of a word adds little (as in BM25).
const SATURATION: f64 = 1.2;
/// What the words count that stand in the passage, in the name of what it is part of, or in its path, as a share of the question.
const COVERAGE: f64 = 0.5;
/// A passage counts its score over its size to this power: of equally good ones the smaller.
const SIZE: f64 = 0.2;

/// A chunk that may hold an answer.
#[derive(Clone, Copy, Debug)]
pub struct PassageInput<'a> {
    /// Its text.
    pub text: &'a str,
    /// The symbol that it defines; may be empty.
    pub symbol: &'a str,
    /// Its file.
    pub path: &'a str,
    /// How well the chunk as a whole answers, as a share of the best.
    pub share: f64,
}

/// Lines of a chunk, from 0, the last one inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The place of its chunk among those that were given.
    pub chunk: usize,
    /// Its first line.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// How much it says for its size.
    pub score: f64,
}

/// All passages of the chunks, best first; they overlap. Of equal ones the first.
pub fn passages(chunks: &[PassageInput<'_>], words: &[(&str, f64)]) -> Vec<Passage> {
    let whole: f64 = words.iter().map(|(_, rarity)| rarity).sum();
    let whole = if whole > 0.0 { whole } else { 1.0 };
    let mut found = Vec::new();
    for (place, chunk) in chunks.iter().enumerate() {
        let table = LineTable::new(chunk.text);
        let after_last = chunk.text.is_empty() || chunk.text.ends_with(['\n', '\r']);
        let count = table.count() as usize - usize::from(after_last);
        let rows = words_by_row(chunk.text, count, words);
        let mut names = name_stems(chunk.symbol);
        names.extend(name_stems(chunk.path));
        let in_name: Vec<bool> = words.iter().map(|(word, _)| names.iter().any(|name| name == word)).collect();
        for (first, end) in spans(count) {
            let mut counts: HashMap<usize, f64> = HashMap::new();
            for &word in rows[first..end].iter().flatten() {
                *counts.entry(word).or_default() += 1.0;
            }
            // In the words' order: a sum of floats depends on it.
            let mut value = chunk.share;
            for (i, (_, rarity)) in words.iter().enumerate() {
                let times = counts.get(&i).copied().unwrap_or_default();
                let covered = if times > 0.0 || in_name[i] { COVERAGE } else { 0.0 };
                value += rarity / whole * (times * (SATURATION + 1.0) / (times + SATURATION) + covered);
            }
            let size = table.end_of(end as u32) - table.start_of(first as u32 + 1);
            found.push(Passage { chunk: place, first, last: end - 1, score: value / f64::from(size.max(1)).powf(SIZE) });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)).then(a.first.cmp(&b.first)));
    found
}

/// The passages of a chunk of so many lines: first line and the one after the last.
fn spans(count: usize) -> Vec<(usize, usize)> {
    match count {
        0 => Vec::new(),
        1..=WHOLE => vec![(0, count)],
        _ => (0..count - LINES / 2).step_by(STEP).map(|first| (first, (first + LINES).min(count))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Passage, PassageInput, passages};

    const WORDS: [(&str, f64); 2] = [("token", 3.0), ("expir", 2.0)];

    fn chunk(text: &str) -> PassageInput<'_> {
        PassageInput { text, symbol: "", path: "a.py", share: 0.0 }
    }

    #[test]
    fn the_deciding_lines_come_before_the_head_of_a_function() {
        let body = |n| "    step()\n".repeat(n);
        let text = format!("def check():\n{}    if token.expired():\n{}", body(50), body(50));
        let best = passages(&[chunk(&text)], &WORDS)[0];
        assert!((best.first..=best.last).contains(&51), "{best:?}");
        assert_eq!(best.last - best.first, 19);
    }

    #[test]
    fn a_short_chunk_is_one_passage() {
        let found = passages(&[chunk("if token.expired():\n    stop()\n")], &WORDS);
        assert!(matches!(found[..], [Passage { first: 0, last: 1, .. }]), "{found:?}");
    }

    #[test]
    fn a_small_certain_place_comes_before_a_large_vague_one() {
        let large = "x = token\n".repeat(30);
        let found = passages(&[chunk(&large), chunk("if token.expired():\n    stop()\n")], &WORDS);
        assert_eq!(found[0].chunk, 1);
    }

    #[test]
    fn the_name_of_what_it_is_part_of_counts() {
        let text = "    return left < now\n";
        let named = PassageInput { symbol: "Token.expired", ..chunk(text) };
        assert_eq!(passages(&[chunk(text), named], &WORDS)[0].chunk, 1);
    }

    proptest! {
        #[test]
        fn passages_lie_in_their_chunk_and_cover_it(
            rows in prop::collection::vec(prop::sample::select(vec!["token = 1", "", "    expired()", "é", "İx"]), 0..90),
            end in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            let text = rows.join(end);
            let mut seen = vec![false; rows.len()];
            for Passage { first, last, score, .. } in passages(&[chunk(&text)], &WORDS) {
                prop_assert!(first <= last && last < rows.len() && score.is_finite());
                seen[first..=last].fill(true);
            }
            let lines = rows.len() - usize::from(rows.last().is_some_and(|row| row.is_empty()));
            prop_assert!(seen[..lines].iter().all(|row| *row));
        }
    }
}

//! What a question's words find in paths and lines.

use std::collections::HashMap;

use carrel_core::query::matching::{FocusInput, best_lines as core_best_lines, name_words, stem as core_stem};
use pyo3::prelude::*;

/// See `_core.pyi`.
#[pyfunction]
pub fn split_names(text: &str) -> Vec<String> {
    name_words(text)
}

/// See `_core.pyi`.
#[pyfunction]
pub fn stem(word: &str) -> String {
    core_stem(word).into_owned()
}

/// See `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (text, symbol, signature, rarities, lines, *, sought))]
pub fn best_lines(
    text: &str,
    symbol: &str,
    signature: &str,
    rarities: HashMap<String, f64>,
    lines: usize,
    sought: bool,
) -> usize {
    let words: Vec<(&str, f64)> = rarities.iter().map(|(word, rarity)| (word.as_str(), *rarity)).collect();
    core_best_lines(&FocusInput { text, symbol, signature, is_target: sought }, &words, lines)
}

//! What a question's words find in paths and lines.

use std::collections::HashMap;

use carrel_core::question::{
    Chunk, PathQuestion, best_lines as core_best_lines, path_words as core_path_words, split_name, stem as core_stem,
};
use pyo3::prelude::*;

/// See `_core.pyi`.
#[pyfunction]
pub fn split_names(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    split_name(text, |word| words.push(word.into_owned()));
    words
}

/// See `_core.pyi`.
#[pyfunction]
pub fn stem(word: &str) -> String {
    core_stem(word).into_owned()
}

/// See `_core.pyi`.
#[pyfunction]
pub fn path_words(path: &str) -> Vec<String> {
    core_path_words(path)
}

/// See `_core.pyi`.
#[pyfunction]
pub fn path_fits(paths: Vec<String>, rarities: Vec<(String, f64)>, text: Vec<String>) -> Vec<(f64, f64, f64)> {
    let fits = PathQuestion::new(rarities, &text).fits(paths.iter().map(String::as_str));
    fits.into_iter().map(|fit| (fit.own, fit.akin, fit.covered)).collect()
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
    core_best_lines(&Chunk { text, symbol, signature, sought }, &words, lines)
}

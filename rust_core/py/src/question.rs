//! Questions, taken apart, and what their words find in lines.

use std::collections::{HashMap, HashSet};

use carrel_core::base::error::{Error, Result};
use carrel_core::query::matching::{
    FocusInput, PassageInput, best_lines as core_best_lines, name_words, passages as core_passages, stem as core_stem,
};
use carrel_core::query::parsed_query::{Meaning, ParsedQuery};
use pyo3::prelude::*;

use crate::errors::to_python;
use crate::options::to_floats;

/// See `_core.pyi`.
#[pyclass(name = "ParsedQuery", frozen, module = "carrel._core")]
pub struct PyParsedQuery(pub ParsedQuery);

#[pymethods]
impl PyParsedQuery {
    #[new]
    #[pyo3(signature = (text, search_text, *, quoted="", words=Vec::new(), names=Vec::new(), scope=Vec::new(), plain=HashSet::new(), is_symbol=false, is_change=false, vector=None, scores=None))]
    #[allow(clippy::too_many_arguments)] // keywords, all but two
    fn new(
        text: &str,
        search_text: &str,
        quoted: &str,
        words: Vec<String>,
        names: Vec<String>,
        scope: Vec<String>,
        plain: HashSet<String>,
        is_symbol: bool,
        is_change: bool,
        vector: Option<&[u8]>,
        scores: Option<Vec<(String, f32)>>,
    ) -> PyResult<Self> {
        let meaning = match scores {
            None => Meaning::Vector(to_floats(vector.unwrap_or_default())),
            Some(scores) => {
                let parsed: Result<_> = scores.into_iter().map(|(id, score)| Ok((parse_id(&id)?, score))).collect();
                Meaning::Scores(parsed.map_err(|error| to_python(&error))?)
            }
        };
        Ok(Self(ParsedQuery {
            text: text.to_owned(),
            search_text: search_text.to_owned(),
            quoted: quoted.to_owned(),
            words,
            names,
            scope,
            plain,
            is_symbol,
            is_change,
            meaning,
        }))
    }

    #[getter]
    fn words(&self) -> Vec<String> {
        self.0.words.clone()
    }
}

/// The 128 bits of a chunk's id as it is written.
pub fn parse_id(id: &str) -> Result<u128> {
    let is_one = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parsed = if is_one { u128::from_str_radix(id, 16).ok() } else { None };
    parsed.ok_or_else(|| Error::invalid("ids", format!("{id:?} is no chunk id: 32 hexadecimal digits are one")))
}

/// The same for several.
pub fn parse_ids(ids: &[String]) -> Result<Vec<u128>> {
    ids.iter().map(|id| parse_id(id)).collect()
}

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

/// See `_core.pyi`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands over a list of its own")]
pub fn passages(chunks: Vec<(String, String, String, f64)>, rarities: HashMap<String, f64>) -> Vec<(usize, usize, usize)> {
    // Sorted, because a sum of floats depends on the order.
    let mut words: Vec<(&str, f64)> = rarities.iter().map(|(word, rarity)| (word.as_str(), *rarity)).collect();
    words.sort_unstable_by_key(|(word, _)| *word);
    let inputs: Vec<PassageInput<'_>> =
        chunks.iter().map(|(text, symbol, path, share)| PassageInput { text, symbol, path, share: *share }).collect();
    core_passages(&inputs, &words).into_iter().map(|found| (found.chunk, found.first, found.last)).collect()
}

//! The files of a plan that a question is likely about, before all others: an index that is being made answers soon.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use rayon::prelude::*;

use super::plan::Plan;
use super::{Store, indexing_pool};
use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::sync::locked;
use crate::workspace::read::read_bytes;

/// A bit each in a file's mask.
const MOST_WORDS: usize = 64;
/// A word in a path says more than one in a text.
const IN_PATH: f64 = 2.0;

impl Store {
    /// Put the files first that hold most of `words`, in any letter case, in their path or text; rare words count more. Their texts
    /// are looked at as they lie on the disk, and nothing of them is kept. Returns how many files hold any of the words.
    pub fn bring_forward(&self, plan: &Plan, words: &[String], cancel: &CancelToken) -> Result<usize> {
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).take(MOST_WORDS).collect();
        let Some(access) = self.workspace.access.as_ref().filter(|_| !words.is_empty()) else { return Ok(0) };
        let Ok(root) = access.root() else { return Ok(0) }; // reading says why
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&words)
            .map_err(|error| Error::invalid("words", error.to_string()))?;
        let paths: Vec<String> = locked(&plan.queue).work.iter().map(|work| work.path.clone()).collect();
        let masks: Result<Vec<(u64, u64)>> = indexing_pool().install(|| {
            paths
                .par_iter()
                .map(|path| {
                    cancel.check()?;
                    let opened = access.open(&root, path).ok();
                    let bytes = opened.and_then(|file| read_bytes(file, self.workspace.config.walk.max_file_bytes).ok());
                    Ok((held(&finder, path.as_bytes()), bytes.map_or(0, |(bytes, _)| held(&finder, &bytes))))
                })
                .collect()
        });
        let masks = masks?;
        let weights: Vec<f64> = (0..words.len())
            .map(|word| masks.iter().filter(|(path, text)| (path | text) >> word & 1 == 1).count())
            .map(|holding| (1.0 + paths.len() as f64 / (1.0 + holding as f64)).ln())
            .collect();
        let weight =
            |mask: u64| -> f64 { weights.iter().enumerate().filter(|(word, _)| mask >> word & 1 == 1).map(|(_, w)| w).sum() };
        let scores: HashMap<&str, f64> = paths
            .iter()
            .zip(&masks)
            .filter(|(_, (path, text))| path | text != 0)
            .map(|(name, (path, text))| (name.as_str(), IN_PATH * weight(*path) + weight(*text)))
            .collect();
        let score = |path: &str| scores.get(path).copied().unwrap_or(0.0);
        let mut queue = locked(&plan.queue);
        queue.work.make_contiguous().sort_by(|a, b| score(&b.path).total_cmp(&score(&a.path)));
        Ok(scores.len())
    }
}

/// Which of the words a text holds.
fn held(finder: &AhoCorasick, text: &[u8]) -> u64 {
    finder.find_overlapping_iter(text).fold(0, |mask, found| mask | 1 << found.pattern().as_usize())
}

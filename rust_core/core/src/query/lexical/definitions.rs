//! Who defines a name: through the dictionary, never by a scan.

use crate::formats::postings::terms::{definition_hash, stem};
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// The name as asked.
const EXACT: f32 = 1.0;
/// The name but for upper and lower case.
const SAME_LETTERS: f32 = 0.8;
/// Another form of the word: `parse` for `parsed`, `User` for `users`.
const SAME_STEM: f32 = 0.6;

/// The chunks that define one of `names`, at most `limit`: exact matches first (score 1), then those that differ in case (0.8),
/// then those that share the stem (0.6). A chunk is listed once, with its best score.
pub fn definitions(views: &[View<'_>], names: &[&str], limit: usize) -> Vec<Scored> {
    let mut found: Vec<Scored> = Vec::new();
    for (i, view) in views.iter().enumerate() {
        for name in names.iter().filter(|name| !name.is_empty()) {
            let lower = name.to_lowercase();
            let Some(list) = view.segment.dictionary().find(definition_hash(name)) else { continue };
            list.each(|chunk, _| {
                if view.has(chunk) {
                    let mut score = 0.0_f32;
                    view.segment.each_definition(chunk, |defined| score = score.max(likeness(defined, name, &lower)));
                    if score > 0.0 {
                        found.push(Scored { view: i as u32, chunk, score });
                    }
                }
            });
        }
    }
    found.sort_unstable_by(|a, b| (a.view, a.chunk).cmp(&(b.view, b.chunk)).then(b.score.total_cmp(&a.score)));
    found.dedup_by_key(|s| (s.view, s.chunk));
    let mut best = TopK::new(views, limit, 0.0);
    for scored in found {
        best.offer(scored);
    }
    best.into_sorted()
}

fn likeness(defined: &str, name: &str, lower: &str) -> f32 {
    if defined == name {
        return EXACT;
    }
    let defined = defined.to_lowercase();
    if defined == lower {
        SAME_LETTERS
    } else if stem(&defined) == stem(lower) {
        SAME_STEM
    } else {
        0.0
    }
}

//! Who defines a name: through the dictionary, never by a scan.

use crate::base::types::ChunkKind;
use crate::formats::postings::terms::{definition_hash, stem};
use crate::query::top_k::{Scored, TopK};
use crate::query::view::View;

/// The name as asked.
const EXACT: f32 = 1.0;
/// The name, of something within a function, where others have it themselves.
const WITHIN: f32 = 0.9;
/// The name but for upper and lower case.
const SAME_LETTERS: f32 = 0.8;
/// Another form of the word: `parse` for `parsed`, `User` for `users`.
const SAME_STEM: f32 = 0.6;

/// The chunks that define one of `names`, at most `limit`: exact matches first (score 1), then functions with one of that name in
/// them where others have it themselves (0.9), then those that differ in case (0.8), then those that share the stem (0.6). A chunk is
/// listed once, with its best score.
pub fn definitions(views: &[View<'_>], names: &[&str], limit: usize) -> Vec<Scored> {
    let mut found: Vec<Scored> = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let lower = name.to_lowercase();
        let (mut by_itself, mut within) = (Vec::new(), Vec::new());
        for (i, view) in views.iter().enumerate() {
            let Some(list) = view.segment.dictionary().find(definition_hash(name)) else { continue };
            list.each(|chunk, _| {
                if view.has(chunk) {
                    let mut score = 0.0_f32;
                    view.segment.each_definition(chunk, |defined| score = score.max(likeness(defined, name, &lower)));
                    if score > 0.0 {
                        let is_within = score >= EXACT && is_only_within(*view, chunk, name);
                        let list = if is_within { &mut within } else { &mut by_itself };
                        list.push(Scored { view: i as u32, chunk, score });
                    }
                }
            });
        }
        if by_itself.iter().any(|scored| scored.score >= EXACT) {
            within.iter_mut().for_each(|scored| scored.score = WITHIN);
        }
        found.append(&mut by_itself);
        found.append(&mut within);
    }
    found.sort_unstable_by(|a, b| (a.view, a.chunk).cmp(&(b.view, b.chunk)).then(b.score.total_cmp(&a.score)));
    found.dedup_by_key(|s| (s.view, s.chunk));
    let mut best = TopK::new(views, limit, 0.0);
    for scored in found {
        best.offer(scored);
    }
    best.into_sorted()
}

/// Tell whether a chunk that defines a name is a function of another one: what has the name stands in it.
fn is_only_within(view: View<'_>, chunk: u32, name: &str) -> bool {
    let (kind, _, symbol) = view.segment.outline(chunk);
    matches!(kind, ChunkKind::Function | ChunkKind::Method) && symbol != name && !symbol.ends_with(&format!(".{name}"))
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

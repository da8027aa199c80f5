//! Find what somebody who mistyped a name, or typed a part of it, may have meant.

use std::collections::HashMap;

use strsim::osa_distance;

use super::definitions::definitions;
use crate::formats::postings::terms::term_hash;
use crate::query::view::View;

/// Shorter names are like too many others …
const SHORTEST: usize = 5;
/// … and longer ones are nobody's.
const LONGEST: usize = 100;

/// Return the defined names that begin with `name`, or differ from it by a letter (left out, added, another, or two neighbours
/// swapped), then those in which a later word begins so, at most `most`: of each those first that more chunks define, then the
/// shorter ones. None where a text has the name, or code defines it: then it is meant as it stands. Two wrong letters are more
/// often another name.
pub fn near_names(views: &[View<'_>], name: &str, most: usize) -> Vec<String> {
    let wanted = name.to_lowercase();
    let letters = wanted.chars().count();
    let bare = wanted.trim_matches('_'); // as words are kept
    if !(SHORTEST..=LONGEST).contains(&letters) || is_written(views, bare) || !definitions(views, &[name], 1).is_empty() {
        return Vec::new();
    }
    let set = letter_set(&wanted);
    let mut found: HashMap<String, (bool, usize)> = HashMap::new();
    for view in views {
        for range in view.live_ranges() {
            view.segment.each_defined_name(range, |defined| {
                if defined.len() + 4 < wanted.len() {
                    return; // even a letter of four bytes is less
                }
                if let Some((_, count)) = found.get_mut(defined) {
                    *count += 1;
                    return;
                }
                let lower = defined.to_lowercase();
                // A wrong letter takes one from the set, and brings another.
                let is_like = || (letter_set(&lower) ^ set).count_ones() <= 2 && osa_distance(&lower, &wanted) <= 1;
                if lower.starts_with(&wanted) || (defined.len() <= wanted.len() + 4 && is_like()) {
                    found.insert(defined.to_owned(), (false, 1));
                } else if has_word_that_begins(defined, &lower, &wanted) {
                    found.insert(defined.to_owned(), (true, 1));
                }
            });
        }
    }
    let mut found: Vec<(String, (bool, usize))> = found.into_iter().collect();
    found.sort_unstable_by(|(one, (is_within, times)), (other, (is_other_within, of_other))| {
        let by_kind = is_within.cmp(is_other_within).then_with(|| of_other.cmp(times));
        by_kind.then_with(|| one.len().cmp(&other.len())).then_with(|| one.cmp(other))
    });
    found.into_iter().take(most).map(|(name, _)| name).collect()
}

fn is_written(views: &[View<'_>], lower: &str) -> bool {
    views.iter().any(|view| {
        let mut live = false;
        if let Some(list) = view.segment.dictionary().find(term_hash(lower)) {
            list.each(|chunk, _| live |= view.has(chunk));
        }
        live
    })
}

/// Tell whether `wanted` begins a word within a name: behind a mark, or with a capital behind a small letter.
fn has_word_that_begins(defined: &str, lower: &str, wanted: &str) -> bool {
    defined.is_ascii()
        && lower.match_indices(wanted).any(|(at, _)| {
            let (before, first) = (defined.as_bytes()[..at].last(), defined.as_bytes()[at]);
            before.is_some_and(|before| {
                !before.is_ascii_alphanumeric() || (first.is_ascii_uppercase() && !before.is_ascii_uppercase())
            })
        })
}

/// The letters of a name, without their order and number; several share a bit.
fn letter_set(name: &str) -> u64 {
    name.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) & 63))
}

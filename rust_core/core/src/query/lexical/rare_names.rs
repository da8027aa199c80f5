//! Chunks that hold a name or a code of a question which hardly any chunk holds: evidence that a long question drowns.

use std::collections::HashSet;

use super::query::{Term, Terms};
use super::statistics::Statistics;
use crate::query::top_k::Scored;
use crate::query::view::View;

/// A name or code that so many chunks hold is rare …
const FEW: u64 = 5;
/// … and a name if no more than one chunk of so many holds it: in a small project every name is in few chunks.
const ONE_OF: u64 = 200;
/// Digits that tell a code (`ORA-12154`, `E0382`) from a product or a version (`utf8`, `py39`).
const DIGITS: usize = 3;

/// The chunks that hold a rare one of the names and codes in `text`, whose terms these are. Names are `max_size` and `getServer`:
/// products are written like `PyCharm` and `utf8`. A score is 1.
pub fn rare_names(views: &[View<'_>], statistics: &Statistics, Terms(terms): &Terms<'_>, text: &str) -> Vec<Scored> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let names: HashSet<String> = words.filter(|word| is_name(word)).map(|word| word.trim_matches('_').to_lowercase()).collect();
    let most = FEW.min(statistics.chunks() / ONE_OF);
    let is_rare = |term: &&Term<'_>| {
        let is_code = is_code(&term.text);
        (is_code || names.contains(&term.text)) && (1..=if is_code { FEW } else { most }).contains(&term.count)
    };
    let mut found = Vec::new();
    for term in terms.iter().filter(is_rare) {
        for (view, (of_view, list)) in (0..).zip(views.iter().zip(&term.lists)) {
            let Some(list) = list else { continue };
            list.each(|chunk, _| {
                if of_view.has(chunk) {
                    found.push(Scored { view, chunk, score: 1.0 });
                }
            });
        }
    }
    found
}

fn is_code(term: &str) -> bool {
    term.chars().filter(char::is_ascii_digit).count() >= DIGITS && term.contains(char::is_alphabetic)
}

fn is_name(word: &str) -> bool {
    let begins_small = word.chars().next().is_some_and(char::is_lowercase);
    word.trim_matches('_').contains('_') || (begins_small && word.chars().any(char::is_uppercase))
}

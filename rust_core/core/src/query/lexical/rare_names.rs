//! Chunks that hold a name of a question which hardly any chunk holds: evidence that a long question drowns.

use std::collections::HashSet;

use super::query::Terms;
use super::statistics::Statistics;
use crate::query::top_k::Scored;
use crate::query::view::View;

/// A name that so many chunks hold is rare …
const FEW: u64 = 5;
/// … if no more than one chunk of so many holds it: in a small project every name is in few chunks.
const ONE_OF: u64 = 200;

/// The chunks that hold a rare one of the names in `text`, whose terms these are. Names are `max_size` and `getServer`: products are
/// written like `PyCharm` and `utf8`. A score is 1.
pub fn rare_names(views: &[View<'_>], statistics: &Statistics, Terms(terms): &Terms<'_>, text: &str) -> Vec<Scored> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let names: HashSet<String> = words.filter(|word| is_name(word)).map(|word| word.trim_matches('_').to_lowercase()).collect();
    let most = FEW.min(statistics.chunks() / ONE_OF);
    let rare = |count: u64| (1..=most).contains(&count);
    let mut found = Vec::new();
    for term in terms.iter().filter(|term| rare(term.count) && names.contains(&term.text)) {
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

fn is_name(word: &str) -> bool {
    let begins_small = word.chars().next().is_some_and(char::is_lowercase);
    word.trim_matches('_').contains('_') || (begins_small && word.chars().any(char::is_uppercase))
}

//! How far a candidate's text holds the question word for word.
//!
//! A pasted message, heading or identifier that stands in one place is that place's evidence, and no prior about its path may
//! outweigh it. A few common words in a row are none.

use super::kinds::{PathKind, path_kinds};
use super::{Candidate, RankingContext};

/// The least share of the question's weight that a run of 1, 2, 3 or more words must hold to count: short runs stand in many texts.
const LEAST_SHARE: [f64; 4] = [0.97, 0.9, 0.72, 0.45];
/// The same for an identifier in its own case.
const LEAST_SHARE_OF_NAME: f64 = 0.45;
/// From the least share on, strength grows to 1 within this.
const SPAN: f64 = 0.2;
/// A run of so few words is told by the identifier in it.
const WORDS_OF_NAME: u32 = 2;
/// A text holds more of the question than others if it is by this share at least.
const CLEARLY: f64 = 0.05;
/// A text holds all of the question if it is by this share …
const WHOLE: f64 = 0.97;
/// … and so many words: fewer stand in a row by chance.
const LEAST_OF_WHOLE: u32 = 4;
/// What more places hold literally counts less for each.
const FEW: f64 = 3.0;

/// Shares from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerbatimEvidence {
    /// How far it holds the question word for word, shared with others that do.
    pub strength: f64,
    /// The same where no candidate without a path penalty holds as much: then the penalty yields.
    pub unrivalled: f64,
}

/// For each candidate.
pub(super) fn verbatim_evidence(candidates: &[Candidate], context: &RankingContext) -> Vec<VerbatimEvidence> {
    let ordinary = candidates.iter().filter(|candidate| candidate.prior >= 1.0);
    let most_ordinary = ordinary.clone().map(|candidate| candidate.verbatim).fold(0.0, f64::max);
    let most_words_ordinary = ordinary.map(|candidate| candidate.verbatim_words).max().unwrap_or(0);
    let defined = candidates.iter().any(|candidate| candidate.defines >= 1.0);
    let of = |candidate: &Candidate| {
        let is_name = candidate.verbatim_name && candidate.verbatim_words <= WORDS_OF_NAME;
        let strength = if context.is_change { of_a_wish(candidate) } else { strength(candidate, is_name) };
        // Where the name is defined, its uses are not what was asked for.
        if strength <= 0.0 || (is_name && defined && candidate.defines < 1.0) {
            return VerbatimEvidence::default();
        }
        // A common word that only one text holds beside the rarer ones adds little to the share.
        let is_more = candidate.verbatim > most_ordinary + CLEARLY
            || (holds_all(candidate) && candidate.verbatim_words > most_words_ordinary);
        let unrivalled = candidate.prior < 1.0 && is_more && (is_name || !lists_changes(&candidate.path));
        if candidate.prior < 1.0 && !unrivalled {
            return VerbatimEvidence::default();
        }
        let as_much = candidates.iter().filter(|other| other.verbatim >= candidate.verbatim - 0.001).count();
        let shared = strength * (FEW / as_much as f64).min(1.0);
        VerbatimEvidence { strength: shared, unrivalled: if unrivalled { strength } else { 0.0 } }
    };
    candidates.iter().map(of).collect()
}

fn strength(candidate: &Candidate, is_name: bool) -> f64 {
    let of_run = LEAST_SHARE[(candidate.verbatim_words as usize).clamp(1, LEAST_SHARE.len()) - 1];
    let least = if is_name { LEAST_SHARE_OF_NAME.min(of_run) } else { of_run };
    ((candidate.verbatim - least) / SPAN).clamp(0.0, 1.0)
}

/// The same of a question that reads like a wish for a change: its words describe what is not there yet, unless all of them are.
fn of_a_wish(candidate: &Candidate) -> f64 {
    f64::from(u8::from(holds_all(candidate) && !lists_changes(&candidate.path)))
}

fn holds_all(candidate: &Candidate) -> bool {
    candidate.verbatim >= WHOLE && candidate.verbatim_words >= LEAST_OF_WHOLE
}

/// A list of changes repeats their headings: it is not where the thing is.
fn lists_changes(path: &str) -> bool {
    path_kinds(path).contains(&PathKind::Changes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{Candidate, EditorContext, RankingContext, Signals, rank};
    use crate::query::parsed_query::ParsedQuery;

    fn candidate(path: &str, verbatim: f64, words: u32, name: bool) -> Signals {
        Signals {
            path: path.to_owned(),
            end_line: 9,
            lexical: 0.5,
            dense: 0.4,
            verbatim,
            verbatim_words: words,
            verbatim_name: name,
            ..Signals::default()
        }
    }

    #[track_caller]
    fn first(candidates: &[Signals], is_change: bool) -> String {
        let mut candidates: Vec<Candidate> = candidates.iter().cloned().map(Candidate::from).collect();
        let context = RankingContext::new(&ParsedQuery { is_change, ..ParsedQuery::default() }, &[]);
        let order = rank(&mut candidates, &context, &EditorContext::default(), &HashSet::new());
        candidates[order[0]].path.clone()
    }

    #[test]
    fn what_only_a_test_holds_word_for_word_comes_first() {
        let code = candidate("src/a.py", 0.3, 2, false);
        for (path, verbatim, words, name, expected) in [
            ("tests/test_a.py", 1.0, 5, false, "tests/test_a.py"),
            ("docs/a.md", 0.8, 1, true, "docs/a.md"),
            ("tests/test_a.py", 0.4, 5, false, "src/a.py"), // too little of it
            ("tests/test_a.py", 0.8, 2, false, "src/a.py"), // common words in a row
            ("CHANGELOG.md", 1.0, 6, false, "src/a.py"),    // repeats the heading of a change
            ("CHANGELOG.md", 1.0, 1, true, "CHANGELOG.md"), // the only place that has the name
        ] {
            assert_eq!(first(&[code.clone(), candidate(path, verbatim, words, name)], false), expected, "{path} {verbatim}");
        }
    }

    #[test]
    fn a_wish_for_a_change_quotes_where_all_of_it_stands() {
        let code = candidate("src/a.py", 0.3, 2, false);
        for (path, verbatim, words, expected) in [
            ("tests/test_a.py", 1.0, 5, "tests/test_a.py"),
            ("tests/test_a.py", 0.9, 5, "src/a.py"), // described, not quoted
            ("tests/test_a.py", 1.0, 3, "src/a.py"), // too short
            ("CHANGELOG.md", 1.0, 5, "src/a.py"),    // tells that it was done
        ] {
            assert_eq!(first(&[code.clone(), candidate(path, verbatim, words, false)], true), expected, "{path} {verbatim}");
        }
    }

    #[test]
    fn the_penalty_stays_where_ordinary_files_hold_as_much() {
        let held = [candidate("src/a.py", 1.0, 5, false), candidate("tests/test_a.py", 1.0, 5, false)];
        assert_eq!(first(&held, false), "src/a.py");
    }

    #[test]
    fn the_penalty_yields_where_ordinary_files_hold_all_but_a_common_word() {
        let held = [candidate("src/a.py", 0.96, 3, false), candidate("tests/test_a.py", 1.0, 4, false)];
        assert_eq!(first(&held, false), "tests/test_a.py");
    }

    #[test]
    fn a_definition_is_asked_for_rather_than_a_use() {
        let mut defining = candidate("src/a.py", 0.9, 1, true);
        defining.defines = 1.0;
        let used = Signals { lexical: 0.9, ..candidate("src/b.py", 1.0, 1, true) };
        assert_eq!(first(&[used, defining], false), "src/a.py");
    }
}

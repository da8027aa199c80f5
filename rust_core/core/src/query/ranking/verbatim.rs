//! How far a candidate's text holds the question word for word.
//!
//! A pasted message, heading or identifier that stands in one place is that place's evidence, and no prior about its path may
//! outweigh it. A few common words in a row are none.

use std::collections::HashMap;

use super::kinds::{PathKind, path_kinds};
use super::{Candidate, RankingContext, Weights};
use crate::base::words::{WordKind, split_words};
use crate::query::matching::name_stems;

/// Shares that differ by less are equal.
const ALIKE: f64 = 0.001;

/// Shares from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerbatimEvidence {
    /// How far it holds the question word for word, shared with others that do.
    pub strength: f64,
    /// The same where few hold as much; 1 where it holds a rare name, or its file is called like the question. As far as it goes, a
    /// path penalty yields.
    pub unrivalled: f64,
}

/// For each candidate.
pub(super) fn verbatim_evidence(candidates: &[Candidate], context: &RankingContext) -> Vec<VerbatimEvidence> {
    // `README` or `app.py` asks for the file, not for what mentions it.
    let is_the_file = |candidate: &Candidate| is_called(&candidate.path, &context.file_name);
    let rivals = context.rivals_of(candidates);
    if rivals.iter().any(is_the_file) {
        let of_the_file = |it: bool| VerbatimEvidence { strength: 0.0, unrivalled: f64::from(u8::from(it)) };
        return candidates.iter().map(|candidate| of_the_file(is_the_file(candidate))).collect();
    }
    let judge = Judge::new(rivals, context, context.is_defined(candidates));
    let with_rare_names = |candidate: &Candidate| {
        let found = judge.evidence(candidate);
        VerbatimEvidence { unrivalled: found.unrivalled.max(judge.of_a_rare_name(candidate)), ..found }
    };
    candidates.iter().map(with_rare_names).collect()
}

/// The most that each file holds word for word: of all files, and of those without a path penalty.
struct Fullest {
    all: Vec<f64>,
    ordinary: Vec<f64>,
}

impl Fullest {
    fn of<'a>(rivals: impl Iterator<Item = &'a Candidate> + Clone) -> Self {
        let ordinary = fullest_of_files(rivals.clone().filter(|rival| rival.prior >= 1.0));
        Self { all: fullest_of_files(rivals), ordinary }
    }
}

/// Judge how a candidate quotes the question, beside what its rivals hold.
struct Judge<'a> {
    context: &'a RankingContext,
    /// Of all that say the words, and of what has them as its name or title: only the like rival each other.
    texts: Fullest,
    names: Fullest,
    /// The most that any file holds.
    most: f64,
    /// Whether something defines the name that is asked for, alone and together with what it is in.
    defined: bool,
    whole_defined: bool,
    /// Whether people wrote something that defines it.
    by_people: bool,
}

impl<'a> Judge<'a> {
    fn new(rivals: &[Candidate], context: &'a RankingContext, by_people: bool) -> Self {
        let mut defining = rivals.iter().filter(|rival| rival.defines >= 1.0).peekable();
        let texts = Fullest::of(rivals.iter());
        Self {
            context,
            most: most_of(&texts.all),
            texts,
            names: Fullest::of(rivals.iter().filter(|rival| rival.verbatim_name)),
            defined: defining.peek().is_some(),
            whole_defined: defining.any(|candidate| is_named_with_its_holder(candidate, context)),
            by_people,
        }
    }

    fn evidence(&self, candidate: &Candidate) -> VerbatimEvidence {
        let (context, weights) = (self.context, &self.context.weights);
        let is_name = candidate.verbatim_name && f64::from(candidate.verbatim_words) <= weights.words_of_name;
        let strength = if context.is_change { of_a_wish(candidate, weights) } else { strength(candidate, is_name, weights) };
        if strength <= 0.0 || (is_name && self.is_use(candidate)) {
            return VerbatimEvidence::default();
        }
        let files = if is_name { &self.names } else { &self.texts };
        let is_more = candidate.verbatim > most_of(&files.ordinary) + ALIKE;
        let penalised = candidate.prior < 1.0;
        let as_full = |files: &[f64]| files.iter().filter(|&&held| held >= candidate.verbatim - ALIKE).count() as f64;
        let is_whole = candidate.verbatim >= self.most - ALIKE && candidate.verbatim >= weights.whole_share;
        let few = is_whole && as_full(if penalised { &files.all } else { &files.ordinary }) <= weights.few_files;
        // What a program wrote repeats what people did.
        let repeats = candidate.generated && most_of(&files.ordinary) >= candidate.verbatim - ALIKE;
        let is_unrivalled = if penalised { is_more || (few && !context.is_change && !repeats) } else { few };
        if penalised && !is_unrivalled {
            return VerbatimEvidence::default();
        }
        // What repeats the headings of changes is one place of it; the code that was changed may be meant, too.
        let waived = if lists_changes(&candidate.path) { candidate.prior } else { 1.0 };
        let unrivalled = if is_unrivalled { strength * waived } else { 0.0 };
        VerbatimEvidence { strength: strength * (weights.few_files / as_full(&files.all)).min(1.0), unrivalled }
    }

    /// Whether a candidate uses the name where another defines it, which is what was asked for. A bare symbol's uses come after its
    /// definitions anyway.
    fn is_use(&self, candidate: &Candidate) -> bool {
        if candidate.verbatim_words > 1 {
            self.whole_defined && !(candidate.defines >= 1.0 && is_named_with_its_holder(candidate, self.context))
        } else {
            self.defined && candidate.defines < 1.0 && !self.context.is_symbol
        }
    }

    /// A name that is hardly anywhere else tells the place among whatever other words.
    fn of_a_rare_name(&self, candidate: &Candidate) -> f64 {
        let is_meant = candidate.rare_name && !lists_changes(&candidate.path) && !(candidate.generated && self.by_people);
        f64::from(u8::from(is_meant && !self.context.is_change && (candidate.defines >= 1.0 || !self.defined)))
    }
}

fn most_of(files: &[f64]) -> f64 {
    files.iter().copied().fold(0.0, f64::max)
}

/// Whether a file has this name: with its ending, or without it where that is in capitals.
fn is_called(path: &str, name: &str) -> bool {
    let own = path.rsplit('/').next().unwrap_or(path);
    let stem = own.split('.').next().unwrap_or(own);
    let is_in_capitals = || name.chars().all(|c| c.is_uppercase() || c == '_');
    !name.is_empty() && ((own == name && name.contains('.')) || (stem == name && is_in_capitals()))
}

/// For each file the most that one of its candidates holds word for word, where any does.
fn fullest_of_files<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Vec<f64> {
    let mut files: HashMap<&str, f64> = HashMap::new();
    for candidate in candidates.filter(|candidate| candidate.verbatim > 0.0) {
        let most = files.entry(&candidate.path).or_default();
        *most = most.max(candidate.verbatim);
    }
    files.into_values().collect()
}

/// Whether the question has the name of what the symbol is in, too: it means `Session.get` by that, and not every `get`. The chunk
/// of a small class is called like the class.
fn is_named_with_its_holder(candidate: &Candidate, context: &RankingContext) -> bool {
    let parts = candidate.symbol.rsplit(['.', ':', '#', '\\']).filter(|part| !part.is_empty());
    parts.take(2).filter(|part| name_stems(part).iter().any(|word| !context.symbol_words.contains(word))).any(|holder| {
        let mut named = true;
        split_words(holder, &mut |word, kind| named &= kind == WordKind::Whole || context.words.contains(word));
        named
    })
}

/// How far a run is a quotation: from nothing at the least share to 1 where it is all of the question.
fn strength(candidate: &Candidate, is_name: bool, weights: &Weights) -> f64 {
    if !is_name && f64::from(candidate.verbatim_words) <= weights.words_of_name {
        return if candidate.verbatim >= weights.whole_share { weights.short_run } else { 0.0 };
    }
    ((candidate.verbatim - weights.least_share) / (weights.whole_share - weights.least_share)).clamp(0.0, 1.0)
}

/// The same of a question that reads like a wish for a change: its words describe what is not there yet, unless all of them are.
fn of_a_wish(candidate: &Candidate, weights: &Weights) -> f64 {
    f64::from(u8::from(candidate.verbatim >= weights.whole_share && !lists_changes(&candidate.path)))
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
        ordered(candidates, &ParsedQuery { is_change, ..ParsedQuery::default() }).swap_remove(0)
    }

    #[test]
    fn what_only_a_test_holds_word_for_word_comes_first() {
        let code = candidate("src/a.py", 0.3, 2, false);
        for (path, verbatim, words, name, expected) in [
            ("tests/test_a.py", 1.0, 5, false, "tests/test_a.py"),
            ("docs/a.md", 0.8, 1, true, "docs/a.md"),
            ("tests/test_a.py", 0.4, 5, false, "src/a.py"), // too little of it
            ("tests/test_a.py", 0.8, 2, false, "src/a.py"), // common words in a row
            ("CHANGELOG.md", 1.0, 6, false, "CHANGELOG.md"),
            ("CHANGELOG.md", 1.0, 1, true, "CHANGELOG.md"), // the only place that has the name
        ] {
            assert_eq!(first(&[code.clone(), candidate(path, verbatim, words, name)], false), expected, "{path} {verbatim}");
        }
    }

    #[test]
    fn the_code_of_a_change_comes_before_the_list_that_repeats_its_heading() {
        let code = Signals { lexical: 1.0, dense: 0.7, file_share: 1.0, ..candidate("src/a.py", 0.3, 2, false) };
        assert_eq!(first(&[code.clone(), candidate("CHANGELOG.md", 1.0, 6, false)], false), "src/a.py");
        assert_eq!(first(&[code, candidate("docs/a.md", 1.0, 6, false)], false), "docs/a.md");
    }

    #[test]
    fn a_wish_for_a_change_quotes_where_all_of_it_stands() {
        let code = candidate("src/a.py", 0.3, 2, false);
        for (path, verbatim, words, expected) in [
            ("tests/test_a.py", 1.0, 5, "tests/test_a.py"),
            ("tests/test_a.py", 0.9, 5, "src/a.py"), // described, not quoted
            ("tests/test_a.py", 1.0, 2, "tests/test_a.py"),
            ("CHANGELOG.md", 1.0, 5, "src/a.py"), // tells that it was done
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
    fn what_a_program_wrote_comes_behind_what_people_did_though_it_holds_as_much() {
        let own = candidate("src/a.py", 1.0, 5, false);
        let written = Signals { generated: true, lexical: 0.9, ..candidate("all.py", 1.0, 5, false) };
        assert_eq!(first(&[written.clone(), own], false), "src/a.py");
        let less = candidate("src/a.py", 0.3, 2, false);
        assert_eq!(first(&[written, less], false), "all.py");
        let named = |path: &str| Signals { rare_name: true, defines: 1.0, ..candidate(path, 1.0, 1, true) };
        let written = Signals { generated: true, lexical: 0.9, ..named("all.py") };
        assert_eq!(first(&[written, named("src/a.py")], false), "src/a.py");
    }

    #[test]
    fn a_title_is_not_outdone_by_files_that_say_its_words() {
        let mut held: Vec<Signals> = (0..6).map(|i| candidate(&format!("src/a{i}.py"), 1.0, 2, false)).collect();
        held.push(candidate("docs/a.md", 1.0, 2, true));
        assert_eq!(first(&held, false), "docs/a.md");
    }

    #[test]
    fn the_penalty_yields_where_ordinary_files_hold_all_but_a_common_word() {
        let held = [candidate("src/a.py", 0.96, 3, false), candidate("tests/test_a.py", 1.0, 4, false)];
        assert_eq!(first(&held, false), "tests/test_a.py");
    }

    fn ordered(candidates: &[Signals], query: &ParsedQuery) -> Vec<String> {
        let mut candidates: Vec<Candidate> = candidates.iter().cloned().map(Candidate::from).collect();
        let context = RankingContext::new(query, &[]);
        let order = rank(&mut candidates, &context, &EditorContext::default(), &HashSet::new());
        order.into_iter().map(|i| candidates[i].path.clone()).collect()
    }

    #[test]
    fn the_few_texts_that_hold_all_of_it_come_before_what_speaks_of_it() {
        let about = |path: &str| Signals { lexical: 1.0, dense: 0.9, ..candidate(path, 0.4, 2, false) };
        let quoting = |path: &str| Signals { lexical: 0.5, dense: 0.1, ..candidate(path, 1.0, 4, false) };
        let mut found = vec![about("src/a.py"), about("src/b.py"), quoting("tests/test_c.py"), quoting("src/c.py")];
        assert_eq!(ordered(&found, &ParsedQuery::default())[..2], ["src/c.py", "tests/test_c.py"]);
        // A phrase that many files have is none that anybody quotes.
        found.extend((0..9).map(|i| quoting(&format!("src/other{i}.py"))));
        assert_eq!(ordered(&found, &ParsedQuery::default())[..2], ["src/a.py", "src/b.py"]);
    }

    #[test]
    fn what_holds_less_gains_nothing_beside_what_holds_all() {
        let about = Signals { lexical: 1.0, dense: 0.9, ..candidate("src/a.py", 0.0, 0, false) };
        let nearly = Signals { lexical: 0.2, dense: 0.0, ..candidate("src/b.py", 0.98, 3, false) };
        let whole = Signals { lexical: 0.2, dense: 0.0, ..candidate("src/c.py", 1.0, 4, false) };
        assert_eq!(ordered(&[about, nearly, whole], &ParsedQuery::default()), ["src/c.py", "src/a.py", "src/b.py"]);
    }

    #[test]
    fn a_part_of_a_name_asks_for_no_tests() {
        let words = |words: &[&str]| ParsedQuery {
            is_symbol: true,
            plain: words.iter().map(|&word| word.to_owned()).collect(),
            ..ParsedQuery::default()
        };
        let found = [candidate("tests/a.py", 0.0, 0, false), Signals { dense: 0.1, ..candidate("src/a.py", 0.0, 0, false) }];
        assert_eq!(ordered(&found, &words(&["test", "name"]))[0], "src/a.py");
        assert_eq!(ordered(&found, &words(&["tests"]))[0], "tests/a.py");
    }

    #[test]
    fn a_document_that_tells_of_a_name_comes_before_its_uses_and_behind_code_that_defines_it() {
        let telling = |path: &str| Signals { prose: true, defines: 1.0, lexical: 0.3, ..candidate(path, 1.0, 1, true) };
        let using = Signals { lexical: 0.9, dense: 0.7, ..candidate("src/b.py", 1.0, 1, true) };
        let asked =
            |text: &str| ParsedQuery { text: text.to_owned(), names: vec!["log_cli".to_owned()], ..ParsedQuery::default() };
        for text in ["log_cli", "log_cli option"] {
            assert_eq!(ordered(&[using.clone(), telling("docs/a.rst")], &asked(text))[0], "docs/a.rst", "{text}");
        }
        let defining = Signals { defines: 1.0, ..candidate("src/a.py", 1.0, 1, true) };
        assert_eq!(ordered(&[telling("docs/a.rst"), defining], &asked("log_cli option"))[0], "src/a.py");
    }

    #[test]
    fn a_qualified_name_is_defined_where_its_holder_is_named_too() {
        let defining = |symbol: &str| Signals { symbol: symbol.to_owned(), defines: 1.0, ..candidate("src/a.py", 0.0, 0, false) };
        let using = Signals { lexical: 0.4, ..candidate("src/b.py", 1.0, 2, true) };
        let plain = ["session", "get"].map(str::to_owned).into();
        let asked = ParsedQuery { plain, names: vec!["get".to_owned()], ..ParsedQuery::default() };
        for symbol in ["Session.get", "Session"] {
            assert_eq!(ordered(&[using.clone(), defining(symbol)], &asked)[0], "src/a.py", "{symbol}");
        }
        for symbol in ["Cache.get", "get", "Cache"] {
            assert_eq!(ordered(&[using.clone(), defining(symbol)], &asked)[0], "src/b.py", "{symbol}");
        }
    }

    #[test]
    fn the_name_of_a_file_asks_for_the_file() {
        let file = |path: &str| Signals { lexical: 0.3, dense: 0.1, ..candidate(path, 0.0, 0, false) };
        let mention = candidate("docs/contributing.md", 1.0, 1, true);
        for (text, path) in [("README", "README.md"), ("README.md", "README.md"), ("pyproject.toml", "pyproject.toml")] {
            let asked = ParsedQuery { text: text.to_owned(), ..ParsedQuery::default() };
            assert_eq!(ordered(&[mention.clone(), file(path)], &asked)[0], path);
        }
        let asked = ParsedQuery { text: "readme".to_owned(), ..ParsedQuery::default() };
        assert_eq!(ordered(&[mention, file("README.md")], &asked)[0], "docs/contributing.md");
    }

    #[test]
    fn a_rare_name_tells_the_place_among_other_words() {
        let about = Signals { lexical: 0.6, dense: 0.6, ..candidate("src/a.py", 0.1, 3, false) };
        let naming = Signals { lexical: 0.05, dense: 0.0, rare_name: true, ..candidate("docs/b.md", 0.02, 1, true) };
        assert_eq!(ordered(&[about.clone(), naming.clone()], &ParsedQuery::default())[0], "docs/b.md");
        // A change names what it adds as well.
        let wish = ParsedQuery { is_change: true, ..ParsedQuery::default() };
        assert_eq!(ordered(&[about, naming], &wish)[0], "src/a.py");
    }

    #[test]
    fn a_definition_is_asked_for_rather_than_a_use() {
        let mut defining = candidate("src/a.py", 0.9, 1, true);
        defining.defines = 1.0;
        let used = Signals { lexical: 0.9, ..candidate("src/b.py", 1.0, 1, true) };
        assert_eq!(first(&[used, defining], false), "src/a.py");
    }
}

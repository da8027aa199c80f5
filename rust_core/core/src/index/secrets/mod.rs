//! Secrets inside files: found by what they look like, by the name that they are given to and by what stands around them, and
//! masked before anything else sees the text.
//!
//! The rules for tokens of known forms are those of gitleaks (MIT; `gitleaks.json`, made by `convert_gitleaks.py`) and some that it
//! lacks (`more_rules.json`). One automaton looks for the words that any of them needs; only around those is looked closer.

mod around;
mod beside;
mod bindings;
mod foreign;
mod literals;
mod named;
mod operators;
mod placeholders;
mod rules;
mod sentences;
mod several;
mod shapes;
mod surroundings;
mod tables;
mod values;
mod whole;
mod wording;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{Regex, RegexBuilder};

use crate::base::error::{Error, Result};
use crate::base::language::{Language, is_for_people};
use crate::base::masked_text::{LONG_LINE, Mask};
use crate::base::types::SkipReason;
use around::Around;
use rules::Rule;
use values::Style;

/// Version of the rules that are code. Raise it when they find something else: an index made with another version is rebuilt. The
/// rules in the JSON files take part by their content.
const VERSION: u32 = 6;

/// What a person adds to the rules, and takes from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretOptions {
    /// Regular expressions of further secrets: group 1, or the whole match.
    pub patterns: Vec<String>,
    /// Globs of paths whose secrets are none.
    pub allow_paths: Vec<String>,
    /// Rules that don't count, by their names (`password-hash`).
    pub allow_rules: Vec<String>,
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The rule that found it, such as `aws-access-token`.
    pub rule: String,
}

/// What a word calls for.
#[derive(Clone, Copy)]
enum Look {
    Name,
    ForeignName,
    Login,
    Url,
    Pem,
    Basic,
    Kubernetes,
    Rule(usize),
}

struct RuleSet {
    /// Finds the beginnings of all words.
    automaton: DFA,
    /// By the beginning that was found: the words that may stand there, and what they call for.
    words: Vec<Vec<(String, Look)>>,
    rules: Vec<Rule>,
}

/// So much of a word is looked for. Longer beginnings make a larger automaton, which no longer fits the processor's cache.
const BEGINNING: usize = 5;

static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::new);

impl RuleSet {
    fn new() -> Self {
        let rules = rules::load();
        let own = [
            (named::TRIGGERS, Look::Name),
            (&["login", "cred", "pass"], Look::Login),
            (&[shapes::URL][..], Look::Url),
            (&[shapes::PEM], Look::Pem),
            (&[shapes::BASIC], Look::Basic),
            (shapes::KUBERNETES, Look::Kubernetes),
        ];
        let own = own.iter().flat_map(|(words, look)| words.iter().map(|word| ((*word).to_owned(), *look)));
        let foreign = foreign::triggers().into_iter().map(|word| (word, Look::ForeignName));
        let of_rules =
            rules.iter().enumerate().flat_map(|(i, rule)| rule.keywords.iter().map(move |word| (word.clone(), Look::Rule(i))));
        let mut by_beginning: BTreeMap<String, Vec<(String, Look)>> = BTreeMap::new();
        for (word, look) in own.chain(foreign).chain(of_rules) {
            let beginning = word.chars().take(BEGINNING).collect::<String>().to_ascii_lowercase();
            by_beginning.entry(beginning).or_default().push((word, look));
        }
        let automaton = DFA::builder().ascii_case_insensitive(true).prefilter(false).build(by_beginning.keys());
        Self { automaton: automaton.expect("a few hundred short words"), words: by_beginning.into_values().collect(), rules }
    }

    /// Return where the next beginning of a word ends. The library's own search takes twice as many instructions a byte.
    #[inline(never)]
    fn next_beginning(&self, text: &[u8], at: usize, state: &mut StateID) -> Option<usize> {
        let mut here = *state;
        let length = text[at..].iter().position(|&byte| {
            here = self.automaton.next_state(Anchored::No, here, byte);
            self.automaton.is_match(here)
        });
        *state = here;
        length.map(|length| at + length + 1)
    }

    /// Return what the words call for whose beginnings end at `at`: the place of each, and its look.
    fn looks_at<'a>(&'a self, text: &'a [u8], at: usize, state: StateID) -> impl Iterator<Item = (usize, usize, Look)> + 'a {
        let beginnings = (0..self.automaton.match_len(state)).map(move |i| self.automaton.match_pattern(state, i));
        beginnings.flat_map(move |beginning| {
            let start = at - self.automaton.pattern_len(beginning);
            self.words[beginning.as_usize()].iter().filter_map(move |(word, look)| {
                let end = start + word.len();
                rules::is_word(word, text.get(start..end)?).then_some((start, end, *look))
            })
        })
    }
}

/// Finds secrets by the rules and by what a person added to them.
#[derive(Debug, Default)]
pub struct Detector {
    options: SecretOptions,
    patterns: Vec<Regex>,
    allow_paths: GlobSet,
    allow_rules: BTreeSet<String>,
}

impl Detector {
    /// Compile the rules. An error for a pattern or glob that can't be used.
    pub fn new(options: &SecretOptions) -> Result<Self> {
        let invalid = |field: &'static str, text: &str, reason: String| {
            Error::invalid_value(field, text, format!("is not valid: {reason}"))
        };
        let pattern = |text: &String| {
            let built = RegexBuilder::new(text).multi_line(true).size_limit(1_000_000).build();
            built.map_err(|error| invalid("secretPatterns", text, error.to_string()))
        };
        let mut globs = GlobSetBuilder::new();
        for text in &options.allow_paths {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            globs.add(glob.map_err(|error| invalid("secretAllowPaths", text, error.kind().to_string()))?);
        }
        Ok(Self {
            patterns: options.patterns.iter().map(pattern).collect::<Result<_>>()?,
            allow_paths: globs.build().map_err(|error| Error::invalid("secretAllowPaths", error.to_string()))?,
            allow_rules: options.allow_rules.iter().cloned().collect(),
            options: options.clone(),
        })
    }

    /// Name the rules that are in force: texts that were masked under another name may be masked otherwise.
    pub fn version(&self) -> String {
        format!("{VERSION} {:016x} {:?}", rules::fingerprint(), self.options)
    }

    /// Return the secrets of a text, in order; no two overlap.
    pub fn find(&self, path: &str, text: &str) -> Vec<SecretMatch> {
        if self.allow_paths.is_match(path) {
            return Vec::new();
        }
        let mut found = self.candidates(path, text);
        found.retain(|one| {
            let whole = text.is_char_boundary(one.start) && text.is_char_boundary(one.end) && one.start < one.end;
            whole && !self.allow_rules.contains(&one.rule)
        });
        found.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
        let mut apart: Vec<SecretMatch> = Vec::with_capacity(found.len());
        for one in found {
            match apart.last_mut() {
                Some(last) if one.start < last.end => last.end = last.end.max(one.end),
                _ => apart.push(one),
            }
        }
        apart
    }

    fn candidates(&self, path: &str, text: &str) -> Vec<SecretMatch> {
        let set = &*RULES;
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        let style = style_of(path, text);
        let mut around = Around::new(path, text, style);
        let mut searched = vec![0; set.rules.len()];
        let mut manifest_end = 0;
        let mut add = |rule: &str, (start, end): (usize, usize)| found.push(SecretMatch { start, end, rule: rule.to_owned() });
        let mut state = set.automaton.start_state(Anchored::No).expect("words may begin anywhere");
        let mut at = 0;
        while let Some(next) = set.next_beginning(bytes, at, &mut state) {
            at = next;
            for (start, end, look) in set.looks_at(bytes, at, state) {
                match look {
                    Look::Name => around.secrets(start, end).iter().for_each(|(rule, range)| add(rule, *range)),
                    Look::ForeignName => around.foreign_secrets(start, end).iter().for_each(|(rule, range)| add(rule, *range)),
                    Look::Login => around.login(start, end).into_iter().for_each(|range| add("login", range)),
                    Look::Url => shapes::url_password(bytes, end).into_iter().for_each(|range| add("url-password", range)),
                    Look::Pem => shapes::private_key(bytes, start).into_iter().for_each(|range| add("private-key", range)),
                    Look::Basic => shapes::basic_login(bytes, end).into_iter().for_each(|range| add("login", range)),
                    Look::Kubernetes => {
                        // All secrets of a manifest are read with the first.
                        if start >= manifest_end {
                            let (ranges, read) = shapes::kubernetes_values(bytes, start, end);
                            for range in ranges {
                                add("kubernetes-secret", range);
                            }
                            manifest_end = read;
                        }
                    }
                    Look::Rule(i) => {
                        let rule = &set.rules[i];
                        if let Some((first, last)) = rule.find(bytes, start, end, &mut around.work, &mut searched[i])
                            && text.get(first..last).is_some_and(|value| !placeholders::is_example(value))
                        {
                            add(&rule.id, (first, last));
                        }
                    }
                }
            }
        }
        let mut of_accented = None;
        for word in foreign::accented(text) {
            let around = of_accented.get_or_insert_with(|| Around::new(path, text, style));
            around.foreign_secrets(word.start, word.end).iter().for_each(|(rule, range)| add(rule, *range));
        }
        for pattern in &self.patterns {
            for one in pattern.captures_iter(bytes) {
                if let Some(value) = one.get(1).or_else(|| one.get(0)) {
                    add("custom", (value.start(), value.end()));
                }
            }
        }
        found
    }

    /// Return the text with a mask in place of each secret. The line ends of a secret stay: lines keep their numbers.
    pub fn mask(&self, path: &str, text: String) -> (String, Vec<Mask>) {
        let found = self.find(path, &text);
        if found.is_empty() { (text, Vec::new()) } else { masked(&text, &found) }
    }

    /// Tell why a file holds nothing but secrets, if it does; `found` are those that were seen in it.
    pub fn whole(&self, path: &str, text: &str, found: usize) -> Option<SkipReason> {
        if self.allow_paths.is_match(path) { None } else { whole::reason(path, text, found) }
    }
}

/// Put a mask in place of each of these, and of data that isn't read.
pub fn masked(text: &str, found: &[SecretMatch]) -> (String, Vec<Mask>) {
    let mut out = String::with_capacity(text.len());
    let mut masks = Vec::with_capacity(found.len());
    let mut at = 0;
    for one in found {
        out.push_str(&text[at..one.start]);
        let start = out.len();
        let is_secret = one.rule != LONG_LINE;
        let mask = if is_secret {
            format!("[secret: {}]", one.rule.replace('-', " "))
        } else {
            format!("[… {} characters left out …]", text[one.start..one.end].chars().count())
        };
        out.push_str(&mask);
        out.extend(text[one.start..one.end].chars().filter(|c| matches!(c, '\n' | '\r')));
        masks.push(Mask { start, end: out.len(), original_start: one.start, original_end: one.end, is_secret });
        at = one.end;
    }
    out.push_str(&text[at..]);
    (out, masks)
}

/// Tell how values are written in a file, by its language; where it has none, by its ending or its text.
fn style_of(path: &str, text: &str) -> Style {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let ending = name.rsplit_once('.').map_or(name.as_str(), |(_, ending)| ending);
    match Language::detect(path) {
        Some(language) if language.is_prose() || [Language::CSV, Language::NOTEBOOK].contains(&language) => Style::Prose,
        Some(language) if language.is_data() || [Language::TERRAFORM, Language::NIX].contains(&language) => Style::Config,
        Some(
            Language::BASH | Language::FISH | Language::POWERSHELL | Language::BATCH | Language::DOCKERFILE | Language::MAKEFILE,
        ) => Style::Shell,
        Some(_) => Style::Code,
        None if name.starts_with(".env") => Style::Config,
        None => match ending {
            "cnf" | "config" | "env" | "neon" | "npmrc" | "yarnrc" | "tfstate" | "reg" => Style::Config,
            "procfile" => Style::Shell,
            "log" => Style::Prose,
            _ if is_for_people(text) => Style::Prose,
            _ => Style::Code,
        },
    }
}

#[cfg(test)]
mod tests;

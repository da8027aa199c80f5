//! Rules for tokens that are told by their form, from gitleaks (`gitleaks.json`), and for forms that it lacks.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::foreign;
use super::values::{Class, Style, entropy, is_secret, is_strong};
use super::work::Work;

const GITLEAKS: &str = include_str!("gitleaks.json");
const MORE_RULES: &str = include_str!("more_rules.json");
/// How far before a keyword a token may begin that holds it in the middle.
const LEAD: usize = 160;
/// How far after a keyword a match may reach, unless the word there is longer.
const REACH: usize = 640;
/// A longer word is no token.
const LONGEST_WORD: usize = 20_000;

/// One kind of token.
#[derive(Deserialize)]
pub(super) struct Rule {
    pub id: String,
    regex: String,
    /// Bits a character that a token has at least; 0 for any.
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    group: usize,
    /// One of these is in whatever matches. In small letters they stand for any case.
    pub keywords: Vec<String>,
    /// A match begins at the keyword, which is part of a name.
    #[serde(default)]
    named: bool,
    /// A match must be, beside its form, what a name such as `password` may be given, or (`strong`) what is nothing else.
    #[serde(default)]
    password: bool,
    #[serde(default)]
    strong: bool,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

#[derive(Deserialize)]
struct RuleFile {
    rules: Vec<Rule>,
}

/// Load all rules, those of gitleaks first.
pub(super) fn load() -> Vec<Rule> {
    let read = |json| serde_json::from_str::<RuleFile>(json).map(|file| file.rules).unwrap_or_default();
    let mut rules = read(GITLEAKS);
    rules.extend(read(MORE_RULES));
    rules
}

/// Return a number that differs when a rule or word of the files does.
pub(super) fn fingerprint() -> u64 {
    fingerprint_of(&[GITLEAKS, MORE_RULES, foreign::WORD_FILE])
}

fn fingerprint_of(files: &[&str]) -> u64 {
    files.iter().fold(0, |seed, file| xxhash_rust::xxh3::xxh3_64_with_seed(file.as_bytes(), seed))
}

/// Compile a pattern with the meaning that it has in gitleaks: classes are those of ASCII.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(20_000_000).build()
}

/// Tell whether `text` is this word: in any case where the word is in small letters.
pub(super) fn is_word(word: &str, text: &[u8]) -> bool {
    let word = word.as_bytes();
    text.eq_ignore_ascii_case(word) && (text == word || word.iter().all(|b| !b.is_ascii_uppercase()))
}

impl Rule {
    /// Compile the pattern when the first text holds one of the keywords: most never do.
    fn compiled(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.regex).ok()).as_ref()
    }

    /// Return the token around the keyword at `start..end`, as a range of the text.
    ///
    /// `searched` is how far nothing was found around an earlier keyword, and is set where nothing is found.
    pub fn find(&self, text: &[u8], start: usize, end: usize, budget: &mut Work, searched: &mut usize) -> Option<(usize, usize)> {
        if text.len().min(end + REACH) <= *searched {
            return None;
        }
        let from = if self.named { start } else { start.saturating_sub(LEAD) };
        let length = |most: usize| text[end..].iter().take(most).take_while(|b| !b.is_ascii_whitespace()).count();
        let word = match length(REACH) {
            REACH if budget.take(LONGEST_WORD) => length(LONGEST_WORD),
            short => short,
        };
        let to = text.len().min(end + (2 * REACH).max(word + 2));
        let mut at = from;
        // The first match may stand before the keyword.
        while let Some(found) = self.compiled()?.captures_at(&text[..to], at) {
            let whole = found.get(0)?;
            let secret = if self.group > 0 { found.get(self.group) } else { found.iter().skip(1).flatten().next() };
            let secret = secret.unwrap_or(whole);
            if whole.end() >= end {
                let clear = self.entropy > 0.0 && entropy(secret.as_bytes()) <= self.entropy;
                let looks_chosen =
                    |bytes| std::str::from_utf8(bytes).is_ok_and(|word| is_secret(word, Class::Password, Style::Code, true));
                let clear = clear || self.password && !looks_chosen(secret.as_bytes());
                let clear = clear || self.strong && !std::str::from_utf8(secret.as_bytes()).is_ok_and(is_strong);
                return (!clear).then(|| (secret.start(), secret.end()));
            }
            at = whole.end().max(at + 1);
        }
        *searched = to;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_has_keywords() {
        let rules = load();
        assert!(rules.len() > 200, "{} rules", rules.len());
        for rule in &rules {
            assert!(compile(&rule.regex).is_ok(), "{}", rule.id);
            assert!(!rule.keywords.is_empty() && rule.keywords.iter().all(|word| word.len() > 1), "{}", rule.id);
        }
    }

    #[test]
    fn a_changed_rule_changes_the_fingerprint() {
        let changed = MORE_RULES.replacen("regex", "regexp", 1);
        assert_ne!(fingerprint_of(&[MORE_RULES]), fingerprint_of(&[&changed]));
        assert_ne!(fingerprint(), fingerprint_of(&[MORE_RULES]));
    }
}

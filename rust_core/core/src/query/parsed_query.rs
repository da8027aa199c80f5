//! A text that is searched for, taken apart, with what models say to it.

use std::collections::HashSet;

/// A text that is searched for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedQuery {
    /// What is asked.
    pub text: String,
    /// The same without words of speech: what is searched for by words.
    pub search_text: String,
    /// What a text may hold word for word; empty to read no text.
    pub quoted: String,
    /// Its telling words, stemmed.
    pub words: Vec<String>,
    /// The symbols that it names.
    pub names: Vec<String>,
    /// The stemmed words of the part of the project that it is headed with.
    pub scope: Vec<String>,
    /// Every word of it as it was asked, lower-case.
    pub plain: HashSet<String>,
    /// It is a symbol and nothing else.
    pub is_symbol: bool,
    /// It asks for a change: its words describe what the code should become.
    pub is_change: bool,
    /// How chunks are compared with it by meaning.
    pub meaning: Meaning,
}

/// How chunks are compared with a question by meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// By the question's vector and theirs in the index; an empty one is like none of them.
    Vector(Vec<f32>),
    /// By the cosines that a store elsewhere gave, by chunk id. Every other chunk has none.
    Scores(Vec<(u128, f32)>),
}

impl Default for Meaning {
    fn default() -> Self {
        Self::Vector(Vec::new())
    }
}

impl ParsedQuery {
    /// The names whose definitions are looked for: a question of one word may be a name, whatever it looks like. What is written as
    /// an option is one in any question, and what is written in capitals in one of few words: in others it is an abbreviation.
    pub(crate) fn sought_names(&self) -> Vec<&str> {
        if !self.names.is_empty() {
            return self.names.iter().map(String::as_str).collect();
        }
        let is_few = self.has_few_words();
        let is_capital = |token: &str| is_few && token.len() > 1 && token.chars().all(|c| c.is_uppercase() || c == '_');
        let is_option = |token: &str| token.starts_with(if is_few { "-" } else { "--" }) && token.contains(char::is_alphabetic);
        let tokens = self.text.split_whitespace().map(|token| token.trim_end_matches(['?', ',', '.', ':']));
        let named: Vec<&str> = tokens.filter(|token| is_capital(token) || is_option(token)).collect();
        match self.words.as_slice() {
            [word] if named.is_empty() => vec![word],
            _ => named,
        }
    }

    /// Whether it is a name and at most a word for what that is: `DEBUG setting`.
    pub(crate) fn has_few_words(&self) -> bool {
        self.text.split_whitespace().nth(3).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::ParsedQuery;

    #[test]
    fn what_is_written_as_no_word_is_a_name() {
        for (text, words, names) in [
            ("DEBUG setting", &["debug", "set"][..], &["DEBUG"][..]),
            ("--log-cli", &["log", "cli"], &["--log-cli"]),
            ("-v", &["v"], &["-v"]),
            ("what does --log-cli do?", &["log", "cli"], &["--log-cli"]),
            ("how HTTP requests are sent", &["http", "request", "sent"], &[]),
            ("timeouts", &["timeout"], &["timeout"]),
            ("a - b", &[], &[]),
        ] {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            let query = ParsedQuery { text: text.to_owned(), words, ..ParsedQuery::default() };
            assert_eq!(query.sought_names(), names, "{text}");
        }
    }
}

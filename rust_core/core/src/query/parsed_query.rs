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
    /// The names whose definitions are looked for: a question of one word may be a name, whatever it looks like.
    pub(crate) fn sought_names(&self) -> Vec<&str> {
        let names = if self.names.is_empty() && self.words.len() == 1 { &self.words } else { &self.names };
        names.iter().map(String::as_str).collect()
    }
}

//! What is known of a chunk as an answer, and what the rules make of that.

use std::ops::Deref;
use std::sync::Arc;

use super::additive::ADDITIVE;
use super::kinds::{PathKind, path_kinds};
use super::multiplicative::MULTIPLICATIVE;
use super::verbatim::VerbatimEvidence;
use crate::query::results::Doc;

/// What the searches found out about a chunk. Shares are from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // each is a signal of its own
pub struct Signals {
    /// Which chunk of the snapshot.
    pub doc: Doc,
    /// Its id.
    pub id: u128,
    /// Its file.
    pub path: String,
    /// Whether it is a function or method.
    pub callable: bool,
    /// Whether its file says that a program wrote it.
    pub generated: bool,
    /// Whether its file is written for people.
    pub prose: bool,
    /// What it defines; empty for code without a name.
    pub symbol: String,
    /// Its first line, 1-based.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Cosine of its vector and the question's; 0 without one.
    pub dense: f64,
    /// Its rank in that search, from 1; `None` if that search did not find it.
    pub dense_rank: Option<u32>,
    /// Share of the question's weight that it holds.
    pub lexical: f64,
    /// Its rank in that search, from 1; `None` if that search did not find it.
    pub lexical_rank: Option<u32>,
    /// The question's terms that it holds in any field, rarest first.
    pub matched: Vec<String>,
    /// Share of the question's terms that it holds.
    pub covered: f64,
    /// Share of the question's weight that its file holds as a whole.
    pub file_share: f64,
    /// Words in its file, roughly.
    pub file_words: u32,
    /// How exactly it defines a symbol that the question names: 1 for the exact name, less for another case or form, 0 for none.
    pub defines: f64,
    /// Share of the question's weight that the longest run of its words holds which stands in the text word for word; or of a
    /// message that the text writes with placeholders, its values left out, where that is more.
    pub verbatim: f64,
    /// Words in that run or message.
    pub verbatim_words: u32,
    /// Whether that run has an identifier in it, in the same case, or is a title.
    pub verbatim_name: bool,
    /// Whether it holds a name of the question that hardly any chunk holds.
    pub rare_name: bool,
    /// How closely its file is related to the active one by names.
    pub relatedness: f64,
}

impl Signals {
    /// Return the kinds of its file, by its path and by its text.
    pub fn kinds(&self) -> Vec<PathKind> {
        let mut kinds = path_kinds(&self.path);
        for (kind, holds) in [(PathKind::Generated, self.generated), (PathKind::Prose, self.prose)] {
            if holds && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }
}

/// A chunk that may answer the question: its signals, shared by all copies, and what the rules made of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// What is known of it.
    pub signals: Arc<Signals>,
    /// Reciprocal rank fusion of both searches.
    pub fused: f64,
    /// The factor for its path alone, less than 1 for files that are seldom what a question is about.
    pub prior: f64,
    /// How far its text holds the question word for word.
    pub verbatim_evidence: VerbatimEvidence,
    /// Higher is better; only comparable within one question.
    pub score: f64,
    /// What each rule of [`ADDITIVE`] added.
    pub gains: [f64; ADDITIVE.len()],
    /// What each rule of [`MULTIPLICATIVE`] multiplied by.
    pub factors: [f64; MULTIPLICATIVE.len()],
    /// What rules of the list as a whole added.
    pub lifts: Vec<(&'static str, f64)>,
}

impl Candidate {
    /// What the evidence for it amounts to, whatever else is in the list.
    pub fn own_score(&self) -> f64 {
        self.gains.iter().sum::<f64>() * self.factors.iter().product::<f64>()
    }
}

impl From<Signals> for Candidate {
    fn from(signals: Signals) -> Self {
        Self { signals: Arc::new(signals), factors: [1.0; MULTIPLICATIVE.len()], ..Self::default() }
    }
}

impl Deref for Candidate {
    type Target = Signals;

    fn deref(&self) -> &Signals {
        &self.signals
    }
}

//! Order the candidates that the searches found.
//!
//! Every candidate has all signals ([`Candidate`]), whichever search found it. Rules turn them into a score: each of the [`additive`]
//! rules adds its weight times a value from about 0 to 1, the [`multiplicative`] ones multiply, and the [`listwise`] ones compare
//! candidates with each other. Each rule is one small function over all candidates, and [`rank`] can be told to leave any of them
//! out. What they weigh stands in [`Weights`], by name: `docs/quality.md` has what each is worth, and which others were tried. The
//! weights for questions were fitted on 26 of the benchmark's repositories and checked on the others, those for changes on
//! histories outside it; no rule knows a repository.

mod additive;
mod candidate;
mod contributions;
mod kinds;
mod listwise;
mod multiplicative;
mod verbatim;
mod weights;

use std::collections::HashSet;

pub use additive::ADDITIVE;
pub use candidate::{Candidate, Signals};
pub use contributions::contributions;
pub use kinds::{PathKind, path_kinds};
use listwise::LISTWISE;
pub use multiplicative::MULTIPLICATIVE;
use multiplicative::path_priors;
pub use verbatim::VerbatimEvidence;
use verbatim::verbatim_evidence;
pub use weights::Weights;

use crate::query::matching::{PathQuery, name_stems, name_words};
use crate::query::parsed_query::ParsedQuery;

/// What the rules know of the question.
#[allow(clippy::struct_excessive_bools)] // each is asked for by itself
pub struct RankingContext {
    paths: PathQuery,
    /// How many symbols it names.
    symbol_count: usize,
    /// Stemmed words of those.
    symbol_words: Vec<String>,
    /// Stemmed words of the part of the project that it names, sorted.
    scope: Vec<String>,
    /// Every word of it, lower-case.
    words: HashSet<String>,
    /// The question is a symbol and nothing else.
    is_symbol: bool,
    /// The question asks for a change: its words describe what the code should become.
    is_change: bool,
    /// The question is for what people wrote for people.
    wants_documents: bool,
    /// The question is a name and hardly more, or short enough for that.
    is_short: bool,
    /// The question, where it may be the name of a file.
    file_name: String,
    weights: Weights,
    /// Holds what the question finds in the whole index, where the candidates are but a part of that.
    everywhere: Vec<Candidate>,
}

impl RankingContext {
    /// From a question with the rarity of each of its words.
    pub fn new(query: &ParsedQuery, rarities: &[f32]) -> Self {
        let mut scope = query.scope.clone();
        scope.sort_unstable();
        scope.dedup();
        let rarities = query.words.iter().cloned().zip(rarities.iter().copied().map(f64::from)).collect();
        Self {
            paths: PathQuery::new(rarities, &name_words(&query.text)),
            symbol_count: query.names.len(),
            symbol_words: query.names.iter().flat_map(|name| name_stems(name)).collect(),
            scope,
            words: query.plain.clone(),
            is_symbol: query.is_symbol,
            is_change: query.is_change,
            wants_documents: false,
            is_short: query.has_few_words(),
            file_name: if query.text.contains(char::is_whitespace) { String::new() } else { query.text.clone() },
            weights: Weights::default(),
            everywhere: Vec::new(),
        }
    }

    /// The same question, weighed otherwise: for tests, and to see what a weight is worth.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// The same question, for documents and nothing else.
    #[must_use]
    pub fn for_documents(self, wants_documents: bool) -> Self {
        Self { wants_documents, ..self }
    }

    /// The same question, whose candidates a filter chose: what else holds as much is told by what it finds without the filter. With
    /// nothing, candidates are compared with each other.
    #[must_use]
    pub fn comparing_with(mut self, everywhere: Vec<Candidate>) -> Self {
        self.everywhere = everywhere;
        let priors = path_priors(&self.everywhere, &self);
        self.everywhere.iter_mut().zip(priors).for_each(|(candidate, prior)| candidate.prior = prior);
        self
    }

    /// Return what candidates are compared with.
    fn rivals_of<'a>(&'a self, candidates: &'a [Candidate]) -> &'a [Candidate] {
        if self.everywhere.is_empty() { candidates } else { &self.everywhere }
    }

    /// Tell whether an ordinary file defines what is asked for.
    fn is_defined(&self, candidates: &[Candidate]) -> bool {
        self.rivals_of(candidates).iter().any(|rival| rival.prior >= 1.0 && rival.defines >= 1.0)
    }

    /// Tell of each candidate whether it is a document for people that says by name what the question asks for, which is a name and
    /// hardly more. Code that defines a name alone comes first all the same (`definitions_first`).
    fn documenting(&self, candidates: &[Candidate]) -> Vec<bool> {
        let is_asked = !self.is_change && (!self.file_name.is_empty() || (self.is_short && !self.is_defined(candidates)));
        let is_meant = |candidate: &Candidate| {
            let is_current = |kind: &PathKind| !matches!(kind, PathKind::Test | PathKind::Changes);
            candidate.prose && candidate.defines >= 1.0 && candidate.kinds().iter().all(is_current)
        };
        candidates.iter().map(|candidate| is_asked && is_meant(candidate)).collect()
    }
}

/// What is open in the editor.
#[derive(Clone, Debug, Default)]
pub struct EditorContext {
    /// The active file.
    pub active_path: Option<String>,
    /// Files that are open.
    pub open_paths: HashSet<String>,
    /// Files that the person pinned.
    pub pinned: HashSet<String>,
}

/// Of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const RANK_CONSTANT: f64 = 60.0;

/// Rules to leave out, by name.
pub type DisabledRules<'a> = &'a HashSet<String>;

/// The order of candidates, best first, by their places: equal ones by what both searches say, then by path and place in the file. Sets what the stages made
/// of each.
pub fn rank(
    candidates: &mut [Candidate],
    context: &RankingContext,
    editor: &EditorContext,
    disabled: DisabledRules<'_>,
) -> Vec<usize> {
    score(candidates, context, editor, disabled);
    for (name, rule) in LISTWISE {
        if !disabled.contains(name) {
            rule(candidates, context, editor);
        }
    }
    order(candidates)
}

/// Score each candidate by itself.
pub fn score(candidates: &mut [Candidate], context: &RankingContext, editor: &EditorContext, disabled: DisabledRules<'_>) {
    let priors = path_priors(candidates, context);
    candidates.iter_mut().zip(priors).for_each(|(candidate, prior)| candidate.prior = prior);
    let literal = if disabled.contains("verbatim") {
        vec![VerbatimEvidence::default(); candidates.len()]
    } else {
        verbatim_evidence(candidates, context)
    };
    candidates.iter_mut().zip(literal).for_each(|(candidate, literal)| candidate.verbatim_evidence = literal);
    for candidate in candidates.iter_mut() {
        let share = |place: Option<u32>| place.map_or(0.0, |place| 1.0 / (RANK_CONSTANT + f64::from(place)));
        candidate.fused = share(candidate.dense_rank) + share(candidate.lexical_rank);
        candidate.gains = [0.0; ADDITIVE.len()];
        candidate.factors = [1.0; MULTIPLICATIVE.len()];
        candidate.lifts.clear();
    }
    for (i, (name, rule)) in ADDITIVE.into_iter().enumerate() {
        if !disabled.contains(name) {
            let gains = rule(candidates, context);
            candidates.iter_mut().zip(gains).for_each(|(candidate, gain)| candidate.gains[i] = gain);
        }
    }
    for (i, (name, rule)) in MULTIPLICATIVE.into_iter().enumerate() {
        if !disabled.contains(name) {
            let factors = rule(candidates, context, editor);
            candidates.iter_mut().zip(factors).for_each(|(candidate, factor)| candidate.factors[i] = factor);
        }
    }
    for candidate in candidates {
        candidate.score = candidate.own_score();
    }
}

/// Places of the candidates, best first.
fn order(candidates: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&candidates[a], &candidates[b]);
        let by_score = b.score.total_cmp(&a.score).then(b.fused.total_cmp(&a.fused));
        by_score.then_with(|| a.path.cmp(&b.path)).then(a.doc.cmp(&b.doc))
    });
    order
}

//! Which files are related to a file: those that define a name that it uses, and those that use a name that it defines.
//!
//! Nothing is stored for it. Who defines a name and where a word stands is in the dictionary; only a name that few define and
//! that is rare relates files.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::statistics::Statistics;
use crate::formats::postings::list::PostingList;
use crate::formats::postings::terms::{definition_hash, term_hash};
use crate::query::view::View;

/// Shorter names stand for anything.
pub(super) const SHORTEST_NAME: usize = 3;
/// Who of more definers is meant can't be told by a name.
pub(super) const MOST_DEFINERS: usize = 3;
/// Names of other case or form are listed with a name: more chunks than this are not looked through for it.
const MOST_LISTED: u64 = 16;
/// A name that stands in a larger share of all chunks than one of so many is a word.
const RARE: u64 = 50;

/// A file: the view that it is in, and its ordinal there.
pub type FilePlace = (u32, u32);

/// The live files that are related to `file`, and how strongly: the rarer the names and the more of them, the more. `text` is the
/// file as it stands now.
pub fn related_files(views: &[View<'_>], statistics: &Statistics, file: FilePlace, text: &str) -> HashMap<FilePlace, f32> {
    let mut related = HashMap::new();
    let index = NameIndex { views, statistics };
    let own = index.defined_in(file);
    for name in identifiers(text).filter(|name| !own.contains(*name)) {
        if let Some((definers, weight)) = index.definers(name) {
            for place in definers {
                *related.entry(place).or_default() += weight;
            }
        }
    }
    for name in &own {
        if let Some((definers, weight)) = index.definers(name) {
            index.each_user(name, |place| {
                if !definers.contains(&place) {
                    *related.entry(place).or_default() += weight;
                }
            });
        }
    }
    related.remove(&file);
    related
}

/// The distinct identifiers of a text, as written.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() >= SHORTEST_NAME && !word.starts_with(|c: char| c.is_ascii_digit()))
        .filter(move |word| seen.insert(*word))
}

/// What the dictionaries of all views know of names.
pub(super) struct NameIndex<'a> {
    pub(super) views: &'a [View<'a>],
    pub(super) statistics: &'a Statistics,
}

impl<'a> NameIndex<'a> {
    /// The names that a file defines, sorted: strengths are sums of floats, which another order would round otherwise.
    fn defined_in(&self, (view, file): FilePlace) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Some(view) = self.views.get(view as usize) else { return names };
        for chunk in view.segment.file_chunks(file) {
            view.segment.each_definition(chunk, |name| {
                if name.len() >= SHORTEST_NAME {
                    names.insert(name.to_owned());
                }
            });
        }
        names
    }

    /// The live files that define exactly this name, and what it says of each; `None` for a name that relates nothing.
    fn definers(&self, name: &str) -> Option<(Vec<FilePlace>, f32)> {
        let hash = definition_hash(name);
        // Most identifiers are nobody's: they are told by a look-up, before anything is read.
        if !(1..=MOST_LISTED).contains(&self.count(hash)) {
            return None;
        }
        let rarity = self.rarity(name)?;
        let mut places: Vec<FilePlace> = Vec::new();
        self.each_list(hash, |number, view, list| {
            list.each(|chunk, _| {
                let place = (number, view.segment.file_of(chunk));
                // A document names what code defines: it tells of it.
                let is_code = || !view.segment.file(place.1).language.is_prose();
                if view.files.get(place.1) && !places.contains(&place) && is_code() {
                    let mut defines = false;
                    view.segment.each_definition(chunk, |defined| defines |= defined == name);
                    if defines {
                        places.push(place);
                    }
                }
            });
        });
        let weight = rarity / places.len().max(1) as f32;
        (1..=MOST_DEFINERS).contains(&places.len()).then_some((places, weight))
    }

    /// How rare a name is, up to 1; `None` for one that is common.
    fn rarity(&self, name: &str) -> Option<f32> {
        let count = self.count(word_hash(name));
        let chunks = self.statistics.chunks();
        let share = chunks as f32 / count.max(1) as f32;
        // Two places are few however small the workspace is.
        (count <= 2.max(chunks / RARE)).then(|| share.ln_1p() / (chunks as f32).ln_1p())
    }

    fn each_list<'s>(&'s self, hash: u64, mut look: impl FnMut(u32, &View<'a>, PostingList<'s>)) {
        for (number, view) in (0..).zip(self.views) {
            if let Some(list) = view.segment.dictionary().find(hash) {
                look(number, view, list);
            }
        }
    }

    fn count(&self, hash: u64) -> u64 {
        let lists: Vec<_> = self.views.iter().map(|view| view.segment.dictionary().find(hash)).collect();
        self.statistics.count(hash, &lists)
    }

    /// Every live file with the name in a body, in any case.
    pub(super) fn each_user(&self, name: &str, mut look: impl FnMut(FilePlace)) {
        self.each_list(word_hash(name), |number, view, list| {
            let mut passed = 0;
            list.each(|chunk, frequencies| {
                if chunk >= passed && frequencies.counts()[2] > 0 {
                    let file = view.segment.file_of(chunk);
                    passed = view.segment.file_chunks(file).end;
                    if view.files.get(file) {
                        look((number, file));
                    }
                }
            });
        });
    }
}

/// The hash under which the splitter's whole of an identifier is listed.
fn word_hash(name: &str) -> u64 {
    term_hash(name.to_lowercase().trim_matches('_'))
}

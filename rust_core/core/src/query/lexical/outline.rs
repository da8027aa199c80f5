//! The files of a workspace by how much others use what they define.

use std::collections::{HashMap, HashSet};

use super::related_files::{FilePlace, MOST_DEFINERS, NameIndex, SHORTEST_NAME};
use super::statistics::Statistics;
use crate::query::view::View;

/// A file with what it defines.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOutline {
    /// Its path.
    pub path: String,
    /// How many chunks it has.
    pub chunks: u32,
    /// How much others use it: the sum of what each name is worth, in logarithms.
    pub weight: f32,
    /// Names that it defines, each with the number of other files that hold it: those of most worth first.
    pub names: Vec<(String, u32)>,
}

/// Every live file, the most used first, with at most `most` names each. A name that more than a few files define tells none of them.
pub fn outline(views: &[View<'_>], statistics: &Statistics, most: usize) -> Vec<FileOutline> {
    let mut definers: HashMap<String, Vec<FilePlace>> = HashMap::new();
    let mut places: Vec<FilePlace> = Vec::new();
    for (number, view) in (0..).zip(views) {
        for file in view.files.iter() {
            places.push((number, file));
            if view.segment.file(file).language.is_prose() {
                continue; // it tells of what code defines
            }
            view.segment.each_defined_name(view.segment.file_chunks(file), |name| {
                if name.len() < SHORTEST_NAME {
                    return;
                }
                match definers.get_mut(name) {
                    // One more than counts is enough to know.
                    Some(known) if known.len() > MOST_DEFINERS || known.last() == Some(&(number, file)) => {}
                    Some(known) => known.push((number, file)),
                    None => {
                        definers.insert(name.to_owned(), vec![(number, file)]);
                    }
                }
            });
        }
    }
    let index = NameIndex { views, statistics };
    let mut names: HashMap<FilePlace, Vec<(String, u32)>> = HashMap::new();
    for (name, known) in definers.into_iter().filter(|(_, known)| known.len() <= MOST_DEFINERS) {
        let mut users: HashSet<FilePlace> = HashSet::new();
        // Words are kept without the underscores around them: who uses `_close` can't be told.
        if !name.starts_with('_') && !name.ends_with('_') {
            index.each_user(&name, |place| {
                users.insert(place);
            });
        }
        let users = users.iter().filter(|place| !known.contains(place)).count() as u32;
        for place in known {
            names.entry(place).or_default().push((name.clone(), users));
        }
    }
    let files = places.len();
    let mut found: Vec<FileOutline> = Vec::new();
    for (view, file) in places {
        let segment = views[view as usize].segment;
        let mut names = names.remove(&(view, file)).unwrap_or_default();
        names.sort_unstable_by(|(one, users), (other, of_other)| {
            worth(*of_other, files).total_cmp(&worth(*users, files)).then_with(|| one.cmp(other))
        });
        let weight = names.iter().map(|(_, users)| worth(*users, files).ln_1p()).sum();
        names.truncate(most);
        let chunks = segment.file_chunks(file).len() as u32;
        found.push(FileOutline { path: segment.file(file).path.to_owned(), chunks, weight, names });
    }
    found.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.path.cmp(&b.path)));
    found
}

/// What a name is worth that so many of all files hold: one that nearly every file holds is a word.
fn worth(users: u32, files: usize) -> f32 {
    let users = users as f32;
    if users > 0.0 { users * ((files + 1) as f32 / users).ln() } else { 0.0 }
}

//! Match the words of a question with the names of files.

use std::collections::HashMap;

use super::names::{path_words, stem};

/// Words match as prefixes when one begins with the other and both have so many letters at least.
const PREFIX_LETTERS: usize = 4;

/// Shares from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathMatch {
    /// Of the question's weight: words that the name has.
    pub exact: f64,
    /// Of the question's weight: words that begin like one of the name's, or it like them.
    pub prefix: f64,
    /// Of the name's words: those that the question has.
    pub covered: f64,
}

/// The words of a question, to be matched with paths.
pub struct PathQuery {
    /// Stemmed words with their rarities.
    words: Vec<(String, f64)>,
    /// Two neighbouring words as one, stemmed, and what it stands for: `filesize` answers for "file size".
    joined: Vec<(String, [String; 2])>,
    weight: f64,
}

impl PathQuery {
    /// From stemmed words with their rarities, and the words of the text in order, not stemmed.
    pub fn new(words: Vec<(String, f64)>, text: &[String]) -> Self {
        let joined = text.windows(2).map(|pair| {
            let [a, b] = [&pair[0], &pair[1]];
            (stem(&format!("{a}{b}")).into_owned(), [stem(a).into_owned(), stem(b).into_owned()])
        });
        let weight: f64 = words.iter().map(|(_, rarity)| rarity).sum();
        Self { joined: joined.collect(), weight: if weight > 0.0 { weight } else { 1.0 }, words }
    }

    /// How well each path matches.
    pub fn matches<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Vec<PathMatch> {
        let mut known: HashMap<&str, PathMatch> = HashMap::new();
        paths.into_iter().map(|path| *known.entry(path).or_insert_with(|| self.match_path(path))).collect()
    }

    fn match_path(&self, path: &str) -> PathMatch {
        let name = path_words(path);
        // The last of equal compounds counts, as the last of equal names does where they are looked up.
        let joined: Vec<&[String; 2]> =
            name.iter().filter_map(|word| self.joined.iter().rfind(|(compound, _)| compound == word)).map(|(_, of)| of).collect();
        let mut found = PathMatch::default();
        for (word, rarity) in &self.words {
            if name.contains(word) || joined.iter().any(|of| of.contains(word)) {
                found.exact += rarity;
            } else if name.iter().any(|other| share_prefix(word, other)) {
                found.prefix += rarity;
            }
        }
        let telling = |word: &&String| {
            self.words.iter().any(|(asked, _)| asked == *word) || self.joined.iter().any(|(compound, _)| compound == *word)
        };
        let covered = name.iter().filter(telling).count() as f64 / name.len().max(1) as f64;
        PathMatch { exact: found.exact / self.weight, prefix: found.prefix / self.weight, covered }
    }
}

/// One begins with the other: `dependency` and `depend`, `auth` and `authentication`.
fn share_prefix(a: &str, b: &str) -> bool {
    let long = |word: &str| word.chars().nth(PREFIX_LETTERS - 1).is_some();
    (a.starts_with(b) || b.starts_with(a)) && long(a) && long(b)
}

#[cfg(test)]
mod tests {
    use super::{PathMatch, PathQuery};

    fn query(words: &[(&str, f64)], text: &str) -> PathQuery {
        let text: Vec<String> = text.split(' ').map(str::to_owned).collect();
        PathQuery::new(words.iter().map(|&(word, rarity)| (word.to_owned(), rarity)).collect(), &text)
    }

    #[track_caller]
    fn check(query: &PathQuery, path: &str, exact: f64, prefix: f64, covered: f64) {
        assert_eq!(query.matches([path, path]), [PathMatch { exact, prefix, covered }; 2], "{path}");
    }

    #[test]
    fn words_of_the_name_count_by_their_rarity() {
        let asked = query(&[("auth", 3.0), ("user", 1.0)], "auth user");
        check(&asked, "auth.py", 0.75, 0.0, 1.0);
        check(&asked, "src/auth_user.py", 1.0, 0.0, 1.0);
        check(&asked, "auth/other_name.py", 0.0, 0.0, 0.0);
        check(&asked, "authentication_flow.rs", 0.0, 0.75, 0.0);
        check(&asked, "authuser.rs", 1.0, 0.0, 1.0);
        check(&asked, "use.rs", 0.0, 0.0, 0.0);
        check(&asked, "", 0.0, 0.0, 0.0);
    }

    #[test]
    fn nothing_fits_a_question_without_words() {
        check(&query(&[], ""), "a/file.py", 0.0, 0.0, 0.0);
    }
}

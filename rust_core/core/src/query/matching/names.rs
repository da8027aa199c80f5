//! Identifiers as words, and words without their endings.

use std::borrow::Cow;

use crate::base::words::is_cjk;

/// Files that are called by convention, not for what is in them: their folder says that.
const NAMED_BY_FOLDER: [&str; 8] = ["index", "mod", "__init__", "lib", "main", "init", "root", "package"];

/// What a character is within a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    /// A letter of a script without spaces.
    Wide,
    Between,
}

fn class_of(c: char) -> Class {
    match c {
        'A'..='Z' => Class::Upper,
        'a'..='z' => Class::Lower,
        '0'..='9' => Class::Digit,
        _ if c.is_ascii() => Class::Between,
        '\u{300}'..='\u{36f}' => Class::Lower, // an accent of its own
        _ if is_cjk(c) => Class::Wide,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphabetic() => Class::Lower,
        _ if c.is_numeric() => Class::Digit,
        _ => Class::Between,
    }
}

/// Identifiers as lower-case words of two letters or more: `getHTTPServer` gives get, http, server.
pub fn split_name(text: &str, mut emit: impl FnMut(Cow<'_, str>)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let class = class_of(first);
        let run = |class: Class| rest.find(|c| class_of(c) != class).unwrap_or(rest.len());
        let mut end = run(class);
        if class == Class::Upper && rest[end..].starts_with(|c| class_of(c) == Class::Lower) {
            // The last of several capitals begins the next word.
            let last = rest[..end].char_indices().next_back().map_or(0, |(at, _)| at);
            end =
                if last > 0 { last } else { end + rest[end..].find(|c| class_of(c) != Class::Lower).unwrap_or(rest.len() - end) };
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        if class != Class::Between && piece.chars().nth(1).is_some() {
            let as_it_is = piece.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            emit(if as_it_is { Cow::Borrowed(piece) } else { Cow::Owned(piece.to_lowercase()) });
        }
    }
}

/// The words that [`split_name`] hands out.
pub fn name_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    split_name(text, |word| words.push(word.into_owned()));
    words
}

/// The same without their endings.
pub fn name_stems(text: &str) -> Vec<String> {
    let mut stems = Vec::new();
    split_name(text, |word| stems.push(stem(&word).into_owned()));
    stems
}

/// Cut the commonest English endings, so that `commands` meets `command` and `parsing` meets `parse`.
pub fn stem(word: &str) -> Cow<'_, str> {
    let longer_than = |least: usize| word.len() > least && word.chars().nth(least).is_some();
    let mut stem = match word {
        _ if longer_than(5) && word.ends_with("ing") => Cow::Borrowed(&word[..word.len() - 3]),
        _ if longer_than(4) && word.ends_with("ies") => Cow::Owned(format!("{}y", &word[..word.len() - 3])),
        _ if longer_than(4) && word.ends_with("ed") => Cow::Borrowed(&word[..word.len() - 2]),
        _ if longer_than(3) && word.ends_with('s') && !word.ends_with("ss") => Cow::Borrowed(&word[..word.len() - 1]),
        _ => Cow::Borrowed(word),
    };
    if stem.ends_with('e') && stem.chars().nth(3).is_some() {
        cut(&mut stem);
    }
    let mut backwards = stem.chars().rev();
    if let (Some(last), Some(before)) = (backwards.next(), backwards.next())
        && last == before
        && !matches!(last, 'l' | 's')
        && stem.chars().nth(3).is_some()
    {
        cut(&mut stem);
    }
    stem
}

/// Take the last character off.
fn cut(word: &mut Cow<'_, str>) {
    let end = word.char_indices().next_back().map_or(0, |(at, _)| at);
    match word {
        Cow::Borrowed(text) => *text = &text[..end],
        Cow::Owned(text) => text.truncate(end),
    }
}

/// Stemmed words of a file's name, each once. A file that is named by convention takes its folder's name as well.
pub fn path_words(path: &str) -> Vec<String> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = name.strip_prefix('.').unwrap_or_else(|| name.split('.').next().unwrap_or(name));
    let mut words: Vec<String> = Vec::new();
    let mut add = |word: Cow<'_, str>| {
        let word = stem(&word);
        if !words.iter().any(|known| *known == word) {
            words.push(word.into_owned());
        }
    };
    split_name(base, &mut add);
    if NAMED_BY_FOLDER.contains(&base) {
        split_name(folders.rsplit('/').next().unwrap_or(folders), &mut add);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{name_words as split, path_words, stem};

    #[test]
    fn names_are_split_as_people_speak_of_them() {
        for (text, words) in [
            ("getHTTPServer", &["get", "http", "server"][..]),
            ("snake_case and kebab-case", &["snake", "case", "and", "kebab", "case"]),
            ("HTTP2Server x1", &["http", "server"]),
            ("utf16 v10", &["utf", "16", "10"]),
            ("GrößeÄndern", &["größe", "ändern"]),
            ("où est définie_la ÉTÉServer", &["où", "est", "définie", "la", "été", "server"]),
            ("e\u{301}te\u{301}", &["e\u{301}te\u{301}"]),
            ("читатьФайл", &["читать", "файл"]),
            ("读取file文件", &["读取", "file", "文件"]),
            ("AbC", &["ab"]),
            ("", &[]),
        ] {
            assert_eq!(split(text), words, "{text}");
        }
    }

    #[test]
    fn words_lose_their_endings() {
        for (word, expected) in [
            ("commands", "command"),
            ("parsing", "pars"),
            ("parse", "pars"),
            ("dependencies", "dependency"),
            ("running", "run"),
            ("cached", "cach"),
            ("class", "class"),
            ("ring", "ring"),
            ("bed", "bed"),
            ("see", "see"),
            ("call", "call"),
            ("ääää", "äää"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn a_file_that_is_named_by_convention_takes_its_folders_name() {
        assert_eq!(path_words("src/http/client_pool.py"), ["client", "pool"]);
        assert_eq!(path_words("src/scheduler/mod.rs"), ["mod", "scheduler"]);
        assert_eq!(path_words("conf/.eslintrc.json"), ["eslintrc", "json"]);
        assert_eq!(path_words("mod.rs"), ["mod"]);
        assert!(path_words("").is_empty());
    }

    proptest! {
        #[test]
        fn words_are_lower_case_and_in_the_text(text in "\\PC{0,40}") {
            let lower = text.to_lowercase();
            for word in split(&text) {
                prop_assert!(word.chars().nth(1).is_some());
                prop_assert!(lower.contains(&word) || !text.is_ascii(), "{word}");
                prop_assert!(!stem(&word).is_empty());
            }
        }
    }
}

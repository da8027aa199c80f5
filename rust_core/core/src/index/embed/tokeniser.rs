//! Text to the token ids of a trained model. `training/TOKENISER.md` is the specification; `training/reference.py` gives the
//! same ids, which a test compares.

use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64;

/// Runs of one kind that are longer and not in the vocabulary are data, not words.
const LONGEST_WORD: usize = 40;
/// No entry of a vocabulary is longer.
const LONGEST_ENTRY: usize = 24;
/// Marks a free place of the table.
const FREE: u32 = u32::MAX;

/// The entries of a model, as they lie in its file, with a hash table over them that is made on first use.
#[derive(Debug, Default)]
pub struct Vocabulary {
    table: OnceLock<Table>,
}

/// Open addressing: part of the hash beside the id, so that a wrong place is seldom looked up.
#[derive(Debug)]
struct Table {
    places: Vec<(u32, u32)>,
    mask: usize,
}

/// Where a vocabulary's bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// `count + 1` little-endian 32-bit ends.
    pub offsets: &'a [u8],
    /// The entries without separators.
    pub text: &'a [u8],
}

impl<'a> Entries<'a> {
    /// How many entries there are.
    pub fn count(&self) -> usize {
        (self.offsets.len() / 4).saturating_sub(1)
    }

    fn offset(&self, i: usize) -> usize {
        self.offsets.get(i * 4..i * 4 + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    /// The bytes of an entry; empty if the file is damaged there.
    pub fn entry(&self, id: usize) -> &'a [u8] {
        self.text.get(self.offset(id)..self.offset(id + 1)).unwrap_or_default()
    }
}

impl Vocabulary {
    fn table(&self, entries: Entries<'_>) -> &Table {
        self.table.get_or_init(|| {
            let size = (entries.count() * 4).next_power_of_two().max(16);
            let mut places = vec![(0, FREE); size];
            for id in 0..entries.count() {
                let hash = xxh3_64(entries.entry(id));
                let mut at = hash as usize & (size - 1);
                while places[at].1 != FREE {
                    at = (at + 1) & (size - 1);
                }
                places[at] = ((hash >> 32) as u32, id as u32);
            }
            Table { places, mask: size - 1 }
        })
    }

    /// A tokeniser over these entries.
    pub fn tokeniser<'a>(&'a self, entries: Entries<'a>) -> Tokeniser<'a> {
        Tokeniser { table: self.table(entries), entries }
    }
}

/// Splits text and looks its words up.
#[derive(Clone, Copy, Debug)]
pub struct Tokeniser<'a> {
    table: &'a Table,
    entries: Entries<'a>,
}

impl Tokeniser<'_> {
    fn id(&self, word: &[u8]) -> Option<u32> {
        let hash = xxh3_64(word);
        let mut at = hash as usize & self.table.mask;
        loop {
            let (tag, id) = self.table.places[at];
            if id == FREE {
                return None;
            }
            if tag == (hash >> 32) as u32 && self.entries.entry(id as usize) == word {
                return Some(id);
            }
            at = (at + 1) & self.table.mask;
        }
    }

    /// Hand the ids of all words of `text` to `emit`, in order.
    #[inline]
    pub fn tokens(&self, text: &str, emit: &mut impl FnMut(u32)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let end = word_end(bytes, at);
            if end > at && end - at <= LONGEST_WORD {
                let mut lower = [0; LONGEST_WORD];
                let lower = &mut lower[..end - at];
                lower.copy_from_slice(&bytes[at..end]);
                lower.make_ascii_lowercase();
                self.pieces(lower, emit);
            }
            at = end.max(at + 1);
        }
    }

    /// The whole word, or the longest entries that fit, from the left.
    fn pieces(&self, word: &[u8], emit: &mut impl FnMut(u32)) {
        let mut at = 0;
        while at < word.len() {
            let longest = word.len().min(at + LONGEST_ENTRY);
            let found = (at + 1..=longest).rev().find_map(|end| Some((self.id(&word[at..end])?, end)));
            if let Some((id, end)) = found {
                emit(id);
                at = end;
            } else {
                at += 1;
            }
        }
    }
}

/// The end of the word that begins at `at`; `at` itself if none does.
fn word_end(bytes: &[u8], at: usize) -> usize {
    let run = |from: usize, is: fn(&u8) -> bool| bytes[from..].iter().position(|b| !is(b)).map_or(bytes.len(), |n| from + n);
    match bytes[at] {
        b'a'..=b'z' => run(at, u8::is_ascii_lowercase),
        b'0'..=b'9' => run(at, u8::is_ascii_digit),
        b'A'..=b'Z' => {
            let end = run(at, u8::is_ascii_uppercase);
            let small = bytes.get(end).is_some_and(u8::is_ascii_lowercase);
            match end - at {
                1 if small => run(end, u8::is_ascii_lowercase),
                n if n > 1 && small => end - 1,
                _ => end,
            }
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, Vocabulary};

    fn split(text: &str) -> Vec<String> {
        let words: Vec<String> = (b'a'..=b'z').chain(b'0'..=b'9').map(|b| (b as char).to_string()).collect();
        let mut all = words;
        all.extend(["abc", "def", "header", "http", "parse", "server", "user", "utf"].map(String::from));
        all.sort();
        let mut offsets = vec![0_u8; 4];
        let mut text_of = Vec::new();
        for word in &all {
            text_of.extend_from_slice(word.as_bytes());
            offsets.extend_from_slice(&(text_of.len() as u32).to_le_bytes());
        }
        let vocabulary = Vocabulary::default();
        let tokeniser = vocabulary.tokeniser(Entries { offsets: &offsets, text: &text_of });
        let mut out = Vec::new();
        tokeniser.tokens(text, &mut |id| out.push(all[id as usize].clone()));
        out
    }

    #[test]
    fn identifiers_are_split_where_people_would() {
        assert_eq!(
            split("parseHeader HTTPServer ABCDef utf8 USER_header"),
            ["parse", "header", "http", "server", "abc", "def", "utf", "8", "user", "header"]
        );
    }

    #[test]
    fn unknown_words_are_cut_into_the_longest_entries() {
        assert_eq!(split("serverhttpx"), ["server", "http", "x"]);
        assert_eq!(split("é parseé"), ["parse"]);
        assert!(split(&"q".repeat(41)).is_empty());
        assert_eq!(split(&"q".repeat(40)).len(), 40);
    }
}

//! Terms as hashes, and the fields of one chunk as a list of postings.

use super::fields::{Frequencies, length_code};
use crate::base::words::{Splitter, WordKind};

/// Bits of a stored term hash, see `segment/format.rs`.
const HASH_BITS: u32 = 36;
/// Definitions live in the same dictionary; another seed keeps them apart from words.
const DEFINITION_SEED: u64 = 0x6361_7272_656c_0001;

/// The hash of a search term. Its forms share one, so that a question about parsing finds what says parse.
#[inline]
pub fn term_hash(term: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(stem(term).as_bytes()) >> (64 - HASH_BITS)
}

/// The hash under which chunks that define `name` are listed. Names that differ only in case or in a plural share it.
pub fn definition_hash(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(stem(&name.to_lowercase()).as_bytes(), DEFINITION_SEED) >> (64 - HASH_BITS)
}

/// A lower-case name without its plural or tense ending: `users` and `user`, `parsing`, `parsed` and `parse` are asked alike.
pub fn stem(lower: &str) -> &str {
    let cut = |suffix: &str, least: usize| lower.strip_suffix(suffix).filter(|s| s.len() >= least);
    let base = cut("ing", 4)
        .or_else(|| cut("ies", 3))
        .or_else(|| cut("ed", 4))
        .or_else(|| cut("es", 4))
        .or_else(|| cut("s", 3).filter(|s| !s.ends_with('s')))
        .unwrap_or(lower);
    base.strip_suffix(['e', 'y']).filter(|s| s.len() >= 3).unwrap_or(base)
}

/// One field of a chunk.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    /// Symbol and signature.
    Name = 0,
    /// Folders and file name.
    Path = 1,
    /// The text.
    Body = 2,
}

/// A term in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Term hash.
    pub hash: u64,
    /// Chunk ordinal, in the file while it is drafted, in the segment afterwards.
    pub chunk: u32,
    /// How often, by field.
    pub frequencies: Frequencies,
}

impl Occurrence {
    /// Return its place in the order of occurrences as one number, which takes a third of the time to compare.
    pub fn order(&self) -> u128 {
        u128::from(self.hash) << 64 | u128::from(self.chunk) << 32 | u128::from(self.frequencies.byte())
    }
}

/// Collects the terms of one chunk at a time. Buffers are kept.
#[derive(Debug, Default)]
pub struct ChunkTerms {
    splitter: Splitter,
    /// Hash with the field in the low bits: sorting groups them.
    seen: Vec<u64>,
    lengths: [u32; 3],
}

impl ChunkTerms {
    /// Count the terms of `text` into `field`.
    pub fn add(&mut self, field: Field, text: &str) {
        let Self { splitter, seen, lengths } = self;
        splitter.split(text, &mut |word, kind| {
            seen.push(term_hash(word) << 2 | field as u64);
            // A whole identifier stands where its parts stand: it makes the text no longer.
            lengths[field as usize] += u32::from(kind != WordKind::Whole);
        });
    }

    /// Hand out what was added since the last call and begin the next chunk. Gives the lengths of the fields.
    pub fn finish(&mut self, chunk: u32, out: &mut Vec<Occurrence>) -> [u32; 3] {
        self.seen.sort_unstable();
        for group in self.seen.chunk_by(|a, b| a >> 2 == b >> 2) {
            let mut counts = [0_u32; 3];
            for entry in group {
                counts[(entry & 3) as usize] += 1;
            }
            let [name, path, body] = counts;
            out.push(Occurrence { hash: group[0] >> 2, chunk, frequencies: Frequencies::new(name, path, body) });
        }
        self.seen.clear();
        std::mem::take(&mut self.lengths)
    }
}

/// Field lengths as a segment keeps them.
pub fn length_codes(lengths: [u32; 3]) -> [u8; 3] {
    lengths.map(length_code)
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn endings_go_and_short_names_stay() {
        for group in
            [&["user", "users"][..], &["parse", "parsed", "parses", "parsing"], &["query", "queries"], &["index", "indexes"]]
        {
            let stems: Vec<_> = group.iter().map(|w| stem(w)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{stems:?}");
        }
        for word in ["bus", "is", "class", "ring", "used", "as"] {
            assert!(stem(word).len() >= word.len() - 1, "{word}");
        }
    }
}

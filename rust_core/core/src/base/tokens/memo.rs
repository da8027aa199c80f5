//! How many tokens pieces have that were seen before.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Entries: half a megabyte. Pieces of code repeat, and a pack has a few thousand.
const ENTRIES: usize = 1 << 16;
/// Longer pieces are data, which doesn't repeat.
const LONGEST: usize = 64;
/// Bits of an entry that hold the count; the rest tell the piece from others of the same place.
const COUNT_BITS: u32 = 8;
const COUNTS: u64 = (1 << COUNT_BITS) - 1;

/// A table of counts by the piece's hash, in which a later piece replaces an earlier one. Any thread reads and writes it: an
/// entry is one word. The hash is seeded anew in each process, so that no text can be made to look like another.
pub struct Memo {
    seed: u64,
    entries: Box<[AtomicU64]>,
}

impl Memo {
    /// Make an empty table.
    pub fn new() -> Self {
        Self { seed: RandomState::new().hash_one(0_u8), entries: (0..ENTRIES).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Return the tokens of `piece`: as it was counted before, or else by `count`.
    pub fn count(&self, piece: &str, count: impl FnOnce() -> usize) -> usize {
        if piece.len() > LONGEST {
            return count();
        }
        let hash = xxh3_64_with_seed(piece.as_bytes(), self.seed);
        let entry = &self.entries[hash as usize % ENTRIES];
        let known = entry.load(Ordering::Relaxed);
        // No piece has no token: 0 is an entry that nothing was written to.
        if known ^ hash <= COUNTS && known & COUNTS != 0 {
            return (known & COUNTS) as usize;
        }
        let counted = count();
        if (1..=COUNTS as usize).contains(&counted) {
            entry.store((hash & !COUNTS) | counted as u64, Ordering::Relaxed);
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_counted_once_unless_it_is_long_or_empty() {
        let memo = Memo::new();
        let long = "x".repeat(LONGEST + 1);
        for (piece, tokens, again) in [("word", 2, 2), ("other", 3, 3), (long.as_str(), 5, 6), ("", 0, 6)] {
            assert_eq!(memo.count(piece, || tokens), tokens, "{piece}");
            assert_eq!(memo.count(piece, || 6), again, "{piece}");
        }
    }
}

//! Which files of a segment count: a bit each.

use std::ops::Range;

/// A set of file ordinals of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMask {
    words: Vec<u64>,
    len: u32,
}

impl FileMask {
    /// All of `len` files.
    pub fn new_all(len: u32) -> Self {
        let mut mask = Self { words: vec![u64::MAX; (len as usize).div_ceil(64)], len };
        if !len.is_multiple_of(64)
            && let Some(last) = mask.words.last_mut()
        {
            *last = (1 << (len % 64)) - 1;
        }
        mask
    }

    /// None of `len` files.
    pub fn new_none(len: u32) -> Self {
        Self { words: vec![0; (len as usize).div_ceil(64)], len }
    }

    /// How many files the segment has, in the set or not.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the segment has no files.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many files are in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }

    /// Add `file`; one beyond the segment is ignored.
    pub fn set(&mut self, file: u32) {
        if file < self.len {
            self.words[file as usize / 64] |= 1 << (file % 64);
        }
    }

    /// Take `file` out.
    pub fn clear(&mut self, file: u32) {
        if file < self.len {
            self.words[file as usize / 64] &= !(1 << (file % 64));
        }
    }

    /// Whether `file` is in the set.
    pub fn get(&self, file: u32) -> bool {
        file < self.len && self.words[file as usize / 64] >> (file % 64) & 1 == 1
    }

    /// The files in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| Some(w & (w - 1)).filter(|&w| w != 0))
                .map(move |w| i as u32 * 64 + w.trailing_zeros())
        })
    }

    /// The files in the set as ascending ranges, none of which touches the next.
    pub fn runs(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, 0)?;
            let end = self.next(start, u64::MAX).unwrap_or(self.len).min(self.len);
            at = end;
            Some(start..end)
        })
    }

    /// The first file from `from` on whose bit differs from those of `all`: looks at 64 at a time.
    fn next(&self, from: u32, all: u64) -> Option<u32> {
        let first = from as usize / 64;
        let before = !(u64::MAX << (from % 64));
        let mut differing = self.words.iter().enumerate().skip(first).map(|(i, &word)| {
            let differs = word ^ all;
            (i, if i == first { differs & !before } else { differs })
        });
        let (i, differs) = differing.find(|&(_, differs)| differs != 0)?;
        Some(i as u32 * 64 + differs.trailing_zeros())
    }

    /// Keep only the files that are in `other` as well.
    pub fn intersect(&mut self, other: &Self) {
        for (i, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(i).copied().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::FileMask;

    #[test]
    fn sets_clears_and_iterates() {
        for len in [0, 1, 63, 64, 65, 200] {
            let mut mask = FileMask::new_all(len);
            assert_eq!(mask.iter().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            mask.clear(3);
            mask.set(len + 5);
            assert_eq!(mask.count(), mask.iter().count() as u32);
            assert!(!mask.get(3) && !mask.get(len + 5));
            let mut some = FileMask::new_none(len);
            some.set(0);
            some.set(3);
            some.intersect(&mask);
            assert_eq!(some.iter().collect::<Vec<_>>(), if len > 0 { vec![0] } else { vec![] });
        }
    }

    proptest! {
        #[test]
        fn runs_are_the_files_in_the_set(len in 0_u32..300, cleared in prop::collection::vec(0_u32..300, 0..20), full: bool) {
            let mut mask = if full { FileMask::new_all(len) } else { FileMask::new_none(len) };
            for file in cleared {
                if full { mask.clear(file) } else { mask.set(file) }
            }
            let runs: Vec<_> = mask.runs().collect();
            prop_assert_eq!(runs.iter().cloned().flatten().collect::<Vec<_>>(), mask.iter().collect::<Vec<_>>());
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start), "neighbours are one run");
        }
    }
}

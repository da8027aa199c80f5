//! Posting lists: ascending chunk ordinals with field frequencies.
//!
//! A posting is `varint(gap << 2 | code)`: code 0 is "once in the body", 1 "twice in the body", 2 "once in the path", 3 means
//! that a byte of [`Frequencies`] follows. Most postings are one byte long. A list of more than [`BLOCK`] postings begins with a
//! table, `last chunk u32, end offset u32` for each block of [`BLOCK`]; gaps begin anew in each block, so that a reader can
//! jump to the block of a chunk.

use std::ops::Range;

use super::fields::Frequencies;
use crate::formats::bytes::{Cursor, put_varint, read_u32};

/// Postings that share one entry of the jump table.
pub const BLOCK: usize = 128;

fn put_posting(out: &mut Vec<u8>, gap: u32, frequencies: Frequencies) {
    let code = match frequencies.counts() {
        [0, 0, 1] => 0,
        [0, 0, 2] => 1,
        [0, 1, 0] => 2,
        _ => 3,
    };
    put_varint(out, (gap as u64) << 2 | code);
    if code == 3 {
        out.push(frequencies.byte());
    }
}

/// The frequencies that codes 0 to 2 stand for.
const ONCE: [u8; 4] = [1 << 4, 2 << 4, 1 << 2, 0];

fn take_posting(cursor: &mut Cursor<'_>) -> (u32, Frequencies) {
    let word = cursor.varint();
    let code = (word & 3) as usize;
    let byte = if code == 3 { cursor.byte() } else { ONCE[code] };
    ((word >> 2) as u32, Frequencies::from_byte(byte))
}

/// Read `count` postings. What [`take_posting`] does, but codes are told apart without a branch: in the lists of common words,
/// where the time goes, they can't be predicted.
#[inline]
fn decode(bytes: &[u8], count: usize, look: &mut impl FnMut(u32, Frequencies)) {
    let mut at = 0;
    let mut chunk = 0_u32;
    for _ in 0..count {
        let Some(&first) = bytes.get(at) else { return };
        at += 1;
        let mut word = first as u32;
        if first >= 0x80 {
            let mut cursor = Cursor::new(bytes, at - 1);
            word = cursor.varint() as u32;
            at = bytes.len() - cursor.rest().len();
        }
        let code = (word & 3) as usize;
        let packed = bytes.get(at).copied().unwrap_or(0);
        let byte = if code == 3 { packed } else { ONCE[code] };
        at += usize::from(code == 3);
        chunk = chunk.wrapping_add(word >> 2);
        look(chunk, Frequencies::from_byte(byte));
    }
}

/// Append a list. `postings` must ascend by chunk.
pub fn put_list(out: &mut Vec<u8>, postings: &[(u32, Frequencies)]) {
    let blocks = if postings.len() > BLOCK { postings.len().div_ceil(BLOCK) } else { 0 };
    let table = out.len();
    out.resize(table + blocks * 8, 0);
    let base = out.len();
    for (i, block) in postings.chunks(BLOCK).enumerate() {
        let mut before = 0;
        for &(chunk, frequencies) in block {
            put_posting(out, chunk - before, frequencies);
            before = chunk;
        }
        if blocks > 0 {
            let end = (out.len() - base) as u32;
            out[table + i * 8..][..4].copy_from_slice(&before.to_le_bytes());
            out[table + i * 8 + 4..][..4].copy_from_slice(&end.to_le_bytes());
        }
    }
}

/// A list to read. Forged bytes give wrong postings, never a panic; callers must expect chunks beyond the segment.
#[derive(Clone, Copy, Debug)]
pub struct PostingList<'a> {
    /// How many postings.
    pub count: u32,
    bytes: &'a [u8],
}

impl<'a> PostingList<'a> {
    /// The list of `count` postings in `bytes`.
    pub fn new(count: u32, bytes: &'a [u8]) -> Self {
        // A posting takes at least a byte: a forged count can't make a reader loop for long.
        Self { count: count.min(bytes.len() as u32), bytes }
    }

    fn blocks(&self) -> usize {
        if self.count as usize > BLOCK { (self.count as usize).div_ceil(BLOCK) } else { 0 }
    }

    fn block(&self, index: usize) -> &'a [u8] {
        let base = self.blocks() * 8;
        let start = if index == 0 { 0 } else { read_u32(self.bytes, index * 8 - 4) as usize };
        self.bytes.get(base.saturating_add(start)..).unwrap_or_default()
    }

    fn block_len(&self, index: usize) -> usize {
        (self.count as usize).saturating_sub(index * BLOCK).min(BLOCK)
    }

    /// Hand every posting to `look`.
    #[inline]
    pub fn each(&self, mut look: impl FnMut(u32, Frequencies)) {
        for index in 0..self.blocks().max(1) {
            decode(self.block(index), self.block_len(index), &mut look);
        }
    }

    /// How many postings are of chunks in `ranges`, which ascend and don't touch.
    pub fn count_in(&self, ranges: &[Range<u32>]) -> u32 {
        let mut count = 0;
        if self.blocks() > ranges.len() {
            let mut seeker = self.seeker();
            for range in ranges {
                seeker.each_in(range, |_, _| count += 1);
            }
            return count;
        }
        // A jump for each range would read as much.
        let mut left = ranges;
        self.each(|chunk, _| {
            if left.first().is_some_and(|range| range.end <= chunk) {
                left = &left[left.partition_point(|range| range.end <= chunk)..];
            }
            count += u32::from(left.first().is_some_and(|range| range.start <= chunk));
        });
        count
    }

    /// A reader that jumps.
    pub fn seeker(&self) -> Seeker<'a> {
        Seeker { list: *self, block: usize::MAX, decoded: Vec::new(), at: 0 }
    }
}

/// Answers "what of this chunk?" for ascending chunks without reading the blocks between them.
#[derive(Debug)]
pub struct Seeker<'a> {
    list: PostingList<'a>,
    block: usize,
    decoded: Vec<(u32, Frequencies)>,
    /// Where in `decoded` the chunk was that was asked for last.
    at: usize,
}

impl Seeker<'_> {
    /// The frequencies of the term in `chunk`, if it occurs there.
    pub fn get(&mut self, chunk: u32) -> Option<Frequencies> {
        self.load(self.block_of(chunk))?;
        self.move_to(chunk);
        self.decoded.get(self.at).filter(|p| p.0 == chunk).map(|p| p.1)
    }

    /// Hand every posting of these chunks to `look`.
    pub fn each_in(&mut self, chunks: &Range<u32>, mut look: impl FnMut(u32, Frequencies)) {
        let mut block = self.block_of(chunks.start);
        while self.load(block).is_some() {
            self.move_to(chunks.start);
            while let Some(&(chunk, frequencies)) = self.decoded.get(self.at) {
                if chunk >= chunks.end {
                    return;
                }
                look(chunk, frequencies);
                self.at += 1;
            }
            block += 1;
        }
    }

    /// Go on to the first posting of the block that isn't before `chunk`. Those that are asked for are seldom far from each other.
    fn move_to(&mut self, chunk: u32) {
        let is_before = |at: usize| self.decoded.get(at).is_some_and(|p| p.0 < chunk);
        let mut at = if self.at > 0 && !is_before(self.at - 1) { 0 } else { self.at };
        while is_before(at) {
            at += 1;
        }
        self.at = at;
    }

    /// The first block that can hold `chunk`.
    fn block_of(&self, chunk: u32) -> usize {
        let blocks = self.list.blocks();
        // Mostly it is the block where the last one was.
        if self.block < blocks
            && self.decoded.first().is_some_and(|p| p.0 <= chunk)
            && self.decoded.last().is_some_and(|p| chunk <= p.0)
        {
            return self.block;
        }
        // Last chunks ascend, so the block is found by halving.
        let (mut low, mut high) = (if self.block < blocks { self.block } else { 0 }, blocks);
        if low < blocks && low > 0 && read_u32(self.list.bytes, (low - 1) * 8) >= chunk {
            low = 0;
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            if read_u32(self.list.bytes, middle * 8) < chunk { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Decode a block, unless it is the one that was decoded last; `None` beyond the last.
    fn load(&mut self, block: usize) -> Option<()> {
        if block >= self.list.blocks().max(1) {
            return None;
        }
        if self.block != block {
            self.block = block;
            self.at = 0;
            self.decoded.clear();
            let decoded = &mut self.decoded;
            decode(self.list.block(block), self.list.block_len(block), &mut |chunk, frequencies| {
                decoded.push((chunk, frequencies));
            });
        }
        Some(())
    }
}

/// Append a list of one posting, which the dictionary keeps itself.
pub fn put_single(out: &mut Vec<u8>, chunk: u32, frequencies: Frequencies) {
    put_posting(out, chunk, frequencies);
}

/// Skip a list of one posting, and give its bytes.
pub fn take_single<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    let bytes = cursor.rest();
    let before = bytes.len();
    take_posting(cursor);
    &bytes[..before - cursor.rest().len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_seeker_finds_what_a_reader_sees(
            chunks in proptest::collection::btree_set(0_u32..2000, 1..600),
            mut starts in proptest::collection::vec((0_u32..2100, 0_u32..400), 1..20),
        ) {
            let postings: Vec<_> = chunks.iter().map(|&chunk| (chunk, Frequencies::new(0, chunk % 2, chunk % 7))).collect();
            let mut bytes = Vec::new();
            put_list(&mut bytes, &postings);
            let list = PostingList::new(postings.len() as u32, &bytes);
            starts.sort_unstable();
            let mut seeker = list.seeker();
            for (start, length) in starts {
                let range = start..start + length;
                let mut seen = BTreeSet::new();
                seeker.each_in(&range, |chunk, frequencies| {
                    assert_eq!(frequencies.counts(), Frequencies::new(0, chunk % 2, chunk % 7).counts());
                    assert!(seen.insert(chunk));
                });
                prop_assert_eq!(seen, chunks.range(range).copied().collect::<BTreeSet<u32>>());
                prop_assert_eq!(list.seeker().get(start).is_some(), chunks.contains(&start));
            }
        }

        #[test]
        fn postings_are_counted_in_ranges(
            chunks in proptest::collection::btree_set(0_u32..2000, 1..600),
            bounds in proptest::collection::btree_set(0_u32..2100, 0..40),
        ) {
            let postings: Vec<_> = chunks.iter().map(|&chunk| (chunk, Frequencies::new(0, chunk % 2, chunk % 7))).collect();
            let mut bytes = Vec::new();
            put_list(&mut bytes, &postings);
            let bounds: Vec<u32> = bounds.into_iter().collect();
            let ranges: Vec<_> = bounds.as_chunks().0.iter().map(|&[start, end]| start..end).collect();
            let expected = ranges.iter().map(|range| chunks.range(range.clone()).count() as u32).sum::<u32>();
            prop_assert_eq!(PostingList::new(postings.len() as u32, &bytes).count_in(&ranges), expected);
        }
    }
}

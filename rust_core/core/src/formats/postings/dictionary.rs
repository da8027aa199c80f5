//! The sorted term hashes of a segment and where their postings are.
//!
//! A term's entry is `varint hash - hash before` (the whole hash at the start of a block), `varint count`, then the posting
//! itself where the count is 1 (more than half of all terms), or `varint length` of its list in `Postings`, where lists follow
//! each other in the same order.

use super::fields::Frequencies;
use super::list::{PostingList, put_list, put_single, take_single};
use crate::formats::bytes::{Cursor, put_varint, read_u64};

/// Terms that share one entry of the index.
const TERMS_PER_BLOCK: u64 = 32;
const INDEX_ENTRY: usize = 24;

/// Writes terms in ascending order.
#[derive(Debug, Default)]
pub struct DictionaryWriter {
    /// Section `TermBlocks`.
    pub index: Vec<u8>,
    /// Section `TermData`.
    pub data: Vec<u8>,
    /// Section `Postings`.
    pub postings: Vec<u8>,
    /// Terms written.
    pub terms: u64,
    before: u64,
    last: Option<u64>,
}

impl DictionaryWriter {
    /// Add the next term. An empty list is left out, and so is a term out of order (only a forged segment has one).
    pub fn push(&mut self, hash: u64, list: &[(u32, Frequencies)]) {
        if list.is_empty() || self.last.is_some_and(|last| hash <= last) {
            return;
        }
        if self.terms.is_multiple_of(TERMS_PER_BLOCK) {
            self.before = 0;
            for number in [hash, self.data.len() as u64, self.postings.len() as u64] {
                self.index.extend_from_slice(&number.to_le_bytes());
            }
        }
        put_varint(&mut self.data, hash - self.before);
        put_varint(&mut self.data, list.len() as u64);
        if let &[(chunk, frequencies)] = list {
            put_single(&mut self.data, chunk, frequencies);
        } else {
            let start = self.postings.len();
            put_list(&mut self.postings, list);
            put_varint(&mut self.data, (self.postings.len() - start) as u64);
        }
        self.before = hash;
        self.last = Some(hash);
        self.terms += 1;
    }
}

/// Reads terms.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a> {
    /// Section `TermBlocks`.
    pub index: &'a [u8],
    /// Section `TermData`.
    pub data: &'a [u8],
    /// Section `Postings`.
    pub postings: &'a [u8],
    /// Terms in all.
    pub terms: u64,
}

impl<'a> Dictionary<'a> {
    fn blocks(&self) -> usize {
        self.index.len() / INDEX_ENTRY
    }

    /// The postings of `hash`, if the segment has it.
    pub fn find(&self, hash: u64) -> Option<PostingList<'a>> {
        let (mut low, mut high) = (0, self.blocks());
        while low < high {
            let middle = usize::midpoint(low, high);
            if read_u64(self.index, middle * INDEX_ENTRY) <= hash { low = middle + 1 } else { high = middle }
        }
        let mut entries = self.block(low.checked_sub(1)?);
        entries.find(|(found, _)| *found >= hash).filter(|(found, _)| *found == hash).map(|(_, list)| list)
    }

    /// All terms, ascending by hash.
    pub fn iter(&self) -> impl Iterator<Item = (u64, PostingList<'a>)> + use<'a> {
        let this = *self;
        (0..this.blocks()).flat_map(move |block| this.block(block))
    }

    fn block(&self, block: usize) -> Entries<'a> {
        let at = |field: usize| usize::try_from(read_u64(self.index, block * INDEX_ENTRY + field * 8)).unwrap_or(usize::MAX);
        Entries {
            data: Cursor::new(self.data, at(1)),
            postings: Cursor::new(self.postings, at(2)),
            left: self.terms.saturating_sub(block as u64 * TERMS_PER_BLOCK).min(TERMS_PER_BLOCK),
            hash: 0,
        }
    }
}

/// The terms of one block.
struct Entries<'a> {
    data: Cursor<'a>,
    postings: Cursor<'a>,
    left: u64,
    hash: u64,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (u64, PostingList<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 || self.data.is_empty() {
            return None;
        }
        self.left -= 1;
        self.hash = self.hash.wrapping_add(self.data.varint());
        let count = self.data.varint().min(u32::MAX as u64) as u32;
        let bytes = if count == 1 {
            take_single(&mut self.data)
        } else {
            let length = self.data.varint();
            self.postings.take(length)
        };
        Some((self.hash, PostingList::new(count, bytes)))
    }
}

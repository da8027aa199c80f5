//! The trained model that ships with Carrel: a table of token vectors, summed with learned weights (`training/FORMAT.md`).
//!
//! The file is read into memory and used as it lies, so opening it costs a copy and a checksum. It isn't mapped: an upgrade that cuts
//! the file short would end a running server with SIGBUS.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::tokeniser::{Entries, Tokeniser, Vocabulary};
use super::{LocalEmbedder, normalise};
use crate::base::error::{Error, Result};
use crate::base::simd::Adder;
use crate::base::types::EmbedInput;

const MAGIC: &[u8; 8] = b"CARRELEM";
const VERSION: u32 = 1;
const HEADER: usize = 256;
const FIELDS: usize = 5;
/// Where the header keeps the offsets of the blocks, the field weights, the floor and the two checksums.
const PLACES_AT: usize = 32;
const FIELD_WEIGHTS_AT: usize = 80;
const FLOOR_AT: usize = 100;
const BODY_SUM_AT: usize = 224;
const HEADER_SUM_AT: usize = 240;

/// Which token weights a text is read with.
#[derive(Clone, Copy)]
enum Side {
    Question = 2,
    Head = 3,
    Body = 4,
}

/// A model file in memory.
#[derive(Debug)]
pub struct StaticModel {
    file: Box<[u8]>,
    id: String,
    dim: usize,
    count: usize,
    places: [usize; 6],
    fields: [f32; FIELDS],
    floor: f32,
    adder: Adder,
    vocabulary: Vocabulary,
}

/// How often each token occurs in the text at hand, and which do: one for each thread.
#[derive(Default)]
struct Counts {
    by_token: Vec<u32>,
    seen: Vec<u32>,
}

thread_local! {
    static COUNTS: RefCell<Counts> = RefCell::default();
}

impl StaticModel {
    /// Read the model file. Raises [`Error::Damaged`] if it isn't one, is cut short or fails its checksums.
    pub fn open(path: &Path) -> Result<Self> {
        let file = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        Self::read(file.into_boxed_slice())
            .map_err(|reason| Error::Damaged { path: PathBuf::from(path), reason: reason.to_owned() })
    }

    fn read(file: Box<[u8]>) -> std::result::Result<Self, &'static str> {
        if file.len() < HEADER || &file[..8] != MAGIC {
            return Err("not a model file: reinstall Carrel");
        }
        if u32_at(&file, 8) != VERSION {
            return Err("a model of another version: update Carrel");
        }
        if u64_at(&file, 24) != file.len() as u64 {
            return Err("the model is cut short: reinstall Carrel");
        }
        let same = |part: &[u8], at: usize| xxh3_128(part).to_le_bytes() == file[at..at + 16];
        if !same(&file[..HEADER_SUM_AT], HEADER_SUM_AT) || !same(&file[HEADER..], BODY_SUM_AT) {
            return Err("the model's checksum is wrong: reinstall Carrel");
        }
        let (count, dim) = (u32_at(&file, 12) as usize, u32_at(&file, 16) as usize);
        if u32_at(&file, 20) as usize != FIELDS || dim == 0 {
            return Err("a model with other fields: update Carrel");
        }
        let places: [usize; 6] = std::array::from_fn(|i| u64_at(&file, PLACES_AT + 8 * i) as usize);
        let sizes = [(count + 1) * 4, 0, count * 4, count * 4, count * 4, count * dim];
        if places.iter().zip(sizes).any(|(at, size)| at.checked_add(size).is_none_or(|end| end > file.len())) {
            return Err("the model's blocks lie outside of it: reinstall Carrel");
        }
        let mark = u128::from_le_bytes(std::array::from_fn(|i| file[HEADER_SUM_AT + i]));
        let model = Self {
            id: format!("carrel-embed-v{VERSION}-{:08x}", mark as u32),
            dim,
            count,
            places,
            fields: std::array::from_fn(|i| f32_at(&file, FIELD_WEIGHTS_AT + 4 * i)),
            floor: f32_at(&file, FLOOR_AT),
            adder: Adder::best(),
            vocabulary: Vocabulary::default(),
            file,
        };
        Ok(model)
    }

    fn tokeniser(&self) -> Tokeniser<'_> {
        let offsets = &self.file[self.places[0]..self.places[0] + (self.count + 1) * 4];
        self.vocabulary.tokeniser(Entries { offsets, text: &self.file[self.places[1]..self.places[2]] })
    }

    /// The token ids of a text, in order.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let mut out = Vec::new();
        self.tokeniser().tokens(text, &mut |id| out.push(id));
        out
    }

    /// Add `field x weight x (1 + ln count) x row` for every token of the texts, which count as one.
    fn add(&self, tokeniser: &Tokeniser<'_>, texts: &[&str], side: Side, field: f32, counts: &mut Counts, out: &mut [f32]) {
        counts.by_token.resize(self.count.max(counts.by_token.len()), 0);
        for text in texts {
            tokeniser.tokens(text, &mut |id| {
                let count = &mut counts.by_token[id as usize];
                if *count == 0 {
                    counts.seen.push(id);
                }
                *count += 1;
            });
        }
        let weights = &self.file[self.places[side as usize]..][..self.count * 4];
        let rows = &self.file[self.places[5]..][..self.count * self.dim];
        for id in counts.seen.drain(..) {
            let id = id as usize;
            let count = std::mem::take(&mut counts.by_token[id]);
            let damped = if count == 1 { 1.0 } else { 1.0 + (count as f32).ln() };
            self.adder.add(field * f32_at(weights, id * 4) * damped, &rows[id * self.dim..][..self.dim], out);
        }
    }
}

impl LocalEmbedder for StaticModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn floor(&self) -> f32 {
        self.floor
    }

    fn embed_chunk(&self, input: &EmbedInput<'_>, out: &mut [f32]) {
        let (folders, name) = input.path.rsplit_once('/').unwrap_or(("", input.path));
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
        out.fill(0.0);
        let tokeniser = self.tokeniser();
        COUNTS.with_borrow_mut(|counts| {
            let [dirs_weight, stem_weight, symbol_weight, signature_weight, body_weight] = self.fields;
            self.add(&tokeniser, &[folders], Side::Head, dirs_weight, counts, out);
            self.add(&tokeniser, &[stem], Side::Head, stem_weight, counts, out);
            self.add(&tokeniser, &[input.container, input.symbol], Side::Head, symbol_weight, counts, out);
            self.add(&tokeniser, &[input.signature], Side::Head, signature_weight, counts, out);
            self.add(&tokeniser, &[input.body], Side::Body, body_weight, counts, out);
        });
        normalise(out);
    }

    fn embed_query(&self, text: &str, out: &mut [f32]) {
        out.fill(0.0);
        COUNTS.with_borrow_mut(|counts| self.add(&self.tokeniser(), &[text], Side::Question, 1.0, counts, out));
        normalise(out);
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn f32_at(bytes: &[u8], at: usize) -> f32 {
    f32::from_bits(u32_at(bytes, at))
}

#[cfg(test)]
#[path = "static_model_tests.rs"]
mod tests;

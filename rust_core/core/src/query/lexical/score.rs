//! What a term's occurrences in a chunk are worth.

use crate::formats::postings::fields::{Frequencies, code_length};

/// How soon repeated occurrences stop to count; Lucene's value.
const K1: f32 = 1.2;
/// How much the length of name, path and body counts. A long signature is hardly a worse match than a short one; correcting
/// the length of the body is what BM25 was made for.
const B: [f32; 3] = [0.3, 0.2, 0.75];
/// Terms in name, path and body of an ordinary chunk: medians of the averages of the packages of `tests/bench/wild.json`. Compared
/// with the project's own averages, as BM25 has it, a relevance would change with every file that joins.
pub(super) const ORDINARY: [f32; 3] = [8.0, 4.5, 78.0];

/// What an occurrence in each field is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldWeights {
    /// Symbol and signature.
    pub name: f32,
    /// Folders and file name.
    pub path: f32,
    /// The text.
    pub body: f32,
}

impl Default for FieldWeights {
    fn default() -> Self {
        Self { name: 3.0, path: 1.5, body: 1.0 }
    }
}

/// Turns frequencies into a saturated weight from 0 to 1 (never 1 itself: a term's rarity bounds what it adds).
pub struct Scorer {
    /// For each field, weight over length correction by length code.
    factors: [[f32; 256]; 3],
}

impl Scorer {
    /// Lengths are compared with those of an ordinary chunk.
    pub fn new(weights: &FieldWeights) -> Self {
        let weights = [weights.name, weights.path, weights.body].map(|w| w.max(0.0));
        let factors: [[f32; 256]; 3] = std::array::from_fn(|field| {
            let length = |code: usize| code_length(code as u8) as f32 / ORDINARY[field];
            std::array::from_fn(|code| weights[field] / (1.0 - B[field] + B[field] * length(code)))
        });
        Self { factors }
    }

    /// The weight in `chunk`, whose field lengths are in `lengths`.
    #[inline]
    pub fn weight(&self, lengths: &[[u8; 3]], chunk: u32, frequencies: Frequencies) -> f32 {
        let Some(&[name, path, body]) = lengths.get(chunk as usize) else { return 0.0 };
        let counts = frequencies.counts();
        saturate(
            counts[0] as f32 * self.factors[0][name as usize]
                + counts[1] as f32 * self.factors[1][path as usize]
                + counts[2] as f32 * self.factors[2][body as usize],
        )
    }
}

/// The weight of a term that occurs `frequency` times, lengths being corrected for.
pub fn saturate(frequency: f32) -> f32 {
    frequency / (K1 + frequency)
}

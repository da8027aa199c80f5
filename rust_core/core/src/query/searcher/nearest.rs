//! Records that are nothing but vectors: the nearest ones by exact cosines, and the vectors themselves.

use super::Searcher;
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::formats::vectors::{REMAINDER, VectorRow};
use crate::index::segment_set::LiveSegment;
use crate::query::filter::Filter;
use crate::query::results::ScoredDoc;

/// So many more than wanted are scored exactly, besides as many again: quantised cosines are off by a hundredth at most in practice.
const MORE: usize = 32;
/// How far a quantised cosine may be below the exact one, for a floor.
const MARGIN: f32 = 0.02;

impl Searcher {
    /// The `k` records with the highest cosines, none below `floor`, best first and equal ones by id. A vector of zeros finds nothing.
    pub fn nearest(
        &self,
        vector: &[f32],
        k: usize,
        floor: f32,
        filter: Option<&Filter>,
        cancel: &CancelToken,
    ) -> Result<Vec<(u128, f32)>> {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length == 0.0 || !length.is_finite() || k == 0 {
            return Ok(Vec::new());
        }
        let unit: Vec<f32> = vector.iter().map(|value| value / length).collect();
        let likely = self.dense(&unit, k.saturating_mul(2).saturating_add(MORE), floor - MARGIN, filter, cancel)?;
        let score = |found: &ScoredDoc| {
            let (live, chunk) = self.segment_of(found.doc)?;
            let (row, remainder) = rows(live, chunk);
            Some((live.segment.chunk_id(chunk), row.dot(&unit) + remainder.map_or(0.0, |row| row.dot(&unit))))
        };
        let mut exact: Vec<(u128, f32)> = likely.iter().filter_map(score).filter(|(_, score)| *score >= floor).collect();
        exact.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        exact.truncate(k);
        Ok(exact)
    }

    /// The vectors of these records; `None` for one that isn't kept, or not by the model in use.
    pub fn record_vectors(&self, ids: &[u128]) -> Vec<Option<Vec<f32>>> {
        let of = |&id: &u128| {
            let own = self.segments.iter().filter(|live| live.own_vectors);
            let (live, chunk) = own.into_iter().find_map(|live| Some((live, live.find_chunk(id)?)))?;
            let (row, remainder) = rows(live, chunk);
            let mut vector = values(row);
            if let Some(remainder) = remainder {
                vector.iter_mut().zip(values(remainder)).for_each(|(value, more)| *value += more);
            }
            vector.truncate(live.segment.dim());
            Some(vector)
        };
        ids.iter().map(of).collect()
    }

    /// The ids of all records whose vectors are of the model in use.
    pub fn record_ids(&self) -> Vec<u128> {
        let chunks_of = |live: &LiveSegment| -> Vec<u128> {
            let chunks = live.live.iter().flat_map(|file| live.segment.file_chunks(file));
            chunks.map(|chunk| live.segment.chunk_id(chunk)).collect()
        };
        self.segments.iter().filter(|live| live.own_vectors).flat_map(chunks_of).collect()
    }
}

/// A record's quantised vector, and what that left of it.
fn rows(live: &LiveSegment, chunk: u32) -> (VectorRow<'_>, Option<VectorRow<'_>>) {
    (live.segment.vector(chunk), live.segment.vectors_of(REMAINDER).map(|vectors| vectors.row(chunk)))
}

fn values(row: VectorRow<'_>) -> Vec<f32> {
    row.steps().map(|step| f32::from(step) * row.scale).collect()
}

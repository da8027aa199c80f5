//! A segment as one search sees it.

use std::ops::Range;

use crate::formats::segment::{FileMask, Segment};

/// A segment with the files that are live and pass the search's filter.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// Its files that may be found.
    pub files: &'a FileMask,
}

impl View<'_> {
    /// Whether this is one of its chunks, and may be found.
    pub fn has(&self, chunk: u32) -> bool {
        chunk < self.segment.chunk_count() && self.files.get(self.segment.file_of(chunk))
    }

    /// The chunks that may be found, as ascending ranges; neighbouring files make one range.
    pub fn live_ranges(&self) -> Vec<Range<u32>> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for files in self.files.runs() {
            let chunks = self.segment.file_chunks(files.start).start..self.segment.file_chunks(files.end - 1).end;
            match ranges.last_mut() {
                // Files without chunks were between.
                Some(last) if last.end == chunks.start => last.end = chunks.end,
                _ if chunks.is_empty() => {}
                _ => ranges.push(chunks),
            }
        }
        ranges
    }

    /// The chunks that may not be found, as ascending ranges that don't touch.
    pub fn dead_ranges(&self) -> Vec<Range<u32>> {
        let mut dead = Vec::new();
        let mut at = 0;
        for live in self.live_ranges() {
            if at < live.start {
                dead.push(at..live.start);
            }
            at = live.end;
        }
        if at < self.segment.chunk_count() {
            dead.push(at..self.segment.chunk_count());
        }
        dead
    }
}

//! Quantisation and the scan, against plain floats.

use proptest::prelude::*;

use super::dense_top_k;
use crate::base::cancel::CancelToken;
use crate::base::error::Error;
use crate::base::language::Language;
use crate::base::simd::BLOCK;
use crate::base::types::{Chunk, ChunkKind, Span};
use crate::formats::segment::{FileEntry, FileMask, Segment, SegmentBuilder};
use crate::formats::vectors::Vectors;
use crate::query::view::View;

const DIM: usize = 256;

/// Deterministic unit vectors with a roughly normal distribution.
fn unit_vectors(count: usize, mut state: u64) -> Vec<Vec<f32>> {
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let mut vector = || {
        let raw: Vec<f32> = (0..DIM).map(|_| uniform() + uniform() + uniform() + uniform()).collect();
        let length = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
        raw.iter().map(|v| v / length).collect()
    };
    (0..count).map(|_| vector()).collect()
}

fn segment_of(path: &str, vectors: &[Vec<f32>]) -> Segment {
    let mut builder = SegmentBuilder::new(DIM);
    let span = Span { start_byte: 0, end_byte: 0, start_line: 1, end_line: 1 };
    for (i, vector) in vectors.iter().enumerate() {
        let mut row = Vectors::default();
        row.push(vector);
        let chunk = Chunk {
            id: i as u128,
            span,
            kind: ChunkKind::Lines,
            symbol: String::new(),
            container: String::new(),
            signature: String::new(),
            definitions: Vec::new(),
        };
        let path = format!("{path}{i:05}");
        let file =
            FileEntry { path: &path, language: Language::TEXT, hash: 0, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
        builder.add_file(&file, &[chunk], "", &[row.row(0, vector.len())]);
    }
    Segment::from_bytes(&builder.finish()).unwrap()
}

#[test]
fn the_ten_best_agree_with_floats() {
    let (vectors, queries) = (unit_vectors(3000, 1), unit_vectors(40, 2));
    let segment = segment_of("f", &vectors);
    let files = FileMask::new_all(segment.file_count());
    let mut agreed = 0;
    for query in &queries {
        let found = dense_top_k(&[View { segment: &segment, files: &files }], query, 10, -1.0, &CancelToken::new()).unwrap();
        let mut exact: Vec<(f32, u32)> =
            vectors.iter().zip(0..).map(|(v, i)| (v.iter().zip(query).map(|(a, b)| a * b).sum(), i)).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        agreed += found.iter().filter(|s| exact[..10].iter().any(|e| e.1 == s.chunk)).count();
        for (scored, (score, _)) in found.iter().zip(&exact) {
            assert!((scored.score - score).abs() < 0.01);
        }
    }
    assert!(agreed as f32 / (queries.len() * 10) as f32 >= 0.98, "{agreed}");
}

#[test]
fn a_parallel_scan_gives_the_same_as_small_ones() {
    let vectors = unit_vectors(2000, 3);
    let segment = segment_of("f", &vectors);
    let files = FileMask::new_all(segment.file_count());
    // Thirty views of one segment are enough rows for all cores.
    let views = vec![View { segment: &segment, files: &files }; 30];
    let once = dense_top_k(&views[..1], &vectors[7], 20, 0.0, &CancelToken::new()).unwrap();
    let many = dense_top_k(&views, &vectors[7], 600, 0.0, &CancelToken::new()).unwrap();
    let of_each: Vec<_> = many.chunks(30).map(|same| (same[0].chunk, same[0].score)).collect();
    assert_eq!(of_each, once.iter().map(|s| (s.chunk, s.score)).collect::<Vec<_>>());
}

#[test]
fn equal_scores_are_ordered_by_path() {
    let same = vec![unit_vectors(1, 4)[0].clone(); 300];
    let (second, first) = (segment_of("b", &same), segment_of("a", &same));
    let files = FileMask::new_all(300);
    let views = [View { segment: &second, files: &files }, View { segment: &first, files: &files }];
    let found = dense_top_k(&views, &same[0], 5, 0.0, &CancelToken::new()).unwrap();
    assert_eq!(found.iter().map(|s| (s.view, s.chunk)).collect::<Vec<_>>(), [(1, 0), (1, 1), (1, 2), (1, 3), (1, 4)]);
}

#[test]
fn nothing_to_find_is_no_error() {
    let segment = segment_of("f", &unit_vectors(3, 5));
    let files = FileMask::new_all(3);
    let views = [View { segment: &segment, files: &files }];
    let token = CancelToken::new();
    for query in [&[0.0; DIM][..], &[1.0; 3], &[], &[f32::NAN; DIM]] {
        assert!(dense_top_k(&views, query, 5, 0.0, &token).unwrap().is_empty());
    }
    assert!(dense_top_k(&views, &[1.0; DIM], 0, -1.0, &token).unwrap().is_empty());
    token.cancel();
    assert!(matches!(dense_top_k(&views, &[1.0; DIM], 5, -1.0, &token), Err(Error::Cancelled)));
}

/// What the scan must find: every row scored in full, with the halves put together.
fn every_score(vectors: &[Vec<f32>], query: &[f32], k: usize, floor: f32) -> Vec<u32> {
    let mut rows = Vectors::default();
    for vector in vectors {
        rows.push(vector);
    }
    let mut scores: Vec<(f32, u32)> = (0..vectors.len())
        .map(|i| (rows.row(i, query.len()).dot(query), i as u32))
        .filter(|(score, _)| *score >= floor)
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.truncate(k);
    scores.into_iter().map(|(_, i)| i).collect()
}

/// Vectors whose high halves say little: one large component, and all that tells them apart below its sixteenth part.
fn peaked(count: usize) -> Vec<Vec<f32>> {
    let mut vectors = unit_vectors(count, 6);
    for vector in &mut vectors {
        for component in vector.iter_mut() {
            *component *= 0.3;
        }
        vector[0] = 0.95;
    }
    vectors
}

/// Vectors of texts that say much of one thing and one word of another: half of the dimensions hold small components only, which
/// are what a question for that word asks about.
fn with_a_word_aside(count: usize) -> Vec<Vec<f32>> {
    let mut vectors = unit_vectors(count, 9);
    for (vector, word) in vectors.iter_mut().zip(unit_vectors(count, 10)) {
        for (component, aside) in vector[DIM / 2..].iter_mut().zip(&word[DIM / 2..]) {
            *component = aside * 0.12;
        }
    }
    vectors
}

#[test]
fn the_high_halves_hide_nothing() {
    for vectors in [unit_vectors(4000, 7), peaked(4000), with_a_word_aside(4000)] {
        let segment = segment_of("f", &vectors);
        let files = FileMask::new_all(segment.file_count());
        let views = [View { segment: &segment, files: &files }];
        let words = vectors.iter().skip(8).take(8).map(|v| [&[0.0; DIM / 2][..], &v[DIM / 2..]].concat()).collect::<Vec<_>>();
        for query in vectors.iter().take(8).chain(&unit_vectors(8, 8)).chain(&peaked(8)).chain(&words) {
            // A query on the grid of its own steps, so that both ways compute the same numbers.
            let largest = query.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
            let query: Vec<f32> = query.iter().map(|v| (v / largest * 127.0).round() * (largest / 127.0)).collect();
            let found = dense_top_k(&views, &query, 60, -1.0, &CancelToken::new()).unwrap();
            let expected = every_score(&vectors, &query, 60, -1.0);
            let common = found.iter().filter(|s| expected.contains(&s.chunk)).count();
            assert!(common >= 59, "{common}: only rounding at the edge may differ");
            let floor = found[0].score - found[0].score.abs() * 0.3;
            let above = dense_top_k(&views, &query, 60, floor, &CancelToken::new()).unwrap();
            assert_eq!(above.first(), found.first(), "a floor hides none above it");
        }
    }
}

proptest! {
    #[test]
    fn quantising_keeps_components(values in prop::collection::vec(-1e3_f32..1e3, 1..300)) {
        let mut rows = Vectors::default();
        rows.push(&values);
        let row = rows.row(0, values.len());
        prop_assert!(row.steps().count() == values.len().next_multiple_of(BLOCK));
        prop_assert!(row.steps().skip(values.len()).all(|step| step == 0));
        for (value, step) in values.iter().zip(row.steps()) {
            prop_assert!((value - f32::from(step) * row.scale).abs() <= row.scale * 0.501);
        }
        let squares: f32 = values.iter().map(|v| v * v).sum();
        prop_assert!((row.dot(&values) - squares).abs() <= squares * 0.05);
    }
}

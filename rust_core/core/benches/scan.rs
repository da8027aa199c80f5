//! The int8 scan at 100k and 1M rows of 256, beside reading the same bytes with nothing to compute, and plain 32-bit floats.
//!
//! The scan may use all cores, so the read does too; their ratio is what the kernel costs over memory.

#[path = "vectors/mod.rs"]
mod vectors;

use std::hint::black_box;

use carrel_core::base::cancel::CancelToken;
use carrel_core::base::simd::{Kernel, Query};
use carrel_core::formats::segment::FileMask;
use carrel_core::query::dense::dense_top_k;
use carrel_core::query::view::View;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;

const DIM: usize = 256;
const CHUNKS_PER_FILE: usize = 10;

/// A cheap repeatable source of numbers from -0.5 to 0.5.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    fn unit(&mut self) -> Vec<f32> {
        let raw: Vec<f32> = (0..DIM).map(|_| self.next()).collect();
        let length = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
        raw.iter().map(|v| v / length).collect()
    }
}

/// Sum all bytes as 64-bit words, on all cores, the way the scan divides them.
fn read(bytes: &[u64]) -> u64 {
    bytes.par_chunks(1 << 19).map(|part| part.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word))).sum()
}

fn scans(c: &mut Criterion) {
    for rows in [100_000, 1_000_000] {
        let mut noise = Noise(1);
        let random = (0..rows).map(|_| noise.unit());
        let segment = vectors::segment(random, DIM, CHUNKS_PER_FILE).expect("a segment that was just built");
        let files = FileMask::new_all(segment.file_count());
        let views = [View { segment: &segment, files: &files }];
        let query = Noise(2).unit();
        let mut group = c.benchmark_group(format!("{rows} x {DIM}"));
        group.throughput(Throughput::Bytes((rows * DIM) as u64));
        group.bench_function("dense_top_k", |b| {
            b.iter(|| dense_top_k(&views, black_box(&query), 50, 0.0, &CancelToken::new()));
        });
        let words: Vec<u64> = (0..rows * DIM / 8).map(|i| i as u64).collect();
        group.bench_function("read", |b| b.iter(|| read(black_box(&words))));
        let halves: Vec<u8> = words[..rows * DIM / 16].iter().flat_map(|w| w.to_le_bytes()).collect();
        drop(words);
        let quantised = Query::new(query.iter().map(|v| (v * 127.0) as i8).collect());
        let mut out = vec![0; rows];
        for kernel in Kernel::all() {
            group.bench_function(BenchmarkId::new("one core", kernel.name), |b| {
                b.iter(|| kernel.dots(black_box(&quantised), &halves, &mut out));
            });
        }
        drop(halves);
        let floats: Vec<f32> = (0..rows * DIM).map(|i| i as f32).collect();
        group.sample_size(10).bench_function("one core/naive f32", |b| {
            b.iter(|| {
                let best = floats.chunks_exact(DIM).map(|row| row.iter().zip(black_box(&query)).map(|(a, b)| a * b).sum::<f32>());
                best.fold(0.0, f32::max)
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(300));
    targets = scans
}
criterion_main!(benches);

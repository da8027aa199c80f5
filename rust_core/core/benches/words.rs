//! Throughput of splitting, drafting and embedding, one core.

#[path = "corpus/mod.rs"]
mod corpus;

use std::hint::black_box;

use carrel_core::base::types::{ChunkKind, EmbedInput};
use carrel_core::base::words::Splitter;
use carrel_core::index::embed::{HashedEmbedder, LocalEmbedder, StaticModel};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn words(c: &mut Criterion) {
    let mut files = corpus::files(300);
    files.truncate(300);
    let bytes: u64 = files.iter().map(|f| f.1.len() as u64).sum();
    let cut: Vec<_> = files.iter().map(|(path, text)| (path, text, corpus::cut(path, text))).collect();
    let chunks: u64 = cut.iter().map(|c| c.2.len() as u64).sum();

    let mut group = c.benchmark_group("bytes");
    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("split", |b| {
        let mut splitter = Splitter::new();
        b.iter(|| {
            let mut length = 0;
            for (_, text) in &files {
                splitter.split(text, &mut |word, _| length += black_box(word).len());
            }
            length
        });
    });
    group.bench_function("draft", |b| {
        b.iter(|| files.iter().map(|(path, text)| corpus::draft(path, text, 256).chunk_count()).sum::<u32>());
    });
    group.finish();

    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/carrel/providers/carrel-embed-v1.bin");
    c.bench_function("open the model", |b| b.iter(|| StaticModel::open(black_box(&path))));
    let model = StaticModel::open(&path).expect("the bundled model");
    let mut group = c.benchmark_group("chunks");
    group.throughput(Throughput::Elements(chunks));
    for (name, embedder) in [("hashed", &HashedEmbedder as &dyn LocalEmbedder), ("model", &model)] {
        group.bench_function(name, |b| {
            let mut out = vec![0.0; embedder.dim()];
            b.iter(|| {
                for (path, text, chunks) in &cut {
                    for chunk in chunks {
                        let body = &text[chunk.span.start_byte as usize..chunk.span.end_byte as usize];
                        let Chunk { kind, symbol, container, signature, .. } = chunk;
                        embedder.embed_chunk(&EmbedInput { path, kind: *kind, symbol, container, signature, body }, &mut out);
                        black_box(&mut out);
                    }
                }
            });
        });
    }
    group.finish();
    let tokens: u64 = files.iter().map(|f| model.tokens(&f.1).len() as u64).sum();
    let mut group = c.benchmark_group("model tokens");
    group.throughput(Throughput::Elements(tokens));
    group.bench_function("embed files", |b| {
        let mut out = vec![0.0; model.dim()];
        b.iter(|| {
            for (path, body) in &files {
                let input = EmbedInput { path, kind: ChunkKind::Lines, symbol: "", container: "", signature: "", body };
                model.embed_chunk(&input, &mut out);
                black_box(&mut out);
            }
        });
    });
    group.finish();
}

use carrel_core::base::types::Chunk;

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(300));
    targets = words
}
criterion_main!(benches);

//! Building, merging and asking the lexical index at about 100,000 chunks.

#[path = "corpus/mod.rs"]
mod corpus;

use std::hint::black_box;

use carrel_core::base::cancel::CancelToken;
use carrel_core::formats::segment::{FileMask, Segment, SegmentBuilder, merge};
use carrel_core::query::lexical::{FieldWeights, Statistics, Terms, bm25f, definitions};
use carrel_core::query::view::View;
use criterion::{Criterion, criterion_group, criterion_main};

const DIM: usize = 256;

fn queries(files: &[(String, String)]) -> Vec<(&'static str, String)> {
    // The words of a line somewhere in the corpus: what a question about real code looks like to the index.
    let text = &files[files.len() / 2].1;
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.len() > 2).collect();
    let eight = |from: usize| words.iter().skip(from).take(8).copied().collect::<Vec<_>>().join(" ");
    let common = if std::env::var_os("CARREL_BENCH_CORPUS").is_some() {
        "self let fn return if for the in".to_owned()
    } else {
        "wb wc wd we wf wg wh wi".to_owned()
    };
    vec![
        ("8 words", eight(words.len() / 3)),
        ("8 other words", eight(words.len() / 2)),
        ("8 commonest words", common),
        ("question", "how does the parser return an error for the invalid token in a string".to_owned()),
    ]
}

fn lexical(c: &mut Criterion) {
    let files = corpus::files(10_000);
    let bytes: usize = files.iter().map(|f| f.1.len()).sum();
    let started = std::time::Instant::now();
    let mut builder = SegmentBuilder::new(DIM);
    for (path, text) in &files {
        builder.push(corpus::draft(path, text, DIM));
    }
    let drafted = started.elapsed();
    let segment = Segment::from_bytes(&builder.finish()).expect("a segment that was just built");
    println!(
        "{} files, {} chunks, {} MB of text: drafted in {drafted:?}, finished after {:?}",
        files.len(),
        segment.chunk_count(),
        bytes >> 20,
        started.elapsed()
    );
    for (name, size) in segment.section_sizes() {
        println!(
            "  {name:9} {size:>10} bytes, {:5.1} % of the text, {:6.1} a chunk",
            size as f64 / bytes as f64 * 100.0,
            size as f64 / segment.chunk_count() as f64
        );
    }
    println!("  in all    {:>10} bytes, {:5.1} %", segment.bytes().len(), segment.bytes().len() as f64 / bytes as f64 * 100.0);

    let all = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &all }];
    let statistics = Statistics::new(&views);
    let token = CancelToken::new();
    for (name, query) in queries(&files) {
        println!("{name}: {query}");
        c.bench_function(&format!("bm25f, {name}"), |b| {
            b.iter(|| {
                let terms = Terms::new(&views, &statistics, black_box(&query));
                bm25f(&views, &terms, 50, &FieldWeights::default(), &token)
            });
        });
    }
    c.bench_function("definitions of two names", |b| {
        let name = &segment.chunk(segment.chunk_count() / 2).symbol;
        b.iter(|| definitions(&views, black_box(&[name, "parse"]), 20));
    });
    let mut half = FileMask::new_all(segment.file_count());
    (0..segment.file_count()).step_by(2).for_each(|f| half.clear(f));
    for (name, query) in queries(&files) {
        let views = [View { segment: &segment, files: &half }];
        c.bench_function(&format!("bm25f, {name}, every second file deleted"), |b| {
            let statistics = Statistics::new(&views);
            b.iter(|| {
                let terms = Terms::new(&views, &statistics, black_box(&query));
                bm25f(&views, &terms, 50, &FieldWeights::default(), &token)
            });
        });
        c.bench_function(&format!("bm25f, {name}, the first question after a commit, every second file deleted"), |b| {
            b.iter(|| {
                let statistics = Statistics::new(&views);
                let terms = Terms::new(&views, &statistics, black_box(&query));
                bm25f(&views, &terms, 50, &FieldWeights::default(), &token)
            });
        });
    }
    c.bench_function("merge of two halves", |b| {
        b.iter(|| merge(&[(&segment, &half), (&segment, &half)], &token).map(|m| m.0.len()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(300));
    targets = lexical
}
criterion_main!(benches);

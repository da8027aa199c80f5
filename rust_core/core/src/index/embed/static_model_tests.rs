//! The bundled model gives what the recipe's reference gives, and a broken file is refused.

use std::path::PathBuf;

use serde::Deserialize;

use super::StaticModel;
use crate::base::types::{ChunkKind, EmbedInput};
use crate::index::embed::LocalEmbedder;

#[derive(Deserialize)]
struct Golden {
    chunks: Vec<GoldenChunk>,
    queries: Vec<GoldenQuery>,
}

#[derive(Deserialize)]
struct GoldenChunk {
    path: String,
    symbol: String,
    container: String,
    signature: String,
    body: String,
    tokens: Vec<u32>,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct GoldenQuery {
    text: String,
    tokens: Vec<u32>,
    vector: Vec<f32>,
}

fn bundled() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/carrel/providers/carrel-embed-v1.bin")
}

fn near(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4)
}

#[test]
fn tokens_and_vectors_are_those_of_the_reference() {
    let golden: Golden = serde_json::from_str(include_str!("golden.json")).unwrap();
    let model = StaticModel::open(&bundled()).unwrap();
    let mut out = vec![7.0; model.dim()];
    for chunk in &golden.chunks {
        let GoldenChunk { path, symbol, container, signature, body, tokens, vector } = chunk;
        assert_eq!(&model.tokens(body), tokens, "{path}");
        model.embed_chunk(&EmbedInput { path, kind: ChunkKind::Function, symbol, container, signature, body }, &mut out);
        assert!(near(&out, vector), "{path}");
    }
    for query in &golden.queries {
        assert_eq!(model.tokens(&query.text), query.tokens, "{}", query.text);
        model.embed_query(&query.text, &mut out);
        assert!(near(&out, &query.vector), "{}", query.text);
    }
}

#[test]
fn meaning_counts_where_no_word_is_shared() {
    let model = StaticModel::open(&bundled()).unwrap();
    let chunk = |path, symbol, body| {
        let mut out = vec![0.0; model.dim()];
        model.embed_chunk(&EmbedInput { path, kind: ChunkKind::Function, symbol, container: "", signature: "", body }, &mut out);
        out
    };
    let mut question = vec![0.0; model.dim()];
    model.embed_query("remove expired entries", &mut question);
    let cosine = |v: &[f32]| v.iter().zip(&question).map(|(a, b)| a * b).sum::<f32>();
    let near = chunk("src/cache.py", "evict_stale", "for key in list(store): if store[key].ttl < now(): del store[key]");
    let far = chunk("src/matrix.py", "transpose", "return [list(row) for row in zip(*matrix)]");
    assert!(cosine(&near) > cosine(&far) + 0.1, "{} {}", cosine(&near), cosine(&far));
}

#[test]
#[cfg_attr(windows, ignore = "Windows keeps a file as it is that somebody reads")]
fn a_file_that_is_cut_short_after_it_was_read_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.bin");
    std::fs::copy(bundled(), &path).unwrap();
    let model = StaticModel::open(&path).unwrap();
    // A mapped file would end this process with SIGBUS.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    let (mut before, mut after) = (vec![0.0; model.dim()], vec![0.0; model.dim()]);
    StaticModel::open(&bundled()).unwrap().embed_query("remove expired entries", &mut before);
    model.embed_query("remove expired entries", &mut after);
    assert_eq!(before, after);
}

#[test]
fn a_broken_file_is_refused_with_the_reason() {
    let whole = std::fs::read(bundled()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.bin");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        StaticModel::open(&path).unwrap_err().to_string()
    };
    assert!(refused(b"").contains("not a model file") || refused(b"").contains("model.bin"));
    assert!(refused(&[0; 4096]).contains("not a model file"));
    assert!(refused(&whole[..whole.len() / 2]).contains("cut short"));
    let mut flipped = whole.clone();
    flipped[5_000_000] ^= 1;
    assert!(refused(&flipped).contains("checksum"));
    let mut newer = whole;
    newer[8] = 2;
    assert!(refused(&newer).contains("update Carrel"));
}

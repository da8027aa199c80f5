//! The contract of an embedder, and what this one is for.

use super::HashedEmbedder;
use crate::base::types::{ChunkKind, EmbedInput};
use crate::index::embed::LocalEmbedder;

fn chunk(path: &str, symbol: &str, signature: &str, body: &str) -> Vec<f32> {
    let mut out = vec![9.0; HashedEmbedder.dim()];
    let input = EmbedInput { path, kind: ChunkKind::Function, symbol, container: "", signature, body };
    HashedEmbedder.embed_chunk(&input, &mut out);
    out
}

fn query(text: &str) -> Vec<f32> {
    let mut out = vec![9.0; HashedEmbedder.dim()];
    HashedEmbedder.embed_query(text, &mut out);
    out
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn a_question_is_nearest_to_what_it_asks_for() {
    let question = query("where is the user authenticated by password?");
    let login =
        chunk("src/auth/login.py", "authenticate_user", "def authenticate_user(name, password)", "return check(name, password)");
    let sort = chunk("src/sort.py", "quick_sort", "def quick_sort(items)", "pivot = items[0]; return quick_sort(left) + right");
    assert!(cosine(&question, &login) > HashedEmbedder.floor());
    assert!(cosine(&question, &sort) < HashedEmbedder.floor());
}

#[test]
fn no_words_give_zeros() {
    for zeros in [query(""), query("?! ()"), chunk("", "", "", "{}")] {
        assert!(zeros.iter().all(|v| *v == 0.0));
    }
}

proptest::proptest! {
    #[test]
    fn vectors_have_length_one_and_repeat(body in "\\PC{0,200}") {
        let vector = chunk("src/a.py", "", "", &body);
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-4);
        assert_eq!(vector, chunk("src/a.py", "", "", &body));
    }
}

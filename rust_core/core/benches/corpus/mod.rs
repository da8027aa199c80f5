//! Source text to measure on: the files under `CARREL_BENCH_CORPUS`, or made-up code whose words follow Zipf's law.

use std::fmt::Write;
use std::path::Path;

use carrel_core::base::language::Language;
use carrel_core::base::types::{Chunk, ChunkKind, Span};
use carrel_core::formats::segment::{FileDraft, FileEntry};
use carrel_core::formats::vectors::Vectors;

/// Lines in a chunk.
const CHUNK_LINES: usize = 20;

/// Path and text of each file.
pub fn files(made_up: usize) -> Vec<(String, String)> {
    match std::env::var_os("CARREL_BENCH_CORPUS") {
        Some(folder) => real(Path::new(&folder)),
        None => (0..made_up).map(made_up_file).collect(),
    }
}

fn real(folder: &Path) -> Vec<(String, String)> {
    let entries = ignore::WalkBuilder::new(folder).hidden(false).build().flatten();
    entries
        .filter(|e| e.metadata().is_ok_and(|m| m.is_file() && m.len() < 500_000))
        .filter_map(|e| {
            Some((e.path().strip_prefix(folder).ok()?.to_string_lossy().into_owned(), std::fs::read_to_string(e.path()).ok()?))
        })
        .collect()
}

/// A file of 200 lines. The n-th commonest word is met 1/n as often as the commonest; the last ones are names.
fn made_up_file(number: usize) -> (String, String) {
    let mut state = number as u64 + 1;
    let mut word = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = (200_000.0_f64.powf(uniform)) as u64;
        if rank < 3000 { format!("w{}", letters(rank)) } else { format!("{}_{}", letters(rank % 701), letters(rank % 997)) }
    };
    let mut text = String::new();
    for _ in 0..200 {
        let _ = writeln!(text, "    {} = {}.{}({}, {})", word(), word(), word(), word(), word());
    }
    (format!("src/{}/{}.py", word(), word()), text)
}

fn letters(mut number: u64) -> String {
    let mut out = String::new();
    while number > 0 {
        out.push((b'a' + (number % 26) as u8) as char);
        number /= 26;
    }
    out
}

/// Chunks of [`CHUNK_LINES`] lines. The first word of a chunk is its symbol.
pub fn cut(path: &str, text: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut start_line = 1;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for piece in lines.chunks(CHUNK_LINES) {
        let end = start + piece.iter().map(|l| l.len()).sum::<usize>();
        let body = &text[start..end];
        let symbol = body.split(|c: char| !c.is_alphanumeric() && c != '_').find(|w| w.len() > 3).unwrap_or_default();
        let signature: String = body.trim().chars().take_while(|c| *c != '\n').take(60).collect();
        chunks.push(Chunk {
            id: xxhash_rust::xxh3::xxh3_128(format!("{path}{start}").as_bytes()),
            span: Span {
                start_byte: start as u32,
                end_byte: end as u32,
                start_line,
                end_line: start_line + piece.len() as u32 - 1,
            },
            kind: ChunkKind::Function,
            symbol: symbol.to_owned(),
            container: String::new(),
            signature,
            definitions: vec![symbol.to_owned()],
        });
        start = end;
        start_line += piece.len() as u32;
    }
    chunks
}

/// A draft with zero vectors.
pub fn draft(path: &str, text: &str, dim: usize) -> FileDraft {
    let chunks = cut(path, text);
    let mut zeros = Vectors::default();
    zeros.push_zeros(1, dim);
    let rows = vec![zeros.row(0, dim); chunks.len()];
    let file = FileEntry { path, language: Language::PYTHON, hash: 0, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
    FileDraft::new(&file, chunks, text, &rows)
}

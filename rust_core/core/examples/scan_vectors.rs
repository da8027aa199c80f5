//! Exact top-10 over vectors in a file: `scan_vectors VECTORS QUERIES DIM ROUNDS`, both raw little-endian 32-bit floats of unit
//! length. Prints the median milliseconds of a query, then for each query the rows that it found. `tests/bench/vector_peers.py`
//! runs it beside other libraries.

#[path = "../benches/vectors/mod.rs"]
mod vectors;

use std::time::Instant;

use carrel_core::base::cancel::CancelToken;
use carrel_core::formats::segment::FileMask;
use carrel_core::query::dense::dense_top_k;
use carrel_core::query::view::View;

const FOUND: usize = 10;
const CHUNKS_PER_FILE: usize = 100;

fn floats(path: &str) -> std::io::Result<Vec<f32>> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [rows, queries, dim, rounds] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("usage: scan_vectors VECTORS QUERIES DIM ROUNDS".into());
    };
    let (dim, rounds): (usize, usize) = (dim.parse()?, rounds.parse()?);
    let segment = vectors::segment(floats(rows)?.chunks_exact(dim), dim, CHUNKS_PER_FILE)?;
    let queries = floats(queries)?;
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &files }];
    let mut times = Vec::new();
    for _ in 0..rounds {
        for query in queries.chunks_exact(dim) {
            let began = Instant::now();
            dense_top_k(&views, query, FOUND, -1.0, &CancelToken::new())?;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
    }
    times.sort_by(f64::total_cmp);
    println!("{:.3}", times[times.len() / 2]);
    for query in queries.chunks_exact(dim) {
        let found = dense_top_k(&views, query, FOUND, -1.0, &CancelToken::new())?;
        println!("{}", found.iter().map(|s| s.chunk.to_string()).collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

//! Content hashes and chunk identities. Not cryptographic: they tell change, they don't prove anything.

use xxhash_rust::xxh3::{Xxh3, xxh3_128 as digest};

/// `xxh3_128` of the bytes.
pub fn xxh3_128(bytes: &[u8]) -> u128 {
    digest(bytes)
}

/// The identity of a chunk: see [`crate::base::types::Chunk::id`]. `parts` are all texts that it is embedded from; `occurrence` counts
/// equal chunks of a file from 0.
pub fn chunk_id(parts: &[&str], occurrence: u32) -> u128 {
    let mut hasher = Xxh3::new();
    for part in parts {
        // Lengths keep ("ab", "c") and ("a", "bc") apart.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(&occurrence.to_le_bytes());
    hasher.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let base = chunk_id(&["a.py", "f", "x"], 0);
        assert_eq!(base, chunk_id(&["a.py", "f", "x"], 0));
        for other in [
            chunk_id(&["b.py", "f", "x"], 0),
            chunk_id(&["a.py", "g", "x"], 0),
            chunk_id(&["a.py", "f", "y"], 0),
            chunk_id(&["a.py", "f", "x"], 1),
        ] {
            assert_ne!(base, other);
        }
        assert_ne!(chunk_id(&["ab", "c", ""], 0), chunk_id(&["a", "bc", ""], 0));
    }
}

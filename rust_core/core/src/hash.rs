//! xxh3 hashes.

/// `xxh3_128` of `bytes`.
pub fn xxh3_128(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

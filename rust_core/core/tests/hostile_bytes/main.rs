//! Readers of bytes that strangers wrote keep their promises on mutations of good input, and on what a fuzzer once found.
//!
//! The same mutations in every run; `CARREL_TEST_FUZZ_CASES` sets how many for each reader. `make fuzz` lets a fuzzer that sees which
//! code an input reaches look for worse ones.

mod targets;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use targets::TARGETS;

/// Shown as text where a test fails.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// One change of an input; places are shares of its length.
#[derive(Clone, Debug)]
enum Change {
    Flip(f64, u8),
    Number(f64, u32),
    Cut(f64, f64),
    Repeat(f64, f64, u8),
    Insert(f64, Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let place = || 0.0..1.0_f64;
    let token = prop::sample::select(vec![
        &b"\0"[..],
        b"\xff",
        b"\xff\xfe",
        b"\n",
        b"\r",
        b"\"",
        b"'''",
        b"{",
        b"}}",
        b"(((",
        b"[[",
        b"<",
        b"*/",
        b"/*",
        b"#",
        b"\\",
        b"**/",
        b"!",
        b"[!",
        b"[[:",
        b"${",
        b"`",
        b"\xf0\x9f\x98\x80",
        b"\xed\xa0\xbd",
        b"\xe2\x80\xa8",
        b"password=",
        b"-----BEGIN",
        b"://",
    ]);
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        (place(), prop_oneof![Just(u32::MAX), Just(0), Just(1 << 31), 0..70_000_u32]).prop_map(|(at, n)| Change::Number(at, n)),
        (place(), place()).prop_map(|(at, length)| Change::Cut(at, length)),
        (place(), place(), 1..20_u8).prop_map(|(at, length, times)| Change::Repeat(at, length, times)),
        (place(), prop::collection::vec(token, 1..4)).prop_map(|(at, tokens)| Change::Insert(at, tokens.concat())),
    ]
}

fn changed(seed: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for change in changes {
        let place = |share: f64, length: usize| (share * length as f64) as usize;
        let at = |share| place(share, bytes.len());
        match change {
            Change::Flip(share, byte) => {
                let at = at(*share);
                bytes.get_mut(at).into_iter().for_each(|old| *old ^= byte);
            }
            Change::Number(share, number) => {
                let at = at(*share) & !3;
                for (old, new) in bytes.iter_mut().skip(at).zip(number.to_le_bytes()) {
                    *old = new;
                }
            }
            Change::Cut(share, length) => {
                let at = at(*share);
                let end = at + place(*length, bytes.len() - at);
                bytes.drain(at..end);
            }
            Change::Repeat(share, length, times) => {
                let at = at(*share);
                let piece = bytes[at..at + place(*length, bytes.len() - at).min(64)].repeat(*times as usize);
                bytes.splice(at..at, piece);
            }
            Change::Insert(share, token) => {
                let at = at(*share);
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn mutations_of_good_input_are_read() {
    let cases = std::env::var("CARREL_TEST_FUZZ_CASES").map_or(200, |count| count.parse().expect("a number"));
    for target in TARGETS {
        let seeds = (target.seeds)();
        for seed in &seeds {
            (target.run)(seed);
        }
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let mutation = (prop::sample::select(seeds), prop::collection::vec(change(), 1..6));
        let input = mutation.prop_map(|(seed, changes)| Bytes(changed(&seed, &changes)));
        if let Err(failed) = runner.run(&input, |bytes| {
            (target.run)(&bytes.0);
            Ok(())
        }) {
            panic!("{}: {failed}", target.name);
        }
    }
}

/// `findings/TARGET/NAME` holds an input that broke a promise before it was mended.
#[test]
fn what_fuzzing_found_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile_bytes/findings");
    for target in TARGETS {
        let Ok(entries) = fs::read_dir(folder.join(target.name)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            assert!(catch_unwind(|| (target.run)(&bytes)).is_ok(), "{}", path.display());
        }
    }
}

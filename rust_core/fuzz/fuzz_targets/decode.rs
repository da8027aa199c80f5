//! `cargo +nightly fuzz run decode`
#![no_main]

#[path = "../../core/tests/hostile_bytes/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("decode", data));

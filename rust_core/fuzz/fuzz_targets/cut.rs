//! `cargo +nightly fuzz run cut`
#![no_main]

#[path = "../../core/tests/hostile_bytes/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("cut", data));

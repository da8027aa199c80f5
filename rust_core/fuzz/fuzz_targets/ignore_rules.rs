//! `cargo +nightly fuzz run ignore_rules`
#![no_main]

#[path = "../../core/tests/hostile_bytes/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("ignore_rules", data));

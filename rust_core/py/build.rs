//! Makes the program of agents' hooks, `carrel-hook`, where the module is made that goes into a wheel.
//!
//! A wheel holds one crate's library. The program needs nothing but std, so that rustc alone makes it.

use std::env::{var, var_os};
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../hook/src");
    if var_os("CARGO_FEATURE_EXTENSION_MODULE").is_none() {
        return;
    }
    let folder = Path::new("../../python/carrel/bin");
    std::fs::create_dir_all(folder).expect("python/carrel/bin can be made");
    let windows = var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "windows");
    let mut rustc = Command::new(var_os("RUSTC").expect("cargo names rustc"));
    rustc.args(["--crate-name", "carrel_hook", "--edition", "2024", "-C", "opt-level=s", "-C", "strip=symbols"]);
    rustc
        .args(["-C", "panic=unwind", "-C", "codegen-units=1", "--target"])
        .arg(var_os("TARGET").expect("cargo names the target"));
    if let Some(linker) = var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    rustc.arg("-o").arg(folder.join(if windows { "carrel-hook.exe" } else { "carrel-hook" })).arg("../hook/src/main.rs");
    let made = rustc.status().expect("rustc can be started");
    assert!(made.success(), "carrel-hook can't be compiled");
}

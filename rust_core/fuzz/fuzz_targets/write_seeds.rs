//! Write the inputs that each fuzzer starts from into a folder.

#[path = "../../core/tests/hostile_bytes/targets.rs"]
mod targets;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).expect("the folder to write into");
    targets::write_seeds(folder.as_ref())
}

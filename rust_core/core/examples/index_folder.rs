//! Index a folder and print what each stage took, and the processor time beside that of parsing its files alone:
//! `cargo run --release --example index_folder -- FOLDER INDEX_FOLDER [FILE]`.
//!
//! FILE, relative to FOLDER, is then saved some hundred times with a new function at its end, and restored: use a copy.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use carrel_core::base::cancel::CancelToken;
use carrel_core::base::language::Language;
use carrel_core::index::cut::CutOptions;
use carrel_core::index::embed::{LocalEmbedder, StaticModel};
use carrel_core::index::parse::grammar;
use carrel_core::workspace::handle::{LanguageGlobs, StoreConfig};
use carrel_core::workspace::store::{Plan, Store};
use carrel_core::workspace::walk::WalkOptions;
use rayon::prelude::*;
use tree_sitter::Parser;

/// Source bytes per batch, as the Python side asks for.
const BATCH_BYTES: u64 = 2_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().ok_or("usage: index_folder FOLDER [INDEX_FOLDER] [FILE_TO_SAVE]")?);
    let scratch = std::env::temp_dir().join(format!("carrel-index-{}", std::process::id()));
    let directory = arguments.next().map_or_else(|| scratch.clone(), PathBuf::from);
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/carrel/providers/carrel-embed-v1.bin");
    let embedder = StaticModel::open(&model)?;
    let config = StoreConfig {
        directory,
        root: root.clone(),
        embedder_id: embedder.id().to_owned(),
        dim: embedder.dim(),
        walk: WalkOptions::default(),
        cut: CutOptions::default(),
        languages: LanguageGlobs::default(),
        secrets: carrel_core::index::secrets::SecretOptions::default(),
        in_memory: false,
    };
    let token = CancelToken::new();

    let store = Store::open(config.clone())?;
    let (start, processor) = (Instant::now(), processor_seconds());
    let plan = store.scan(&token)?;
    println!("scan        {:>9.1?}  {} new, {} changed, {} skipped", start.elapsed(), plan.added, plan.changed, plan.skipped);
    let start = Instant::now();
    let (cut, embed, commit, most) = run(&store, &plan, &embedder, &token)?;
    println!(
        "run         {:>9.1?}  cut {cut:.1?}, embed {embed:.1?}, commit {commit:.1?}, longest call {most:.1?}",
        start.elapsed()
    );
    let start = Instant::now();
    store.compact(&token)?;
    println!("compact     {:>9.1?}", start.elapsed());
    let processor = processor_seconds() - processor;
    let snapshot = store.snapshot()?;
    let bytes: u64 = snapshot.paths().iter().filter_map(|path| root.join(path).metadata().ok()).map(|m| m.len()).sum();
    let share = store.bytes_on_disk() as f64 / bytes.max(1) as f64 * 100.0;
    println!(
        "index       {} files, {} chunks, {:.1} MB of source, {:.1} MB on disk ({share:.0} %)",
        snapshot.files(),
        snapshot.chunks(),
        mega(bytes),
        mega(store.bytes_on_disk())
    );
    println!("memory      {}", memory());
    let paths = snapshot.paths();

    let start = Instant::now();
    let again = store.scan(&token)?;
    println!("scan again  {:>9.1?}  {} unchanged, {} to do", start.elapsed(), again.unchanged, again.pending());
    drop(snapshot);
    store.close();
    let start = Instant::now();
    let store = Store::open(config)?;
    println!("open        {:>9.1?}", start.elapsed());
    searches(&store, &embedder, &token)?;
    if let Some(file) = arguments.next() {
        saves(&store, &root, &file, &embedder, &token)?;
    }
    store.close();
    let parse = parse_alone(&root, &paths);
    println!("processor   {processor:.2} s, parsing alone {parse:.2} s: {:.2} times as much", processor / parse);
    let _ = std::fs::remove_dir_all(scratch);
    Ok(())
}

fn run(
    store: &Store,
    plan: &Plan,
    embedder: &dyn LocalEmbedder,
    token: &CancelToken,
) -> carrel_core::base::error::Result<(Duration, Duration, Duration, Duration)> {
    let (mut cut, mut embed, mut commit, mut most) = (Duration::ZERO, Duration::ZERO, Duration::ZERO, Duration::ZERO);
    loop {
        let start = Instant::now();
        let batch = store.cut(plan, token, BATCH_BYTES)?;
        cut += start.elapsed();
        most = most.max(start.elapsed());
        let Some(batch) = batch else { return Ok((cut, embed, commit, most)) };
        let start = Instant::now();
        batch.embed(embedder, token)?;
        embed += start.elapsed();
        let start = Instant::now();
        store.commit(&batch, token)?;
        commit += start.elapsed();
        most = most.max(start.elapsed());
    }
}

/// Read and parse the files of an index on all cores, and do nothing with the trees. Return the seconds of processor time.
fn parse_alone(root: &Path, paths: &[String]) -> f64 {
    // SAFETY: nothing that tree-sitter allocated is left.
    unsafe { tree_sitter::set_allocator(None, None, None, None) };
    let before = processor_seconds();
    paths.par_iter().for_each_init(Parser::new, |parser, path| {
        // Markdown is cut without its grammar.
        let grammar = Language::detect(path).filter(|language| !language.is_prose()).and_then(grammar);
        if let (Some(grammar), Ok(text)) = (grammar, std::fs::read(root.join(path)))
            && parser.set_language(&grammar).is_ok()
        {
            parser.parse(text, None);
        }
    });
    processor_seconds() - before
}

/// Return the seconds of processor time of this process, where the system tells.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The first two fields are a number and a name in brackets; user and system time are the 14th and 15th, in hundredths.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Ask some questions, warm, and print the median of each search.
fn searches(store: &Store, embedder: &dyn LocalEmbedder, token: &CancelToken) -> carrel_core::base::error::Result<()> {
    let snapshot = store.snapshot()?;
    let questions = ["where is the connection pool configured", "parse command line arguments", "fn poll_read", "utf8 error"];
    let mut vector = vec![0.0; embedder.dim()];
    let (mut dense, mut lexical, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
    for question in questions.iter().cycle().take(40) {
        embedder.embed_query(question, &mut vector);
        let start = Instant::now();
        let found = snapshot.dense(&vector, 20, embedder.floor(), None, token)?;
        dense.push(start.elapsed());
        let start = Instant::now();
        snapshot.lexical(question, 20, None, token)?;
        lexical.push(start.elapsed());
        let start = Instant::now();
        let docs: Vec<_> = found.iter().map(|c| c.doc).collect();
        snapshot.read_current(&docs, token)?;
        fresh.push(start.elapsed());
    }
    println!(
        "search      dense {:.1?}, lexical {:.1?}, 20 checked against the disk {:.1?}",
        median(dense),
        median(lexical),
        median(fresh)
    );
    Ok(())
}

/// Change one file of the folder (at its end) again and again, as an editor saves it, and restore it.
fn saves(
    store: &Store,
    root: &std::path::Path,
    file: &str,
    embedder: &dyn LocalEmbedder,
    token: &CancelToken,
) -> Result<(), Box<dyn std::error::Error>> {
    let path = root.join(file);
    let before = std::fs::read(&path)?;
    let mut times = Vec::new();
    for i in 0..200 {
        let mut text = before.clone();
        text.extend(format!("\nfn saved_{i}() -> usize {{\n    let value_{i} = {i};\n    value_{i} + {i}\n}}\n").bytes());
        std::fs::write(&path, text)?;
        let start = Instant::now();
        let plan = store.check(&[file.to_owned()], token)?;
        run(store, &plan, embedder, token)?;
        store.snapshot()?;
        times.push(start.elapsed());
    }
    std::fs::write(&path, before)?;
    times.sort_unstable();
    println!("save        p50 {:.1?}, p99 {:.1?}, most {:.1?}", times[100], times[197], times[199]);
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Peak and present resident memory, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines =
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon") || line.starts_with("RssFile"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}

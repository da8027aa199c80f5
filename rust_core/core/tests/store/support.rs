//! A workspace and an index in temporary folders.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use carrel_core::base::cancel::CancelToken;
use carrel_core::index::cut::CutOptions;
use carrel_core::index::embed::{HashedEmbedder, LocalEmbedder};
use carrel_core::query::matching::name_stems;
use carrel_core::query::parsed_query::{Meaning, ParsedQuery};
use carrel_core::query::ranking::{Candidate, EditorContext, RankingContext, Signals, rank};
use carrel_core::query::results::ScoredDoc;
use carrel_core::query::searcher::SearchOptions;
use carrel_core::workspace::handle::{LanguageGlobs, StoreConfig};
use carrel_core::workspace::snapshot::{ReadFiles, SearchResult, Snapshot};
use carrel_core::workspace::store::{Commit, Plan, Store};
use carrel_core::workspace::walk::WalkOptions;
use tempfile::TempDir;

/// A workspace with an index beside it; both go with it.
pub struct Workspace {
    pub root: PathBuf,
    pub index: PathBuf,
    _folder: TempDir,
}

/// Runs an ignored test in a process of its own, kills it after a time that differs by the round, and returns the last number
/// that it said it had committed ("committed 7"), or 0.
pub fn killed(test: &str, variable: &str, folder: &Path, round: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(variable, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.filter_map(|line| line.rsplit("committed ").next()?.parse::<u64>().ok()).max()
    });
    std::thread::sleep(Duration::from_millis(30 + round * 37 % 211));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap().unwrap_or(0)
}

pub fn token() -> CancelToken {
    CancelToken::new()
}

impl Workspace {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Self { root: folder.path().join("code"), index: folder.path().join("index"), _folder: folder };
        std::fs::create_dir(&workspace.root).unwrap();
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    pub fn config(&self) -> StoreConfig {
        StoreConfig {
            directory: self.index.clone(),
            root: self.root.clone(),
            embedder_id: HashedEmbedder.id().to_owned(),
            dim: HashedEmbedder.dim(),
            walk: WalkOptions::default(),
            cut: CutOptions { min_chars: 1, ..CutOptions::default() },
            languages: LanguageGlobs::default(),
            secrets: carrel_core::index::secrets::SecretOptions::default(),
            in_memory: false,
        }
    }

    pub fn open(&self) -> Store {
        Store::open(self.config()).unwrap()
    }

    /// An index of the files as they are now, made at once.
    pub fn open_fresh(&self) -> Store {
        let mut config = self.config();
        config.directory = tempfile::tempdir_in(&self.index).unwrap().keep();
        let store = Store::open(config).unwrap();
        index(&store);
        store
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Write with a time far enough in the past for the file not to be racy.
    pub fn write_long_ago(&self, path: &str, text: &str) {
        self.write(path, text);
        self.set_age(path, 100);
    }

    pub fn set_age(&self, path: &str, seconds: u64) {
        let file = std::fs::File::options().write(true).open(self.root.join(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.join(path)).unwrap();
    }

    pub fn rename(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.root.join(to).parent().unwrap()).unwrap();
        std::fs::rename(self.root.join(from), self.root.join(to)).unwrap();
    }

    /// The segment files that lie in the index folder.
    pub fn segment_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.index).unwrap().map(|e| e.unwrap().path());
        entries.filter(|p| p.extension().is_some_and(|e| e == "seg" || e == "tmp")).collect()
    }
}

/// Carry out a plan and add up what its commits did.
pub fn carry_out(store: &Store, plan: &Plan, max_bytes: u64) -> Commit {
    let mut sum = Commit::default();
    while let Some(batch) = store.cut(plan, &token(), max_bytes).unwrap() {
        batch.embed(&HashedEmbedder, &token()).unwrap();
        let commit = store.commit(&batch, &token()).unwrap();
        sum.added += commit.added;
        sum.changed += commit.changed;
        sum.removed += commit.removed;
        sum.unchanged += commit.unchanged;
        sum.skipped += commit.skipped;
        sum.failed += commit.failed;
        sum.chunks += commit.chunks;
        sum.generation = commit.generation;
    }
    sum
}

/// Scan and carry out.
pub fn index(store: &Store) -> Commit {
    carry_out(store, &store.scan(&token()).unwrap(), 8_000_000)
}

/// A buffer into the overlay.
pub fn type_in(store: &Store, path: &str, text: &str) {
    let batch = store.cut_buffer(path, text, &token()).unwrap();
    batch.embed(&HashedEmbedder, &token()).unwrap();
    store.commit_buffer(&batch).unwrap();
}

/// `path:first-last symbol` of each candidate.
pub fn places(snapshot: &Snapshot, found: &[ScoredDoc]) -> Vec<String> {
    let docs: Vec<u64> = found.iter().map(|c| c.doc).collect();
    let place = |i: carrel_core::query::results::ChunkInfo| {
        format!("{}:{}-{} {}", i.path, i.chunk.span.start_line, i.chunk.span.end_line, i.chunk.symbol)
    };
    snapshot.describe(&docs).into_iter().map(place).collect()
}

/// Places of the chunks that hold one of these words whole.
pub fn search(store: &Store, words: &str) -> Vec<String> {
    let snapshot = store.snapshot().unwrap();
    let found = snapshot.lexical(words, 1000, None, &token()).unwrap();
    let docs: Vec<u64> = found.iter().map(|c| c.doc).collect();
    let holds = |chunk: &Signals| words.split(' ').any(|word| chunk.matched.iter().any(|m| m == word));
    let evidence = snapshot.evidence(&ParsedQuery { search_text: words.to_owned(), ..ParsedQuery::default() }, &docs);
    let whole: Vec<ScoredDoc> = found.into_iter().zip(&evidence).filter(|(_, e)| holds(e)).map(|(c, _)| c).collect();
    places(&snapshot, &whole)
}

/// The paths of the files with a chunk that holds one of these words whole.
pub fn files_with(store: &Store, words: &str) -> Vec<String> {
    let mut files: Vec<String> = search(store, words).iter().map(|p| p.split(':').next().unwrap().to_owned()).collect();
    files.sort();
    files.dedup();
    files
}

/// A Python file with these functions, each with a word of its own.
pub fn python(functions: &[&str]) -> String {
    let one = |name: &&str| format!("def {name}(value):\n    result_{name} = value + 1\n    return result_{name}\n\n\n");
    functions.iter().map(one).collect::<Vec<_>>().concat()
}

/// Whether a folder may be written although it is read-only, as root may everywhere.
#[cfg(unix)]
pub fn is_almighty(folder: &Path) -> bool {
    let probe = folder.join("probe");
    let written = std::fs::write(&probe, "x").is_ok();
    let _ = std::fs::remove_file(probe);
    written
}

/// All that a store answers to some questions, with every score to the last bit.
pub fn answers(store: &Store) -> Vec<String> {
    let snapshot = store.snapshot().unwrap();
    let mut out = snapshot.paths();
    for path in snapshot.paths() {
        let chunks = snapshot.file_chunks(&path);
        out.extend(
            chunks
                .into_iter()
                .map(|c| format!("{path} {:?} {:?} {:?} {:x}", c.chunk, snapshot.imports(c.doc), c.language, c.file_hash)),
        );
    }
    let scored = |found: &[ScoredDoc]| {
        places(&snapshot, found).into_iter().zip(found).map(|(place, c)| format!("{place} {:?}", c.score)).collect::<Vec<_>>()
    };
    let mut query = vec![0.0; HashedEmbedder.dim()];
    for question in ["how does a user log in", "parse", "load path of a session", "größe", "result steady name"] {
        HashedEmbedder.embed_query(question, &mut query);
        // The fewer are asked for, the oftener the cut is among equals.
        for k in [2, 5, 1000] {
            out.extend(scored(&snapshot.dense(&query, k, 0.01, None, &token()).unwrap()));
            out.extend(scored(&snapshot.lexical(question, k, None, &token()).unwrap()));
        }
        out.extend(ranked(&snapshot, question, &query));
        out.push(format!("{:?}", snapshot.rarities(&question.split(' ').collect::<Vec<_>>())));
    }
    out.extend(scored(&snapshot.definitions(&["load", "Parser", "logins"], 3, None).unwrap()));
    out
}

/// The whole way of a question, from a file in front.
fn ranked(snapshot: &Snapshot, question: &str, vector: &[f32]) -> Vec<String> {
    let words: Vec<String> = name_stems(question).into_iter().collect();
    let query = ParsedQuery {
        text: question.to_owned(),
        search_text: question.to_owned(),
        words,
        plain: question.split(' ').map(str::to_owned).collect(),
        meaning: Meaning::Vector(vector.to_vec()),
        ..ParsedQuery::default()
    };
    let active_path = snapshot.paths().first().cloned();
    let options = SearchOptions { pool: 4, floor: 0.01, active_path: active_path.as_deref(), ..SearchOptions::default() };
    let SearchResult { mut candidates, rarities } = snapshot.find(&query, &options, &ReadFiles::default(), &token()).unwrap();
    let context = RankingContext::new(&query, &rarities);
    let editor = EditorContext { active_path, ..EditorContext::default() };
    let order = rank(&mut candidates, &context, &editor, &HashSet::new());
    // Numbers of documents are the one thing that may differ.
    let told = |candidate: &Candidate| {
        let signals = Arc::new(Signals { doc: 0, ..Signals::clone(&candidate.signals) });
        format!("{:?}", Candidate { signals, ..candidate.clone() })
    };
    order.into_iter().map(|i| told(&candidates[i])).collect()
}

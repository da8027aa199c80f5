//! What an index holds besides: nothing for vectors, metadata and secrets of files; and indexes of the format before.

use std::collections::BTreeMap;
use std::fs;

use carrel_core::base::types::{FileProperties, Scalar, SecretSpan};
use carrel_core::formats::database::DATABASE_FILE;
use carrel_core::formats::segment::Segment;
use carrel_core::index::embed::{HashedEmbedder, LocalEmbedder};
use carrel_core::query::filter::{Filter, FilterOptions};
use carrel_core::workspace::store::Store;

use crate::old_format::make_older;
use crate::support::{Workspace, answers, carry_out, files_with, index, python, search, token};

fn dense(store: &Store, query: &str) -> Vec<String> {
    let mut vector = vec![0.0; HashedEmbedder.dim()];
    HashedEmbedder.embed_query(query, &mut vector);
    let snapshot = store.snapshot().unwrap();
    let found = snapshot.dense(&vector, 9, 0.3, None, &token()).unwrap();
    let docs: Vec<u64> = found.iter().map(|hit| hit.doc).collect();
    snapshot.describe(&docs).into_iter().map(|info| info.path).collect()
}

/// Files `f0.py` and so on, each with a function of its own.
fn workspace(files: usize) -> Workspace {
    let workspace = Workspace::new(&[]);
    for n in 0..files {
        workspace.write_long_ago(&format!("f{n}.py"), &python(&[&format!("name_{n}")]));
    }
    workspace
}

/// Index without embedding anything.
fn index_words(store: &Store) -> usize {
    let plan = store.scan(&token()).unwrap();
    let mut files = 0;
    while let Some(batch) = store.cut(&plan, &token(), 8_000_000).unwrap() {
        let commit = store.commit(&batch, &token()).unwrap();
        files += commit.added + commit.changed;
    }
    files
}

#[test]
fn files_that_were_cut_by_older_rules_are_cut_again() {
    let workspace = workspace(3);
    index(&workspace.open());
    let database = rusqlite::Connection::open(workspace.index.join(DATABASE_FILE)).unwrap();
    assert_eq!(workspace.open().scan(&token()).unwrap().changed, 0);
    // What was kept before the rules had a number: the sizes alone.
    let sizes = format!("{:?}", workspace.config().cut);
    assert_eq!(database.execute("UPDATE meta SET value = ?1 WHERE key = 'cut'", [sizes]).unwrap(), 1);
    assert_eq!(workspace.open().scan(&token()).unwrap().changed, 3);
}

#[test]
fn an_older_index_answers_while_it_is_made_again() {
    let workspace = workspace(20);
    index(&workspace.open());
    let expected = answers(&workspace.open());
    make_older(&workspace.index);
    let older = fs::read(&workspace.segment_files()[0]).unwrap();
    assert_eq!(older[8..12], 3_u32.to_le_bytes());
    {
        let store = workspace.open();
        assert_eq!(answers(&store), expected, "with vectors, too: the model is the same");
        let problems = store.problems();
        assert!(problems.len() == 1 && problems[0].contains("made by an older version of Carrel"));
        assert!(!fs::exists(workspace.index.join(format!("{DATABASE_FILE}-shm"))).unwrap(), "it has left the log behind");
        let follower = workspace.open();
        assert_eq!(answers(&follower), expected);
        // Commit by commit; a restart goes on with what is left.
        let plan = store.scan(&token()).unwrap();
        assert_eq!((plan.added, plan.changed, plan.pending()), (0, 20, 20));
        let batch = store.cut(&plan, &token(), 1).unwrap().unwrap();
        batch.embed(&HashedEmbedder, &token()).unwrap();
        let commit = store.commit(&batch, &token()).unwrap();
        assert_eq!((commit.changed, commit.chunks), (1, 0), "nothing is embedded twice");
        store.compact(&token()).unwrap();
    }
    let store = workspace.open();
    assert_eq!((answers(&store), store.problems().len()), (expected.clone(), 1));
    let commit = index(&store);
    assert_eq!((commit.changed, commit.chunks), (19, 0));
    assert!(store.problems().is_empty(), "{:?}", store.problems());
    assert!(store.scan(&token()).unwrap().is_empty());
    for path in workspace.segment_files() {
        assert_ne!(fs::read(path).unwrap()[8..12], 3_u32.to_le_bytes());
    }
    store.close();
    let store = workspace.open();
    assert_eq!((answers(&store), store.problems().len()), (expected, 0));
}

#[test]
fn an_older_index_of_another_model_answers_by_words() {
    let workspace = workspace(3);
    index(&workspace.open());
    make_older(&workspace.index);
    let mut config = workspace.config();
    (config.embedder_id, config.dim) = ("small-model".to_owned(), 16);
    let store = Store::open(config.clone()).unwrap();
    assert_eq!(files_with(&store, "result_name_1"), ["f1.py"]);
    assert!(dense(&store, "result_name_1").is_empty());
    assert!(store.problems()[0].contains("older version of Carrel. It answers by words until it is rebuilt"));
    drop(store);
    // Other dimensions alone are another model, too.
    let store = Store::open(config).unwrap();
    let plan = store.scan(&token()).unwrap();
    assert_eq!(plan.pending(), 3);
    let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
    assert_eq!((batch.added_chunks(), batch.kept_chunks()), (3, 0));
    batch.set_vectors(&[1.0; 3 * 16]).unwrap();
    store.commit(&batch, &token()).unwrap();
    assert!(store.problems().is_empty(), "{:?}", store.problems());
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.dense(&[0.25; 16], 9, 0.9, None, &token()).unwrap().len(), 3);
}

#[test]
fn a_store_without_vectors_answers_by_words() {
    let workspace = workspace(30);
    let mut config = workspace.config();
    (config.embedder_id, config.dim) = ("elsewhere".to_owned(), 0);
    let store = Store::open(config.clone()).unwrap();
    for n in 0..30 {
        let plan = store.check(&[format!("f{n}.py")], &token()).unwrap();
        let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
        assert!(batch.embed(&HashedEmbedder, &token()).is_err(), "it has no place for vectors");
        store.commit(&batch, &token()).unwrap();
    }
    store.compact(&token()).unwrap();
    assert!(workspace.segment_files().len() <= 12, "they are merged");
    assert!(workspace.segment_files().iter().all(|path| !Segment::read(path).unwrap().has_vectors()));
    assert_eq!(files_with(&store, "result_name_7"), ["f7.py"]);
    assert!(dense(&store, "result_name_7").is_empty() && store.problems().is_empty());
    assert!(store.scan(&token()).unwrap().is_empty());
    let doc = store.snapshot().unwrap().file_chunks("f7.py")[0].doc;
    assert!(store.snapshot().unwrap().vector(doc).is_empty());
}

#[test]
fn vectors_that_move_away_and_back_are_made_again_only_where_they_lack() {
    let workspace = workspace(10);
    index(&workspace.open());
    let mut without = workspace.config();
    (without.embedder_id, without.dim) = ("elsewhere".to_owned(), 0);
    {
        let store = Store::open(without).unwrap();
        assert!(store.scan(&token()).unwrap().is_empty() && store.problems().is_empty(), "what is there stays");
        assert!(dense(&store, "result_name_3").is_empty(), "but its vectors are another model's");
        workspace.write_long_ago("f3.py", &python(&["name_3", "added"]));
        assert_eq!(index_words(&store), 1);
        assert_eq!(search(&store, "result_added").len(), 1);
        store.compact(&token()).unwrap();
    }
    let store = workspace.open();
    assert_eq!(dense(&store, "result_name_4")[0], "f4.py", "they are as good as before");
    assert!(!dense(&store, "result_added").contains(&"f3.py".to_owned()));
    assert!(store.problems()[0].contains("It answers by words until it is rebuilt"), "{:?}", store.problems());
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.changed, plan.unchanged), (1, 9));
    assert_eq!(carry_out(&store, &plan, 8_000_000).chunks, 2);
    assert_eq!(dense(&store, "result_added")[0], "f3.py");
    assert!(store.problems().is_empty() && store.scan(&token()).unwrap().is_empty());
}

fn properties(version: Option<&str>, pairs: &[(&str, Scalar)]) -> FileProperties {
    let metadata: BTreeMap<_, _> = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    FileProperties { version: version.map(str::to_owned), metadata }
}

#[test]
fn what_a_source_says_of_a_file_is_kept_and_filtered_by() {
    let workspace = workspace(30);
    let store = workspace.open();
    let docs = || Scalar::Text("docs".to_owned());
    let said = properties(Some("7"), &[("collection", docs()), ("year", Scalar::Integer(2024)), ("draft", Scalar::Bool(false))]);
    for n in 0..30 {
        let plan = store.check(&[format!("f{n}.py")], &token()).unwrap();
        let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
        batch.embed(&HashedEmbedder, &token()).unwrap();
        if n % 10 == 0 {
            batch.set_properties(&format!("f{n}.py"), said.clone()).unwrap();
        }
        assert!(batch.set_properties("other.py", said.clone()).is_err());
        store.commit(&batch, &token()).unwrap();
    }
    let found = |store: &Store, pairs: &[(&str, &[&str])]| {
        let list = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let metadata = pairs.iter().map(|(name, values)| ((*name).to_owned(), list(values))).collect();
        let filter = Filter::new(FilterOptions { metadata, ..Default::default() }).unwrap();
        let snapshot = store.snapshot().unwrap();
        let hits =
            snapshot.definitions(&["name_0", "name_10", "name_20", "name_21", "typed", "changed"], 99, Some(&filter)).unwrap();
        let mut paths: Vec<_> =
            snapshot.describe(&hits.iter().map(|hit| hit.doc).collect::<Vec<_>>()).into_iter().map(|i| i.path).collect();
        paths.sort();
        paths
    };
    let check = |store: &Store| {
        let three = ["f0.py", "f10.py", "f20.py"];
        assert_eq!(found(store, &[("collection", &["docs", "web"])]), three);
        assert_eq!(found(store, &[("collection", &["docs"]), ("path", &["f10.py"]), ("kind", &["function"])]), ["f10.py"]);
        assert_eq!(found(store, &[("year", &["2024"]), ("draft", &["false"])]), three);
        for nothing in [("collection", &["web"]), ("year", &["2023"]), ("colour", &["red"])] {
            assert!(found(store, &[(nothing.0, nothing.1)]).is_empty(), "{nothing:?}");
        }
        let chunk = |path: &str| store.snapshot().unwrap().file_chunks(path).remove(0);
        assert_eq!(chunk("f20.py").properties, said);
        assert!(chunk("f21.py").properties.is_empty());
    };
    check(&store);
    store.compact(&token()).unwrap();
    assert!(workspace.segment_files().len() <= 12);
    check(&store);
    drop(store);
    let store = workspace.open();
    check(&store);
    carry_out(&store, &store.force(&token()).unwrap(), 8_000_000);
    check(&store);
    // Another content is another version, of the same collection; a buffer hides the file and says what it said.
    workspace.write("f20.py", &python(&["changed"]));
    index(&store);
    crate::support::type_in(&store, "f10.py", &python(&["name_10"]));
    crate::support::type_in(&store, "f0.py", &python(&["typed"]));
    let version = |path: &str| store.snapshot().unwrap().file_chunks(path)[0].properties.version.clone();
    assert_eq!([version("f0.py"), version("f10.py"), version("f20.py")], [None, Some("7".to_owned()), None]);
    assert_eq!(found(&store, &[("collection", &["docs"])]), ["f0.py", "f10.py", "f20.py"]);
}

#[test]
fn places_of_masked_secrets_are_kept_and_never_their_values() {
    let value = "hunter2-Xq9vLm3T8";
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA7bqXw3kPz9LmV2tR8sYd\n".repeat(2).trim_end()
    );
    let code = format!("def connect():\n    host = 'db'\n    password = '{value}'\n    return 1\n\n\nKEY = \"\"\"{key}\"\"\"\n");
    let workspace = workspace(2);
    workspace.write_long_ago("config.py", &code);
    let store = workspace.open();
    index(&store);
    let secrets = store.snapshot().unwrap().secrets("config.py");
    let places: Vec<_> = secrets.iter().map(|secret| (secret.start_line, secret.end_line)).collect();
    assert_eq!(places, [(3, 3), (8, 9)], "{secrets:?}");
    assert_eq!(secrets[0].kind, "password");
    assert_eq!((store.masked(), store.snapshot().unwrap().secrets("f0.py")), ((1, 2), Vec::<SecretSpan>::new()));
    for path in workspace.segment_files() {
        let bytes = fs::read(path).unwrap();
        assert!(!bytes.windows(value.len()).any(|window| window == value.as_bytes()));
    }
    crate::support::type_in(&store, "config.py", "def connect():\n    return 1\n");
    assert_eq!(store.masked(), (0, 0), "the buffer counts in place of the file");
    store.close_buffer("config.py").unwrap();
    drop(store);
    let store = workspace.open();
    assert_eq!((store.masked(), store.snapshot().unwrap().secrets("config.py")), ((1, 2), secrets));
    workspace.remove("config.py");
    index(&store);
    assert_eq!(store.masked(), (0, 0));
}

/// Rename the section of metadata, as if a newer Carrel had written something that this one doesn't know.
fn make_section_unknown(segment: &std::path::Path) -> Vec<u8> {
    const PROPERTIES: u16 = 13;
    let mut file = fs::read(segment).unwrap();
    let u32_at = |file: &[u8], at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let entries = (0..u32_at(&file, 72) as usize).map(|entry| 80 + entry * 24);
    let at = entries.into_iter().find(|&at| file[at..at + 2] == PROPERTIES.to_le_bytes()).unwrap();
    file[at..at + 2].copy_from_slice(&999_u16.to_le_bytes());
    let seed = u64::from(u32_at(&file, 8)) << 32 | u64::from(u32_at(&file, 12));
    let sum = xxhash_rust::xxh3::xxh3_64_with_seed(&file[32..], seed);
    file[24..32].copy_from_slice(&sum.to_le_bytes());
    fs::write(segment, &file).unwrap();
    file
}

#[test]
fn what_a_newer_carrel_wrote_besides_is_not_lost_in_a_merge() {
    let workspace = workspace(30);
    let commit = |store: &Store, n: usize, properties: FileProperties| {
        let path = format!("f{n}.py");
        let plan = store.check(std::slice::from_ref(&path), &token()).unwrap();
        let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
        batch.embed(&HashedEmbedder, &token()).unwrap();
        batch.set_properties(&path, properties).unwrap();
        store.commit(&batch, &token()).unwrap();
    };
    let store = workspace.open();
    commit(&store, 0, properties(Some("7"), &[]));
    store.close();
    let newer = workspace.segment_files().remove(0);
    let bytes = make_section_unknown(&newer);
    let store = workspace.open();
    for n in 1..30 {
        commit(&store, n, FileProperties::default());
    }
    store.compact(&token()).unwrap();
    assert!(workspace.segment_files().len() <= 13, "the others are merged");
    assert!(fs::read(&newer).unwrap() == bytes, "it stays as it was written");
    assert_eq!((files_with(&store, "result_name_0"), store.problems()), (vec!["f0.py".to_owned()], vec![]));
    workspace.write("f0.py", &python(&["changed"]));
    index(&store);
    assert!(!newer.exists(), "its only file has another content");
}

//! Files in, chunks out; a change costs what changed.

use carrel_core::base::types::SkipReason;
use carrel_core::index::embed::{HashedEmbedder, LocalEmbedder};
use carrel_core::query::filter::{Filter, FilterOptions};
use carrel_core::workspace::store::{Plan, Store};

use crate::support::{Workspace, carry_out, files_with, index, places, python, search, token};

#[test]
fn what_is_indexed_is_found_also_after_reopening() {
    let workspace = Workspace::new(&[
        ("a.py", &python(&["login", "logout"])),
        ("src/b.rs", "fn parse() {}\n"),
        ("README.md", "# Log in\n\nHow to.\n"),
    ]);
    let store = workspace.open();
    assert!(store.is_writer() && store.problems().is_empty());
    let commit = index(&store);
    assert_eq!((commit.added, commit.changed, commit.removed, commit.failed), (3, 0, 0, 0));
    assert_eq!(search(&store, "result_login"), ["a.py:1-3 login"]);
    let before = store.snapshot().unwrap();
    store.close();
    assert!(store.snapshot().is_err(), "closed");
    let store = workspace.open();
    let after = store.snapshot().unwrap();
    assert_eq!((after.files(), after.chunks(), after.generation()), (3, before.chunks(), before.generation()));
    assert_eq!(after.paths(), ["README.md", "a.py", "src/b.rs"]);
    assert_eq!(after.languages().into_iter().collect::<Vec<_>>(), [("markdown", 1), ("python", 1), ("rust", 1)]);
    assert_eq!(search(&store, "result_login"), ["a.py:1-3 login"]);
    assert_eq!(store.scan(&token()).unwrap().added, 0);
}

#[test]
fn an_edit_embeds_what_it_touched_only() {
    let workspace = Workspace::new(&[("a.py", &python(&["one", "two", "three"]))]);
    let store = workspace.open();
    let chunks = index(&store).chunks;
    workspace.write("a.py", &python(&["zero", "one", "two", "changed"]));
    let commit = index(&store);
    assert_eq!((commit.changed, commit.chunks), (1, 2), "two of {chunks} functions are new");
    let snapshot = store.snapshot().unwrap();
    let symbols: Vec<_> = snapshot.file_chunks("a.py").into_iter().map(|c| c.chunk.symbol).collect();
    assert_eq!(symbols, ["zero", "one", "two", "changed"]);
    let mut query = vec![0.0; 256];
    HashedEmbedder.embed_query("result_two", &mut query);
    let found = snapshot.dense(&query, 1, 0.1, None, &token()).unwrap();
    assert_eq!(places(&snapshot, &found), ["a.py:11-13 two"], "a kept vector answers from the new place");
}

#[test]
fn touched_files_are_read_but_not_cut() {
    let workspace = Workspace::new(&[]);
    workspace.write_long_ago("a.py", &python(&["one"]));
    let store = workspace.open();
    index(&store);
    assert!(store.scan(&token()).unwrap().is_empty());
    workspace.set_age("a.py", 50);
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.changed, plan.unchanged), (1, 0));
    let commit = carry_out(&store, &plan, 1);
    assert_eq!((commit.unchanged, commit.changed, commit.chunks), (1, 0, 0));
    assert!(store.scan(&token()).unwrap().is_empty(), "the new time is remembered");
    store.close();
    assert!(workspace.open().scan(&token()).unwrap().is_empty(), "also on disk");
}

#[test]
fn a_change_within_one_tick_of_the_clock_is_seen() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let store = workspace.open();
    index(&store);
    let file = std::fs::File::options().write(true).open(workspace.root.join("a.py")).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    workspace.write("a.py", &python(&["two"]));
    file.set_modified(time).unwrap();
    assert_eq!(index(&store).changed, 1, "same size, same time, other content");
    assert_eq!(files_with(&store, "result_two"), ["a.py"]);
}

#[test]
fn removed_renamed_and_ignored_files_leave() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"])), ("b.py", &python(&["two"])), ("c/d.py", &python(&["three"]))]);
    let store = workspace.open();
    index(&store);
    workspace.remove("a.py");
    workspace.rename("b.py", "moved/b.py");
    workspace.write(".gitignore", "c/\n");
    let commit = index(&store);
    assert_eq!((commit.added, commit.removed), (1, 3));
    assert_eq!(store.snapshot().unwrap().paths(), ["moved/b.py"]);
    assert_eq!(search(&store, "result_two"), ["moved/b.py:1-3 two"]);
    assert!(search(&store, "result_one result_three").is_empty());
    assert!(store.skipped(10).iter().any(|s| s.path == "c/" && s.reason == SkipReason::Ignored));
}

#[test]
fn checking_paths_sees_what_a_scan_sees() {
    let workspace =
        Workspace::new(&[("a.py", &python(&["one"])), ("lib/b.py", &python(&["two"])), ("lib/c.py", &python(&["three"]))]);
    let store = workspace.open();
    index(&store);
    let check = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        carry_out(&store, &store.check(&paths, &token()).unwrap(), 8_000_000)
    };
    workspace.write("a.py", &python(&["one", "four"]));
    workspace.write("new.py", &python(&["five"]));
    let commit = check(&["a.py", "./new.py", "nothing.py", "../outside.py", "/etc/passwd"]);
    assert_eq!((commit.added, commit.changed, commit.removed), (1, 1, 0));
    workspace.remove("lib/b.py");
    assert_eq!(check(&["lib/b.py"]).removed, 1);
    workspace.rename("lib/c.py", "other/c.py");
    std::fs::remove_dir(workspace.root.join("lib")).unwrap();
    let commit = check(&["lib", "other/"]);
    assert_eq!((commit.added, commit.removed), (1, 1));
    workspace.write(".carrelignore", "new.py\n");
    assert_eq!(check(&[".carrelignore"]).removed, 1);
    assert_eq!(store.snapshot().unwrap().paths(), [".carrelignore", "a.py", "other/c.py"]);
    assert!(store.scan(&token()).unwrap().removed == 0);
}

#[test]
fn unusable_files_are_read_once_and_named() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    workspace.write_long_ago("b.py", "x\0y");
    workspace.write("a.py", "x\0y");
    workspace.set_age("a.py", 100);
    let store = workspace.open();
    assert_eq!(index(&store).skipped, 2);
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.pending(), plan.skipped), (0, 2));
    store.close();
    let store = workspace.open();
    assert!(store.scan(&token()).unwrap().is_empty());
    assert!(store.skipped(10).iter().all(|s| s.reason == SkipReason::Binary));
    workspace.write("b.py", &python(&["two"]));
    assert_eq!(index(&store).added, 1);
    assert!(!store.skipped(10).iter().any(|s| s.path == "b.py"));
    workspace.write("b.py", "x\0y");
    let commit = index(&store);
    assert_eq!((commit.skipped, commit.removed), (1, 0), "counted once");
    assert!(store.snapshot().unwrap().paths().is_empty(), "a file that became binary is not found any more");
}

#[test]
fn failed_files_stay_as_they_were_and_are_tried_again() {
    let workspace = Workspace::new(&[]);
    workspace.write_long_ago("a.py", &python(&["one"]));
    workspace.write_long_ago("b.py", &python(&["two"]));
    let store = workspace.open();
    index(&store);
    let plan = store.force(&token()).unwrap();
    let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
    assert!(store.commit(&batch, &token()).is_err(), "vectors are missing");
    batch.embed(&HashedEmbedder, &token()).unwrap();
    batch.fail(&["a.py".to_owned()], "the provider said 503").unwrap();
    let commit = store.commit(&batch, &token()).unwrap();
    assert_eq!((commit.failed, commit.changed), (1, 1));
    assert!(store.commit(&batch, &token()).is_err(), "a batch is committed once");
    assert_eq!(files_with(&store, "result_one"), ["a.py"], "the old version answers on");
    store.close();
    let store = workspace.open();
    assert_eq!(store.failed(), [("a.py".to_owned(), "the provider said 503".to_owned())]);
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.pending(), plan.unchanged), (1, 1), "only the failed one is tried again");
    assert_eq!(carry_out(&store, &plan, 8_000_000).changed, 1);
    assert!(store.failed().is_empty() && store.scan(&token()).unwrap().is_empty());
}

#[test]
fn chunks_that_lack_their_vector_are_found_by_words_and_embedded_alone_by_the_next_run() {
    let dim = HashedEmbedder.dim();
    let vectors = |texts: usize| (0..texts * dim).map(|at| f32::from(at % dim == 0)).collect::<Vec<_>>();
    let workspace = Workspace::new(&[]);
    workspace.write_long_ago("a.py", &python(&["one", "two", "three"]));
    workspace.write_long_ago("b.py", &python(&["four"]));
    let store = workspace.open();
    let batch = store.cut(&store.scan(&token()).unwrap(), &token(), 8_000_000).unwrap().unwrap();
    assert!(batch.lack_vectors(1, 1, "503").is_err(), "before the vectors are set");
    batch.set_vectors(&vectors(4)).unwrap();
    batch.lack_vectors(1, 1, "503").unwrap();
    let commit = store.commit(&batch, &token()).unwrap();
    assert_eq!((commit.added, commit.failed, commit.chunks), (2, 1, 3));
    store.close();

    let store = workspace.open();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.chunks_without_vectors(), 1);
    assert_eq!(search(&store, "result_two"), ["a.py:6-8 two"]);
    let found = snapshot.dense(&vectors(1), 9, 0.5, None, &token()).unwrap();
    assert_eq!(places(&snapshot, &found), ["a.py:1-3 one", "a.py:11-13 three", "b.py:1-3 four"]);
    let docs: Vec<u64> = found.iter().map(|found| found.doc).collect();
    assert!(!docs.iter().any(|doc| snapshot.vector(*doc).is_empty()) && snapshot.vector(docs[0] + 1).is_empty());
    assert_eq!(store.failed(), [("a.py".to_owned(), "503".to_owned())]);

    // The next run comes after an edit of another chunk.
    workspace.write_long_ago("a.py", &python(&["one", "two", "tree"]));
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.pending(), plan.unchanged), (1, 1));
    let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
    let asked: Vec<String> = batch.texts().iter().map(|text| text.lines().next().unwrap().to_owned()).collect();
    assert_eq!(asked, ["Function name: two", "Function name: tree"]);
    batch.set_vectors(&vectors(2)).unwrap();
    let commit = store.commit(&batch, &token()).unwrap();
    assert_eq!((commit.changed, commit.failed, commit.chunks), (1, 0, 2));
    assert_eq!(store.snapshot().unwrap().chunks_without_vectors(), 0);
    assert!(store.failed().is_empty() && store.scan(&token()).unwrap().is_empty());
}

#[test]
fn a_file_that_was_only_moved_keeps_its_vectors_where_that_is_asked_for() {
    let asked = |plan: &Plan, store: &Store| {
        let batch = store.cut(plan, &token(), 8_000_000).unwrap().unwrap();
        let texts: Vec<String> = batch.texts().iter().map(|text| text.lines().take(2).collect::<Vec<_>>().join(" ")).collect();
        batch.embed(&HashedEmbedder, &token()).unwrap();
        store.commit(&batch, &token()).unwrap();
        texts
    };
    let workspace = Workspace::new(&[("src/a.py", &python(&["one", "two"])), ("src/b.py", &python(&["three"]))]);
    let store = workspace.open();
    index(&store);
    let vector = |path: &str| {
        let snapshot = store.snapshot().unwrap();
        let mut query = vec![0.0; HashedEmbedder.dim()];
        HashedEmbedder.embed_query("two", &mut query);
        let found = snapshot.dense(&query, 9, 0.0, None, &token()).unwrap();
        let doc = found.iter().find(|hit| places(&snapshot, &[**hit])[0].starts_with(path)).unwrap().doc;
        snapshot.vector(doc)
    };
    let before = vector("src/a.py");

    workspace.rename("src/a.py", "lib/deep/a.py");
    workspace.rename("src/b.py", "src/c.py");
    let plan = store.scan(&token()).unwrap();
    plan.keep_moved();
    assert_eq!(asked(&plan, &store), ["Function name: three File: src/c.py"], "a new name counts, a new folder doesn't");
    assert_eq!(vector("lib/deep/a.py"), before);
    assert_eq!(files_with(&store, "result_two"), ["lib/deep/a.py"]);

    // Edited besides, or by a model that costs nothing.
    workspace.rename("lib/deep/a.py", "a.py");
    workspace.write("a.py", &python(&["one", "four"]));
    let plan = store.scan(&token()).unwrap();
    plan.keep_moved();
    assert_eq!(asked(&plan, &store).len(), 2);
    workspace.rename("a.py", "src/a.py");
    assert_eq!(asked(&store.scan(&token()).unwrap(), &store).len(), 2);
}

#[test]
fn vectors_of_a_remote_model_are_taken_in_the_order_of_the_texts() {
    let workspace = Workspace::new(&[("a.py", &python(&["one", "two"]))]);
    let store = workspace.open();
    let plan = store.scan(&token()).unwrap();
    let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
    let texts = batch.texts();
    assert_eq!(batch.text_paths(), ["a.py", "a.py"]);
    assert_eq!(texts.len(), 2);
    assert!(texts[0].starts_with("Function name: one\nFile: a.py\n\ndef one"), "{}", texts[0]);
    assert!(batch.set_vectors(&[1.0; 256]).is_err(), "too few");
    let mut floats = vec![0.0; 512];
    floats[0] = 2.0;
    floats[256 + 1] = 3.0;
    batch.set_vectors(&floats).unwrap();
    store.commit(&batch, &token()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut query = vec![0.0; 256];
    query[1] = 1.0;
    let found = snapshot.dense(&query, 9, 0.5, None, &token()).unwrap();
    assert_eq!(places(&snapshot, &found), ["a.py:6-8 two"]);
    assert!((found[0].score - 1.0).abs() < 0.01 && (snapshot.vector(found[0].doc)[1] - 1.0).abs() < 0.01);
}

#[test]
fn files_of_a_hidden_folder_leave_an_index_that_holds_them() {
    let workspace =
        Workspace::new(&[("a.py", &python(&["one"])), (".tool/b.py", &python(&["one"])), (".carrelignore", "!.tool/\n")]);
    let store = workspace.open();
    index(&store);
    assert_eq!(files_with(&store, "result_one"), [".tool/b.py", "a.py"]);
    workspace.remove(".carrelignore");
    assert_eq!(index(&store).removed, 2, "the file of rules is one of them");
    assert_eq!(files_with(&store, "result_one"), ["a.py"]);
    assert_eq!(store.access_error(".tool/b.py"), Some(SkipReason::HiddenFolder));
}

#[test]
fn filters_restrict_what_is_found() {
    let workspace = Workspace::new(&[
        ("src/a.py", &python(&["login"])),
        ("tests/b.py", &python(&["login"])),
        ("docs/c.md", "# Login\n\nresult_login\n"),
    ]);
    let store = workspace.open();
    index(&store);
    let snapshot = store.snapshot().unwrap();
    let check = |options: FilterOptions, expected: &[&str]| {
        let filter = Filter::new(options).unwrap();
        let found = snapshot.lexical("login", 10, Some(&filter), &token()).unwrap();
        let mut files: Vec<_> = places(&snapshot, &found).iter().map(|p| p.split(':').next().unwrap().to_owned()).collect();
        files.sort();
        assert_eq!(files, expected);
    };
    let list = |items: &[&str]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    check(FilterOptions::default(), &["docs/c.md", "src/a.py", "tests/b.py"]);
    check(FilterOptions { path_globs: list(&["src/**", "docs"]), ..Default::default() }, &["docs/c.md", "src/a.py"]);
    check(FilterOptions { exclude_globs: list(&["tests"]), languages: list(&["Python"]), ..Default::default() }, &["src/a.py"]);
    check(FilterOptions { sources: list(&["docs"]), ..Default::default() }, &["docs/c.md"]);
    check(
        FilterOptions { symbol: Some("LOGIN".into()), sources: list(&["code"]), ..Default::default() },
        &["src/a.py", "tests/b.py"],
    );
    check(FilterOptions { symbol: Some("logout".into()), ..Default::default() }, &[]);
    check(FilterOptions { updated_after: Some(i64::MAX), ..Default::default() }, &[]);
    assert!(Filter::new(FilterOptions { languages: list(&["klingon"]), ..Default::default() }).is_err());
    assert!(Filter::new(FilterOptions { sources: list(&["web"]), ..Default::default() }).is_err());
}

#[test]
fn metadata_is_compared_exactly() {
    let class = "class User:\n    def login(self):\n        result_login = 1\n        return result_login\n";
    let long = format!("{class}{}", "    pad = 1\n".repeat(40));
    let workspace = Workspace::new(&[
        ("src/a.py", &python(&["login", "login_again"])),
        ("src/b.py", &long),
        ("a.py", &python(&["login"])),
        ("docs/c.md", "# Login\n\nresult_login\n"),
    ]);
    let store = workspace.open();
    index(&store);
    let snapshot = store.snapshot().unwrap();
    let asked = |pairs: &[(&str, &[&str])]| {
        let list = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let metadata = pairs.iter().map(|(name, values)| ((*name).to_owned(), list(values))).collect();
        Filter::new(FilterOptions { metadata, ..Default::default() })
    };
    let check = |pairs: &[(&str, &[&str])], expected: &[&str]| {
        let found = snapshot.lexical("login", 10, Some(&asked(pairs).unwrap()), &token()).unwrap();
        let mut found: Vec<_> = places(&snapshot, &found).iter().map(|p| p.split(':').next().unwrap().to_owned()).collect();
        found.sort();
        found.dedup();
        assert_eq!(found, expected, "{pairs:?}");
    };
    check(&[("language", &["markdown"])], &["docs/c.md"]);
    check(&[("source", &["docs"])], &["docs/c.md"]);
    check(&[("path", &["a.py"])], &["a.py"]);
    check(&[("path", &["a.py", "docs/c.md"]), ("language", &["python"])], &["a.py"]);
    check(&[("symbol", &["login"])], &["a.py", "src/a.py"]);
    check(&[("symbol", &["Login"]), ("language", &["python"])], &[]);
    check(&[("kind", &["method"])], &["src/b.py"]);
    check(&[("kind", &["function"]), ("path", &["src/a.py"])], &["src/a.py"]);
    check(&[("container", &["User"])], &["src/b.py"]);
    check(&[("kind", &[])], &[]);
    let found = snapshot.lexical("login", 1, Some(&asked(&[("kind", &["method"])]).unwrap()), &token()).unwrap();
    assert_eq!(found.len(), 1, "one that is far behind is found too");
    check(&[("colour", &["red"])], &[]);
    assert!(asked(&[("language", &["klingon"])]).is_err());
}

#[test]
fn a_file_is_as_old_as_its_content_not_as_the_index() {
    let workspace = Workspace::new(&[("new.py", &python(&["login"]))]);
    workspace.write_long_ago("old.py", &python(&["login"]));
    let store = workspace.open();
    index(&store);
    let snapshot = store.snapshot().unwrap();
    let docs: Vec<_> = snapshot.lexical("login", 10, None, &token()).unwrap().iter().map(|c| c.doc).collect();
    let lately = snapshot.describe(&docs).iter().map(|info| info.updated_at).max();
    let filter = Filter::new(FilterOptions { updated_after: lately, ..Default::default() }).unwrap();
    let found = snapshot.lexical("login", 10, Some(&filter), &token()).unwrap();
    assert_eq!(places(&snapshot, &found), ["new.py:1-3 login"]);
}

#[test]
fn other_cutting_rules_cut_again_and_keep_vectors() {
    let workspace = Workspace::new(&[]);
    workspace.write_long_ago("a.py", &python(&["one", "two"]));
    let store = workspace.open();
    index(&store);
    store.close();
    let mut config = workspace.config();
    config.cut.max_chars = 4_000;
    let store = carrel_core::workspace::store::Store::open(config).unwrap();
    assert_eq!(files_with(&store, "result_one"), ["a.py"], "the old cut answers meanwhile");
    let commit = index(&store);
    assert_eq!((commit.changed, commit.chunks), (1, 0));
    assert!(store.scan(&token()).unwrap().is_empty());
}

#[test]
fn values_are_kept_with_the_index_until_it_is_cleared() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let store = workspace.open();
    index(&store);
    let generation = store.generation();
    store.set_meta("head", "abc").unwrap();
    assert_eq!(store.get_meta("head").unwrap().as_deref(), Some("abc"));
    store.clear().unwrap();
    assert!(store.generation() > generation && store.get_meta("head").unwrap().is_none());
    assert!(search(&store, "result_one").is_empty() && workspace.segment_files().is_empty());
    assert_eq!(index(&store).added, 1);
    let state = store.index_state();
    assert_eq!((state.len(), state[0].0.as_str(), state[0].2.len()), (1, "a.py", 1));
}

#[test]
fn many_saves_leave_few_segments() {
    let workspace = Workspace::new(&[]);
    for i in 0..40 {
        workspace.write(&format!("f{i}.py"), &python(&[&format!("first_{i}")]));
    }
    let store = workspace.open();
    index(&store);
    for i in 0..100 {
        let path = format!("f{}.py", i % 40);
        workspace.write(&path, &python(&[&format!("saved_{i}")]));
        carry_out(&store, &store.check(&[path], &token()).unwrap(), 8_000_000);
        assert!(workspace.segment_files().len() <= 12);
    }
    assert_eq!(store.snapshot().unwrap().files(), 40);
    for i in 60..100 {
        assert_eq!(search(&store, &format!("result_saved_{i}")), [format!("f{}.py:1-3 saved_{i}", i % 40)]);
    }
    assert!(search(&store, "result_saved_10").is_empty(), "overwritten");
}

#[test]
fn compacting_drops_the_dead_and_changes_no_answer() {
    let workspace = Workspace::new(&[]);
    let many: Vec<String> = (0..40).map(|i| format!("name_{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for i in 0..20 {
        workspace.write(&format!("f{i}.py"), &python(&many));
    }
    let store = workspace.open();
    index(&store);
    let size = store.bytes_on_disk();
    for i in 0..10 {
        workspace.remove(&format!("f{i}.py"));
    }
    index(&store);
    let before = search(&store, "result_name_7");
    assert!(store.compact(&token()).unwrap());
    assert!(!store.compact(&token()).unwrap(), "nothing is left to do");
    assert_eq!(search(&store, "result_name_7"), before);
    assert!(store.bytes_on_disk() < size && workspace.segment_files().len() == 1);
    store.close();
    assert_eq!(search(&workspace.open(), "result_name_7"), before);
}

#[test]
fn the_files_that_a_question_is_about_come_first() {
    let workspace = Workspace::new(&[
        ("a.py", "def common():\n    pass\n"),
        ("b.py", "def common():\n    return Session_Key\n"),
        ("c.py", "def common():\n    return 1\n"),
        ("session.py", "def other():\n    pass\n"),
    ]);
    let store = workspace.open();
    let plan = store.scan(&token()).unwrap();
    let words = ["session".to_owned(), "common".to_owned(), String::new()];
    assert_eq!(store.bring_forward(&plan, &words, &token()).unwrap(), 4);
    let taken: Vec<String> =
        std::iter::from_fn(|| store.cut(&plan, &token(), 1).unwrap()).flat_map(|batch| batch.paths()).collect();
    assert_eq!(taken, ["session.py", "b.py", "a.py", "c.py"]);
    assert_eq!(store.bring_forward(&store.scan(&token()).unwrap(), &[], &token()).unwrap(), 0);
}

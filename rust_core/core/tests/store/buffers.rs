//! Unsaved buffers hide their files; a store in memory is nothing but buffers.

use carrel_core::workspace::store::Store;

use crate::support::{Workspace, index, python, search, token, type_in};

#[test]
fn a_buffer_hides_its_file_until_it_is_closed() {
    let workspace = Workspace::new(&[("a.py", &python(&["one", "two"]))]);
    let store = workspace.open();
    index(&store);
    let before = store.snapshot().unwrap();
    let batch = store.cut_buffer("a.py", &python(&["one", "typed"]), &token()).unwrap();
    assert_eq!((batch.added_chunks(), batch.kept_chunks()), (1, 1), "the vector of the file's chunk is used");
    type_in(&store, "a.py", &python(&["one", "typed"]));
    assert_eq!(search(&store, "result_typed"), ["a.py:6-8 typed"]);
    assert!(search(&store, "result_two").is_empty());
    let snapshot = store.snapshot().unwrap();
    assert_eq!((snapshot.files(), snapshot.chunks()), (1, 2));
    assert!(snapshot.file_chunks("a.py").iter().all(|c| c.overlay));
    assert_eq!(before.definitions(&["two"], 5, None).unwrap().len(), 1, "an older snapshot stays as it was");
    index(&store);
    assert_eq!(search(&store, "result_typed").len(), 1, "a commit of files does not disturb it");
    store.close_buffer("a.py").unwrap();
    assert_eq!(search(&store, "result_two"), ["a.py:6-8 two"]);
    assert!(search(&store, "result_typed").is_empty());
}

#[test]
fn an_empty_buffer_hides_its_file_too() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let store = workspace.open();
    index(&store);
    type_in(&store, "a.py", "");
    assert!(search(&store, "result_one").is_empty());
}

#[test]
fn private_buffers_are_not_indexed() {
    let workspace = Workspace::new(&[(".gitignore", "private/\n")]);
    let store = workspace.open();
    for path in [".env", "new/folder/.env", "private/a.py", "private/new/b.py", "../a.py", "/etc/a.py", "node_modules/x/a.js"] {
        let batch = store.cut_buffer(path, "password = 1\n", &token()).unwrap();
        assert_eq!(batch.files(), 0, "{path}");
        store.commit_buffer(&batch).unwrap();
    }
    assert_eq!(store.cut_buffer("new/folder/a.py", "password = 1\n", &token()).unwrap().files(), 1);
    assert!(search(&store, "password").is_empty());
}

#[test]
fn a_buffer_that_became_ignored_is_taken_out() {
    let workspace = Workspace::new(&[]);
    let store = workspace.open();
    type_in(&store, "a.py", &python(&["one"]));
    assert_eq!(search(&store, "result_one").len(), 1);
    workspace.write(".gitignore", "a.py\n");
    let snapshot = store.snapshot().unwrap();
    let docs: Vec<_> = snapshot.file_chunks("a.py").iter().map(|c| c.doc).collect();
    assert_eq!(snapshot.read_current(&docs, &token()).unwrap(), [Err("a.py: ignored".to_owned())]);
    type_in(&store, "a.py", &python(&["one"]));
    assert!(search(&store, "result_one").is_empty());
}

#[test]
fn batches_of_files_and_buffers_are_not_mixed_up() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let store = workspace.open();
    let buffer = store.cut_buffer("a.py", "x = 1\n", &token()).unwrap();
    assert!(store.commit(&buffer, &token()).is_err());
    let files = store.cut(&store.scan(&token()).unwrap(), &token(), 1).unwrap().unwrap();
    assert!(store.commit_buffer(&files).is_err());
}

#[test]
fn a_store_in_memory_needs_no_disk() {
    let workspace = Workspace::new(&[]);
    let mut config = workspace.config();
    config.in_memory = true;
    config.root = "/nowhere".into();
    let store = Store::open(config).unwrap();
    assert!(store.is_writer() && store.bytes_on_disk() == 0);
    for i in 0..500 {
        type_in(&store, &format!("docs/f{i}.py"), &python(&[&format!("name_{i}")]));
    }
    type_in(&store, "notes", "a text of unknown kind: zebra\n");
    assert_eq!(store.snapshot().unwrap().files(), 501);
    assert_eq!(search(&store, "result_name_77"), ["docs/f77.py:1-3 name_77"]);
    let snapshot = store.snapshot().unwrap();
    let found = snapshot.lexical("zebra", 1, None, &token()).unwrap();
    let fresh = snapshot.read_current(&[found[0].doc], &token()).unwrap().remove(0).unwrap();
    assert_eq!(fresh.text.trim_end(), "a text of unknown kind: zebra");
    store.set_meta("a", "b").unwrap();
    assert_eq!(store.get_meta("a").unwrap().as_deref(), Some("b"));
    store.clear().unwrap();
    assert_eq!(store.snapshot().unwrap().files(), 0);
    assert!(!workspace.index.exists());
}

#[test]
fn a_file_is_tied_to_what_its_buffer_uses() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"])), ("b.py", &python(&["two"])), ("c.py", &python(&["three"]))]);
    let store = workspace.open();
    index(&store);
    let tied_to_a = || {
        let snapshot = store.snapshot().unwrap();
        let docs: Vec<_> = snapshot.paths().iter().map(|path| snapshot.file_chunks(path)[0].doc).collect();
        let ties = snapshot.relatedness("a.py", &docs);
        assert_eq!(ties, snapshot.relatedness("a.py", &docs), "the second time from what is kept");
        assert_eq!(snapshot.relatedness("gone.py", &docs), [0.0; 3]);
        assert!(ties.iter().all(|tie| (0.0..1.0).contains(tie)));
        snapshot.paths().into_iter().zip(ties).filter(|(_, tie)| *tie > 0.0).map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert!(tied_to_a().is_empty());
    type_in(&store, "a.py", "def one():\n    return 'typed but not saved', three()\n");
    assert_eq!(tied_to_a(), ["c.py"]);
}

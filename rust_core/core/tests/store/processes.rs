//! Several stores on one folder: one writes, the others follow and take over.

use carrel_core::base::error::Error;
use carrel_core::index::embed::{HashedEmbedder, LocalEmbedder};
use carrel_core::workspace::store::Store;

use crate::support::{Workspace, carry_out, index, python, search, token};

#[test]
fn a_follower_follows_and_takes_over() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let writer = workspace.open();
    let follower = workspace.open();
    assert!(writer.is_writer() && !follower.is_writer());
    assert!(!follower.try_lead().unwrap());
    index(&writer);
    assert!(search(&follower, "result_one").is_empty(), "not yet");
    assert!(follower.follow().unwrap());
    assert!(!follower.follow().unwrap(), "nothing new");
    assert_eq!(search(&follower, "result_one"), search(&writer, "result_one"));
    assert_eq!(follower.generation(), writer.generation());
    let plan = follower.scan(&token()).unwrap();
    assert!(matches!(follower.cut(&plan, &token(), 1), Err(Error::NotWriter)));
    assert!(matches!(follower.clear(), Err(Error::NotWriter)));
    assert!(matches!(follower.set_meta("a", "b"), Err(Error::NotWriter)));

    for i in 0..30 {
        workspace.write("a.py", &python(&[&format!("name_{i}")]));
        index(&writer);
        if i % 7 == 0 {
            assert!(follower.follow().unwrap());
            assert_eq!(search(&follower, &format!("result_name_{i}")), [format!("a.py:1-3 name_{i}")]);
        }
    }
    writer.close();
    assert!(follower.try_lead().unwrap() && follower.is_writer());
    assert_eq!(search(&follower, "result_name_29").len(), 1, "taking over loads what the writer did last");
    workspace.write("b.py", &python(&["two"]));
    assert_eq!(index(&follower).added, 1);
    let late = workspace.open();
    assert_eq!(search(&late, "result_two").len(), 1);
}

#[test]
fn a_follower_may_come_before_there_is_anything() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    std::fs::create_dir_all(&workspace.index).unwrap();
    let lock = carrel_core::workspace::lock::WriterLock::try_take(&workspace.index).unwrap();
    let follower = workspace.open();
    assert!(!follower.is_writer() && !follower.follow().unwrap());
    drop(lock);
    index(&workspace.open());
    assert!(follower.follow().unwrap());
    assert_eq!(search(&follower, "result_one").len(), 1);
}

#[test]
fn a_follower_sees_that_the_index_was_cleared_and_keeps_its_buffers() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let writer = workspace.open();
    index(&writer);
    let follower = workspace.open();
    crate::support::type_in(&follower, "b.py", &python(&["typed"]));
    let held = follower.snapshot().unwrap();
    writer.clear().unwrap();
    assert!(follower.follow().unwrap());
    assert!(search(&follower, "result_one").is_empty());
    assert_eq!(search(&follower, "result_typed").len(), 1);
    assert_eq!(held.lexical("result_one", 1, None, &token()).unwrap().len(), 1, "a held snapshot has its segments in memory");
}

#[test]
fn models_are_not_mixed() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let writer = workspace.open();
    index(&writer);
    let mut config = workspace.config();
    config.embedder_id = "another-model".to_owned();
    let follower = Store::open(config.clone()).unwrap();
    assert_eq!(search(&follower, "result_one").len(), 1);
    assert!(!dense(&follower, "result_one"));
    assert!(follower.problems()[0].contains("another process indexes this workspace with the embedding model hashed"));
    drop((writer, follower));
    let store = Store::open(config).unwrap();
    assert!(store.problems()[0].contains("made with another embedding model"));
    assert!(!dense(&store, "result_one"), "the old model's vectors say nothing to the new one's questions");
    assert_eq!(search(&store, "result_one").len(), 1, "its words do");
}

#[test]
fn another_model_embeds_again_while_words_go_on_answering() {
    let files: Vec<(String, String)> = (0..20).map(|n| (format!("f{n}.py"), python(&[&format!("name_{n}")]))).collect();
    let workspace = Workspace::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    {
        let before = workspace.open();
        index(&before);
        assert!(dense(&before, "result_name_3"));
    }
    let mut config = workspace.config();
    config.embedder_id = "another-model".to_owned();
    {
        // Saved before anything was embedded again: what is new has vectors of its own and nothing is merged with the old.
        let store = Store::open(config.clone()).unwrap();
        workspace.write_long_ago("f3.py", &python(&["name_3", "added"]));
        let plan = store.check(&["f3.py".to_owned()], &token()).unwrap();
        carry_out(&store, &plan, 8_000_000);
        assert!(dense(&store, "result_added"));
        assert_eq!(search(&store, "result_name_7").len(), 1);
        store.compact(&token()).unwrap();
    }
    let store = Store::open(config.clone()).unwrap();
    assert!(store.problems()[0].contains("It answers by words until it is rebuilt"), "{:?}", store.problems());
    assert!(!dense(&store, "result_name_7"), "still to be done after a restart");
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.added, plan.pending()), (0, 19));
    carry_out(&store, &plan, 8_000_000);
    assert!((0..20).all(|n| dense(&store, &format!("result_name_{n}"))));
    assert!(store.problems().is_empty(), "{:?}", store.problems());
    assert_eq!(index(&store).chunks, 0, "nothing is embedded twice");
    drop(store);
    let again = Store::open(config).unwrap();
    assert!(dense(&again, "result_name_7"));
}

/// Whether the dense search finds anything near these words.
fn dense(store: &Store, query: &str) -> bool {
    let mut vector = vec![0.0; HashedEmbedder.dim()];
    HashedEmbedder.embed_query(query, &mut vector);
    !store.snapshot().unwrap().dense(&vector, 1, 0.3, None, &token()).unwrap().is_empty()
}

#[test]
fn readers_and_a_writer_do_not_disturb_each_other() {
    let workspace = Workspace::new(&[("a.py", &python(&["name_0", "steady"]))]);
    let store = workspace.open();
    index(&store);
    let follower = workspace.open();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_eq!(search(&store, "result_steady").len(), 1);
                }
            });
        }
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                follower.follow().unwrap();
                assert_eq!(search(&follower, "result_steady").len(), 1);
            }
        });
        for i in 0..150 {
            workspace.write("a.py", &python(&[&format!("name_{i}"), "steady"]));
            workspace.write(&format!("b{}.py", i % 20), &python(&[&format!("other_{i}")]));
            index(&store);
            if i % 20 == 0 {
                store.compact(&token()).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_follower_knows_whether_the_writer_is_done() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"])), ("b.py", &python(&["two"])), ("c.py", "\0\u{1}\u{2}")]);
    let (writer, follower) = (workspace.open(), workspace.open());
    let behind = || follower.behind(&follower.scan(&token()).unwrap(), &token()).unwrap().len();
    assert_eq!(behind(), 2);
    index(&writer);
    follower.follow().unwrap();
    assert_eq!(behind(), 0, "what was written a moment ago is read again before it counts as changed");
    workspace.write("a.py", &python(&["other"]));
    std::fs::remove_file(workspace.root.join("b.py")).unwrap();
    workspace.write("d.py", &python(&["new"]));
    assert_eq!(behind(), 3);
}

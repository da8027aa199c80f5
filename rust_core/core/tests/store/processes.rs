//! Several stores on one folder: one writes, the others follow and take over.

use carrel_core::error::Error;
use carrel_core::store::Store;

use crate::support::{Workspace, index, python, search, token};

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
    let lock = carrel_core::lock::WriterLock::try_take(&workspace.index).unwrap();
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
    assert_eq!(held.lexical("result_one", 1, None, &token()).unwrap().len(), 1, "a held snapshot reads its mapped pages");
}

#[test]
fn models_are_not_mixed() {
    let workspace = Workspace::new(&[("a.py", &python(&["one"]))]);
    let writer = workspace.open();
    index(&writer);
    let mut config = workspace.config();
    config.embedder_id = "another-model".to_owned();
    let follower = Store::open(config.clone()).unwrap();
    assert!(search(&follower, "result_one").is_empty());
    assert!(follower.problems()[0].contains("another process indexes this workspace with the embedding model hashed"));
    drop((writer, follower));
    let store = Store::open(config).unwrap();
    assert!(store.problems()[0].contains("it is built again with another-model"));
    assert!(search(&store, "result_one").is_empty());
    assert_eq!(store.scan(&token()).unwrap().added, 1);
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

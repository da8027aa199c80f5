//! A process killed at any moment loses nothing that it committed, and breaks nothing.

use carrel_core::workspace::store::Store;

use crate::support::{Workspace, answers, files_with, index, killed, python, token};

const ROOT: &str = "CARREL_TEST_CRASH_ROOT";

/// Not a test of its own: the process that is killed. It edits and indexes, and reports each commit.
#[test]
#[ignore = "run by killed_at_any_moment_nothing_is_lost"]
fn the_process_that_is_killed() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let mut config = Workspace::new(&[]).config();
    config.root = root.clone().into();
    config.directory = std::path::Path::new(&root).parent().unwrap().join("index");
    let store = Store::open(config).unwrap();
    assert!(store.is_writer());
    for round in 0.. {
        let number = std::process::id() as usize + round;
        std::fs::write(format!("{root}/f{}.py", number % 17), python(&[&format!("name_{number}"), "steady"])).unwrap();
        if round % 5 == 4 {
            let _ = std::fs::remove_file(format!("{root}/f{}.py", (number + 8) % 17));
        }
        println!("committed {}", index(&store).generation);
        if round % 9 == 8 {
            store.compact(&token()).unwrap();
        }
    }
}

#[test]
fn killed_at_any_moment_nothing_is_lost() {
    let workspace = Workspace::new(&[("f0.py", &python(&["steady"]))]);
    for round in 0..25_u64 {
        let committed = killed("crash::the_process_that_is_killed", ROOT, &workspace.root, round);

        let store = workspace.open();
        assert!(store.is_writer(), "the lock died with its owner");
        assert!(store.problems().is_empty(), "round {round}: {:?}", store.problems());
        let generation = store.generation();
        assert!(generation >= committed, "round {round}: {generation} < {committed:?}");
        let snapshot = store.snapshot().unwrap();
        assert_eq!(workspace.segment_files().len(), snapshot.segments(), "orphans are swept");
        for path in snapshot.paths() {
            assert!(!snapshot.file_chunks(&path).is_empty(), "round {round}: {path}");
        }
        index(&store);
        // The kill may have come between making a file and writing to it; an empty one is not indexed.
        let entries = std::fs::read_dir(&workspace.root).unwrap().map(Result::unwrap);
        let entries = entries.filter(|e| e.metadata().unwrap().len() > 0);
        let mut on_disk: Vec<String> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        on_disk.sort();
        assert_eq!(store.snapshot().unwrap().paths(), on_disk, "the next run completes it");
        assert_eq!(files_with(&store, "result_steady"), on_disk);
        assert_eq!(answers(&store), answers(&workspace.open_fresh()), "round {round}");
        store.close();
    }
}

//! What is damaged is mended, what is too new is refused, what can't be written changes nothing.

use std::fs;

use carrel_core::base::error::Error;
use carrel_core::formats::database::{DATABASE_FILE, FORMAT_VERSION};
use carrel_core::index::embed::HashedEmbedder;
use carrel_core::workspace::store::Store;

#[cfg(unix)]
use crate::support::is_almighty;
use crate::support::{Workspace, answers, files_with, index, python, search, token};

fn indexed() -> Workspace {
    let workspace = Workspace::new(&[]);
    workspace.write_long_ago("a.py", &python(&["one"]));
    let store = workspace.open();
    index(&store);
    workspace.write_long_ago("b.py", &python(&["two"]));
    index(&store);
    store.close();
    workspace
}

fn database(workspace: &Workspace) -> rusqlite::Connection {
    rusqlite::Connection::open(workspace.index.join(DATABASE_FILE)).unwrap()
}

#[test]
fn damaged_and_missing_segments_are_indexed_again() {
    type Breakage = fn(&std::path::Path);
    let breakages: [(&str, Breakage); 5] = [
        ("deleted", |path| fs::remove_file(path).unwrap()),
        ("made a folder", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("cut short", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("a byte flipped", |path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
    ];
    for (what, breakage) in breakages {
        let workspace = indexed();
        let segments = workspace.segment_files();
        assert_eq!(segments.len(), 2);
        breakage(&segments[0]);
        let store = workspace.open();
        assert_eq!(store.problems().len(), 1, "{what}");
        assert!(store.problems()[0].contains("indexed again"), "{}", store.problems()[0]);
        assert_eq!(store.snapshot().unwrap().files(), 1, "the other one is untouched");
        assert_eq!(index(&store).added, 1, "{what}");
        assert_eq!(store.snapshot().unwrap().paths(), ["a.py", "b.py"]);
        store.close();
        assert!(workspace.open().problems().is_empty());
    }
}

/// A segment file that was mapped would end this process here, with SIGBUS.
#[test]
fn segments_that_are_cut_short_while_they_are_open_are_written_again() {
    let workspace = indexed();
    let store = workspace.open();
    let before = answers(&store);
    for length in [0, 1, 4095, u64::MAX] {
        for path in workspace.segment_files() {
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(if length == u64::MAX { file.metadata().unwrap().len() / 2 } else { length }).unwrap();
        }
        assert_eq!(answers(&store), before, "to {length}");
    }
    fs::remove_file(&workspace.segment_files()[0]).unwrap();
    assert_eq!(index(&store).generation, 0, "nothing was indexed again");
    assert_eq!(store.problems().len(), 2, "{:?}", store.problems());
    store.close();
    let store = workspace.open();
    assert!(store.problems().is_empty(), "{:?}", store.problems());
    assert_eq!(answers(&store), before);
}

#[test]
fn a_damaged_database_is_moved_aside() {
    let workspace = indexed();
    let path = workspace.index.join(DATABASE_FILE);
    let overwritten = |bytes: &mut Vec<u8>| bytes[100..].fill(0xAB);
    let no_database = |bytes: &mut Vec<u8>| *bytes = b"not a database at all, but long enough to be read as one".repeat(100);
    for damage in [&no_database as &dyn Fn(&mut Vec<u8>), &overwritten, &|bytes| swap_rows(bytes)] {
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let store = workspace.open();
        assert!(store.problems()[0].contains("built again"), "{:?}", store.problems());
        assert_eq!(index(&store).added, 2);
        assert_eq!(files_with(&store, "result_one"), ["a.py"]);
        assert!(workspace.index.join("index.db.damaged").exists());
    }
}

/// Leave the table of files readable, but out of order: as a page that was written and another that wasn't may leave it.
fn swap_rows(bytes: &mut [u8]) {
    let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let is_leaf_of_two = |page: &&mut [u8]| page[0] == 0x0a && page[3..5] == [0, 2];
    let page = bytes.chunks_mut(size).filter(|page| page.windows(4).any(|text| text == b"a.py")).find(is_leaf_of_two).unwrap();
    page.copy_within(8..10, 0);
    let first = [page[0], page[1]];
    page.copy_within(10..12, 8);
    page[10..12].copy_from_slice(&first);
    page[..2].copy_from_slice(&[0x0a, 0]);
}

/// A mapped file would end this process here, with SIGBUS: `index.db-shm` was one.
#[test]
#[cfg_attr(windows, ignore = "Windows keeps a file where it is that somebody has open")]
fn a_database_that_is_damaged_while_it_is_open_is_given_up_and_made_anew() {
    for length in [0, 100, 5000] {
        let workspace = indexed();
        let store = workspace.open();
        let follower = workspace.open();
        for entry in fs::read_dir(&workspace.index).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with(DATABASE_FILE) {
                fs::OpenOptions::new().write(true).open(entry.path()).unwrap().set_len(length).unwrap();
            }
        }
        assert_eq!(files_with(&store, "result_one"), ["a.py"], "what is in memory answers on");
        let _ = follower.follow();
        assert_eq!(files_with(&follower, "result_two"), ["b.py"]);
        workspace.write("c.py", &python(&["three"]));
        let plan = store.scan(&token()).unwrap();
        let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
        batch.embed(&HashedEmbedder, &token()).unwrap();
        assert!(store.commit(&batch, &token()).is_err(), "to {length}");
        assert!(store.is_lost(), "to {length}");
        store.close();
        let store = workspace.open();
        assert!(store.problems()[0].contains("was damaged; it was moved to"), "{:?}", store.problems());
        assert_eq!(index(&store).added, 3);
        assert!(follower.follow().unwrap());
        assert_eq!(files_with(&follower, "result_three"), ["c.py"]);
    }
}

#[test]
fn a_folder_in_place_of_the_database_is_moved_aside_again_and_again() {
    let workspace = indexed();
    let path = workspace.index.join(DATABASE_FILE);
    for _ in 0..2 {
        let follower = workspace.open();
        drop(follower);
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("inside")).unwrap();
        let store = workspace.open();
        assert!(store.problems()[0].contains("was damaged; it was moved to"), "{:?}", store.problems());
        assert_eq!(index(&store).added, 2);
        assert_eq!(files_with(&store, "result_one"), ["a.py"]);
        // One that follows finds nothing there, until the writer has made a database.
        let follower = workspace.open();
        assert_eq!(files_with(&follower, "result_one"), ["a.py"]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows keeps a file where it is that somebody has open")]
fn a_folder_in_place_of_the_journal_is_no_end() {
    let workspace = indexed();
    let journal = workspace.index.join(format!("{DATABASE_FILE}-journal"));
    let make_folder = || {
        let _ = fs::remove_file(&journal);
        fs::create_dir_all(journal.join("inside")).unwrap();
    };
    make_folder();
    let mut store = workspace.open();
    assert_eq!(files_with(&store, "result_one"), ["a.py"]);
    make_folder();
    workspace.write("c.py", &python(&["three"]));
    let plan = store.scan(&token());
    let batch = plan.and_then(|plan| store.cut(&plan, &token(), 8_000_000));
    let done = batch.and_then(|batch| {
        let batch = batch.unwrap();
        batch.embed(&HashedEmbedder, &token()).unwrap();
        store.commit(&batch, &token())
    });
    if done.is_err() {
        assert!(store.is_lost(), "it is given up, and made anew by who opens it again");
        store.close();
        store = workspace.open();
    }
    index(&store);
    assert_eq!(files_with(&store, "result_three"), ["c.py"]);
    assert_eq!(files_with(&store, "result_one"), ["a.py"]);
}

/// As an older Carrel, killed, and the disk behind it may leave them.
#[test]
fn half_written_journals_are_no_end() {
    for (suffix, wal) in [("-wal", true), ("-shm", true), ("-journal", false)] {
        let workspace = indexed();
        let path = workspace.index.join(DATABASE_FILE);
        if wal {
            let database = database(&workspace);
            database.pragma_update(None, "journal_mode", "WAL").unwrap();
            database.execute("UPDATE meta SET value = '77' WHERE key = 'generation'", []).unwrap();
            let journal = workspace.index.join(format!("{DATABASE_FILE}{suffix}"));
            let bytes = fs::read(&journal).unwrap();
            let log = fs::read(workspace.index.join(format!("{DATABASE_FILE}-wal"))).unwrap();
            drop(database);
            fs::write(workspace.index.join(format!("{DATABASE_FILE}-wal")), log).unwrap();
            fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
        } else {
            fs::write(workspace.index.join(format!("{DATABASE_FILE}{suffix}")), [0xd9; 700]).unwrap();
        }
        let store = workspace.open();
        index(&store);
        assert_eq!(store.snapshot().unwrap().paths(), ["a.py", "b.py"], "{suffix}");
        assert_eq!(files_with(&store, "result_one"), ["a.py"], "{suffix}");
        assert!(path.exists());
    }
}

#[test]
fn rows_that_point_nowhere_are_indexed_again() {
    let workspace = indexed();
    database(&workspace).execute("UPDATE files SET file = 99 WHERE path = 'a.py'", []).unwrap();
    let store = workspace.open();
    assert_eq!(index(&store).added, 1);
    assert_eq!(files_with(&store, "result_one"), ["a.py"]);
}

#[test]
fn an_older_format_is_built_again_and_a_newer_one_refused() {
    let workspace = indexed();
    database(&workspace).execute_batch("PRAGMA user_version = 0; DROP TABLE files; CREATE TABLE old(x)").unwrap();
    let store = workspace.open();
    assert!(store.problems()[0].contains("older format 0"));
    assert_eq!(index(&store).added, 2);
    assert_eq!(workspace.segment_files().len(), 1, "segments of the old index are gone");
    store.close();
    database(&workspace).pragma_update(None, "user_version", FORMAT_VERSION + 1).unwrap();
    let error = Store::open(workspace.config()).err().unwrap();
    assert!(matches!(error, Error::NewerFormat { found, .. } if found == FORMAT_VERSION + 1));
    assert!(error.to_string().contains("update Carrel"));
    assert!(error.remedy().contains("update Carrel") && !error.reason().contains("update"), "{}", error.reason());
    database(&workspace).pragma_update(None, "user_version", FORMAT_VERSION).unwrap();
    assert_eq!(workspace.open().snapshot().unwrap().files(), 2, "refusing changed nothing");
}

#[test]
fn orphans_are_swept_and_strangers_left_alone() {
    let workspace = indexed();
    fs::write(workspace.index.join("00000000000000ff.seg"), "left by a crash").unwrap();
    fs::write(workspace.index.join("00000000000000fe.tmp"), "half a segment").unwrap();
    fs::write(workspace.index.join("notes.txt"), "mine").unwrap();
    let store = workspace.open();
    assert_eq!(workspace.segment_files().len(), 2);
    assert!(workspace.index.join("notes.txt").exists() && store.problems().is_empty());
}

#[test]
#[cfg_attr(windows, ignore = "Windows keeps a folder whose files are open")]
fn an_index_folder_deleted_under_it_is_told_and_made_anew() {
    let workspace = indexed();
    let store = workspace.open();
    let follower = workspace.open();
    assert!(!store.is_lost() && !follower.is_lost());
    fs::remove_dir_all(&workspace.index).unwrap();
    assert!(store.is_lost());
    assert_eq!(files_with(&store, "result_one"), ["a.py"], "what is in memory answers on");
    workspace.write("c.py", &python(&["three"]));
    let plan = store.scan(&token()).unwrap();
    let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
    batch.embed(&HashedEmbedder, &token()).unwrap();
    let error = store.commit(&batch, &token()).unwrap_err();
    assert!(error.to_string().contains("deleted while it was in use"), "{error}");
    assert!(store.clear().is_err() && store.set_meta("a", "b").is_err());
    assert_eq!(files_with(&store, "result_one"), ["a.py"], "the failed commit changed nothing");
    store.close();
    let store = workspace.open();
    assert!(!store.is_lost());
    assert_eq!(index(&store).added, 3);
    assert!(follower.follow().unwrap());
    assert_eq!(files_with(&follower, "result_three"), ["c.py"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let workspace = indexed();
    let mut config = workspace.config();
    config.directory = workspace.root.join("a.py").join("index");
    let error = Store::open(config).err().unwrap();
    assert!(error.to_string().contains("a.py"), "{error}");
}

/// Root may write everywhere: the tests of the command line drop that right, this one leaves it to others.
#[cfg(unix)]
#[test]
fn an_index_in_a_read_only_folder_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let workspace = indexed();
    let fresh = answers(&workspace.open());
    let files: Vec<_> = fs::read_dir(&workspace.index).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &files {
        set(path, 0o444);
    }
    set(&workspace.index, 0o555);
    if !is_almighty(&workspace.index) {
        let store = workspace.open();
        assert!(store.is_read_only() && !store.is_writer() && !store.is_lost());
        assert_eq!(answers(&store), fresh);
        assert!(!store.follow().unwrap() && !store.try_lead().unwrap());
        set(&workspace.index, 0o755);
        for path in &files {
            set(path, 0o644);
        }
        assert!(store.try_lead().unwrap() && !store.is_read_only(), "it was made writable");
    }
    set(&workspace.index, 0o755);
}

/// A full disk, as far as a test can make one: the segment's place is taken, so that it can't be written.
#[test]
fn a_segment_that_cannot_be_written_leaves_the_old_state() {
    let workspace = indexed();
    let store = workspace.open();
    let generation = store.generation();
    workspace.write("a.py", &python(&["other"]));
    let plan = store.scan(&token()).unwrap();
    let batch = store.cut(&plan, &token(), 8_000_000).unwrap().unwrap();
    batch.embed(&HashedEmbedder, &token()).unwrap();
    let next: u64 = database(&workspace)
        .query_row("SELECT value FROM meta WHERE key = 'next_segment'", [], |r| r.get::<_, String>(0))
        .unwrap()
        .parse()
        .unwrap();
    let blocks: Vec<_> = (next..next + 2).map(|id| workspace.index.join(format!("{id:016x}.tmp"))).collect();
    for path in &blocks {
        fs::create_dir(path).unwrap();
    }
    let error = store.commit(&batch, &token()).unwrap_err();
    assert!(error.to_string().contains("index"), "{error}");
    assert_eq!((store.generation(), files_with(&store, "result_one")), (generation, vec!["a.py".to_owned()]));
    for path in &blocks {
        fs::remove_dir(path).unwrap();
    }
    assert_eq!(store.commit(&batch, &token()).unwrap().changed, 1, "the batch is still there to be committed");
    assert!(search(&store, "result_one").is_empty());
}

//! What is shown is what stands there now.

use carrel_core::query::parsed_query::ParsedQuery;
use carrel_core::query::searcher::SearchOptions;
use carrel_core::workspace::snapshot::{CurrentChunk, ReadFiles, Snapshot};
use carrel_core::workspace::store::Store;

use crate::support::{Workspace, index, python, token, type_in};

/// Ask a snapshot of before for a chunk as it is now.
fn read_current(store: &Store, path: &str, symbol: &str, change: impl FnOnce()) -> Result<CurrentChunk, String> {
    let snapshot = store.snapshot().unwrap();
    let doc = snapshot.file_chunks(path).into_iter().find(|c| c.chunk.symbol == symbol).expect(symbol).doc;
    change();
    snapshot.read_current(&[doc], &token()).unwrap().remove(0)
}

fn setup() -> (Workspace, Store) {
    let workspace = Workspace::new(&[("a.py", &python(&["one", "two", "three"]))]);
    let store = workspace.open();
    index(&store);
    (workspace, store)
}

#[test]
fn an_unchanged_file_gives_its_text() {
    let (_workspace, store) = setup();
    let chunk = read_current(&store, "a.py", "two", || ()).unwrap();
    assert_eq!(chunk.text.trim_end(), python(&["two"]).trim_end());
    assert_eq!((chunk.info.chunk.span.start_line, chunk.start_character, chunk.moved), (6, 0, false));
}

#[test]
fn a_moved_function_is_found_where_it_is_now() {
    let (workspace, store) = setup();
    let chunk = read_current(&store, "a.py", "two", || workspace.write("a.py", &python(&["zero", "one", "two"]))).unwrap();
    assert_eq!((chunk.info.chunk.span.start_line, chunk.moved), (11, true));
    assert_eq!(chunk.text.trim_end(), python(&["two"]).trim_end());
}

#[test]
fn an_edited_function_is_found_by_its_name() {
    let (workspace, store) = setup();
    let chunk =
        read_current(&store, "a.py", "two", || workspace.write("a.py", "\ndef two(other):\n    return 'edited'\n")).unwrap();
    assert!(chunk.text.contains("edited") && chunk.moved);
}

#[test]
fn what_is_gone_is_not_given() {
    let (workspace, store) = setup();
    let gone = read_current(&store, "a.py", "two", || workspace.write("a.py", &python(&["one"])));
    assert_eq!(gone, Err("a.py:6-8: changed beyond recognition".to_owned()));
    let gone = read_current(&store, "a.py", "two", || workspace.remove("a.py"));
    assert_eq!(gone, Err("a.py: gone".to_owned()));
}

#[test]
fn what_became_private_is_not_given() {
    let (workspace, store) = setup();
    let private = read_current(&store, "a.py", "two", || workspace.write(".gitignore", "*.py\n"));
    assert_eq!(private, Err("a.py: ignored".to_owned()));
    assert_eq!(store.snapshot().unwrap().lines("a.py", 1, 2, &ReadFiles::default()), None);
}

#[cfg(unix)]
#[test]
fn a_file_that_became_a_link_out_of_the_workspace_is_not_given() {
    let (workspace, store) = setup();
    let outside = workspace.index.with_extension("py");
    std::fs::write(&outside, python(&["one", "two"])).unwrap();
    let linked = read_current(&store, "a.py", "two", || {
        workspace.remove("a.py");
        std::os::unix::fs::symlink(&outside, workspace.root.join("a.py")).unwrap();
    });
    assert_eq!(linked, Err("a.py: link outside the workspace".to_owned()));
}

#[test]
fn a_buffer_gives_its_own_text() {
    let (_workspace, store) = setup();
    type_in(&store, "a.py", &format!("# größe 𝄞\n{}", python(&["typed"])));
    let chunk = read_current(&store, "a.py", "typed", || ()).unwrap();
    assert!(chunk.text.contains("def typed") && chunk.info.overlay);
}

#[test]
fn columns_count_as_editors_do() {
    let workspace = Workspace::new(&[("a.js", "/* 𝄞é */ function f() { return 1; }\n")]);
    let store = workspace.open();
    index(&store);
    let snapshot = store.snapshot().unwrap();
    let chunk = snapshot.file_chunks("a.js").remove(0);
    let fresh = snapshot.read_current(&[chunk.doc], &token()).unwrap().remove(0).unwrap();
    let line: Vec<u16> = "/* 𝄞é */ function f() { return 1; }".encode_utf16().collect();
    let first = fresh.text.lines().next().unwrap();
    assert_eq!(String::from_utf16(&line[fresh.start_character as usize..]).unwrap(), first);
    assert!(fresh.end_character as usize == line.len() || fresh.end_character == 0);
}

#[test]
fn lines_are_those_of_now() {
    let (workspace, store) = setup();
    let snapshot = store.snapshot().unwrap();
    let files = ReadFiles::default();
    let lines = |path, line| snapshot.lines(path, line, line, &files);
    assert_eq!(lines("a.py", 1).as_deref(), Some("def one(value):\n"));
    assert!(lines("a.py", 2).is_some());
    assert_eq!(files.reads(), 1);
    workspace.write("a.py", "changed\r\nlines\r\n");
    assert_eq!(lines("a.py", 2).as_deref(), Some("lines\r\n"));
    assert_eq!(files.reads(), 2);
    assert_eq!(lines("../a.py", 1), None);
    assert_eq!(lines("missing.py", 1), None);
    workspace.write(".gitignore", "*.py\n");
    assert_eq!(lines("a.py", 1), None);
}

/// Ask for what stands in a file word for word, so that it is read, and for the best hit after `change`.
fn quoted(snapshot: &Snapshot, change: impl FnOnce()) -> (Result<CurrentChunk, String>, usize) {
    let text = "def two(value): return value".to_owned();
    let query = ParsedQuery { search_text: text.clone(), quoted: text.clone(), text, ..ParsedQuery::default() };
    let files = ReadFiles::default();
    let options = SearchOptions { pool: 9, ..SearchOptions::default() };
    let found = snapshot.find(&query, &options, &files, &token()).unwrap().candidates;
    assert!(found.iter().any(|candidate| candidate.verbatim > 0.0), "the file was read");
    change();
    let doc = found.iter().find(|candidate| candidate.symbol == "two").unwrap().doc;
    (snapshot.read_best(&[doc], 1, &[], &files, &token()).unwrap().remove(0), files.reads())
}

#[test]
fn a_quotation_is_found_among_many_that_hold_its_words() {
    let text = |words: &str| format!("def check(value):\n    raise ValueError(\"{words}\")\n");
    let mut files: Vec<(String, String)> = (0..60).map(|i| (format!("a{i}.py"), text("used by endpoint should not"))).collect();
    files.push(("z.py".to_owned(), text("endpoint should not be used")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let workspace = Workspace::new(&files);
    let store = workspace.open();
    index(&store);
    let question = "endpoint should not be used".to_owned();
    for is_change in [false, true] {
        let (search_text, quoted) = (question.clone(), question.clone());
        let query = ParsedQuery { search_text, quoted, text: question.clone(), is_change, ..ParsedQuery::default() };
        let options = SearchOptions { pool: 90, ..SearchOptions::default() };
        let found = store.snapshot().unwrap().find(&query, &options, &ReadFiles::default(), &token()).unwrap().candidates;
        let whole: Vec<&str> = found.iter().filter(|found| found.verbatim >= 1.0).map(|found| found.path.as_str()).collect();
        assert_eq!(whole, ["z.py"]);
    }
}

#[test]
fn questions_that_are_asked_together_are_answered_as_alone() {
    let names: Vec<String> = (0..120).map(|i| format!("function_{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = Workspace::new(&[("a.py", &python(&names))]);
    let store = workspace.open();
    index(&store);
    let snapshot = store.snapshot().unwrap();
    let asked = |i: usize| {
        let text = format!("def function_{} return value {}", i % names.len(), i / names.len());
        ParsedQuery { search_text: text.clone(), quoted: text.clone(), text, ..ParsedQuery::default() }
    };
    // So many that they are asked side by side.
    let queries: Vec<ParsedQuery> = (0..1_700).map(asked).collect();
    let queries: Vec<&ParsedQuery> = queries.iter().collect();
    let options = SearchOptions { pool: 9, ..SearchOptions::default() };
    let together = snapshot.find_each(&queries, &options, &ReadFiles::default(), &token()).unwrap();
    for (query, found) in queries.iter().zip(together) {
        assert_eq!(found, snapshot.find(query, &options, &ReadFiles::default(), &token()).unwrap());
    }
    let cancelled = token();
    cancelled.cancel();
    assert!(snapshot.find_each(&queries, &options, &ReadFiles::default(), &cancelled).is_err());
}

/// Return the share of its own first line that the function `quoted` of a file holds word for word, once `bytes` were indexed and
/// then changed; and how often the file was read as a whole.
#[track_caller]
fn share_quoted(bytes: &[u8], change: impl FnOnce(&std::path::Path)) -> (f64, usize) {
    let workspace = Workspace::new(&[("b.py", "def other(): pass\n")]);
    let file = workspace.root.join("a.py");
    std::fs::write(&file, bytes).unwrap();
    let store = workspace.open();
    index(&store);
    let snapshot = store.snapshot().unwrap();
    change(&file);
    let text = "def quoted(value): return value".to_owned();
    let query = ParsedQuery { search_text: text.clone(), quoted: text.clone(), text, ..ParsedQuery::default() };
    let options = SearchOptions { pool: 9, ..SearchOptions::default() };
    let files = ReadFiles::default();
    let found = snapshot.find(&query, &options, &files, &token()).unwrap().candidates;
    (found.iter().find(|candidate| candidate.symbol == "quoted").unwrap().verbatim, files.reads())
}

#[test]
fn quotations_are_found_in_every_encoding() {
    let function = "def quoted(value):\n    return value\n\n\n";
    let secret = format!("token = \"ghp_{}\"\n\n\n", "x9Kd72LmQp".repeat(4).split_at(36).0);
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (bytes, read_as_a_whole) in [
        (function.as_bytes().to_vec(), 0),
        (function.replace('\n', "\r\n").into_bytes(), 0),
        (format!("\u{feff}{function}").into_bytes(), 0),
        (format!("# größe 𝄞\n{function}").into_bytes(), 0),
        ([b"# gr\xf6\xdfe, caf\xe9\n", function.as_bytes()].concat(), 1),
        (utf16(&format!("\u{feff}{function}")), 1),
        (format!("{secret}{function}").into_bytes(), 1),
        (format!("{function}{function}").into_bytes(), 1),
    ] {
        let (share, reads) = share_quoted(&bytes, |_| ());
        assert!(share > 0.99 && reads == read_as_a_whole, "{share} {reads} {:?}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn what_is_quoted_stands_there_now() {
    let function = "def quoted(value):\n    return value\n\n\n";
    let write = |text: String| move |file: &std::path::Path| std::fs::write(file, text).unwrap();
    assert!(share_quoted(function.as_bytes(), write(format!("{function}def added(): pass\n"))).0 > 0.99);
    for changed in [function.replace("value", "other"), format!("# moved\n{function}"), "def".to_owned(), String::new()] {
        assert_eq!(share_quoted(function.as_bytes(), write(changed.clone())).0.to_bits(), 0, "{changed}");
    }
    assert_eq!(share_quoted(function.as_bytes(), |file| std::fs::remove_file(file).unwrap()).0.to_bits(), 0);
}

#[test]
fn a_file_is_read_once_for_what_is_shown_unless_it_changes() {
    let (workspace, store) = setup();
    let snapshot = store.snapshot().unwrap();
    let (chunk, reads) = quoted(&snapshot, || ());
    assert_eq!((chunk.unwrap().text.trim_end(), reads), (python(&["two"]).trim_end(), 1));
    let doc = snapshot.file_chunks("a.py").remove(0).doc;
    let files = ReadFiles::default();
    let read = || snapshot.read_best(&[doc], 1, &[], &files, &token()).unwrap().remove(0).map(|_| files.reads());
    assert_eq!((read(), read()), (Ok(1), Ok(1)));
    workspace.write("a.py", &python(&["zero", "one", "two"]));
    assert_eq!(read(), Ok(2));
}

#[test]
fn a_file_that_was_read_for_a_question_and_became_private_is_not_given() {
    let (workspace, store) = setup();
    let (chunk, _) = quoted(&store.snapshot().unwrap(), || workspace.write(".gitignore", "*.py\n"));
    assert_eq!(chunk, Err("a.py: ignored".to_owned()));
}

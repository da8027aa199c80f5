//! However an index came about, it answers like one that was made at once.

use proptest::prelude::*;

use crate::support::{Workspace, answers, carry_out, index, token, type_in};
#[cfg(unix)]
use crate::support::{python, search};

/// One thing that happens to a workspace.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, Vec<usize>),
    Remove(usize),
    Rename(usize, usize),
    Touch(usize),
    Save(usize),
    Index { small_batches: bool },
    Type(usize, Vec<usize>),
    CloseBuffer(usize),
    Compact,
    Reopen,
    Drop,
    Force,
}

const PATHS: [&str; 6] = ["a.py", "b.rs", "src/c.js", "src/d.md", "src/deep/e.py", "f.txt"];

/// Pieces that files are made of; the same piece may come twice in a file, and mean something in several languages or in none.
const PIECES: [&str; 12] = [
    "def load(path):\n    return open(path)\n\n",
    "def load(path):\n    return open(path, 'rb')\n\n",
    "class User:\n    def login(self):\n        return self.name\n\n    def logout(self):\n        pass\n\n",
    "fn parse(text: &str) -> usize {\n    text.len()\n}\n\n",
    "struct Parser { depth: u32 }\n\nimpl Parser {\n    fn parse(&self) -> u32 { self.depth }\n}\n\n",
    "function render(tree) {\n  return tree.map((x) => x.node);\n}\n\n",
    "# Users\n\nHow a user logs in.\n\n## Loading\n\nHow a path is loaded.\n\n",
    "import os\nVALUE = 1\n",
    "   \n\t\n",
    "const big = 'größe 漢字';\r\n",
    "def session(user):\n    return Parser(load(user)).render(parse)\n\n",
    "## Sessions\n\nA session of a user ends when the session is closed.\n\n",
];

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..PIECES.len(), 0..6)
}

fn step() -> impl Strategy<Value = Step> {
    let file = || 0..PATHS.len();
    prop_oneof![
        6 => (file(), pieces()).prop_map(|(f, p)| Step::Write(f, p)),
        1 => file().prop_map(Step::Remove),
        2 => (file(), file()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => file().prop_map(Step::Touch),
        4 => file().prop_map(Step::Save),
        3 => any::<bool>().prop_map(|small_batches| Step::Index { small_batches }),
        2 => (file(), pieces()).prop_map(|(f, p)| Step::Type(f, p)),
        2 => file().prop_map(Step::CloseBuffer),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        1 => Just(Step::Drop),
        1 => Just(Step::Force),
    ]
}

fn text(pieces: &[usize]) -> String {
    pieces.iter().map(|&p| PIECES[p]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_updated_index_equals_a_fresh_one(steps in prop::collection::vec(step(), 1..25)) {
        let workspace = Workspace::new(&[]);
        let mut store = workspace.open();
        let mut buffers: Vec<Option<Vec<usize>>> = vec![None; PATHS.len()];
        for step in steps {
            match step {
                Step::Write(file, pieces) => workspace.write(PATHS[file], &text(&pieces)),
                Step::Remove(file) => drop(std::fs::remove_file(workspace.root.join(PATHS[file]))),
                Step::Rename(from, to) => {
                    if workspace.root.join(PATHS[from]).exists() {
                        workspace.rename(PATHS[from], PATHS[to]);
                    }
                }
                Step::Touch(file) => {
                    if workspace.root.join(PATHS[file]).exists() {
                        workspace.set_age(PATHS[file], 10);
                    }
                }
                Step::Save(file) => {
                    let plan = store.check(&[PATHS[file].to_owned()], &token()).unwrap();
                    carry_out(&store, &plan, 8_000_000);
                }
                Step::Index { small_batches } => {
                    carry_out(&store, &store.scan(&token()).unwrap(), if small_batches { 1 } else { 8_000_000 });
                }
                Step::Type(file, pieces) => {
                    type_in(&store, PATHS[file], &text(&pieces));
                    buffers[file] = Some(pieces);
                }
                Step::CloseBuffer(file) => {
                    store.close_buffer(PATHS[file]).unwrap();
                    buffers[file] = None;
                }
                Step::Compact => drop(store.compact(&token()).unwrap()),
                Step::Reopen => {
                    store.close();
                    store = workspace.open();
                    prop_assert!(store.problems().is_empty());
                    buffers.fill(None);
                }
                // As when its process ends without a word.
                Step::Drop => {
                    drop(store);
                    store = workspace.open();
                    prop_assert!(store.problems().is_empty());
                    buffers.fill(None);
                }
                Step::Force => {
                    carry_out(&store, &store.force(&token()).unwrap(), 8_000_000);
                }
            }
        }
        index(&store);
        let fresh = workspace.open_fresh();
        for (file, pieces) in buffers.iter().enumerate() {
            if let Some(pieces) = pieces {
                type_in(&fresh, PATHS[file], &text(pieces));
            }
        }
        prop_assert_eq!(answers(&store), answers(&fresh));
        prop_assert!(workspace.segment_files().len() <= 12);
    }
}

/// The parts of a class between its methods are embedded with the line that they don't hold: the class's own.
#[test]
fn what_a_chunk_is_embedded_from_may_change_outside_of_it() {
    let class = |base: &str| {
        let (first, second) = ("    first = 1\n".repeat(20), "    second = 2\n".repeat(20));
        format!("class Form({base}):\n{first}\n    def save(self):\n        return 1\n\n{second}")
    };
    let workspace = Workspace::new(&[("form.py", &class("Document"))]);
    let store = workspace.open();
    index(&store);
    workspace.write("form.py", &class("Invoice"));
    index(&store);
    assert_eq!(answers(&store), answers(&workspace.open_fresh()));
}

#[cfg(unix)]
#[test]
fn an_edit_that_keeps_size_and_time_is_found() {
    let workspace = Workspace::new(&[]);
    workspace.write_long_ago("a.py", &python(&["one"]));
    workspace.write_long_ago("b.py", &python(&["two"]));
    let time = |path: &str| std::fs::metadata(workspace.root.join(path)).unwrap().modified().unwrap();
    let store = workspace.open();
    index(&store);
    // So long that no clock of a file system gives both edits the same time.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let before = time("a.py");
    workspace.write("a.py", &python(&["six"]));
    std::fs::File::options().write(true).open(workspace.root.join("a.py")).unwrap().set_modified(before).unwrap();
    let plan = store.check(&["a.py".to_owned(), "b.py".to_owned()], &token()).unwrap();
    assert_eq!((plan.changed, plan.unchanged), (1, 1));
    let plan = store.scan(&token()).unwrap();
    assert_eq!((plan.changed, plan.unchanged), (1, 1));
    carry_out(&store, &plan, 8_000_000);
    assert_eq!(search(&store, "result_six").len(), 1);
    assert_eq!(store.scan(&token()).unwrap().unchanged, 2);
}

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, spawn};

use tempfile::TempDir;

use super::*;
use crate::index::cut::CutOptions;
use crate::index::secrets::SecretOptions;
use crate::workspace::handle::{LanguageGlobs, StoreConfig};
use crate::workspace::walk::WalkOptions;

/// Long enough on a machine that does other things; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A workspace that is watched.
struct Watched {
    place: TempDir,
    watch: Arc<Watch>,
    told: Receiver<Changes>,
    thread: Option<JoinHandle<()>>,
}

impl Watched {
    /// Watch a folder with these files.
    fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("ws");
        fs::create_dir(&root).unwrap();
        fs::create_dir(place.path().join("index")).unwrap();
        for (path, text) in files {
            write(&root.join(path), text);
        }
        let config = StoreConfig {
            directory: place.path().join("index"),
            root,
            embedder_id: String::new(),
            dim: 0,
            walk: WalkOptions::default(),
            cut: CutOptions::default(),
            languages: LanguageGlobs::default(),
            secrets: SecretOptions::default(),
            in_memory: false,
        };
        let watch = Arc::new(Watch::new(Arc::new(WorkspaceHandle::new(config).unwrap())));
        let (tell, told) = channel();
        let teller = Arc::clone(&watch);
        let thread = spawn(move || {
            while let Some(changes) = teller.next().unwrap() {
                let _ = tell.send(changes);
            }
        });
        let watched = Self { place, watch, told, thread: Some(thread) };
        assert!(watched.next().everything, "it begins with a look at everything");
        watched
    }

    fn root(&self) -> std::path::PathBuf {
        self.place.path().join("ws")
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    fn next(&self) -> Changes {
        self.told.recv_timeout(PATIENCE).expect("a change is told")
    }

    /// Check that exactly these paths are told, in one step or several.
    fn tells(&self, paths: &[&str]) {
        let mut left: BTreeSet<&str> = paths.iter().copied().collect();
        while !left.is_empty() {
            let changes = self.next();
            assert!(!changes.everything, "of {paths:?} everything was told");
            for path in &changes.paths {
                assert!(paths.contains(&path.as_str()), "{path} was told, not only {paths:?}");
                left.remove(path.as_str());
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watch.close();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn files_that_come_change_and_go_are_told_once_each() {
    let ws = Watched::new(&[("a.py", "a = 1\n"), ("src/b.py", "b = 1\n")]);
    ws.write("a.py", "a = 2\n");
    ws.tells(&["a.py"]);
    ws.write("src/new.py", "n = 1\n");
    fs::remove_file(ws.root().join("src/b.py")).unwrap();
    ws.tells(&["src/b.py", "src/new.py"]);
    // As editors save: by another name.
    ws.write("a.py.tmp", "a = 3\n");
    fs::rename(ws.root().join("a.py.tmp"), ws.root().join("a.py")).unwrap();
    ws.tells(&["a.py", "a.py.tmp"]);
}

#[test]
fn folders_that_come_are_watched_with_what_was_in_them() {
    let ws = Watched::new(&[("a.py", "a = 1\n")]);
    ws.write("new/deep/b.py", "b = 1\n");
    ws.tells(&["new/deep/b.py"]);
    ws.write("new/deep/b.py", "b = 2\n");
    ws.tells(&["new/deep/b.py"]);
    fs::rename(ws.root().join("new"), ws.root().join("other")).unwrap();
    ws.tells(&["new", "other/deep/b.py"]);
    ws.write("other/deep/b.py", "b = 3\n");
    ws.tells(&["other/deep/b.py"]);
    // Put in the place of another one: what that held is gone.
    write(&ws.place.path().join("elsewhere/c.py"), "c = 1\n");
    fs::rename(ws.root().join("other"), ws.place.path().join("aside")).unwrap();
    fs::rename(ws.place.path().join("elsewhere"), ws.root().join("other")).unwrap();
    ws.tells(&["other", "other/c.py"]);
    fs::remove_dir_all(ws.root().join("other")).unwrap();
    ws.tells(&["other", "other/c.py"]);
}

#[test]
fn ignored_files_and_folders_wake_nobody() {
    let files =
        [(".gitignore", "*.log\n/gen/\n"), (".git/HEAD", "x"), ("gen/g.py", ""), ("node_modules/m/i.js", ""), ("a.py", "a")];
    let ws = Watched::new(&files);
    if FOLDER_BY_FOLDER {
        assert_eq!(ws.watch.folders(), 1);
    }
    for path in ["run.log", "gen/g.py", "node_modules/m/i.js", ".git/HEAD", "node_modules/more/j.js"] {
        ws.write(path, "changed");
    }
    fs::remove_file(ws.root().join("run.log")).unwrap();
    ws.write("a.py", "a = 2\n");
    ws.tells(&["a.py"]);
}

#[test]
fn a_change_of_the_rules_looks_at_everything_and_watches_what_they_let_in() {
    let ws = Watched::new(&[(".gitignore", "/gen/\n"), ("gen/g.py", "g = 1\n")]);
    ws.write(".gitignore", "\n");
    assert!(ws.next().everything);
    ws.write("gen/g.py", "g = 2\n");
    ws.tells(&["gen/g.py"]);
}

#[test]
fn many_files_at_once_are_one_look_at_everything() {
    let ws = Watched::new(&[("a.py", "a = 1\n")]);
    // Written elsewhere and moved: on a busy machine, writing them here would take several bursts of a few files each.
    for number in 0..=MANY {
        write(&ws.place.path().join(format!("src/p{}/f{number}.py", number % 40)), "x = 1\n");
    }
    fs::rename(ws.place.path().join("src"), ws.root().join("src")).unwrap();
    assert!(ws.next().everything);
    ws.write("src/p7/late.py", "x = 2\n");
    ws.tells(&["src/p7/late.py"]);
}

#[test]
fn a_root_that_is_deleted_and_made_again_is_watched_again() {
    let ws = Watched::new(&[("a.py", "a = 1\n")]);
    fs::remove_dir_all(ws.root()).unwrap();
    ws.write("b.py", "b = 1\n");
    while !ws.next().everything {}
    // In the place of the former one, which lives on elsewhere.
    fs::rename(ws.root(), ws.place.path().join("aside")).unwrap();
    ws.write("c.py", "c = 1\n");
    while !ws.next().everything {}
    ws.write("c.py", "c = 2\n");
    loop {
        let changes = ws.next();
        if !changes.everything {
            assert_eq!(changes.paths, ["c.py"]);
            break;
        }
    }
    write(&ws.place.path().join("aside/b.py"), "b = 2\n");
    ws.write("d.py", "d = 1\n");
    ws.tells(&["d.py"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let ws = Watched::new(&[("a.py", "a = 1\n")]);
    write(&ws.place.path().join("outside/o.py"), "o = 1\n");
    std::os::unix::fs::symlink(ws.place.path().join("outside"), ws.root().join("link")).unwrap();
    ws.write("a.py", "a = 2\n");
    ws.tells(&["a.py", "link"]); // a link may stand in the place of what was indexed
    write(&ws.place.path().join("outside/o.py"), "o = 2\n");
    ws.write("a.py", "a = 3\n");
    ws.tells(&["a.py"]);
}

#[test]
fn whoever_asks_has_a_burst_told_at_once() {
    let ws = Watched::new(&[("a.py", "a = 1\n")]);
    ws.watch.settle(PATIENCE); // nothing waits
    for number in 0..100 {
        ws.write(&format!("f{number}.py"), "x = 1\n");
    }
    ws.watch.settle(PATIENCE);
    let told: BTreeSet<String> = ws.told.try_iter().flat_map(|changes| changes.paths).collect();
    assert_eq!(told.len(), 100);
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_written_before_is_told_however_late_the_system_is() {
    let ws = Watched::new(&[("a.py", "a = 1\n")]);
    let busy = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while busy.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let late: Vec<u32> = (0..100)
            .filter(|number| {
                ws.write("a.py", &format!("a = {number}\n"));
                ws.watch.settle(PATIENCE);
                ws.told.try_iter().count() == 0
            })
            .collect();
        busy.store(false, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(late, [0; 0]);
    });
}

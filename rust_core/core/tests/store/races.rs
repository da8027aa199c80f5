//! A file or its folder is swapped for a link, again and again, while answers are asked for: none holds what the link leads to.
//! `CARREL_TEST_RACES` says how many requests are made.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use carrel_core::workspace::snapshot::ReadFiles;
use carrel_core::workspace::store::Store;

use crate::support::{Workspace, carry_out, index, python, token};

const OUTSIDE: &str = "OUTSIDE_THE_WORKSPACE";
const IGNORED: &str = "IGNORED_BY_GIT";

fn requests() -> usize {
    std::env::var("CARREL_TEST_RACES").map_or(2_000, |text| text.parse().unwrap())
}

/// Put what `make` makes in the place of `path`, and back, until told to stop.
fn swap(path: &Path, stop: &AtomicBool, swaps: &AtomicUsize, make: impl Fn(&Path)) {
    let (aside, link) = (path.with_extension("aside"), path.with_extension("link"));
    while !stop.load(Ordering::Relaxed) {
        make(&link);
        fs::rename(path, &aside).unwrap();
        fs::rename(&link, path).unwrap();
        swaps.fetch_add(1, Ordering::Relaxed);
        std::thread::yield_now();
        fs::remove_file(path).unwrap();
        fs::rename(&aside, path).unwrap();
        std::thread::yield_now();
    }
}

fn is_clean(text: &str) -> bool {
    !text.contains(OUTSIDE) && !text.contains(IGNORED)
}

/// Everything that gives text of `path`.
fn ask(store: &Store, path: &str, given: &AtomicUsize) {
    let snapshot = store.snapshot().unwrap();
    let chunks = snapshot.file_chunks(path);
    assert!(chunks.iter().all(|chunk| is_clean(&chunk.chunk.symbol)), "{path} was indexed through a link");
    let docs: Vec<_> = chunks.into_iter().map(|chunk| chunk.doc).collect();
    let fresh = snapshot.read_current(&docs, &token()).unwrap().into_iter().flatten().map(|chunk| chunk.text);
    for text in fresh.chain(snapshot.text(path)).chain(snapshot.lines(path, 1, 2, &ReadFiles::default())) {
        assert!(is_clean(&text), "{path} gave {text}");
        given.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn no_swapped_link_is_followed() {
    let workspace = Workspace::new(&[
        ("a.py", &python(&["one", "two"])),
        ("folder/b.py", &python(&["three", "four"])),
        ("deep/er/c.py", &python(&["five"])),
        ("private/a.py", &python(&[IGNORED])),
        ("private/b.py", &python(&[IGNORED])),
        ("private/er/c.py", &python(&[IGNORED])),
        (".gitignore", "private/\n"),
    ]);
    let outside = workspace.root.parent().unwrap().join("outside");
    fs::create_dir_all(outside.join("er")).unwrap();
    for path in ["a.py", "b.py", "er/c.py"] {
        fs::write(outside.join(path), python(&[OUTSIDE])).unwrap();
    }
    let store = workspace.open();
    index(&store);
    let (stop, swaps, given) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let began = Instant::now();
    let place = |path: &str| workspace.root.join(path);
    std::thread::scope(|scope| {
        let (stop, swaps, given, store) = (&stop, &swaps, &given, &store);
        let (file, folder, deep) = (place("a.py"), place("folder"), place("deep"));
        let (ignored, private) = (place("private/a.py"), place("private"));
        scope.spawn(move || swap(&file, stop, swaps, |link| symlink(&ignored, link).unwrap()));
        let elsewhere = &outside;
        scope.spawn(move || swap(&folder, stop, swaps, |link| symlink(elsewhere, link).unwrap()));
        scope.spawn(move || swap(&deep, stop, swaps, |link| symlink(&private, link).unwrap()));
        let asking = scope.spawn(move || {
            let _stop = StopAtEnd(stop);
            // On a busy machine a swapping thread may rest while its link is in place: go on until something was raced.
            let raced = || swaps.load(Ordering::Relaxed) > 0 && given.load(Ordering::Relaxed) > 0;
            for request in (0..).take_while(|&n| n < requests() || (!raced() && began.elapsed() < Duration::from_secs(30))) {
                ask(store, ["a.py", "folder/b.py", "deep/er/c.py"][request % 3], given);
                if request % 50 == 0 {
                    // The index reads them too, and must not keep what a link leads to.
                    let paths = ["a.py", "folder/b.py", "deep/er/c.py"].map(str::to_owned);
                    let plan = if request % 200 == 0 { store.scan(&token()) } else { store.check(&paths, &token()) };
                    carry_out(store, &plan.unwrap(), 8_000_000);
                }
            }
        });
        asking.join().unwrap();
    });
    let (swaps, given) = (swaps.into_inner(), given.into_inner());
    println!("{} requests gave {given} texts over {swaps} swaps in {:?}", requests(), began.elapsed());
    assert!(swaps > 0 && given > 0, "nothing was raced");
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

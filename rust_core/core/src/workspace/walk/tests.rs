use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

mod folders;

/// Write `files` (path, content) below a new folder.
fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Make `folder` the root of a git repository.
fn repository(folder: &Path) {
    write(&folder.join(".git"), &[("HEAD", "ref: refs/heads/main\n")]);
    fs::create_dir_all(folder.join(".git/objects")).unwrap();
    fs::create_dir_all(folder.join(".git/refs")).unwrap();
}

fn found(root: &Path) -> Walk {
    walk(root, &WalkOptions::default(), &CancelToken::new()).unwrap()
}

/// Return the paths that a walk found, but for the files of rules.
fn names(walk: &Walk) -> Vec<&str> {
    walk.files.iter().map(|file| file.path.as_str()).filter(|path| !IGNORE_FILES.contains(&name_of(path))).collect()
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str], skipped: &[(&str, SkipReason)]) {
    let folder = workspace(files);
    let walk = found(folder.path());
    assert_eq!(names(&walk), expected);
    for (path, reason) in skipped {
        let entry = walk.skipped.iter().find(|s| s.path == *path).unwrap_or_else(|| panic!("{path} not in {:?}", walk.skipped));
        assert_eq!(entry.reason, *reason, "{path}");
    }
    agree(folder.path(), &walk);
}

/// Check that the access policy says of every path what the walk said.
#[track_caller]
fn agree(root: &Path, walk: &Walk) {
    let access = AccessPolicy::new(root, &WalkOptions::default());
    for file in &walk.files {
        assert_eq!(access.check(&file.path).as_ref(), Ok(file));
    }
    for skipped in walk.skipped.iter().filter(|s| !s.path.ends_with('/')) {
        assert_eq!(access.check(&skipped.path), Err(skipped.reason), "{}", skipped.path);
    }
}

#[test]
fn ignore_files_have_gits_precedence() {
    check(
        &[
            (".gitignore", "*.log.py\n/gen/\n!keep.log.py\n"),
            (".carrelignore", "private.py\n"),
            ("a.log.py", "x"),
            ("keep.log.py", "x"),
            ("gen/a.py", "x"),
            ("sub/gen/a.py", "x"),
            ("sub/.gitignore", "!a.log.py\n"),
            ("sub/a.log.py", "x"),
            ("sub/private.py", "x"),
        ],
        &["keep.log.py", "sub/a.log.py", "sub/gen/a.py"],
        &[("a.log.py", SkipReason::Ignored), ("gen/", SkipReason::Ignored), ("sub/private.py", SkipReason::Ignored)],
    );
}

#[test]
fn carrelignore_counts_in_every_encoding() {
    let wide = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
        [mark, &"private.py\r\n".encode_utf16().flat_map(bytes).collect::<Vec<u8>>()].concat()
    };
    for rules in [
        wide(b"\xff\xfe", u16::to_le_bytes),
        wide(b"\xfe\xff", u16::to_be_bytes),
        b"\xef\xbb\xbfprivate.py\n".to_vec(),
        b"# geh\xf6rt mir\nprivate.py\n".to_vec(),
    ] {
        let folder = workspace(&[("private.py", "x"), ("a.py", "x")]);
        std::fs::write(folder.path().join(".carrelignore"), rules).unwrap();
        let walk = walk(folder.path(), &WalkOptions::default(), &CancelToken::new()).unwrap();
        assert_eq!(names(&walk), ["a.py"]);
    }
}

#[test]
fn only_carrelignore_takes_in_again_what_git_ignores_and_never_a_secret() {
    let files = [
        (".gitignore", "a.py\nb.py\n.env\n"),
        (".carrelignore", "!a.py\n!.env\n!id_rsa\n"),
        (".ignore", "!b.py\n"),
        ("a.py", "x"),
        ("b.py", "x"),
        (".env", "x"),
        ("id_rsa", "x"),
    ];
    check(&files, &["a.py"], &[("b.py", SkipReason::Ignored), (".env", SkipReason::Secret), ("id_rsa", SkipReason::Secret)]);
    let folder = workspace(&files);
    let options = WalkOptions { exclude: vec!["!*".into()], ..WalkOptions::default() };
    let walk = walk(folder.path(), &options, &CancelToken::new()).unwrap();
    assert_eq!(names(&walk), ["a.py"]);
}

#[test]
fn a_parent_repository_counts_up_to_its_root_only() {
    let folder = workspace(&[
        (".gitignore", "*.py\n"),
        ("repo/.git/info/exclude", "local.py\n"),
        ("repo/.gitignore", "skip.py\n"),
        ("repo/app/a.py", "x"),
        ("repo/app/skip.py", "x"),
        ("repo/app/local.py", "x"),
    ]);
    repository(&folder.path().join("repo"));
    let root = folder.path().join("repo/app");
    let walk = found(&root);
    assert_eq!(names(&walk), ["a.py"]);
    agree(&root, &walk);
}

#[test]
fn secrets_and_sizes_have_their_reason() {
    let large = "x\n".repeat(300_000);
    check(
        &[
            (".env", "k"),
            ("id_rsa", "k"),
            ("storage.bicep", "x"),
            ("big.py", &large),
            ("empty.py", ""),
            ("run", "#!/bin/sh\n"),
            ("data", "x"),
        ],
        &["data", "run", "storage.bicep"],
        &[
            (".env", SkipReason::Secret),
            ("id_rsa", SkipReason::Secret),
            ("big.py", SkipReason::TooLarge),
            ("empty.py", SkipReason::Empty),
        ],
    );
}

#[test]
fn a_linked_worktree_inside_is_left_out_and_a_submodule_is_not() {
    check(
        &[
            ("wt/.git", "gitdir: /r/.git/worktrees/wt"),
            ("wt/a.py", "x"),
            ("sub/.git", "gitdir: ../.git/modules/sub"),
            ("sub/a.py", "x"),
            (".gitignore", "other/"),
            ("other/.git", "gitdir: /r/.git/worktrees/other"),
            ("other/a.py", "x"),
        ],
        &["sub/a.py"],
        &[("wt/", SkipReason::ExcludedFolder), ("other/", SkipReason::Ignored)],
    );
}

#[test]
fn a_folder_that_becomes_a_linked_worktree_is_left_out_from_then_on() {
    let folder = workspace(&[("wt/a.py", "x"), ("wt/b/c.py", "x")]);
    let access = AccessPolicy::new(folder.path(), &WalkOptions::default());
    let leads_to = |place: &str| fs::write(folder.path().join("wt/.git"), format!("gitdir: {place}\n")).unwrap();
    let decisions = || ["wt/a.py", "wt/b/c.py"].map(|path| (access.check(path).err(), access.check_unsaved(path).err()));
    assert_eq!(decisions(), [(None, None); 2]);
    leads_to("/r/.git/worktrees/wt");
    assert_eq!(decisions(), [(Some(SkipReason::ExcludedFolder), Some(SkipReason::ExcludedFolder)); 2]);
    leads_to("../.git/modules/submodule");
    assert_eq!(decisions(), [(None, None); 2]);
}

#[cfg(unix)]
#[test]
fn links_are_never_followed() {
    let folder = workspace(&[("ws/a.py", "x"), ("ws/sub/b.py", "x"), ("outside/c.py", "x")]);
    let root = folder.path().join("ws");
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    link("../outside", "out");
    link("../outside/c.py", "c.py");
    link("sub", "again");
    link("..", "sub/loop");
    link("nowhere", "dead.py");
    let walk = found(&root);
    assert_eq!(names(&walk), ["a.py", "sub/b.py"]);
    agree(&root, &walk);
    let access = AccessPolicy::new(&root, &WalkOptions::default());
    assert_eq!(access.check("out/c.py"), Err(SkipReason::LinkOutside));
    assert!(access.check("sub/loop/a.py").is_err());
    assert_eq!(access.check("again/b.py"), Err(SkipReason::Link));
    assert_eq!(access.check("dead.py"), Err(SkipReason::Gone));
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_text_is_skipped() {
    use std::os::unix::ffi::OsStrExt;
    let folder = workspace(&[("a.py", "x")]);
    fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.py")), "x").unwrap();
    let walk = found(folder.path());
    assert_eq!(walk.files.len(), 1);
    assert_eq!(walk.skipped[0].reason, SkipReason::Unreadable);
}

#[test]
fn the_gate_lets_nothing_out() {
    let folder = workspace(&[("ws/a.py", "x"), ("b.py", "x")]);
    let access = AccessPolicy::new(&folder.path().join("ws"), &WalkOptions::default());
    for path in [
        "../b.py",
        "/etc/passwd",
        "C:/x.py",
        "C:\\x.py",
        "\\\\server\\share\\x.py",
        "//server/x.py",
        "sub/../../b.py",
        "..\\b.py",
        "",
        "a\0.py",
    ] {
        assert_eq!(access.check(path), Err(SkipReason::Outside), "{path:?}");
    }
    assert!(access.check("./a.py").is_ok());
    assert_eq!(access.check("a.py/x.py"), Err(SkipReason::Gone));
}

#[test]
fn the_gate_notices_an_edited_ignore_file() {
    let folder = workspace(&[("sub/a.py", "x"), ("sub/deep/b.py", "x")]);
    let access = AccessPolicy::new(folder.path(), &WalkOptions::default());
    assert!(access.check("sub/deep/b.py").is_ok());
    write(folder.path(), &[("sub/.gitignore", "deep/\n")]);
    assert_eq!(access.check("sub/deep/b.py"), Err(SkipReason::Ignored));
    assert!(access.check("sub/a.py").is_ok());
    fs::remove_file(folder.path().join("sub/.gitignore")).unwrap();
    assert!(access.check("sub/deep/b.py").is_ok());
}

#[test]
fn the_gate_notices_an_ignore_file_between_the_repository_and_the_workspace() {
    let folder = workspace(&[("repo/pkg/ws/a.py", "x")]);
    repository(&folder.path().join("repo"));
    let access = AccessPolicy::new(&folder.path().join("repo/pkg/ws"), &WalkOptions::default());
    for name in ["repo/.gitignore", "repo/pkg/.carrelignore"] {
        assert!(access.check("a.py").is_ok());
        write(folder.path(), &[(name, "a.py\n")]);
        assert_eq!(access.check("a.py"), Err(SkipReason::Ignored), "{name}");
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    write(folder.path(), &[("repo/.gitignore", "a.py\n")]);
    assert_eq!(access.check("a.py"), Err(SkipReason::Ignored));
    fs::remove_dir_all(folder.path().join("repo/.git")).unwrap();
    assert!(access.check("a.py").is_ok(), "not a repository any more");
}

#[test]
fn settings_exclude_and_a_missing_root_is_an_error() {
    let folder = workspace(&[("a.py", "x"), ("gen/b.py", "x"), ("build/c.py", "x")]);
    let options = WalkOptions { exclude: vec!["gen/**".into()], excluded_folders: vec![], ..WalkOptions::default() };
    let walk = walk(folder.path(), &options, &CancelToken::new()).unwrap();
    assert_eq!(names(&walk), ["a.py", "build/c.py"]);
    assert!(matches!(super::walk(&folder.path().join("no"), &options, &CancelToken::new()), Err(Error::Io { .. })));
    let cancel = CancelToken::new();
    cancel.cancel();
    assert!(matches!(super::walk(folder.path(), &options, &cancel), Err(Error::Cancelled)));
}

proptest! {
    #[test]
    fn no_path_leads_out(parts in proptest::collection::vec(
        "\\.\\.|\\.|a|A|sub|/|//|\\\\|C:|\\?|\0|~|%2e|outside\\.py|a\\.py|etc/passwd|\u{202e}", 0..8,
    )) {
        let folder = workspace(&[("ws/a.py", "inside"), ("ws/sub/a.py", "inside"), ("outside.py", "outside"), ("a.py", "outside")]);
        let path = parts.concat();
        for path in [path.clone(), parts.join("/")] {
            let access = AccessPolicy::new(&folder.path().join("ws"), &WalkOptions::default());
            if let Ok(mut opened) = access.session().open(&path) {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut opened.file, &mut text).unwrap();
                prop_assert_eq!(text, "inside", "{:?}", path);
            }
            let opened = access.root().unwrap().file(&path);
            prop_assert!(!opened.is_ok_and(|mut opened| {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut opened.file, &mut text).is_ok() && text == "outside"
            }), "{:?}", path);
            let _ = access.check_unsaved(&path);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn walk_and_gate_agree(
        names in proptest::collection::vec("(a|b|build)/(c|d|\\.h|\\.vim)/[ef]\\.(py|log|env)", 1..8),
        rules in proptest::collection::vec(("(|a/|a/c/|b/)\\.(git|carrel)ignore", "(!?/?[a-f](/|\\.py|\\*)?|\\*\\.log|!\\*\\.py|!?\\.h/|!\\*/)"), 0..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for name in &names {
            write(folder.path(), &[(name, "x")]);
        }
        for (file, rule) in &rules {
            write(folder.path(), &[(file, rule)]);
        }
        let walk = found(folder.path());
        agree(folder.path(), &walk);
        // And what the walk never reached, the access policy refuses.
        let access = AccessPolicy::new(folder.path(), &WalkOptions::default());
        for name in &names {
            prop_assert_eq!(access.check(name).is_ok(), walk.files.iter().any(|f| &f.path == name), "{}", name);
        }
    }
}

#[cfg(unix)]
#[test]
fn another_name_of_a_secret_is_secret_too() {
    let folder = workspace(&[("config/.env", "KEY=1\n"), ("a.txt", "plain\n"), ("sub/.gitignore", "x\n")]);
    let root = folder.path();
    fs::hard_link(root.join("config/.env"), root.join("sub/notes.txt")).unwrap();
    fs::hard_link(root.join("a.txt"), root.join("sub/b.txt")).unwrap();
    let walk = found(root);
    assert_eq!(names(&walk), ["a.txt", "sub/b.txt"]);
    assert!(walk.skipped.contains(&Skipped { path: "sub/notes.txt".to_owned(), reason: SkipReason::Secret }));
    agree(root, &walk);
}

#[cfg(unix)]
#[test]
fn what_was_opened_is_asked_whether_it_is_a_secret() {
    let folder = workspace(&[("config/.env", "KEY=1\n"), ("notes.txt", "plain\n")]);
    let root = folder.path();
    let access = AccessPolicy::new(root, &WalkOptions::default());
    access.learn_secrets(found(root).secrets);
    assert!(access.check("notes.txt").is_ok());
    // What comes in its place between the look and the opening.
    fs::remove_file(root.join("notes.txt")).unwrap();
    fs::hard_link(root.join("config/.env"), root.join("notes.txt")).unwrap();
    assert_eq!(access.open(&access.root().unwrap(), "notes.txt").unwrap_err(), SkipReason::Secret);
    fs::remove_file(root.join("notes.txt")).unwrap();
    std::os::unix::fs::symlink("config/.env", root.join("notes.txt")).unwrap();
    assert_eq!(access.open(&access.root().unwrap(), "notes.txt").unwrap_err(), SkipReason::Unreadable);
}

#[cfg(unix)]
#[test]
fn the_gate_hears_of_secrets_that_come_after_the_walk() {
    let folder = workspace(&[("a.txt", "plain\n")]);
    let root = folder.path();
    let access = AccessPolicy::new(root, &WalkOptions::default());
    access.learn_secrets(found(root).secrets);
    write(root, &[(".env", "KEY=1\n")]);
    fs::hard_link(root.join(".env"), root.join("notes.txt")).unwrap();
    assert_eq!(access.check(".env"), Err(SkipReason::Secret));
    assert_eq!(access.check("notes.txt"), Err(SkipReason::Secret));
}

//! Where git keeps rules, each place by itself. `tests/git_ignore.rs` compares all of it with git.

use std::fs;
use std::path::Path;

use super::super::{AccessPolicy, WalkOptions, walk};
use crate::base::cancel::CancelToken;
use crate::base::types::SkipReason;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Return the files of a repository's own folder.
fn git_folder(folder: &Path) {
    for name in ["objects", "refs"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    write(folder, &[("HEAD", "ref: refs/heads/main\n")]);
}

/// Check that the walk and the access policy find these files below `root`, and no others.
#[track_caller]
fn check(root: &Path, expected: &[&str]) {
    let walk = walk(root, &WalkOptions::default(), &CancelToken::new()).unwrap();
    let is_rules = |path: &&str| !path.contains(".py") && !path.contains(".md");
    assert_eq!(walk.files.iter().map(|file| file.path.as_str()).filter(|path| !is_rules(path)).collect::<Vec<_>>(), expected);
    let access = AccessPolicy::new(root, &WalkOptions::default());
    for file in &walk.files {
        assert!(access.check(&file.path).is_ok() && access.check_unsaved(&file.path).is_ok(), "{}", file.path);
    }
    for skipped in walk.skipped.iter().filter(|skipped| skipped.reason == SkipReason::Ignored) {
        assert_eq!(access.check(skipped.path.trim_end_matches('/')), Err(SkipReason::Ignored), "{}", skipped.path);
    }
}

#[test]
fn a_worktree_has_the_excludes_of_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git_folder(&root.join("main.git"));
    write(
        root,
        &[
            ("main.git/info/exclude", "private.py\n"),
            ("main.git/config", "[core]\n\texcludesFile = own-rules\n"),
            ("main.git/worktrees/wt/HEAD", "0123456789012345678901234567890123456789\n"),
            ("main.git/worktrees/wt/commondir", "../..\n"),
            ("wt/.git", "gitdir: ../main.git/worktrees/wt\n"),
            ("wt/own-rules", "/draft.py\n"),
            ("wt/a.py", "x"),
            ("wt/private.py", "x"),
            ("wt/draft.py", "x"),
            ("wt/sub/private.py", "x"),
            ("wt/sub/draft.py", "x"),
        ],
    );
    check(&root.join("wt"), &["a.py", "sub/draft.py"]);
    check(&root.join("wt/sub"), &["draft.py"]);
    // Its own settings count once the repository says so.
    write(
        root,
        &[("main.git/worktrees/wt/config.worktree", "[core]\n\texcludesFile = other-rules\n"), ("wt/other-rules", "a.py\n")],
    );
    check(&root.join("wt"), &["a.py", "sub/draft.py"]);
    write(
        root,
        &[("main.git/config", "[core]\nrepositoryFormatVersion = 0\nexcludesFile = own-rules\n[extensions]\nworktreeConfig\n")],
    );
    check(&root.join("wt"), &["draft.py", "sub/draft.py"]);
}

#[test]
fn a_submodule_has_excludes_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git_folder(&root.join(".git"));
    git_folder(&root.join(".git/modules/sub"));
    write(
        root,
        &[
            (".git/info/exclude", "a.py\n"),
            (".git/modules/sub/info/exclude", "b.py\n"),
            ("sub/.git", "gitdir: ../.git/modules/sub"),
            ("a.py", "x"),
            ("b.py", "x"),
            ("sub/a.py", "x"),
            ("sub/b.py", "x"),
        ],
    );
    check(root, &["b.py", "sub/a.py"]);
}

#[test]
fn what_only_looks_like_a_repository_does_not_end_the_rules_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git_folder(&root.join(".git"));
    write(
        root,
        &[
            (".gitignore", "private.py\n"),
            ("empty/private.py", "x"),
            ("file/.git", "gitdir: nowhere\n"),
            ("file/private.py", "x"),
            ("a.py", "x"),
        ],
    );
    fs::create_dir_all(root.join("empty/.git/objects")).unwrap();
    check(root, &["a.py"]);
    check(&root.join("empty"), &[]);
    let access = AccessPolicy::new(root, &WalkOptions::default());
    assert!(access.check("empty/private.py").is_err());
    git_folder(&root.join("empty/.git"));
    assert!(access.check("empty/private.py").is_ok(), "now it is one");
}

#[test]
fn the_gate_notices_what_changes_outside_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git_folder(&root.join("repo.git"));
    write(root, &[("ws/.git", "gitdir: ../repo.git"), ("ws/a.py", "x")]);
    let access = AccessPolicy::new(&root.join("ws"), &WalkOptions::default());
    let with = |path: &str, text: &str| {
        assert!(access.check("a.py").is_ok(), "{path}");
        write(root, &[(path, text)]);
        assert_eq!(access.check("a.py"), Err(SkipReason::Ignored), "{path}");
        fs::remove_file(root.join(path)).unwrap();
    };
    write(root, &[("mine", "[core]\nexcludesFile = ../rules")]);
    with("repo.git/info/exclude", "*.py\n");
    write(root, &[("repo.git/config", "[include]\npath = ../mine\n")]);
    with("rules", "*.py\n");
    write(root, &[("mine", ""), ("rules", "a.py\n")]);
    with("repo.git/config", "[core]\nexcludesFile = ../rules\n");
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_rules_that_git_sees() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git_folder(&root.join("repo/.git"));
    write(root, &[("repo/.gitignore", "b.py\n"), ("repo/sub/a.py", "x"), ("repo/sub/b.py", "x"), ("rules", "a.py\n")]);
    symlink(root.join("repo/sub"), root.join("ws")).unwrap();
    check(&root.join("ws"), &["a.py"]);
    // Git reads no `.gitignore` that is a link.
    symlink(root.join("rules"), root.join("repo/sub/.gitignore")).unwrap();
    check(&root.join("ws"), &["a.py"]);
    symlink(root.join("rules"), root.join("repo/sub/.carrelignore")).unwrap();
    check(&root.join("ws"), &[]);
}

#[test]
fn includes_count_where_their_conditions_hold() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git_folder(&root.join("ws/.git"));
    write(root, &[("yes", "[core]\nexcludesFile = no-py\n"), ("ws/no-py", "*.py\n"), ("ws/a.py", "x"), ("ws/b.md", "x")]);
    let place = root.canonicalize().unwrap().to_string_lossy().replace('\\', "/");
    let place = place.trim_start_matches("//?/");
    for (condition, holds) in [
        (format!("gitdir:{place}/"), true),
        (format!("gitdir:{place}/ws/.git"), true),
        (format!("gitdir:{place}/ws"), false),
        ("gitdir:ws/".to_owned(), true),
        ("gitdir:WS/".to_owned(), false),
        ("gitdir/i:WS/".to_owned(), true),
        ("gitdir:./".to_owned(), false),
        ("onbranch:main".to_owned(), true),
        ("onbranch:m*".to_owned(), true),
        ("onbranch:main/".to_owned(), false),
        ("hasconfig:remote.*.url:**".to_owned(), false),
    ] {
        write(root, &[("ws/.git/config", &format!("[includeIf \"{condition}\"]\npath = ../../yes\n"))]);
        check(&root.join("ws"), if holds { &["b.md"] } else { &["a.py", "b.md"] });
    }
}

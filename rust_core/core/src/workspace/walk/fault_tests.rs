//! Faults of the machine, of which Linux has one ready: whoever reads `/proc/self/mem` from its start gets an I/O error.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::workspace::folder::open_file;
use crate::workspace::read::read_source;

const BROKEN: &str = "/proc/self/mem";

/// Check that nothing is decided while the file of rules at `rules` can't be read, that the error names it, and that it counts once it
/// can be read again.
#[track_caller]
fn check(rules: &str, files: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in [("a.py", "x = 1\n"), ("sub/b.py", "x = 1\n")].iter().chain(files) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let broken = folder.path().join(rules);
    fs::create_dir_all(broken.parent().unwrap()).unwrap();
    symlink(BROKEN, &broken).unwrap();
    let access = AccessPolicy::new(folder.path(), &WalkOptions::default());
    let walked = || walk(folder.path(), &WalkOptions::default(), &CancelToken::new());

    let error = walked().unwrap_err();
    assert!(matches!(error, Error::ReadFailed { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains(rules) && message.contains(&cause()) && message.contains("index again"), "{message}");
    assert!(matches!(access.check("sub/b.py"), Err(SkipReason::Fault(_))), "{:?}", access.check("sub/b.py"));
    assert!(matches!(access.check_unsaved("sub/b.py"), Err(SkipReason::Fault(_))));
    assert!(matches!(access.session().open("sub/b.py"), Err(SkipReason::Fault(_))));

    fs::remove_file(&broken).unwrap();
    fs::write(&broken, "b.py\n").unwrap();
    let paths = walked().unwrap().files.into_iter().map(|file| file.path);
    assert_eq!(paths.filter(|path| path.contains(".py")).collect::<Vec<_>>(), ["a.py"]);
    assert_eq!(access.check("sub/b.py"), Err(SkipReason::Ignored));
    assert_eq!(access.check_unsaved("sub/b.py"), Err(SkipReason::Ignored));
}

/// Return the fault in the words of the system: each C library has its own.
fn cause() -> String {
    std::io::Error::from_raw_os_error(5).to_string()
}

const REPOSITORY: [(&str, &str); 3] = [(".git/HEAD", "ref: refs/heads/main\n"), (".git/objects/x", ""), (".git/refs/x", "")];

#[test]
fn rules_that_cannot_be_read_let_nothing_through() {
    check(".carrelignore", &[]);
    check(".ignore", &[]);
    check("sub/.carrelignore", &[]);
    check("sub/.ignore", &REPOSITORY);
    check(".git/info/exclude", &REPOSITORY);
    let config = (".git/config", "[core]\n\texcludesFile = mine\n");
    check("mine", &[&REPOSITORY[..], &[config]].concat());
}

#[test]
fn what_says_whether_there_is_a_repository_must_be_read() {
    for broken in [".git/config", ".git/commondir"] {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in REPOSITORY.iter().chain(&[("a.py", "x = 1\n")]) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        symlink(BROKEN, folder.path().join(broken)).unwrap();
        let error = walk(folder.path(), &WalkOptions::default(), &CancelToken::new()).unwrap_err();
        assert!(error.to_string().contains(broken), "{error}");
    }
}

#[test]
fn another_name_of_a_secret_stays_shut_until_the_secrets_can_be_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".env"), "TOKEN=x\n").unwrap();
    fs::hard_link(folder.path().join(".env"), folder.path().join("a.py")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let broken = folder.path().join("sub/.carrelignore");
    symlink(BROKEN, &broken).unwrap();
    let access = AccessPolicy::new(folder.path(), &WalkOptions::default());
    assert!(matches!(access.check("a.py"), Err(SkipReason::Fault(_))));
    fs::remove_file(broken).unwrap();
    assert_eq!(access.check("a.py"), Err(SkipReason::Secret));
}

#[test]
fn a_file_that_the_machine_fails_to_read_is_no_unreadable_file() {
    let read = read_source(open_file(Path::new(BROKEN)).unwrap(), 100, || None);
    let Err(reason @ SkipReason::Fault(_)) = read else { panic!("{read:?}") };
    assert_eq!(reason.to_string(), format!("read failed: {}", cause()));
    assert!(Error::skip_reason("a.py", reason).is_err());
    assert_eq!(Error::skip_reason("a.py", SkipReason::Unreadable).unwrap(), SkipReason::Unreadable);
}

//! Test which folders count, by their names and by the files in them and beside them.

use super::*;

#[test]
fn left_out_folders_are_one_entry() {
    check(
        &[
            ("a.py", "x"),
            ("node_modules/m/i.js", "x"),
            ("sub/Cargo.toml", "x"),
            ("sub/target/x.rs", "x"),
            (".git/config.py", "x"),
        ],
        &["a.py", "sub/Cargo.toml"],
        &[("node_modules/", SkipReason::ExcludedFolder), ("sub/target/", SkipReason::ExcludedFolder)],
    );
}

#[test]
fn a_folder_with_a_name_of_output_counts_where_nothing_makes_it() {
    check(
        &[
            ("build/a.py", "x"),
            ("src/build/a.py", "x"),
            ("app/App.csproj", "x"),
            ("app/obj/a.cs", "x"),
            ("app/models/vendor/a.rb", "x"),
            ("lib/node_modules/a.js", "x"),
        ],
        &["app/App.csproj", "app/models/vendor/a.rb", "src/build/a.py"],
        &[
            ("build/", SkipReason::ExcludedFolder),
            ("app/obj/", SkipReason::ExcludedFolder),
            ("lib/node_modules/", SkipReason::ExcludedFolder),
        ],
    );
}

#[test]
fn a_folder_with_a_name_of_others_counts_where_nothing_says_that_it_is_theirs() {
    check(
        &[
            ("app/pyproject.toml", "x"),
            ("app/deps/own.py", "x"),
            ("app/third_party/own/a.c", "x"),
            ("app/third_party/own/deep/LICENSE", "x"),
            ("go/vendor/modules.txt", "x"),
            ("go/vendor/a/b.go", "x"),
            ("ios/Podfile.lock", "x"),
            ("ios/Pods/a.m", "x"),
            ("mac/Cartfile.resolved", "x"),
            ("mac/Carthage/a.m", "x"),
            ("py/venv/pyvenv.cfg", "x"),
            ("py/venv/a.py", "x"),
            ("src/third_party/zlib/LICENSE.txt", "x"),
            ("src/third_party/zlib/a.c", "x"),
        ],
        &[
            "app/deps/own.py",
            "app/pyproject.toml",
            "app/third_party/own/a.c",
            "app/third_party/own/deep/LICENSE",
            "ios/Podfile.lock",
            "mac/Cartfile.resolved",
        ],
        &["go/vendor/", "ios/Pods/", "mac/Carthage/", "py/venv/", "src/third_party/"]
            .map(|path| (path, SkipReason::ExcludedFolder)),
    );
}

#[test]
fn hidden_folders_do_not_count_but_hidden_files_and_shared_configuration_do() {
    check(
        &[
            (".eslintrc.js", "x"),
            (".github/run.yml", "x"),
            (".tool/state.py", "x"),
            ("sub/.tool/deep/state.py", "x"),
            ("sub/.config/.hidden.py", "x"),
            (".github/.tool/state.py", "x"),
        ],
        &[".eslintrc.js", ".github/run.yml", "sub/.config/.hidden.py"],
        &[
            (".tool/", SkipReason::HiddenFolder),
            ("sub/.tool/", SkipReason::HiddenFolder),
            (".github/.tool/", SkipReason::HiddenFolder),
        ],
    );
}

#[test]
fn carrelignore_brings_hidden_folders_back_by_name() {
    check(
        &[
            (".carrelignore", "!*/\n!.tool/\n!docs/.notes/\n"),
            (".tool/a.py", "x"),
            ("sub/.tool/a.py", "x"),
            ("docs/.notes/a.md", "x"),
            (".notes/a.md", "x"),
            (".other/a.py", "x"),
            ("strict/.carrelignore", ".tool/\n"),
            ("strict/.tool/a.py", "x"),
        ],
        &[".tool/a.py", "docs/.notes/a.md", "sub/.tool/a.py"],
        &[
            (".notes/", SkipReason::HiddenFolder),
            (".other/", SkipReason::HiddenFolder),
            ("strict/.tool/", SkipReason::HiddenFolder),
        ],
    );
}

#[test]
fn kept_folders_count_though_excluded_or_hidden() {
    let folder = workspace(&[
        ("build/a.py", "x"),
        ("sub/.tool/a.py", "x"),
        ("out/a.py", "x"),
        (".other/a.py", "x"),
        ("build/.gitignore", "gen/\n"),
        ("build/gen/a.py", "x"),
    ]);
    let kept_folders = ["build", ".tool", "nowhere"].map(str::to_owned).to_vec();
    let options = WalkOptions { kept_folders, ..WalkOptions::default() };
    let walk = walk(folder.path(), &options, &CancelToken::new()).unwrap();
    assert_eq!(names(&walk), ["build/a.py", "sub/.tool/a.py"]);
    let access = AccessPolicy::new(folder.path(), &options);
    assert!(access.check("build/a.py").is_ok() && access.check_unsaved("sub/.tool/new.py").is_ok());
    assert_eq!(access.check("build/gen/a.py"), Err(SkipReason::Ignored));
    assert_eq!(access.check("out/a.py"), Err(SkipReason::ExcludedFolder));
}

#[test]
fn an_unsaved_text_of_a_hidden_folder_is_not_read() {
    let folder = workspace(&[("a.py", "x")]);
    let access = AccessPolicy::new(folder.path(), &WalkOptions::default());
    assert_eq!(access.check_unsaved(".tool/new.py"), Err(SkipReason::HiddenFolder));
    assert_eq!(access.check_unsaved(".github/new.yml"), Ok(()));
    assert_eq!(access.check_unsaved(".new.py"), Ok(()));
    write(folder.path(), &[(".carrelignore", "!.tool/\n")]);
    assert_eq!(access.check_unsaved(".tool/new.py"), Ok(()));
}

#[test]
fn a_hidden_parent_of_the_workspace_does_not_matter() {
    let folder = workspace(&[(".hidden/build/project/a.py", "x")]);
    assert_eq!(found(&folder.path().join(".hidden/build/project")).files.len(), 1);
}

//! What git ignores is never read, and nothing else is left out by an ignore rule: compared with git itself on generated
//! repositories. `CARREL_TEST_GIT_CASES` says how many, `CARREL_TEST_GIT_SEED` which is the first,
//! `CARREL_TEST_KEEP` that their folders stay.

#![cfg(unix)] // Windows has no files with most of these names.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use carrel_core::base::cancel::CancelToken;
use carrel_core::workspace::walk::{AccessPolicy, WalkOptions, walk};

const HOME: &str = "CARREL_TEST_GIT_HOME";

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn folder() -> tempfile::TempDir {
    let mut folder = tempfile::tempdir().unwrap();
    folder.disable_cleanup(std::env::var_os("CARREL_TEST_KEEP").is_some());
    folder
}

/// Git and the core look for the user's settings in the environment, so each run has a process and a home of its own.
#[test]
fn what_git_ignores_is_not_read_and_nothing_else_is_left_out() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else {
        let home = folder();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["what_git_ignores", "--nocapture"])
            .env(HOME, home.path())
            .env("HOME", home.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("GIT_CONFIG_GLOBAL")
            .status();
        assert!(status.unwrap().success());
        return;
    };
    let first = number("CARREL_TEST_GIT_SEED", 1);
    let mut compared = 0;
    for seed in first..first + number("CARREL_TEST_GIT_CASES", 60) {
        let folder = folder();
        let place = folder.path().canonicalize().unwrap();
        compared += usize::from(Case::new(seed, &place, &home).compare());
    }
    println!("{compared} repositories compared with git");
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.below(values.len())]
    }
}

struct Case {
    seed: u64,
    random: Random,
    home: PathBuf,
    /// The root of the outer repository.
    repository: PathBuf,
    /// Its own folder, which linked worktrees share.
    common: PathBuf,
    /// The roots of the repositories inside it.
    nested: Vec<PathBuf>,
    /// The folder that is opened.
    workspace: PathBuf,
    /// Every file that was made, relative to the outer repository.
    files: BTreeSet<String>,
    /// The one of them that git tracks, whatever its rules say.
    tracked: Option<String>,
}

const FOLDERS: &[&str] = &["a", "b", "ab", "Foo", "x y", "é", "[x]", "#d", "!e", "a.b", "*", "d\\e"];
const STEMS: &[&str] =
    &["a", "b", "ab", "foo", "FOO", "x y", "é", "üé", "#h", "!n", "[x]", "-", "^", "*", "a*b", "a]b", "a\\b", "a-b"];
const ENDINGS: &[&str] = &[".py", ".py", ".md", ".PY", ".txt", ".py ", ".c"];

impl Case {
    fn new(seed: u64, place: &Path, home: &Path) -> Self {
        let mut case = Self {
            seed,
            random: Random(seed),
            home: home.to_owned(),
            repository: place.join("repo"),
            common: place.join("repo/.git"),
            nested: Vec::new(),
            workspace: place.join("repo"),
            files: BTreeSet::new(),
            tracked: None,
        };
        case.make_tree();
        case.make_repository(place);
        case.make_nested();
        case.write_rules(place);
        if case.random.one_in(4) {
            let file = case.one_file();
            case.workspace = case.repository.join(Path::new(&file).parent().unwrap());
        }
        if case.random.one_in(4) {
            let file = case.one_file();
            if !case.nested.iter().any(|root| case.repository.join(&file).starts_with(root)) {
                case.git(&case.repository, &["--literal-pathspecs", "add", "--force", "--", &file]);
                case.tracked = Some(file);
            }
        }
        if case.random.one_in(5) {
            symlink(&case.workspace, place.join("link")).unwrap();
            case.workspace = place.join("link");
        }
        case
    }

    fn one_file(&mut self) -> String {
        let at = self.random.below(self.files.len());
        self.files.iter().nth(at).unwrap().clone()
    }

    fn make_tree(&mut self) {
        for _ in 0..8 + self.random.below(16) {
            let mut path = String::new();
            for _ in 0..self.random.below(4) {
                path += self.random.of(FOLDERS);
                path.push('/');
            }
            path += self.random.of(STEMS);
            path += self.random.of(ENDINGS);
            let full = self.repository.join(&path);
            if fs::create_dir_all(full.parent().unwrap()).is_ok() && fs::write(&full, "x\n").is_ok() {
                self.files.insert(path);
            }
        }
    }

    fn make_repository(&mut self, place: &Path) {
        match self.random.below(4) {
            0 => {
                self.common = place.join("store");
                fs::write(self.repository.join(".git"), "gitdir: ../store\n").unwrap();
            }
            1 => {
                self.common = place.join("main.git");
                let own = self.common.join("worktrees/wt");
                fs::create_dir_all(&own).unwrap();
                fs::write(own.join("HEAD"), "ref: refs/heads/wt\n").unwrap();
                fs::write(own.join("commondir"), self.random.of(&["../..\n", "../../"])).unwrap();
                fs::write(own.join("gitdir"), format!("{}/.git\n", self.repository.display())).unwrap();
                // What a worktree must not take for the repository's.
                fs::create_dir_all(own.join("info")).unwrap();
                fs::write(own.join("info/exclude"), "*\n").unwrap();
                fs::write(self.repository.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
            }
            _ => {}
        }
        git_folder(&self.common);
        if self.random.one_in(8) {
            // Objects may be borrowed, as `git clone --shared` does; rules never are.
            let lender = place.join("lender.git");
            git_folder(&lender);
            for (folder, name, text) in [
                (&lender, "info/exclude", "*\n".to_owned()),
                (&self.common, "objects/info/alternates", format!("{}/objects\n", lender.display())),
            ] {
                fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
                fs::write(folder.join(name), text).unwrap();
            }
        }
    }

    fn make_nested(&mut self) {
        for name in ["n", "a/n"] {
            if !self.random.one_in(3) {
                continue;
            }
            let root = self.repository.join(name);
            fs::create_dir_all(root.join("a")).unwrap();
            for file in ["a.py", "b.py", "a/ab.py"] {
                fs::write(root.join(file), "x\n").unwrap();
                self.files.insert(format!("{name}/{file}"));
            }
            let store = match self.random.below(4) {
                0 => {
                    // Not a repository, so the rules of the outer one count.
                    fs::create_dir_all(root.join(".git/objects")).unwrap();
                    continue;
                }
                1 => {
                    let store = self.common.join("modules").join(name);
                    fs::write(root.join(".git"), format!("gitdir: {}", store.display())).unwrap();
                    store
                }
                _ => root.join(".git"),
            };
            git_folder(&store);
            let rules = self.rules(2);
            fs::create_dir_all(store.join("info")).unwrap();
            fs::write(store.join("info/exclude"), rules).unwrap();
            self.nested.push(root);
        }
    }

    fn write_rules(&mut self, place: &Path) {
        let mut folders: Vec<PathBuf> = self.files.iter().filter_map(|file| Some(Path::new(file).parent()?.to_owned())).collect();
        folders.dedup();
        for folder in folders {
            if folder == Path::new("") || self.random.one_in(3) {
                let rules = self.rules(5);
                let path = self.repository.join(folder).join(".gitignore");
                if self.random.one_in(12) {
                    fs::write(place.join("linked"), rules).unwrap();
                    let _ = symlink(place.join("linked"), path);
                } else {
                    fs::write(path, rules).unwrap();
                }
            }
        }
        if self.random.one_in(6) {
            // What another program's file takes in again is still git's to ignore.
            fs::write(self.repository.join(".ignore"), "!*\n!**/*.py\n").unwrap();
        }
        if !self.random.one_in(3) {
            let rules = self.rules(4);
            fs::create_dir_all(self.common.join("info")).unwrap();
            fs::write(self.common.join("info/exclude"), rules).unwrap();
        }
        self.write_settings(place);
    }

    /// `core.excludesFile` and what else decides, in any of the places that git reads.
    fn write_settings(&mut self, place: &Path) {
        for file in [".gitconfig", ".config/git/config", ".config/git/ignore", "own-rules", "other-rules", "included"] {
            let _ = fs::remove_file(self.home.join(file));
        }
        fs::create_dir_all(self.home.join(".config/git")).unwrap();
        for file in ["own-rules", "other-rules", ".config/git/ignore"] {
            let rules = self.rules(2);
            fs::write(self.home.join(file), rules).unwrap();
        }
        let rules = self.rules(2);
        fs::write(self.repository.join("relative-rules"), rules).unwrap();
        for file in [".gitconfig", ".config/git/config"] {
            if self.random.one_in(2) {
                let text = self.settings(place, 9);
                fs::write(self.home.join(file), text).unwrap();
            }
        }
        if !self.random.one_in(3) {
            let text = self.settings(place, 9);
            fs::write(
                self.common.join("config"),
                format!("{}{text}", self.random.of(&["", "[core]\n\trepositoryFormatVersion = 0\n"])),
            )
            .unwrap();
        }
        let text = self.settings(place, 6);
        fs::write(self.home.join("included"), text).unwrap();
        for folder in [self.common.clone(), self.common.join("worktrees/wt")] {
            if self.random.one_in(4) && folder.exists() {
                let text = self.settings(place, 9);
                fs::write(folder.join("config.worktree"), text).unwrap();
            }
        }
    }

    /// Some of the first so many kinds of settings; the last ones include another file.
    fn settings(&mut self, place: &Path, kinds: usize) -> String {
        let (home, place) = (self.home.display().to_string(), place.display().to_string());
        let mut text = String::new();
        for _ in 0..self.random.below(3) {
            let setting = match self.random.below(kinds) {
                0 => "[core]\n\texcludesFile = ~/own-rules\n".to_owned(),
                1 => "[CORE] excludesfile = \"relative-rules\" ; mine\n".to_owned(),
                2 => format!("[core]\r\n  excludesFile={home}/oth\\\ner-rules # x\r\n"),
                3 => "[core]\nignoreCase\n".to_owned(),
                4 => format!("[core \"x\"]\nexcludesFile = {home}/own-rules\n[core]\nignorecase = {}\n", self.random.below(2)),
                5 => "[extensions]\nworktreeConfig = true\n".to_owned(),
                6 => format!("[include]\npath = {home}/included\n"),
                7 => format!("[includeIf \"gitdir{}:{place}/\"]\npath = ~/included\n", self.random.of(&["", "/i"])),
                _ => {
                    let condition =
                        self.random.of(&["gitdir:repo/", "gitdir:main.git/**", "onbranch:w?", "onbranch:main", "x:y"]);
                    format!("[includeIf \"{condition}\"]\npath = {home}/included\n")
                }
            };
            text += &setting;
        }
        text
    }

    /// An ignore file of up to so many lines.
    fn rules(&mut self, most: usize) -> String {
        let mut text = if self.random.one_in(8) { "\u{feff}".to_owned() } else { String::new() };
        for _ in 0..self.random.below(most + 1) {
            text += &self.pattern();
            text += self.random.of(&["\n", "\n", "\n", "\r\n", " \n", "\\ \n", "  \r\n", "\t\n"]);
        }
        if self.random.one_in(4) {
            text.pop();
        }
        text
    }

    /// Most often a path of the tree with some of it changed.
    fn pattern(&mut self) -> String {
        if self.random.one_in(12) {
            return self
                .random
                .of(&["# a.py", "", " ", "!", "/", "*", "**", "*/", "!*/", "**/", "!/**", "\\", "[", "a/", "{a,b}.py"])
                .to_owned();
        }
        let path = self.one_file();
        let mut parts: Vec<&str> = path.split('/').collect();
        if self.random.one_in(2) {
            parts.drain(..self.random.below(parts.len()));
        }
        if self.random.one_in(2) {
            parts.truncate(1 + self.random.below(parts.len()));
        }
        let mut pattern: Vec<char> = parts.join("/").chars().collect();
        for _ in 0..self.random.below(4) {
            let at = self.random.below(pattern.len() + 1);
            let to = (at + self.random.below(3)).min(pattern.len());
            let new = self.random.of(&[
                "*",
                "*",
                "?",
                "??",
                "**",
                "**/",
                "/**",
                "/**/",
                "[a-z]",
                "[!b]",
                "[^x]",
                "[[:alpha:]]",
                "[[:upper:]b]",
                "[]a]",
                "[a-",
                "[\\]a-c]",
                "[[:x:]]",
                "[]-a]",
                "[--9]",
                "\\",
                "/",
                "A",
                "",
                ".",
                "[",
                "]",
                "!",
                "#",
                " ",
                "[é]",
            ]);
            pattern.splice(at..to, new.chars());
        }
        let before = self.random.of(&["", "", "", "", "/", "!", "!", "!/", "**/", "\\", "*", "/**/"]);
        let after = self.random.of(&["", "", "", "", "/", "/**", "*", "/*"]);
        let text: String = before.chars().chain(pattern).chain(after.chars()).collect();
        if self.random.one_in(10) { text.to_uppercase() } else { text }
    }

    /// Compare, unless git ignores the workspace itself: what is opened is read.
    fn compare(&self) -> bool {
        let workspace = self.workspace.canonicalize().unwrap();
        let inside = workspace.strip_prefix(&self.repository).unwrap().to_str().unwrap().to_owned();
        let inside = if inside.is_empty() { inside } else { inside + "/" };
        let outer_of =
            |root: &PathBuf| self.nested.iter().filter(|other| root.starts_with(other) && *other != root).max().cloned();
        let mut allowed = BTreeSet::new();
        let mut ignored = BTreeSet::new();
        for root in std::iter::once(&self.repository).chain(&self.nested) {
            let prefix = root.strip_prefix(&self.repository).unwrap().to_str().unwrap();
            let name = |path: &str| if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
            // A repository that the one around it ignores is not looked into.
            let above = if prefix.is_empty() { None } else { Some(outer_of(root).unwrap_or(self.repository.clone())) };
            let opened_inside = workspace.starts_with(root);
            let hidden = above.is_some_and(|above| !opened_inside && self.ignores(&above, root));
            let mut found: Vec<String> = self.git(root, &["ls-files", "-z", "--others", "--exclude-standard"]);
            if hidden {
                ignored.extend(found.drain(..).map(|path| name(&path)));
            }
            allowed.extend(found.iter().map(|path| name(path)));
            let found = self.git(root, &["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
            ignored.extend(found.iter().map(|path| name(path)));
        }
        if let Some(file) = &self.tracked {
            // A tracked file is left out like others where a rule names it.
            let is_ignored = self.ignores(&self.repository, &self.repository.join(file));
            if is_ignored { &mut ignored } else { &mut allowed }.insert(file.clone());
        }
        let root = self.nested.iter().filter(|root| workspace.starts_with(root)).max().unwrap_or(&self.repository);
        if workspace != *root
            && workspace.ancestors().take_while(|folder| folder != root).any(|folder| self.ignores(root, folder))
        {
            return false;
        }
        let walk = walk(&self.workspace, &WalkOptions::default(), &CancelToken::new()).unwrap();
        let read: BTreeSet<String> = walk.files.into_iter().map(|file| inside.clone() + &file.path).collect();
        let what = |path: &str| format!("{path:?} of seed {}", self.seed);
        let access = AccessPolicy::new(&self.workspace, &WalkOptions::default());
        for path in self.files.iter().filter(|path| path.starts_with(&inside)) {
            let relative = &path[inside.len()..];
            let is_read = read.contains(path);
            assert_eq!(access.check(relative).is_ok(), is_read, "the access policy and the walk on {}", what(path));
            assert!(!is_read || access.check_unsaved(relative).is_ok(), "the unsaved text of {}", what(path));
            assert!(!(is_read && ignored.contains(path)), "git ignores {}", what(path));
            assert!(
                !(ignored.contains(path) && access.check_unsaved(relative).is_ok()),
                "git ignores the unsaved {}",
                what(path)
            );
            let why = access.check(relative).err();
            assert!(is_read || !allowed.contains(path), "git does not ignore {}: {why:?}", what(path));
            assert!(ignored.contains(path) != allowed.contains(path), "git says nothing of {}", what(path));
        }
        true
    }

    fn ignores(&self, root: &Path, path: &Path) -> bool {
        let relative = path.strip_prefix(root).unwrap().to_str().unwrap();
        !self.git_with(root, &["check-ignore", "--no-index", "-z", "--stdin"], relative).is_empty()
    }

    fn git(&self, root: &Path, arguments: &[&str]) -> Vec<String> {
        self.git_with(root, arguments, "")
    }

    fn git_with(&self, root: &Path, arguments: &[&str], input: &str) -> Vec<String> {
        let mut child = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code().is_some_and(|code| code < 2), "seed {}: {errors}", self.seed);
        String::from_utf8(done.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
    }
}

/// The least that git takes for a repository.
fn git_folder(folder: &Path) {
    for name in ["objects", "refs"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
}

//! Folders that count or don't by their names and by what stands beside them.

use crate::index::generated_code::is_lock_name;

/// Names that only tools give, to what holds no code of the user's own, tracked or not.
const TOOLS: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".idea",
    ".vs",
    ".gradle",
    ".cache",
    ".carrel",
    ".venv",
    ".env",
    ".tox",
    ".nox",
    ".eggs",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".terraform",
    ".dart_tool",
    ".bundle",
    ".stack-work",
    ".cabal-sandbox",
    ".zig-cache",
    "zig-cache",
    "zig-out",
    "__pycache__",
    "node_modules",
    "bower_components",
    "jspm_packages",
    "site-packages",
    "DerivedData",
    "elm-stuff",
    "cmake-build-debug",
    "cmake-build-release",
];
/// Names that programs give to what they build. A person may give them too.
const OUTPUT: &[&str] = &["target", "build", "out", "dist", "obj", "_build"];
/// Names of folders for other people's code. A person may give them to their own.
const OTHERS: &[&str] = &["vendor", "deps", "third_party", "venv", "Pods", "Carthage"];

/// Return the names of folders that are left out unless the setting says otherwise, or more is known of them: [`may_hold_own_code`].
pub(super) fn excluded_folders() -> Vec<String> {
    [TOOLS, OUTPUT, OTHERS].concat().into_iter().map(str::to_owned).collect()
}

/// Files, in small letters, of programs that build or get packages: they make folders beside them.
const BUILD_FILES: &[&str] = &[
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "build.xml",
    "build.zig",
    "cargo.toml",
    "cmakelists.txt",
    "composer.json",
    "configure.ac",
    "dune-project",
    "gemfile",
    "go.mod",
    "gopkg.toml",
    "gulpfile.js",
    "makefile",
    "meson.build",
    "mix.exs",
    "package.json",
    "package.swift",
    "pom.xml",
    "pubspec.yaml",
    "pyproject.toml",
    "rebar.config",
    "setup.py",
    "settings.gradle",
    "settings.gradle.kts",
];
/// What names of such files end in.
const BUILD_FILE_ENDINGS: &[&str] =
    &[".cabal", ".csproj", ".fsproj", ".gemspec", ".sln", ".vbproj", ".vcxproj", ".xcodeproj", ".uproject"];

/// Tell whether a folder of this name may hold the user's own code: git or what stands in it and beside it must say more.
pub(super) fn may_hold_own_code(name: &str) -> bool {
    OUTPUT.contains(&name) || may_hold_others_code(name) || name.starts_with('.')
}

/// Tell whether a folder of this name may hold other people's code although git tracks it.
pub(super) fn may_hold_others_code(name: &str) -> bool {
    OTHERS.contains(&name)
}

/// Tell whether a file of this name, in such a folder or one level deeper, says that its code is from elsewhere: a licence, or what a
/// program that got it wrote down.
pub(super) fn is_of_others(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_licence = ["license", "licence", "copying", "unlicense"].iter().any(|begin| name.starts_with(begin));
    is_licence || is_lock_name(&name) || ["modules.txt", "pyvenv.cfg"].contains(&name.as_str())
}

/// Tell whether a file of this name belongs to a program that builds or gets packages.
pub(super) fn is_build_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    BUILD_FILES.contains(&name.as_str()) || BUILD_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Hidden folders that hold code, configuration or documents which people write and ask about. Every other folder whose name
/// begins with a dot belongs to a tool (state, caches, downloads, histories) and is left out unless git tracks it.
const HIDDEN_FOLDERS_THAT_COUNT: &[&str] = &[
    // Continuous integration and hosting.
    ".azure-pipelines",
    ".azuredevops",
    ".buildkite",
    ".circleci",
    ".forgejo",
    ".gitea",
    ".github",
    ".gitlab",
    ".semaphore",
    ".teamcity",
    ".tekton",
    ".woodpecker",
    // Editors and machines that a project shares.
    ".devcontainer",
    ".vscode",
    // Build tools and hooks.
    ".cargo",
    ".githooks",
    ".husky",
    ".mvn",
    // Documents and component catalogues.
    ".ladle",
    ".storybook",
    ".vitepress",
    ".vuepress",
    // A person's own configuration, as in a repository of dotfiles.
    ".config",
    ".emacs.d",
    ".vim",
];

/// Tell whether a folder inside the workspace is hidden, and not by its name one of those that people write in.
pub(super) fn is_tools_own(name: &str) -> bool {
    name.starts_with('.') && !HIDDEN_FOLDERS_THAT_COUNT.contains(&name)
}

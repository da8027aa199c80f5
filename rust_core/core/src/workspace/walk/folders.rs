//! Folders that count or don't by their names and by what stands beside them.

/// Folders that hold no code of the user's own, left out unless the setting says otherwise (spec B4), or more is known of them:
/// [`may_hold_own_code`].
pub const EXCLUDED_FOLDERS: &[&str] = &[
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
    "venv",
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
    "vendor",
    "third_party",
    "target",
    "build",
    "out",
    "dist",
    "obj",
    "DerivedData",
    "Pods",
    "Carthage",
    "_build",
    "deps",
    "elm-stuff",
    "cmake-build-debug",
    "cmake-build-release",
];

/// Names that programs give to what they build. A person may give them too.
const OUTPUT: &[&str] = &["target", "build", "out", "dist", "obj", "_build"];
/// Names of folders for other people's code. A person may give them to their own.
const OTHERS: &[&str] = &["vendor", "deps"];

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

/// Tell whether a folder of this name may hold the user's own code: git or what stands beside it must say more.
pub(super) fn may_hold_own_code(name: &[u8]) -> bool {
    OUTPUT.iter().chain(OTHERS).any(|known| known.as_bytes() == name)
}

/// Tell whether a folder of this name may hold other people's code although git tracks it.
pub(super) fn may_hold_others_code(name: &str) -> bool {
    OTHERS.contains(&name)
}

/// Tell whether a file of this name belongs to a program that builds or gets packages.
pub(super) fn is_build_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    BUILD_FILES.contains(&name.as_str()) || BUILD_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Hidden folders that hold code, configuration or documents which people write and ask about. Every other folder whose name
/// begins with a dot belongs to a tool (state, caches, downloads, histories) and is left out.
pub const HIDDEN_FOLDERS_THAT_COUNT: &[&str] = &[
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

/// Tell whether a folder inside the workspace is hidden and not one of those that people write in.
pub(super) fn is_tools_own(name: &str) -> bool {
    name.starts_with('.') && !HIDDEN_FOLDERS_THAT_COUNT.contains(&name)
}

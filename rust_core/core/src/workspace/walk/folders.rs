//! Folders that count or don't by their names alone.

/// Folders that hold no code of the user's own, left out unless the setting says otherwise (spec B4).
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

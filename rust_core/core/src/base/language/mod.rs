//! Tell the language that a file is written in by its name and its content.

mod shared_endings;

use shared_endings::by_content;
pub use shared_endings::is_for_people;

/// What a language is for: decides how a file without a grammar is cut, and which source it belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    Code,
    Data,
    Prose,
}

struct Entry {
    name: &'static str,
    nature: Nature,
    extensions: &'static [&'static str],
    file_names: &'static [&'static str],
}

/// A language that Carrel knows. The number is stored in segments: append to the table, never reorder it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language(u8);

macro_rules! languages {
    ($($(#[$doc:meta])* $constant:ident = $id:literal, $name:literal, $nature:ident, [$($extension:literal)*], [$($file_name:literal)*];)*) => {
        impl Language {
            $(#[doc = concat!("`", $name, "`")] pub const $constant: Language = Language($id);)*
        }
        const TABLE: &[Entry] = &[
            $(Entry { name: $name, nature: Nature::$nature, extensions: &[$($extension),*], file_names: &[$($file_name),*] }),*
        ];
    };
}

languages! {
    PYTHON = 0, "python", Code, ["py" "pyi" "pyw" "pyx" "pxd"], ["SConstruct" "SConscript" "wscript"];
    JAVASCRIPT = 1, "javascript", Code, ["js" "mjs" "cjs" "jsx"], [];
    TYPESCRIPT = 2, "typescript", Code, ["ts" "mts" "cts"], [];
    TSX = 3, "tsx", Code, ["tsx"], [];
    JAVA = 4, "java", Code, ["java"], [];
    KOTLIN = 5, "kotlin", Code, ["kt" "kts"], [];
    GO = 6, "go", Code, ["go"], [];
    RUST = 7, "rust", Code, ["rs"], [];
    C = 8, "c", Code, ["c" "h"], [];
    CPP = 9, "cpp", Code, ["cc" "cpp" "cxx" "c++" "hh" "hpp" "hxx" "h++" "ipp" "inl" "tpp" "cu" "cuh" "ino"], [];
    CSHARP = 10, "c-sharp", Code, ["cs" "csx"], [];
    RUBY = 11, "ruby", Code, ["rb" "rake" "gemspec" "ru" "podspec"], ["Rakefile" "Gemfile" "Podfile" "Vagrantfile" "Fastfile" "Guardfile"];
    PHP = 12, "php", Code, ["php" "phtml" "php5" "php7" "inc"], [];
    SWIFT = 13, "swift", Code, ["swift"], [];
    SCALA = 14, "scala", Code, ["scala" "sc" "sbt"], [];
    BASH = 15, "bash", Code, ["sh" "bash" "zsh" "ksh" "bats" "ebuild"], [".bashrc" ".bash_profile" ".profile" ".zshrc" "PKGBUILD"];
    LUA = 16, "lua", Code, ["lua" "luau" "rockspec"], [];
    ELIXIR = 17, "elixir", Code, ["ex" "exs"], [];
    HASKELL = 18, "haskell", Code, ["hs" "lhs" "hsc"], [];
    ZIG = 19, "zig", Code, ["zig" "zon"], [];
    JSON = 20, "json", Data, ["json" "jsonc" "json5" "webmanifest"], [".eslintrc" ".babelrc" ".prettierrc"];
    YAML = 21, "yaml", Data, ["yml" "yaml"], [".clang-format" ".clang-tidy"];
    TOML = 22, "toml", Data, ["toml"], ["Pipfile"];
    HTML = 23, "html", Code, ["html" "htm" "xhtml"], [];
    CSS = 24, "css", Code, ["css"], [];
    SQL = 25, "sql", Code, ["sql" "ddl" "dml" "psql" "pgsql" "tsql" "pkb" "pks" "prc" "fnc" "vw"], [];
    MARKDOWN = 26, "markdown", Prose, ["md" "markdown" "mdx" "mkd" "qmd" "rmd"], [];
    NOTEBOOK = 27, "notebook", Code, ["ipynb"], [];
    RST = 28, "rst", Prose, ["rst" "rest"], [];
    TEXT = 29, "text", Prose, ["txt" "text" "textile" "tex"], ["README" "LICENSE" "COPYING" "CHANGELOG" "CHANGES" "AUTHORS" "NOTICE" "TODO" "INSTALL" "NEWS" "CONTRIBUTING" "HISTORY"];
    PERL = 30, "perl", Code, ["pl" "pm" "t" "pod"], [];
    R = 31, "r", Code, ["r"], [];
    DART = 32, "dart", Code, ["dart"], [];
    OBJECTIVE_C = 33, "objective-c", Code, ["m" "mm"], [];
    CLOJURE = 34, "clojure", Code, ["clj" "cljs" "cljc" "edn"], [];
    ERLANG = 35, "erlang", Code, ["erl" "hrl"], ["rebar.config"];
    OCAML = 36, "ocaml", Code, ["ml" "mli" "mll" "mly"], [];
    FSHARP = 37, "f-sharp", Code, ["fs" "fsi" "fsx"], [];
    JULIA = 38, "julia", Code, ["jl"], [];
    GROOVY = 39, "groovy", Code, ["groovy" "gradle" "gvy"], ["Jenkinsfile"];
    POWERSHELL = 40, "powershell", Code, ["ps1" "psm1" "psd1"], [];
    VUE = 41, "vue", Code, ["vue"], [];
    SVELTE = 42, "svelte", Code, ["svelte" "astro"], [];
    DOCKERFILE = 43, "dockerfile", Code, ["dockerfile"], ["Dockerfile" "dockerfile" "Containerfile"];
    MAKEFILE = 44, "makefile", Code, ["mk" "mak"], ["Makefile" "GNUmakefile" "makefile" "justfile" "Justfile"];
    CMAKE = 45, "cmake", Code, ["cmake"], ["CMakeLists.txt"];
    PROTOBUF = 46, "protobuf", Code, ["proto"], [];
    GRAPHQL = 47, "graphql", Code, ["graphql" "gql"], [];
    TERRAFORM = 48, "terraform", Code, ["tf" "tfvars" "hcl"], [];
    XML = 49, "xml", Data, ["xml" "xsd" "xsl" "xslt" "csproj" "vbproj" "fsproj" "props" "targets" "plist" "svg" "xaml" "wsdl"], [];
    INI = 50, "ini", Data, ["ini" "cfg" "conf" "properties" "editorconfig" "desktop" "service"], [".editorconfig" ".gitattributes" ".gitmodules"];
    NIX = 51, "nix", Code, ["nix"], [];
    FORTRAN = 52, "fortran", Code, ["f" "f90" "f95" "f03" "f08" "for"], [];
    COBOL = 53, "cobol", Code, ["cob" "cbl" "cpy"], [];
    VISUAL_BASIC = 54, "visual-basic", Code, ["vb" "vbs" "bas"], [];
    PASCAL = 55, "pascal", Code, ["pas" "dpr" "lpr"], [];
    ADA = 56, "ada", Code, ["adb" "ads"], [];
    D = 57, "d", Code, ["d" "di"], [];
    NIM = 58, "nim", Code, ["nim" "nims" "nimble"], [];
    CRYSTAL = 59, "crystal", Code, ["cr"], [];
    ELM = 60, "elm", Code, ["elm"], [];
    SOLIDITY = 61, "solidity", Code, ["sol"], [];
    TCL = 62, "tcl", Code, ["tcl"], [];
    VERILOG = 63, "verilog", Code, ["v" "vh" "sv" "svh"], [];
    VHDL = 64, "vhdl", Code, ["vhd" "vhdl"], [];
    ASSEMBLY = 65, "assembly", Code, ["s" "asm" "nasm"], [];
    SCSS = 66, "scss", Code, ["scss" "sass" "less" "styl"], [];
    BATCH = 67, "batch", Code, ["bat" "cmd"], [];
    VIM = 68, "vim", Code, ["vim"], [".vimrc"];
    LISP = 69, "lisp", Code, ["lisp" "lsp" "el" "cl"], [];
    SCHEME = 70, "scheme", Code, ["scm" "ss" "rkt"], [];
    PROLOG = 71, "prolog", Code, ["pro" "prolog"], [];
    FISH = 72, "fish", Code, ["fish"], [];
    AWK = 73, "awk", Code, ["awk"], [];
    STARLARK = 74, "starlark", Code, ["bzl" "star"], ["BUILD" "BUILD.bazel" "WORKSPACE" "Tiltfile"];
    GLSL = 75, "glsl", Code, ["glsl" "vert" "frag" "comp" "wgsl" "hlsl" "metal"], [];
    THRIFT = 76, "thrift", Code, ["thrift" "avdl" "capnp" "fbs"], [];
    TEMPLATE = 77, "template", Code, ["jinja" "jinja2" "j2" "erb" "ejs" "hbs" "mustache" "twig" "haml" "slim" "pug" "liquid" "eex" "leex" "heex" "cshtml" "razor" "jsp" "ftl"], [];
    PRISMA = 78, "prisma", Code, ["prisma"], [];
    PROOF = 79, "proof", Code, ["lean" "agda" "thy"], [];
    QML = 80, "qml", Code, ["qml"], [];
    GDSCRIPT = 81, "gdscript", Code, ["gd"], [];
    MANIFEST = 82, "manifest", Data, [], ["requirements.txt" "go.mod" "Procfile" "CODEOWNERS"];
    CSV = 83, "csv", Data, ["csv" "tsv"], [];
    GRAMMAR = 84, "grammar", Code, ["y" "yy" "l" "g4" "ebnf" "pest" "lark" "yrl"], [];
    OTHER = 85, "other", Code, [], [];
    ASCIIDOC = 86, "asciidoc", Prose, ["adoc" "asciidoc"], [];
    ORG = 87, "org", Prose, ["org"], [];
}

impl Language {
    /// Lower-case name, as the protocol shows it.
    pub fn name(self) -> &'static str {
        TABLE[self.0 as usize].name
    }

    /// The language of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().position(|entry| entry.name.eq_ignore_ascii_case(name)).map(|i| Self(i as u8))
    }

    /// The number that is stored on disk.
    pub fn id(self) -> u8 {
        self.0
    }

    /// The language of a stored number.
    pub fn from_id(id: u8) -> Option<Self> {
        ((id as usize) < TABLE.len()).then_some(Self(id))
    }

    /// Every language, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TABLE.len()).map(|i| Self(i as u8))
    }

    /// The language of a file, by its name (exact), its extension in any case, or its name up to a suffix (`Dockerfile.dev`,
    /// `LICENSE-MIT`).
    pub fn detect(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let by_name = |name: &str| TABLE.iter().position(|entry| entry.file_names.contains(&name));
        let by_extension = || {
            let (_, extension) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())?;
            let extension = extension.to_ascii_lowercase();
            TABLE.iter().position(|entry| entry.extensions.contains(&extension.as_str()))
        };
        let by_stem = || by_name(name.split_once(['.', '-']).filter(|(stem, _)| !stem.is_empty())?.0);
        by_name(name).or_else(by_extension).or_else(by_stem).map(|i| Self(i as u8))
    }

    /// The language of a file that is text: by what is in it where its name leaves that open, by its name, by its first line.
    pub fn of_file(path: &str, text: &str) -> Self {
        by_content(path, text)
            .or_else(|| Self::detect(path))
            .or_else(|| text.lines().next().and_then(Self::detect_shebang))
            .unwrap_or(Self::OTHER)
    }

    /// The language that a script's first line asks for (`#!/usr/bin/env python3`).
    pub fn detect_shebang(first_line: &str) -> Option<Self> {
        let command = first_line.strip_prefix("#!")?.trim();
        let mut words = command.split_whitespace();
        let mut program = words.next()?.rsplit('/').next()?;
        if program == "env" {
            program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        }
        let name = match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "python" | "pypy" => "python",
            "node" | "deno" | "bun" => "javascript",
            "sh" | "bash" | "zsh" | "dash" | "ksh" => "bash",
            "ruby" => "ruby",
            "perl" => "perl",
            "php" => "php",
            "lua" | "luajit" => "lua",
            "elixir" => "elixir",
            "Rscript" => "r",
            "awk" | "gawk" => "awk",
            "fish" => "fish",
            _ => return None,
        };
        Self::from_name(name)
    }

    /// The extensions of its files, in lower case.
    #[cfg(test)]
    pub(crate) fn extensions(self) -> impl Iterator<Item = &'static str> {
        TABLE[self.0 as usize].extensions.iter().copied()
    }

    /// Whether it is written for people: such files are the `docs` source.
    pub fn is_prose(self) -> bool {
        TABLE[self.0 as usize].nature == Nature::Prose
    }

    /// Whether it holds settings or records.
    pub fn is_data(self) -> bool {
        TABLE[self.0 as usize].nature == Nature::Data
    }

    /// Whether its texts stand between tags.
    pub fn is_markup(self) -> bool {
        matches!(self, Self::HTML | Self::XML | Self::VUE | Self::SVELTE | Self::TEMPLATE)
    }

    /// The source that its files belong to: `docs` or `code`.
    pub fn source(self) -> &'static str {
        if self.is_prose() { "docs" } else { "code" }
    }
}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(Language::detect(path).map(Language::name), expected, "{path}");
    }

    #[test]
    fn files_are_known_by_name_or_extension() {
        check("src/app.py", Some("python"));
        check("SRC/APP.PY", Some("python"));
        check("a/b.test.tsx", Some("tsx"));
        check("CMakeLists.txt", Some("cmake"));
        check("docker/Dockerfile.dev", Some("dockerfile"));
        check("LICENSE-MIT", Some("text"));
        check("build.xyz", None);
        check("README", Some("text"));
        check("photo.png", None);
        check(".hidden", None);
        check("noext", None);
        check("win\\dir\\Main.java", Some("java"));
    }

    #[test]
    fn ids_and_names_are_unique_and_round_trip() {
        let mut names: Vec<_> = Language::all().map(Language::name).collect();
        for language in Language::all() {
            assert_eq!(Language::from_id(language.id()), Some(language));
            assert_eq!(Language::from_name(language.name()), Some(language));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
        assert_eq!(Language::from_id(255), None);
    }

    #[test]
    fn no_extension_belongs_to_two_languages() {
        let mut all: Vec<_> = TABLE.iter().flat_map(|entry| entry.extensions).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(count >= 40, "40 extensions and more are promised");
    }

    #[test]
    fn the_first_line_of_a_script_names_its_language() {
        let name = |line| Language::detect_shebang(line).map(Language::name);
        assert_eq!(name("#!/usr/bin/env python3.11"), Some("python"));
        assert_eq!(name("#!/usr/bin/env -S node --flag"), Some("javascript"));
        assert_eq!(name("#!/bin/sh"), Some("bash"));
        assert_eq!(name("#!/opt/other"), None);
        assert_eq!(name("plain"), None);
    }
}

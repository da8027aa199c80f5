//! Which files are seldom what a question is about: told by path alone, in any language.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

/// Such a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Tests and what they need.
    Test,
    /// Examples, documentation, benchmarks.
    Example,
    /// Files that hand on what others hold.
    ReExport,
    /// Declarations without bodies.
    Declaration,
    /// Made by a program.
    Generated,
    /// Text for people.
    Prose,
    /// What changed, version by version.
    Changes,
    /// Settings, markup, tables.
    Data,
}

impl PathKind {
    /// What it is called outside.
    pub fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Example => "example",
            Self::ReExport => "re-export",
            Self::Declaration => "declaration",
            Self::Generated => "generated",
            Self::Prose => "prose",
            Self::Changes => "changes",
            Self::Data => "data",
        }
    }

    /// Words of a question that ask for files of this kind.
    pub fn asked_by(self) -> &'static [&'static str] {
        match self {
            Self::Test => &["test", "tests", "spec", "specs", "fixture", "fixtures", "mock", "mocks"],
            Self::Example => &["example", "examples", "sample", "demo", "benchmark", "benchmarks", "doc", "docs", "tutorial"],
            Self::ReExport | Self::Declaration | Self::Changes => &[],
            Self::Generated => &["generated", "protobuf"],
            Self::Prose => &["doc", "docs", "documentation", "readme", "guide", "tutorial", "changelog", "markdown", "blog"],
            Self::Data => &[
                "config",
                "configuration",
                "json",
                "yaml",
                "toml",
                "css",
                "html",
                "style",
                "styles",
                "workflow",
                "ci",
                "package",
                "dependency",
                "dependencies",
                "lint",
                "schema",
                "settings",
            ],
        }
    }
}

/// How the names of texts for people end.
macro_rules! prose {
    () => {
        r"\.(?:mdx?|mkd|markdown|[qr]md|re?st|te?xt|adoc|asciidoc|org|textile|tex|ipynb)"
    };
}

const PATTERNS: [(PathKind, &str); 12] = [
    (PathKind::Test, r"(?:^|/)(?:tests?|__tests__|testing|test[-_]suite|testdata|fixtures?|e2e|mocks?|__mocks__)/"),
    (
        PathKind::Test,
        r"(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec|\.test|\.spec|[a-z0-9](?:Tests?|Spec|Suite))|conftest|tests?|test_?helpers?)\.\w+$",
    ),
    // Where tests are called specs. Elsewhere a folder of that name holds what specifies something, in code.
    (PathKind::Test, r"(?:^|/)specs?/(?:[^/]*/)*[^/]*\.(?:rb|rake|cr|lua|moon|coffee|[cm]?[jt]sx?)$"),
    (PathKind::Example, r"(?:^|/)(?:_?examples?|samples?|demos?|docs?|docs?_src|bench(?:es|marks?)?|playground|tutorials?)/"),
    (PathKind::ReExport, r"(?:^|/)(?:__init__\.pyi?|package-info\.java|prelude\.\w+)$"),
    (PathKind::Declaration, r"\.d\.[cm]?ts$|\.pyi$"),
    (
        PathKind::Generated,
        concat!(
            r"(?:^|/)(?:_{0,2}generated(?:_{2})?|gen|autogen)/|(?:^|/)zz_generated[._]",
            r"|[._](?:generated|gen|pb|pb2|g|freezed)\.\w+$|_pb2(?:_grpc)?\.py$|(?i:\.designer\.(?:cs|vb))$"
        ),
    ),
    (PathKind::Prose, concat!("(?i)", prose!(), "$")),
    // `HISTORY.rst`, `changelog-old.md`, `RELEASE_NOTES-1.2`: files of text, for `history.py` is code.
    (
        PathKind::Changes,
        concat!(
            r"(?i)(?:^|/)(?:change(?:s|log)|history|release[-_ ]?notes)(?:[-_.]v?[0-9][^/]*?|[-_][^/.]*)?(?:",
            prose!(),
            ")?$"
        ),
    ),
    // `release-process.md` says how one is made.
    (PathKind::Changes, concat!(r"(?i)(?:^|/)(?:news|releases?)(?:[-_.]v?[0-9][^/]*?)?(?:", prose!(), ")?$")),
    (
        PathKind::Changes,
        concat!(
            r"(?i)(?:^|/)(?:changelogs?(?:\.d)?|newsfragments)/|(?:^|/)(?:changes|releases)/(?:[^/]*",
            prose!(),
            r"|[0-9]+\.[a-z]+(?:\.[0-9]+)?)$"
        ),
    ),
    (PathKind::Data, r"(?i)\.(?:jsonc?|ya?ml|toml|lock|ini|cfg|conf|xml|csv|svg|s?css|html?|properties|sql)$"),
];

/// The kinds that a path is of, each once.
pub fn path_kinds(path: &str) -> Vec<PathKind> {
    // Bytes: what is looked for is ASCII, and tables of all letters would take a while to build.
    static SET: LazyLock<RegexSet> = LazyLock::new(|| {
        let patterns = PATTERNS.map(|(_, pattern)| format!("(?-u){pattern}"));
        RegexSet::new(patterns).expect("the patterns above are valid")
    });
    let mut kinds: Vec<PathKind> = SET.matches(path.as_bytes()).iter().map(|i| PATTERNS[i].0).collect();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use super::{PathKind, path_kinds};
    use crate::base::language::Language;

    #[test]
    fn paths_tell_what_they_are() {
        use PathKind::{Changes, Data, Declaration, Example, Generated, Prose, ReExport, Test};
        for (path, kinds) in [
            ("src/parser.py", &[][..]),
            ("tests/test_parser.py", &[Test]),
            ("src/ParserTest.java", &[Test]),
            ("src/latest.py", &[]),
            ("spec/support/server.rb", &[Test]),
            ("spec/parser.ts", &[Test]),
            ("pkg/types/spec/errors.go", &[]),
            ("spec/openapi.yaml", &[Data]),
            ("docs/guide.md", &[Example, Prose]),
            ("lib/compat/a.rb", &[]),
            ("pkg/__init__.py", &[ReExport]),
            ("types/index.d.ts", &[Declaration]),
            ("api_pb2.py", &[Generated]),
            ("core/_generated/schema.py", &[Generated]),
            ("src/__generated__/Query.ts", &[Generated]),
            ("v1/zz_generated.deepcopy.go", &[Generated]),
            ("Forms/Main.Designer.cs", &[Generated]),
            ("src/designer.cs", &[]),
            ("Größe/CONFIG.YAML", &[Data]),
            ("CHANGES", &[Changes]),
            ("NEWS", &[Changes]),
            ("HISTORY.rst", &[Prose, Changes]),
            ("changelog-old.md", &[Prose, Changes]),
            ("a/Release Notes.txt", &[Prose, Changes]),
            ("RELEASE_NOTES-1.2", &[Changes]),
            ("news-2.0.1.rst", &[Prose, Changes]),
            ("pkg/newsfragments/12.bugfix", &[Changes]),
            ("changes/12.feature.rst", &[Prose, Changes]),
            ("changes/12.feature", &[Changes]),
            ("src/history.py", &[]),
            ("src/release.py", &[]),
            ("src/releases/list.ts", &[]),
            ("app/news.rb", &[]),
            ("release-process.rst", &[Prose]),
        ] {
            assert_eq!(path_kinds(path), kinds, "{path}");
        }
    }
    #[test]
    fn every_language_of_prose_is_told_by_its_endings() {
        for ending in Language::all().filter(|language| language.is_prose()).flat_map(Language::extensions) {
            let path = format!("guide.{ending}");
            assert!(path_kinds(&path).contains(&PathKind::Prose), "{path}");
        }
    }
}

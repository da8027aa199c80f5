//! Which files and chunks a search may find.

mod metadata;

use std::collections::BTreeMap;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::types::Chunk;
use crate::formats::segment::{FileMask, Segment};
use metadata::Metadata;

/// A filter as it is asked for. Empty lists allow everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterOptions {
    /// Globs over relative paths; one must match. `*.py` matches in every folder, `src` everything inside it.
    pub path_globs: Vec<String>,
    /// Globs of which none may match.
    pub exclude_globs: Vec<String>,
    /// Names of languages.
    pub languages: Vec<String>,
    /// A symbol: the chunk's own (`Class.method`), its last part, or a name that it defines; case does not matter.
    pub symbol: Option<String>,
    /// `code`, `docs` or both.
    pub sources: Vec<String>,
    /// Changed at this time or later, seconds since 1970.
    pub updated_after: Option<i64>,
    /// Exact values by field, of each of which one must hold: `container`, `kind`, `language`, `path`, `source`, `symbol`, or any key
    /// of the file's own metadata.
    pub metadata: BTreeMap<String, Vec<String>>,
}

/// A filter ready for use.
#[derive(Clone, Debug)]
pub struct Filter {
    options: FilterOptions,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    languages: Vec<Language>,
    symbol: Option<String>,
    /// `Some(true)`: prose only; `Some(false)`: code only.
    prose: Option<bool>,
    metadata: Metadata,
}

impl Filter {
    /// Check and compile a filter.
    pub fn new(options: FilterOptions) -> Result<Self> {
        let language = |name: &String| {
            let unknown = || Error::invalid_value("languages", name, "is not a language that Carrel knows");
            Language::from_name(&name.to_lowercase()).ok_or_else(unknown)
        };
        for source in &options.sources {
            if source != "code" && source != "docs" {
                return Err(Error::invalid("sources", format!("{source:?} is neither code nor docs")));
            }
        }
        let wants = |name: &str| options.sources.iter().any(|s| s == name);
        Ok(Self {
            include: globs("path_globs", &options.path_globs)?,
            exclude: globs("exclude_globs", &options.exclude_globs)?,
            languages: options.languages.iter().map(language).collect::<Result<_>>()?,
            symbol: options.symbol.as_ref().map(|symbol| symbol.to_lowercase()),
            prose: (wants("code") != wants("docs")).then(|| wants("docs")),
            metadata: Metadata::new(&options.metadata)?,
            options,
        })
    }

    /// What was asked for.
    pub fn options(&self) -> &FilterOptions {
        &self.options
    }

    pub(crate) fn restricts_files(&self) -> bool {
        self.include.is_some()
            || self.exclude.is_some()
            || !self.languages.is_empty()
            || self.prose.is_some()
            || self.options.updated_after.is_some()
            || self.metadata.restricts_files()
    }

    /// The files of `live` that pass.
    pub(crate) fn mask(&self, segment: &Segment, live: &FileMask) -> FileMask {
        let mut mask = live.clone();
        live.iter().filter(|&file| !self.allows(segment, file)).for_each(|file| mask.clear(file));
        mask
    }

    fn allows(&self, segment: &Segment, ordinal: u32) -> bool {
        let file = &segment.file(ordinal);
        (self.languages.is_empty() || self.languages.contains(&file.language))
            && self.prose.is_none_or(|prose| file.language.is_prose() == prose)
            && self.options.updated_after.is_none_or(|after| file.updated_at >= after)
            && self.include.as_ref().is_none_or(|globs| globs.is_match(file.path))
            && self.metadata.allows_file(file)
            && self.metadata.allows_properties(|| segment.properties(ordinal))
            && !self.exclude.as_ref().is_some_and(|globs| globs.is_match(file.path))
    }

    /// Whether it tells the chunks of a file apart.
    pub(crate) fn restricts_chunks(&self) -> bool {
        self.symbol.is_some() || self.metadata.restricts_chunks()
    }

    pub(crate) fn allows_chunk(&self, chunk: &Chunk) -> bool {
        self.metadata.allows_chunk(chunk) && self.allows_symbol(chunk)
    }

    fn allows_symbol(&self, chunk: &Chunk) -> bool {
        let Some(wanted) = &self.symbol else { return true };
        let symbol = chunk.symbol.to_lowercase();
        let symbol = symbol.strip_suffix(" (header)").unwrap_or(&symbol);
        let last = symbol.rsplit(['.', ':', '>']).next().unwrap_or(symbol).trim();
        symbol == wanted || last == wanted || chunk.definitions.iter().any(|name| name.to_lowercase() == *wanted)
    }
}

/// `None` for an empty list.
fn globs(field: &'static str, patterns: &[String]) -> Result<Option<GlobSet>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let invalid = |error: globset::Error| Error::invalid(field, error.to_string());
    let mut set = GlobSetBuilder::new();
    for typed in patterns {
        // Not the error's own text: it quotes what the pattern was made into.
        let invalid = |error: globset::Error| Error::invalid_value(field, typed, format!("is not a pattern: {}", error.kind()));
        let glob = |pattern: &str| -> Result<Glob> { GlobBuilder::new(pattern).literal_separator(true).build().map_err(invalid) };
        let pattern = typed.trim_start_matches("./").trim_matches('/');
        // As people write them: a bare name matches anywhere, and a folder stands for what is in it.
        let anchored = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        set.add(glob(&format!("{anchored}/**"))?);
        set.add(glob(&anchored)?);
    }
    set.build().map(Some).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::globs;

    #[test]
    fn globs_match_as_people_mean_them() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let set = globs("path_globs", &[pattern.to_owned()]).unwrap().unwrap();
            assert_eq!(set.is_match(path), expected, "{pattern} {path}");
        };
        for (pattern, path, expected) in [
            ("*.py", "a.py", true),
            ("*.py", "src/deep/a.py", true),
            ("*.py", "a.pyc", false),
            ("src", "src/a.py", true),
            ("src/", "lib/src/a.py", true),
            ("src/*.py", "src/a.py", true),
            ("src/*.py", "src/deep/a.py", false),
            ("src/**", "src/deep/a.py", true),
            ("src/**/*.py", "src/a.py", true),
            ("/src/a", "src/a/b/c.py", true),
            ("./a.{ts,tsx}", "x/a.tsx", true),
            ("tests/**/x_*.rs", "tests/x_a.rs", true),
        ] {
            check(pattern, path, expected);
        }
        let told = globs("path_globs", &["a/[".to_owned()]).unwrap_err().to_string();
        assert!(told.contains("\"a/[\" is not a pattern: unclosed character class"), "{told}");
        assert!(globs("path_globs", &[]).unwrap().is_none());
    }
}

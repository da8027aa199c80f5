//! What an import statement imports, read from its text: statements of 27 languages differ less than their trees.

/// Words that introduce an import or stand between its keyword and its name.
const INTRODUCTIONS: &[&str] = &[
    "import",
    "from",
    "use",
    "using",
    "static",
    "global",
    "qualified",
    "safe",
    "alias",
    "require",
    "require_relative",
    "load",
    "extern",
    "crate",
    "pub",
    "pub(crate)",
    "pub(super)",
    "include",
    "#include",
    "#include_next",
    "#import",
    "source",
    ".",
    "type",
    "typealias",
    "open",
    "@testable",
    "@_exported",
    "function",
    "const",
    "public",
    "wildcard",
    "export",
    "@import",
];

/// Return the imported names in `statement`, as written.
pub fn names(statement: &str, found: &mut Vec<String>) {
    let mut add = |name: &str| {
        let name = name.trim().trim_end_matches([';', ',', ')']).trim_end_matches("::*").trim_end_matches(".*");
        if !name.is_empty() && name.len() <= 200 && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    if quoted(statement, &mut add) {
        return;
    }
    if let Some((_, header)) = statement.split_once('<').filter(|_| statement.trim_start().starts_with('#')) {
        add(header.split('>').next().unwrap_or_default());
        return;
    }
    let words: Vec<&str> = statement.split_whitespace().skip_while(|word| INTRODUCTIONS.contains(word)).collect();
    // `import a.b as c, d`: a list of names. `from a import b` and `use a::{b, c}` name one thing, however many they take of it.
    if statement.trim_start().starts_with("import") && !statement.contains('{') {
        for part in words.join(" ").split(',') {
            add(part.split_whitespace().next().unwrap_or_default());
        }
        return;
    }
    let name = words.first().copied().unwrap_or_default();
    add(name.split('{').next().unwrap_or_default().trim_end_matches("::").trim_end_matches('.'));
}

/// Add every quoted part; false if there is none.
fn quoted(statement: &str, add: &mut impl FnMut(&str)) -> bool {
    let mut rest = statement;
    let mut any = false;
    while let Some(start) = rest.find(['"', '\'', '`']) {
        let quote = rest.as_bytes()[start] as char;
        let Some(length) = rest[start + 1..].find(quote) else { break };
        add(&rest[start + 1..start + 1 + length]);
        any = true;
        rest = &rest[start + length + 2..];
    }
    any
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(statement: &str, expected: &[&str]) {
        let mut found = Vec::new();
        super::names(statement, &mut found);
        assert_eq!(found, expected, "{statement}");
    }

    #[test]
    fn statements_of_many_languages() {
        check("import os.path as p, sys", &["os.path", "sys"]);
        check("from . import x", &["x"]);
        check("from a.b import (c,\n d)", &["a.b"]);
        check("import {a, b} from './util';", &["./util"]);
        check("import java.util.List;", &["java.util.List"]);
        check("import static a.B.c;", &["a.B.c"]);
        check("import (\n\t\"fmt\"\n\tx \"net/http\"\n)", &["fmt", "net/http"]);
        check("use std::{fs, io};", &["std"]);
        check("use crate::a::b;", &["crate::a::b"]);
        check("#include <vector>", &["vector"]);
        check("#include \"a/b.h\"", &["a/b.h"]);
        check("using System.Text;", &["System.Text"]);
        check("use App\\Models\\User;", &["App\\Models\\User"]);
        check("import qualified Data.Map as M", &["Data.Map"]);
        check("alias MyApp.Repo", &["MyApp.Repo"]);
        check("require_relative 'lib/x'", &["lib/x"]);
        check("import scala.collection.{Map, Set}", &["scala.collection"]);
    }
}

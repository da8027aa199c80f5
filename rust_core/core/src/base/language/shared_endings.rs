//! Endings that several languages share: which of them a text is in, by what stands in it.
//!
//! Only the text decides, nothing beside it: an answer never depends on which file changed last.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::Language;
use crate::base::patterns::regex;
use crate::base::words::is_cjk;

/// So far into a text evidence is looked for.
const LOOKED_AT: usize = 64 * 1024;
/// Sentences are counted in so much of a text, and in so many of its lines.
const SAMPLE: usize = 16 * 1024;
const MOST_ROWS: usize = 200;
/// The share of lines with a sentence from which a text is for people, and the words in a row that are a sentence.
const SENTENCES: f64 = 0.6;
const WORDS: usize = 4;

/// Beginnings of lines of C++, Objective-C and others that C doesn't have.
const CPP: &str = concat!(
    r"(?m)^[ \t]*(?:namespace\b|inline namespace\b|template *<|using [\w:]|(?:public|private|protected|signals|(?:public|private|protected) slots) *:(?:[^:]|$)",
    r"|(?:class|struct)\b[^;(){}\n]*[^:;(){}\n]:(?:[^:\n]|$)|class(?: +\[\[\w+\]\])?(?: +\w+(?:\([^)\n]*\))?){1,3} *[{;]?[ \t\r]*$",
    r"|(?:virtual|constexpr|consteval|explicit|friend|mutable|static_assert)\b|enum (?:class|struct)\b|# *include +<\w+>|auto +\w[^;\n]*\) *->",
    r#"|[^/*"'\n]*(?:\w::[~\w]|\boperator *[-+*/=<>!\[(&|]|\) *(?:const *)?(?:noexcept|override|final)\b|\) *const *[;{]"#,
    r#"|\bconst \w[\w:<>]*& *\w*[,)]|\bnullptr\b|= *(?:delete|default) *;))"#
);
const OBJECTIVE_C: &str = r"(?m)^[ \t]*@(?:interface|protocol|implementation|class|end|import|property)\b";
const PREPROCESSOR: &str = r"(?m)^[ \t]*# *(?:include|define|undef|if|ifdef|ifndef|pragma)\b";
const XML: &str = r"\A\s*<(?:\?xml|!DOCTYPE)\b";

/// An ending, the languages that may use it beside its first one, each with what tells it, in the order in which they are looked for.
type Shared = (&'static str, &'static [(&'static str, Language)]);

const SHARED: &[Shared] = &[
    ("h", &[(OBJECTIVE_C, Language::OBJECTIVE_C), (CPP, Language::CPP)]),
    (
        "inc",
        &[
            (r"<\?(?:php|=|\s)", Language::PHP),
            (r"(?im)^[ \t]*%(?:macro|define|ifdef|include)\b", Language::ASSEMBLY),
            (r"(?im)^[ \t]*(?:procedure|function) +\w+ *[(;:]|\{\$I", Language::PASCAL),
            (CPP, Language::CPP),
            (PREPROCESSOR, Language::C),
            (r"", Language::OTHER),
        ],
    ),
    (
        "m",
        &[
            (OBJECTIVE_C, Language::OBJECTIVE_C),
            (r"(?m)^[ \t]*# *(?:import|include|define)\b", Language::OBJECTIVE_C),
            (r"(?m)^[ \t]*(?:%|function\b|classdef\b|:- |\(\*)", Language::OTHER),
        ],
    ),
    (
        "pl",
        &[
            (r"(?m)^[ \t]*(?:#!.*perl|use [\w:]+|package [\w:]+|sub \w+|my *[$@%(])", Language::PERL),
            (r"(?m)^:- |^[a-z]\w*(?:\([^\n]*\))? *:-", Language::PROLOG),
        ],
    ),
    ("pro", &[(r"(?m)^[ \t]*(?:QT|TEMPLATE|SOURCES|HEADERS|CONFIG|TARGET) *[-+]?=", Language::OTHER)]),
    (
        "v",
        &[
            (r"(?m)^[ \t]*(?:module \w+ *[(;#]|endmodule\b)", Language::VERILOG),
            (
                r"(?m)^[ \t]*(?:(?:Theorem|Lemma|Definition|Fixpoint|Inductive|Record) \w|Require (?:Import|Export) |From \w+ Require |Proof\.|Qed\.)",
                Language::PROOF,
            ),
            (r"(?m)^(?:pub )?(?:fn|struct) \w+", Language::OTHER),
        ],
    ),
    ("ts", &[(XML, Language::XML)]),
    ("tsx", &[(XML, Language::XML)]),
    ("d", &[(r"\A\S+\.(?:l?o|obj|d)\b[^\n]*:", Language::MAKEFILE)]),
    ("cl", &[(r"(?m)^[ \t]*(?:__)?kernel +void\b", Language::C)]),
    ("fs", &[(r"(?m)^[ \t]*(?:#version\b|void +main *\(|(?:uniform|varying|precision) )", Language::GLSL)]),
    ("l", &[(r"\A\s*[;(]", Language::LISP)]),
    ("t", &[(r"(?m)^  \$ ", Language::OTHER)]),
];

struct Evidence {
    ending: &'static str,
    of: Vec<(Regex, Language)>,
}

static EVIDENCE: LazyLock<Vec<Evidence>> = LazyLock::new(|| {
    let compiled = |(ending, of): &Shared| Evidence {
        ending,
        of: of.iter().map(|(pattern, language)| (regex(pattern), *language)).collect(),
    };
    SHARED.iter().map(compiled).collect()
});

/// The first bytes of a text, to the end of a character.
fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
    &text[..end]
}

/// Return the language of a text whose name has an ending that several share; `None` where the ending, or nothing, decides.
pub fn by_content(path: &str, text: &str) -> Option<Language> {
    let (_, ending) = path.rsplit_once('.')?;
    if !SHARED.iter().any(|(shared, _)| shared.eq_ignore_ascii_case(ending)) {
        return None;
    }
    let head = head(text, LOOKED_AT);
    let head = if ending.eq_ignore_ascii_case("h") { without_cpp_only(head) } else { Cow::Borrowed(head) };
    let evidence = EVIDENCE.iter().find(|evidence| evidence.ending.eq_ignore_ascii_case(ending))?;
    evidence.of.iter().find(|(pattern, _)| pattern.is_match(&head)).map(|(_, language)| *language)
}

/// Tell whether a text is written for people: a manual page by its first line, any other where most lines hold words as sentences do.
///
/// Of 2,831 files without a language in Debian's and registries' packages, 85 reach the share; two of them aren't text for people.
pub fn is_for_people(text: &str) -> bool {
    if [".\\\"", "'\\\"", ".TH ", ".Dd "].iter().any(|manual| text.trim_start().starts_with(manual)) {
        return true;
    }
    let sample = head(text, SAMPLE);
    let rows = || sample.lines().filter(|row| !row.trim_ascii().is_empty()).take(MOST_ROWS);
    let sentences = rows().filter(|row| holds_sentence(row)).count();
    sentences as f64 >= SENTENCES * rows().count().max(1) as f64
}

/// Tell whether so many words follow each other with nothing but blanks and a sentence's marks between them; of a script without
/// blanks two characters are one. What begins with another mark than a list's is a comment.
fn holds_sentence(row: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || opens(c) || matches!(c, '-' | '•');
    if !row.trim_start().starts_with(begins) {
        return false;
    }
    if !row.is_ascii() && row.chars().filter(|&c| is_cjk(c)).count() >= 2 * WORDS {
        return true;
    }
    let mut run = 0;
    row.split_ascii_whitespace().any(|word| {
        run = if is_plain(word) { run + 1 } else { 0 };
        run == WORDS
    })
}

/// Tell whether a word is of letters, hyphens and apostrophes, with marks around it as sentences have them.
fn is_plain(word: &str) -> bool {
    let (mut letters, mut closed, mut last) = (false, false, ' ');
    for c in word.chars() {
        let fits = if c.is_alphabetic() {
            letters = true;
            !closed
        } else if !letters {
            opens(c)
        } else {
            let joins = matches!(c, '-' | '\'' | '’');
            closed |= !joins;
            joins && last.is_alphabetic()
                || matches!(c, ',' | '.' | ';' | ':' | '!' | '?' | ')' | '"' | '\'' | '’' | '”' | '`' | '*' | '_')
        };
        if !fits {
            return false;
        }
        last = c;
    }
    letters && last != '-'
}

/// Tell whether a mark may stand before the first letter of a word.
fn opens(c: char) -> bool {
    matches!(c, '(' | '"' | '\'' | '‘' | '“' | '`' | '*' | '_')
}

/// Take out what only a compiler of C++ sees (`#ifdef __cplusplus`) where a compiler of C sees code besides, and comments, which talk
/// of anything. Which version of C++ it is (`#if __cplusplus >= 201103L`) is asked where the rest is C++, too.
fn without_cpp_only(text: &str) -> Cow<'_, str> {
    let guards = |line: &str| {
        line.starts_with("#if") && line.contains("__cplusplus") && !line.contains(['!', '>', '<']) && !line.starts_with("#ifndef")
    };
    if !text.contains("__cplusplus") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut uncommented) = (String::with_capacity(text.len()), String::new());
    let (mut depth, mut hidden, mut comment) = (0_usize, None, false);
    for whole in text.split_inclusive('\n') {
        let line = whole.trim();
        if comment || line.starts_with("/*") {
            comment = !line.contains("*/");
            continue;
        }
        let directive: String = line.strip_prefix('#').map_or_else(String::new, |rest| format!("#{}", rest.trim_start()));
        if directive.starts_with("#if") {
            depth += 1;
            if hidden.is_none() && guards(&directive) {
                hidden = Some(depth);
            }
        } else if directive.starts_with("#endif") || directive.starts_with("#el") {
            if hidden == Some(depth) {
                hidden = None;
            }
            if directive.starts_with("#endif") {
                depth = depth.saturating_sub(1);
            }
        }
        uncommented.push_str(whole);
        if hidden.is_none() {
            out.push_str(whole);
        }
    }
    let is_code = |line: &str| !line.is_empty() && !line.starts_with(['#', '/']) && !line.ends_with('\\');
    Cow::Owned(if out.lines().any(|line| is_code(line.trim())) { out } else { uncommented })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &str) {
        assert_eq!(Language::of_file(path, text).name(), expected, "{path}: {text}");
    }

    #[test]
    fn a_header_is_c_until_something_speaks_for_cpp() {
        for text in [
            "#pragma once\nnamespace rail {\nint f();\n}\n",
            "template <typename T>\nT most(T a, T b);\n",
            "struct Derived : Base {};\n",
            "struct Derived : rail::Base, Other\n{\n};\n",
            "class RAIL_API Track : public Base {\n",
            "class Track final : Base\n{\n",
            "class RAIL_EXPORT(x) Track {\n",
            "class Track;\n",
            "int f(std::string name);\n",
            "enum class Colour { RED };\n",
            "struct A {\n  A() = default;\n};\n",
            "struct A {\n  bool operator==(const A& other) const;\n};\n",
            "struct A {\n private:\n  int x;\n};\n",
            "struct A { A(float a); ~A(); float dot(int other) const; };\n",
            "#include <memory>\nint f(void);\n",
            "int f(const Vec& other);\n",
            "int f(const Vec&);\n",
            "static Track last = nullptr;\n",
            "auto first(int a) -> int;\n",
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\nstatic_assert(true, \"\");\n",
            "#ifndef A_H\n#define A_H\n#ifdef __cplusplus\n#include \"Stream.h\"\nclass Serial : public Stream {\n};\n#endif\n#endif\n",
            "struct Point {\n  int x;\n#if __cplusplus >= 201103L\n  constexpr Point(int a) : x(a) {}\n#endif\n};\n",
            "#if defined(__cplusplus) && __cplusplus >= 201103L\ntemplate <class T> struct Box { T of; };\n#endif\nint f(void);\n",
        ] {
            check("include/network.h", text, "cpp");
        }
        for text in [
            "#ifndef A_H\n#define A_H\nint f(void);\n#endif\n",
            "struct track { unsigned closed : 1; };\nstruct track *find(const char *class);\n",
            "/*\n class Track: see std::vector\n template <x>\n*/\nint f(void);\n",
            "// See rail::Track for C++.\nint f(void);\n",
            "#ifdef __cplusplus\nextern \"C\" {\nnamespace rail { class Track; }\n#endif\nint f(void);\n#if defined(__cplusplus)\n}\n#endif\n",
            "/*\n using the library\n*/\n#define A 1\n",
            "#define NAME \"a::b\"\nextern int virtual_memory;\n",
            "#include <stdio.h>\nstatic const unsigned mask = 7;\nint f(int a) {\n  return a & mask;\n}\n#define BOTH(const_a, b) (const_a& b)\n",
            "static int __attribute__((const)) f(const struct point *a) {\n  return ~a->x & list->next->y;\n}\n",
            "int f(int a, int b);\nenum colour { RED };\ntypedef struct { int x; } point;\n",
            "static int g(int x) {\n  switch (x) {\n  default:\n    return x ? 1 : 2;\n  }\n}\n",
        ] {
            check("include/network.h", text, "c");
        }
        check("View.h", "#import <UIKit/UIKit.h>\n@interface View : UIView\n@end\n", "objective-c");
    }

    #[test]
    fn other_endings_that_are_shared_are_told_by_content() {
        check("a.inc", "<?php\nfunction f() {}\n", "php");
        check("a.inc", "#define X(a) a\nX(1)\n", "c");
        check("a.inc", "SUMMARY = \"A recipe\"\n", "other");
        check("a.m", "function y = f(x)\n% doubles\ny = 2 * x;\n", "other");
        check("a.m", "#import <A.h>\n@implementation A\n@end\n", "objective-c");
        check("a.pl", "use strict;\nmy $x = 1;\n", "perl");
        check("a.pl", ":- module(a, [b/1]).\nb(X) :- c(X).\n", "prolog");
        check("a.v", "module adder(input a);\nendmodule\n", "verilog");
        check("a.v", "Require Import List.\nLemma x : True.\nProof.\n", "proof");
        check("a.ts", "export const a = 1;\n", "typescript");
        check("a.ts", "<?xml version=\"1.0\"?>\n<TS/>\n", "xml");
        check("a.d", "main.o: main.c \\\n  a.h\n", "makefile");
        check("a.d", "module app;\nvoid main() {}\n", "d");
        check("a.rego", "package deploy\n", "other");
        check("tool", "#!/usr/bin/env ruby\nputs 1\n", "ruby");
    }

    #[test]
    fn every_pattern_is_of_a_known_ending() {
        assert_eq!(EVIDENCE.len(), SHARED.len());
        for (ending, _) in SHARED {
            assert!(Language::detect(&format!("x.{ending}")).is_some(), "{ending}");
        }
    }

    #[test]
    fn a_text_without_a_language_is_for_people_where_most_lines_hold_a_sentence() {
        for text in [
            ".TH XZ 1\n.SH NAME\nxz\n",
            ".\\\" A comment\n.Dd May 1\n",
            "Installation\n============\n\nUnpack the archive, then run the script that is in it.\nWhat it needs is said at the end.\nA second run of it changes nothing.\n",
            "Maintainers\nThe list isn't complete: ask Anna-Lena (first) about it.\n* who speaks for the project\n",
            "安装\n解压归档文件，然后运行其中的脚本。\n最后列出了它所需要的程序。\n",
        ] {
            assert!(is_for_people(text), "{text}");
        }
        for text in [
            "",
            "config FOO\n\tbool \"Support for the old device\"\n\tdepends on BAR\n",
            "# The port that the server listens on.\nport = 80\n# How long it waits for a client.\nwait = 3\n",
            "key: some words in a row\nother = 3\nname = x\n",
            "set(CMAKE_X 1)\nif (the other one is here)\nendif()\n",
        ] {
            assert!(!is_for_people(text), "{text}");
        }
    }
}

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

const SMALL: CutOptions = CutOptions {
    max_chars: 8_000,
    min_chars: 1,
    class_lines: 4,
    text_chars: 2_000,
    line_chunk: LineChunk { lines: 60, overlap: 5 },
    always_lines: None,
};

fn chunks_of(language: Language, text: &str, options: &CutOptions) -> CutFile {
    cut("file", language, text, options, &CancelToken::new()).unwrap()
}

/// `kind symbol lines` for each chunk.
fn outline(file: &CutFile) -> String {
    file.chunks.iter().fold(String::new(), |mut out, chunk| {
        let (start, end) = (chunk.span.start_line, chunk.span.end_line);
        let _ = writeln!(out, "{:?} {} {start}-{end}", chunk.kind, if chunk.symbol.is_empty() { "_" } else { &chunk.symbol });
        out
    })
}

#[track_caller]
fn check(language: Language, text: &str, expected: &str) {
    let file = chunks_of(language, text, &SMALL);
    let expected: String = expected.trim().lines().fold(String::new(), |out, line| out + line.trim() + "\n");
    assert_eq!(outline(&file), expected, "{}", language.name());
    assert_eq!(file.fallback, None);
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn every_language_has_its_functions_types_and_members() {
    check(
        Language::PYTHON,
        "import os
from a import b

X = 1

# about f
@deco
def f(a):
    return a

class A(B):
    '''doc'''
    x = 1

    def g(self):
        return 1

    async def h(self):
        return 2
",
        "Declaration _ 1-2
         Declaration X 4-4
         Function f 6-9
         ClassHeader A (header) 11-13
         Method A.g 15-16
         Method A.h 18-19",
    );
    check(
        Language::JAVASCRIPT,
        "import a from './a';
const x = 1;
export const f = (a) => {
  return a;
};
function g() {}
export default class A {
  y = 1;
  m() { return 1; }
  n = () => 2;
}
exports.k = function () { return 3; };
module.exports = {
  p() { return 1; },
  q: () => 2,
};
",
        "Declaration _ 1-1
         Declaration x 2-2
         Function f 3-5
         Function g 6-6
         ClassHeader A (header) 7-8
         Method A.m 9-9
         Method A.n 10-10
         Function k 12-12
         ClassHeader module.exports (header) 13-13
         Method module.exports.p 14-14
         Method module.exports.q 15-15",
    );
    check(
        Language::TYPESCRIPT,
        "import type { A } from 'a';
export interface I {
  a: string;
  b(): void;
}
namespace N {
  export function f(): void {}
}
export abstract class C<T> {
  private x: T;
  constructor(x: T) { this.x = x; }
  get(): T { return this.x; }
}
export type U = string | number;
",
        "Declaration _ 1-1
         ClassHeader I (header) 2-4
         Declaration _ 4-6
         Function N.f 7-7
         ClassHeader C (header) 9-10
         Method C.constructor 11-11
         Method C.get 12-12
         Declaration U 14-14",
    );
    check(
        Language::JAVA,
        r#"package a.b;
import java.util.List;

/** Doc. */
public class A {
  private int x;

  /** Makes. */
  public A(int x) { this.x = x; }

  @Override
  public String toString() {
    return "";
  }

  static class Inner {
    int y;
    void z() {}
    void w() {}
  }
}
"#,
        "Declaration b 1-1
         Declaration _ 2-2
         ClassHeader A (header) 4-6
         Method A.A 8-9
         Method A.toString 11-14
         ClassHeader A.Inner (header) 16-17
         Method A.Inner.z 18-18
         Method A.Inner.w 19-19",
    );
    check(
        Language::KOTLIN,
        "package a
import b.c

data class P(val x: Int)

class A {
  val y = 1
  fun f(): Int {
    return 1
  }
  companion object {
    fun make() = A()
    val k = 1
    val l = 2
  }
}
fun top() = 1
",
        "Declaration _ 1-1
         Declaration _ 2-2
         Class P 4-4
         ClassHeader A (header) 6-7
         Method A.f 8-10
         ClassHeader A.Companion (header) 11-11
         Method A.Companion.make 12-12
         ClassHeader A.Companion (header) 13-14
         Function top 17-17",
    );
    check(
        Language::GO,
        r#"package main

import (
	"fmt"
)

type S struct {
	x int
}

// Run runs.
func (s *S) Run() int {
	return s.x
}

func main() {
	fmt.Println()
}
"#,
        "Declaration _ 1-1
         Declaration _ 3-5
         Declaration S 7-9
         Method S.Run 11-14
         Function main 16-18",
    );
    check(
        Language::RUST,
        "use std::fs;

const A: u8 = 1;

/// Doc.
#[derive(Debug)]
pub struct S {
    x: u8,
}

impl<T> Trait for S<T> {
    fn new() -> Self {
        S { x: 1 }
    }
}

mod inner {
    pub fn f() {}
}

macro_rules! m {
    () => {};
}
",
        "Declaration _ 1-1
         Declaration A 3-3
         ClassHeader S (header) 5-8
         ClassHeader S (header) 11-11
         Method S.new 12-14
         Declaration _ 15-17
         Function inner.f 18-18
         Function m 21-23",
    );
    check(
        Language::C,
        "#include <stdio.h>
#define X 1

struct p {
  int x;
};

typedef struct { int y; } q;

#ifdef A
int f(int a) {
  return a;
}
#endif

static char *g(void) { return 0; }
",
        "Declaration _ 1-1
         Declaration X 2-2
         Class p 4-6
         Declaration q 8-10
         Function f 11-13
         Function g 16-16",
    );
    check(
        Language::CPP,
        r#"#include "a.h"
namespace n {
class A : public B {
 public:
  A();
  int f() const { return 1; }
 private:
  int x;
};
int A::g(int a) {
  return a;
}
template <typename T>
T h(T t) { return t; }
}
"#,
        "Declaration _ 1-1
         Declaration _ 2-2
         ClassHeader n.A (header) 3-4
         Declaration _ 4-4
         ClassHeader n.A (header) 5-5
         Method n.A.f 6-6
         ClassHeader n.A (header) 7-7
         Declaration _ 7-7
         ClassHeader n.A (header) 8-8
         Method n.A.g 10-12
         Function n.h 13-14",
    );
    check(
        Language::CSHARP,
        "using System;
namespace A.B {
  public class C {
    int x;
    public C() { }
    public int F() {
      return 1;
    }
  }
}
",
        "Declaration _ 1-1
         Declaration _ 2-2
         ClassHeader A.B.C (header) 3-4
         Method A.B.C.C 5-5
         Method A.B.C.F 6-8",
    );
    check(
        Language::RUBY,
        "require 'set'
module M
  class A < B
    X = 1
    def f
      1
    end
    def self.g
      2
    end
  end
end
",
        "Declaration _ 1-1
         ClassHeader M (header) 2-2
         ClassHeader M.A (header) 3-4
         Method M.A.f 5-7
         Method M.A.g 8-10",
    );
    check(
        Language::PHP,
        "<?php
namespace App;
use A\\B;
class C extends D {
    private $x;
    public function f() {
        return 1;
    }
}
function g() { return 2; }
",
        "Declaration App 1-2
         Declaration _ 3-3
         ClassHeader C (header) 4-5
         Method C.f 6-8
         Function g 10-10",
    );
    check(
        Language::SWIFT,
        "import Foundation
struct S {
  let x: Int
  func f() -> Int {
    return x
  }
}
extension S {
  func g() {}
  func h() {}
}
func top() {}
",
        "Declaration _ 1-1
         ClassHeader S (header) 2-3
         Method S.f 4-6
         ClassHeader S (header) 8-8
         Method S.g 9-9
         Method S.h 10-10
         Function top 12-12",
    );
    check(
        Language::SCALA,
        "package a
import b.c
object O {
  val x = 1
  def f(a: Int): Int = {
    a
  }
}
trait T {
  def g: Int
}
",
        "Declaration a 1-1
         Declaration _ 2-2
         ClassHeader O (header) 3-4
         Method O.f 5-7
         Class T 9-11",
    );
    check(
        Language::BASH,
        "#!/bin/bash
source lib.sh
X=1
# does f
f() {
  echo 1
}
function g {
  echo 2
}
",
        "Declaration _ 1-2
         Declaration X 3-3
         Function f 4-7
         Function g 8-10",
    );
    check(
        Language::LUA,
        "local M = {}
local x = require('a')
function M.f(a)
  return a
end
local function g()
  return 1
end
M.h = function()
  return 2
end
function M:k() end
return M
",
        "Declaration _ 1-2
         Method M.f 3-5
         Function g 6-8
         Method M.h 9-11
         Method M.k 12-12
         Declaration _ 13-13",
    );
    check(
        Language::ELIXIR,
        r#"defmodule A.B do
  use X
  @doc "about f"
  def f(a) do
    a
  end
  def f(b), do: b
  defp g, do: 1
end
"#,
        "ClassHeader A.B (header) 1-1
         Declaration _ 2-2
         Method A.B.f 3-7
         Method A.B.g 8-8",
    );
    check(
        Language::HASKELL,
        "module A where
import Data.Map

data T = X | Y

f :: Int -> Int
f 0 = 1
f n = n

class C a where
  g :: a -> Int

instance C T where
  g X = 1
  g Y = 2
",
        "Declaration _ 1-1
         Declaration _ 2-2
         Declaration T 4-4
         Function f 6-8
         Class C 10-11
         Class C 13-15",
    );
    check(
        Language::ZIG,
        r#"const std = @import("std");

pub const S = struct {
    x: u8,

    pub fn f(self: S) u8 {
        return self.x;
    }
};

fn g() void {}

test "works" {
    g();
}
"#,
        "Declaration _ 1-1
         ClassHeader S (header) 3-4
         Method S.f 6-8
         Function g 11-11
         Function works 13-15",
    );
    check(
        Language::JSON,
        r#"{
  "name": "x",
  "scripts": {
    "a": "b"
  }
}
"#,
        "Section _ 2-5",
    );
    check(
        Language::YAML,
        "name: x
jobs:
  a:
    b: 1
",
        "Section _ 1-4",
    );
    check(
        Language::TOML,
        "x = 1
[a]
y = 2
[[b]]
z = 3
",
        "Section b 1-5",
    );
    check(
        Language::HTML,
        "<html>
<body>
<div>x</div>
</body>
</html>
",
        "Section html 1-5",
    );
    check(
        Language::CSS,
        "@import 'a';
.a { color: red; }
@media x { .b { color: blue; } }
",
        "Declaration _ 1-1
         Section _ 2-3",
    );
    check(
        Language::SQL,
        "CREATE TABLE users (
  id INT
);
CREATE VIEW v AS SELECT 1;
SELECT 2;
",
        "Section _ 1-5",
    );
    check(
        Language::MARKDOWN,
        "intro

# A

text

## B

more
",
        "Section _ 1-1
         Section A 3-5
         Section A > B 7-9",
    );
}

#[test]
fn a_short_class_is_one_chunk_that_defines_its_members() {
    let text =
        "class Session:\n    '''Keeps a user's login between two requests.'''\n\n    def renew(self):\n        return self\n";
    let file = chunks_of(Language::PYTHON, text, &CutOptions::default());
    assert_eq!(outline(&file), "Class Session 1-5\n");
    assert_eq!(file.chunks[0].definitions, ["Session", "renew"]);
    assert_eq!(file.chunks[0].signature, "class Session:");
}

#[test]
fn an_edit_changes_one_id_and_a_move_none() {
    let function = |name: &str, body: &str| {
        format!("def {name}(value):\n    # a comment that makes it long enough\n    return {body}\n\n\n")
    };
    let ids =
        |text: &str| chunks_of(Language::PYTHON, text, &CutOptions::default()).chunks.iter().map(|c| c.id).collect::<Vec<_>>();
    let before = ids(&(function("a", "1") + &function("b", "2") + &function("c", "3")));
    let edited = ids(&(function("a", "1") + &function("b", "9") + &function("c", "3")));
    let moved = ids(&(function("c", "3") + &function("a", "1") + &function("b", "2")));
    assert_eq!(before.len(), 3);
    assert_eq!([before[0], before[2]], [edited[0], edited[2]]);
    assert_ne!(before[1], edited[1]);
    assert_eq!([before[2], before[0], before[1]], moved[..]);
}

#[test]
fn files_without_a_grammar_are_cut_by_lines() {
    let text: String = (1..=130).fold(String::new(), |text, i| text + &format!("line number {i}\n"));
    let spans = |file: CutFile| file.chunks.iter().map(|c| (c.span.start_line, c.span.end_line)).collect::<Vec<_>>();
    let perl = Language::from_name("perl").unwrap();
    assert_eq!(spans(chunks_of(perl, &text, &CutOptions::default())), [(1, 60), (56, 115), (111, 130)]);
    let fifty = CutOptions { always_lines: Some(LineChunk { lines: 50, overlap: 5 }), ..CutOptions::default() };
    assert_eq!(spans(chunks_of(Language::PYTHON, &text, &fifty)), [(1, 50), (46, 95), (91, 130)]);
}

#[test]
fn a_notebook_is_cut_by_cells_with_the_files_lines() {
    let text = r#"{
 "cells": [
  {"cell_type": "markdown", "source": ["A title that is long enough to be a chunk of its own"]},
  {"cell_type": "code", "outputs": ["noise"],
   "source": ["import numpy as np\n",
    "print(np.zeros((3, 3)).sum(axis=0))"]}
 ]
}"#;
    let file = chunks_of(Language::NOTEBOOK, text, &CutOptions::default());
    assert_eq!(outline(&file), "Cell markdown cell 1 3-3\nCell code cell 2 5-6\n");
    assert!(chunks_of(Language::NOTEBOOK, "not json", &SMALL).fallback.is_some());
}

#[test]
fn a_tree_of_any_depth_is_cut() {
    for (language, text) in [
        (Language::CPP, format!("int x = {}1{};\n", "(".repeat(100_000), ")".repeat(100_000))),
        (Language::JSON, format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000))),
        (Language::PYTHON, "if x:\n ".repeat(1_000)),
        (Language::JAVASCRIPT, "{".repeat(50_000)),
        (Language::RUST, "mod a { ".repeat(20_000)),
    ] {
        let file = chunks_of(language, &text, &CutOptions::default());
        assert!(!file.chunks.is_empty() || !file.trivial.is_empty(), "{}", language.name());
        assert_lawful(&file, &text, &CutOptions::default());
    }
}

#[test]
fn a_tiny_file_is_one_chunk_with_its_name() {
    let file =
        cut("good.py", Language::PYTHON, "def good():\n    return 1\n", &CutOptions::default(), &CancelToken::new()).unwrap();
    assert_eq!(file.chunks.iter().map(|chunk| chunk.symbol.as_str()).collect::<Vec<_>>(), ["good"]);
    let empty = cut("e.py", Language::PYTHON, " \n\n", &CutOptions::default(), &CancelToken::new()).unwrap();
    assert!(empty.chunks.is_empty());
}

#[test]
fn cancelling_stops_a_cut() {
    let cancel = CancelToken::new();
    cancel.cancel();
    assert!(cut("a.py", Language::PYTHON, "x = 1\n", &SMALL, &cancel).is_err());
}

/// What must hold of any cut: spans on character boundaries with the right lines, sizes, and every line accounted for.
fn assert_lawful(file: &CutFile, text: &str, options: &CutOptions) {
    let table = crate::lines::LineTable::new(text);
    let mut seen = vec![false; table.count() as usize + 2];
    let mut ids = std::collections::HashSet::new();
    // A file that is smaller than a chunk should be is still found.
    let length = |chunk: &crate::types::Chunk| text[chunk.span.start_byte as usize..chunk.span.end_byte as usize].chars().count();
    let least = if file.chunks.iter().all(|chunk| length(chunk) < options.min_chars) { 1 } else { options.min_chars };
    for chunk in &file.chunks {
        let body = &text[chunk.span.start_byte as usize..chunk.span.end_byte as usize];
        let length = body.chars().count();
        assert!(length >= least && length <= options.max_chars, "{length} characters");
        assert_eq!(table.line_of(chunk.span.start_byte), chunk.span.start_line);
        assert_eq!(table.line_of(chunk.span.end_byte - 1), chunk.span.end_line);
        assert!(ids.insert(chunk.id));
        assert!(chunk.signature.chars().count() <= 200 && !chunk.signature.contains('\n'));
        seen[chunk.span.start_line as usize..=chunk.span.end_line as usize].fill(true);
    }
    for &(start, end) in &file.trivial {
        seen[start as usize..=end as usize].fill(true);
    }
    let lost = (1..=table.count() as usize).find(|&line| !seen[line]);
    assert!(text.is_empty() || lost.is_none(), "line {lost:?} is nowhere");
}

const SEED_TEXTS: &[(Language, &str)] = &[
    (Language::PYTHON, include_str!("../../../../tests/fixtures/code/sample.py.txt")),
    (Language::RUST, include_str!("syntax/mod.rs")),
    (
        Language::CPP,
        "namespace n {\nclass A : public B {\n public:\n  A();\n  int f() const { return 1; }\n};\nint A::g(int a) { return a; }\n}\n",
    ),
    (
        Language::JAVASCRIPT,
        "export const f = (a) => {\n  return a;\n};\nexport default class A {\n  y = 1;\n  m() { return 1; }\n}\n",
    ),
    (Language::ELIXIR, "defmodule A do\n  def f(a) do\n    a\n  end\nend\n"),
    (Language::YAML, "a: 1\nb:\n  - c\n  - d: e\n"),
    (Language::HTML, "<html><body><p>x</p></body></html>\n"),
    (Language::MARKDOWN, "# A\n\ntext\n\n```\n# no\n```\n\nB\n===\n"),
    (Language::TEXT, "One paragraph. Two sentences.\n\nAnother.\n"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn random_text_is_cut_lawfully(text in "[a-z{}()\\[\\]:;#'\"=.\n\r\t \u{e9}\u{1f600}]{0,400}", which in 0_u8..30, min in 1_usize..60, max in 60_usize..300) {
        let language = Language::from_id(which).unwrap();
        let options = CutOptions { min_chars: min, max_chars: max, text_chars: max.min(100), class_lines: 5, ..CutOptions::default() };
        let file = chunks_of(language, &text, &options);
        assert_lawful(&file, &text, &options);
    }

    #[test]
    fn broken_code_is_cut_lawfully(which in 0_usize..SEED_TEXTS.len(), from in 0.0..1.0_f64, length in 0.0..1.0_f64, noise in "[{}()\"'<>\n ]{0,6}", at in 0.0..1.0_f64) {
        let (language, text) = SEED_TEXTS[which];
        let place = |share: f64, length: usize| (share * length as f64) as usize;
        let chars: Vec<char> = text.chars().collect();
        let start = place(from, chars.len());
        let mut part: Vec<char> = chars[start..start + place(length, chars.len() - start)].to_vec();
        let at = place(at, part.len());
        part.splice(at..at, noise.chars());
        let text: String = part.into_iter().collect();
        let file = chunks_of(language, &text, &CutOptions::default());
        assert_lawful(&file, &text, &CutOptions::default());
    }
}

#[test]
fn nesting_that_makes_a_parser_quadratic_costs_under_a_second() {
    let deep = 100_000;
    for (language, text) in [
        (Language::BASH, "x=(\n".repeat(deep)),
        (Language::BASH, "${".repeat(deep) + &"}".repeat(deep)),
        (Language::BASH, "[ ".repeat(deep) + &"] ".repeat(deep)),
        (Language::HTML, "<b>".repeat(deep) + &"</b>".repeat(deep)),
        (Language::HTML, "<i>\n".repeat(deep)),
    ] {
        let began = std::time::Instant::now();
        let file = chunks_of(language, &text, &CutOptions::default());
        assert_eq!(file.fallback.as_deref(), Some("it is nested too deep to parse"));
        assert!(!file.chunks.is_empty());
        assert!(began.elapsed().as_secs_f64() < 1.0, "{} took {:?}", language.name(), began.elapsed());
    }
}

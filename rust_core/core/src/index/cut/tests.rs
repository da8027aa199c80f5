use std::fmt::Write;

use proptest::prelude::*;

use super::piece::is_closing;
use super::*;
use crate::base::types::ChunkKind;
use crate::index::parse::grammar;

mod definitions;

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

/// Return `kind symbol lines` for each chunk.
fn outline(file: &CutFile) -> String {
    file.chunks.iter().fold(String::new(), |mut out, chunk| {
        let (start, end) = (chunk.span.start_line, chunk.span.end_line);
        let _ = writeln!(out, "{:?} {} {start}-{end}", chunk.kind, if chunk.symbol.is_empty() { "_" } else { &chunk.symbol });
        out
    })
}

#[test]
fn every_language_has_its_functions_types_and_members() {
    let mut seen = Vec::new();
    for example in include_str!("tests/outlines.txt").split("=== ").skip(1) {
        let (name, example) = example.split_once('\n').unwrap();
        let (text, expected) = example.split_once("---\n").unwrap();
        let language = Language::from_name(name.split(',').next().unwrap()).unwrap();
        let file = chunks_of(language, text, &SMALL);
        assert_eq!(outline(&file).trim(), expected.trim(), "{name}");
        assert_eq!(file.fallback, None, "{name}");
        seen.push(language);
    }
    let parsed = (0..u8::MAX).map_while(Language::from_id).filter(|language| grammar(*language).is_some());
    assert_eq!(parsed.filter(|language| !seen.contains(language)).collect::<Vec<_>>(), []);
}

#[test]
fn definitions_within_others_leave_no_text_between_them() {
    let text = "/* A shop. */\n@interface Shop : NSObject\n{\n  int size;\n}\n/** The size. */\n- (int) size;\n/** Ends. */\n- (void) close;\n@end\n\n@implementation Shop\n- (int) size\n{\n  return size;\n}\n@end\n";
    for options in [&SMALL, &CutOptions::default()] {
        let file = chunks_of(Language::OBJECTIVE_C, text, options);
        let defined: Vec<&str> = file.chunks.iter().flat_map(|chunk| chunk.definitions.iter().map(String::as_str)).collect();
        assert!(["Shop", "size", "close"].iter().all(|name| defined.contains(name)), "{defined:?}");
    }
}

#[test]
fn front_matter_is_no_chunk_but_a_part_of_the_section_that_follows() {
    let text = "---\nversion: 2\nowner: platform\n---\n\n# Restart Phoenix\n\nTake the load balancer off first.\n\n## After\n\nPut it on.\n";
    for text in [text.to_owned(), text.replace("---", "+++"), text.replace('\n', "\r\n")] {
        let file = chunks_of(Language::MARKDOWN, &text, &SMALL);
        assert_eq!(outline(&file), "Section Restart Phoenix 1-8\nSection Restart Phoenix > After 10-12\n");
    }
    let rule = chunks_of(Language::MARKDOWN, "---\n\n# A title\n\ntext\n", &SMALL);
    assert_eq!(outline(&rule), "Section _ 1-1\nSection A title 3-5\n", "a rule that nothing closes");
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
    assert_eq!(spans(chunks_of(perl, &text, &CutOptions::default())), [(1, 60), (56, 115), (111, 130)], "nothing is defined");
    let defines = format!("{text}sub f {{\n    return 1;\n}}\n");
    assert_eq!(spans(chunks_of(perl, &defines, &SMALL)), [(1, 60), (61, 120), (121, 130), (131, 133)]);
    let rows = "12,34\n".repeat(61);
    assert_eq!(spans(chunks_of(perl, &rows, &CutOptions::default())), [(1, 61)], "lines 56 to 61 are too few characters");
    let fifty = CutOptions { always_lines: Some(LineChunk { lines: 50, overlap: 5 }), ..CutOptions::default() };
    assert_eq!(spans(chunks_of(Language::PYTHON, &text, &fifty)), [(1, 50), (46, 95), (91, 130)]);
}

#[test]
fn a_fence_that_its_section_would_tear_is_cut_by_its_language() {
    let function = |name: &str| format!("def {name}(value):\n{}\n", "    take('a line that fills it', value)\n".repeat(20));
    let fenced = |before: usize| {
        let prose = "A sentence about what follows here.\n".repeat(before);
        format!(
            "# Guide\n\nWhat this is, in a sentence that is long enough.\n\n## Use\n\n{prose}\n```python\n{}{}```\n\nAfterwards.\n",
            function("first"),
            function("second")
        )
    };
    let symbols = |text: &str| {
        let file = chunks_of(Language::MARKDOWN, text, &CutOptions::default());
        assert_lawful(&file, text, &CutOptions::default());
        file.chunks.into_iter().map(|chunk| chunk.symbol).collect::<Vec<_>>()
    };
    assert_eq!(symbols(&fenced(3)), ["Guide", "Guide > Use"]);
    assert_eq!(symbols(&fenced(20)), ["Guide", "Guide > Use", "Guide > Use > first", "Guide > Use > second"]);
}

#[test]
fn a_notebook_is_cut_by_cells_with_the_files_lines() {
    let text = r###"{
 "cells": [
  {"cell_type": "markdown", "source": ["# A title\n", "\n", "## Deeper\n", "Text."]},
  {"cell_type": "code", "outputs": ["noise"],
   "source": ["import numpy as np\n",
    "print(np.zeros((3, 3)).sum(axis=0))"]},
  {"cell_type": "code", "source": []},
  {"cell_type": "markdown", "source": "## Next"},
  {"cell_type": "markdown", "source": "Said."},
  {"cell_type": "code", "source": "x"}
 ]
}"###;
    let file = chunks_of(Language::NOTEBOOK, text, &CutOptions::default());
    assert_eq!(
        outline(&file),
        "Cell A title 3-3\nCell A title > Deeper > code cell 2 5-6\nCell A title > Next 8-8\nCell A title > Next > markdown cell 5 9-9\nCell A title > Next > code cell 6 10-10\n"
    );
    assert!(chunks_of(Language::NOTEBOOK, "not json", &SMALL).fallback.is_some());
}

#[test]
fn a_component_is_called_like_its_file() {
    let cut = |path: &str| {
        let text = "<template>\n  <p/>\n</template>\n<script>\nfunction empty() {}\n</script>\n";
        let file = cut(path, Language::VUE, text, &SMALL, &CancelToken::new()).unwrap();
        file.chunks.into_iter().map(|chunk| (chunk.span.start_line, chunk.definitions.join(" "))).collect::<Vec<_>>()
    };
    assert_eq!(cut("shop/BasketLines.vue"), [(1, "BasketLines".to_owned()), (4, "empty".to_owned())]);
    assert_eq!(cut("shop/index.vue"), [(1, String::new()), (4, "empty".to_owned())]);
}

#[test]
fn a_class_is_whole_up_to_the_lines_that_are_set_unless_it_is_too_long_for_a_chunk() {
    let class = |methods: usize, width: usize| {
        let method = |n| format!("    def method_{n}(self):\n        return '{}'\n", "x".repeat(width));
        format!("class Account:\n{}", (0..methods).map(method).collect::<String>())
    };
    let kinds = |text: &str, class_lines| {
        let file = chunks_of(Language::PYTHON, text, &CutOptions { class_lines, ..CutOptions::default() });
        assert_lawful(&file, text, &CutOptions::default());
        (file.chunks[0].kind, file.chunks.len())
    };
    assert_eq!(kinds(&class(50, 30), 30), (ChunkKind::ClassHeader, 50));
    assert_eq!(kinds(&class(50, 30), 102), (ChunkKind::Class, 1));
    assert_eq!(kinds(&class(50, 30), 101), (ChunkKind::ClassHeader, 50));
    assert_eq!(kinds(&class(50, 200), 300), (ChunkKind::ClassHeader, 50), "11,000 characters");
}

#[test]
fn what_stands_between_methods_leaves_them_their_names() {
    let method = |name: &str| format!("  def {name}\n{}  end\n", "    puts 'a line that fills the method'\n".repeat(30));
    let text = format!("class Pool\n  attr_reader :size\n\n{}  private :open\n\n{}end\n", method("open"), method("close"));
    let file = chunks_of(Language::RUBY, &text, &CutOptions::default());
    assert_lawful(&file, &text, &CutOptions::default());
    let symbols: Vec<&str> = file.chunks.iter().map(|chunk| chunk.symbol.as_str()).collect();
    assert_eq!(symbols.last(), Some(&"Pool.close"), "{symbols:?}");
}

#[test]
fn what_is_too_small_and_has_nothing_to_join_is_counted() {
    let long = format!("def long():\n{}    return 1", "    call('some text that is here')\n".repeat(2));
    let file = |text: &str, max_chars| {
        let options = CutOptions { max_chars, ..CutOptions::default() };
        let file = chunks_of(Language::PYTHON, text, &options);
        assert_lawful(&file, text, &options);
        (file.chunks.len(), file.trivial)
    };
    assert_eq!(file(&format!("{long}\n\nx = 1\n"), 8_000), (1, 0), "it joins the function");
    assert_eq!(file(&format!("{long}\n\nx = 1\n"), long.len()), (1, 1), "together they are too long");
    assert_eq!(file("x = 1\n", 8_000), (1, 0), "a small file is found");
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
        assert!(!file.chunks.is_empty(), "{}", language.name());
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

/// Check what must hold of any cut: spans on character boundaries with the right lines, sizes, and every line accounted for.
fn assert_lawful(file: &CutFile, text: &str, options: &CutOptions) {
    let table = crate::base::lines::LineTable::new(text);
    let mut seen = vec![false; table.count() as usize + 2];
    let mut ids = std::collections::HashSet::new();
    // A file that is smaller than a chunk should be is still found.
    let length =
        |chunk: &crate::base::types::Chunk| text[chunk.span.start_byte as usize..chunk.span.end_byte as usize].chars().count();
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
    if !file.chunks.iter().any(|chunk| chunk.kind == ChunkKind::Cell) {
        assert_whole_lines(file, text, options);
    }
    let line = |number: usize| &text[table.start_of(number as u32) as usize..table.end_of(number as u32) as usize];
    let lost = (1..=table.count() as usize).filter(|&number| !seen[number]).map(line).filter(|line| !is_closing(line));
    let lost: usize = lost.map(|line| line.trim().chars().count()).sum();
    assert!(lost <= file.trivial * options.min_chars, "{lost} characters are nowhere, {} pieces were left out", file.trivial);
}

/// Check that chunks begin and end with lines and share none, but for parts of a line that is longer than a chunk may be.
fn assert_whole_lines(file: &CutFile, text: &str, options: &CutOptions) {
    let longest = if file.chunks.iter().any(|chunk| chunk.kind == ChunkKind::Section || chunk.kind == ChunkKind::Text) {
        options.text_chars.min(options.max_chars)
    } else {
        options.max_chars
    };
    let is_short = |line: &str| line.chars().count() <= longest;
    let mut before = 0;
    for chunk in &file.chunks {
        let (start, end) = (chunk.span.start_byte as usize, chunk.span.end_byte as usize);
        let head = text[..start].rsplit(['\n', '\r']).next().unwrap_or_default();
        let tail = text[end..].split(['\n', '\r']).next().unwrap_or_default();
        let first = text[start - head.len()..].split(['\n', '\r']).next().unwrap_or_default();
        let last = text[..end + tail.len()].rsplit(['\n', '\r']).next().unwrap_or_default();
        assert!(head.trim().is_empty() || !is_short(first), "{:?} begins in mid-line", &text[start..end]);
        assert!(tail.trim().is_empty() || !is_short(last), "{:?} ends in mid-line", &text[start..end]);
        assert!(chunk.kind == ChunkKind::Lines || start >= before, "{:?} overlaps what is before it", &text[start..end]);
        before = end;
    }
}

const SEED_TEXTS: &[(Language, &str)] = &[
    (Language::PYTHON, include_str!("../../../../../tests/fixtures/code/sample.py.txt")),
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
    fn random_text_is_cut_lawfully(text in "[a-z{}()\\[\\]:;#'\"=.\n\r\t \u{e9}\u{1f600}]{0,400}", which in 0..Language::all().count() as u8, min in 1_usize..60, max in 60_usize..300) {
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
fn nesting_that_makes_a_parser_quadratic_is_not_parsed() {
    let deep = 100_000;
    for (language, text) in [
        (Language::BASH, "x=(\n".repeat(deep)),
        (Language::BASH, "${".repeat(deep) + &"}".repeat(deep)),
        (Language::BASH, "[ ".repeat(deep) + &"] ".repeat(deep)),
        (Language::HTML, "<b>".repeat(deep) + &"</b>".repeat(deep)),
        (Language::HTML, "<i>\n".repeat(deep)),
    ] {
        let file = chunks_of(language, &text, &CutOptions::default());
        assert_eq!(file.fallback.as_deref(), Some("it is nested too deep to parse"));
        assert!(!file.chunks.is_empty());
    }
}

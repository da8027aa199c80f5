//! What reads bytes that strangers wrote, each as a function of bytes. Both the tests and the fuzzer (`rust_core/fuzz`) run these.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use carrel_core::base::cancel::CancelToken;
use carrel_core::base::file_state::Stamp;
use carrel_core::base::language::Language;
use carrel_core::base::lines::LineTable;
use carrel_core::base::tokens::Encoding;
use carrel_core::base::types::ChunkKind;
use carrel_core::base::words::split_words;
use carrel_core::formats::segment::{FileEntry, FileMask, Segment, SegmentBuilder, merge};
use carrel_core::index::cut::{CutOptions, cut};
use carrel_core::index::secrets::{Detector, masked};
use carrel_core::index::segment_set::LiveSegment;
use carrel_core::query::filter::{Filter, FilterOptions};
use carrel_core::query::matching::{FocusInput, PathQuery, Phrase, best_lines, name_words, path_words};
use carrel_core::query::searcher::Searcher;
use carrel_core::workspace::long_lines::{looks_minified, unread};
use carrel_core::workspace::read::{Decoded, decode, has_words};
use carrel_core::workspace::walk::{AccessPolicy, WalkOptions, walk};

/// A reader of hostile bytes. It panics where it breaks a promise.
pub struct Target {
    /// The name of its fuzzer and of its folder of findings.
    pub name: &'static str,
    /// Read these bytes.
    pub run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "segment", run: segment, seeds: segment_seeds },
    Target { name: "cut", run: cut_text, seeds: cut_seeds },
    Target { name: "decode", run: decode_bytes, seeds: decode_seeds },
    Target { name: "ignore_rules", run: ignore_rules, seeds: ignore_seeds },
    Target { name: "secrets", run: secrets, seeds: secret_seeds },
    Target { name: "query", run: query, seeds: query_seeds },
];

/// Run the target of that name.
#[allow(dead_code, reason = "the fuzzers use it, the tests don't")]
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target's name");
    (target.run)(data);
}

const DIM: usize = 16;
const SAMPLE: &str = include_str!("../../../../tests/fixtures/code/sample.py.txt");

// --- segments

/// Read a whole segment file, search it and merge it. The checksum is made right first: no mutation would get past it.
fn segment(data: &[u8]) {
    let mut file = data.to_vec();
    if file.len() >= 32 {
        let (version, dim) = (word(&file, 8), word(&file, 12));
        let length = file.len() as u64;
        file[16..24].copy_from_slice(&length.to_le_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64_with_seed(&file[32..], if version > 3 { version << 32 | dim } else { dim });
        file[24..32].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(segment) = Segment::from_bytes(&file) else { return };
    for number in (0..=segment.file_count()).take(64) {
        let _ =
            (segment.file(number).imports(), segment.properties(number), segment.secrets(number), segment.file_chunks(number));
    }
    for number in (0..=segment.chunk_count()).take(256) {
        let _ = (segment.chunk(number), segment.vector(number), segment.file_of(number), segment.outline(number));
        segment.each_definition(number, |_| {});
    }
    let _ = (segment.secret_counts().take(64).count(), segment.section_sizes());
    for model in segment.further_models().collect::<Vec<_>>() {
        let _ = segment.vectors_of(model).map(|vectors| (vectors.dim(), vectors.row(0).scale));
    }
    let _ = merge(&[(&segment, &FileMask::new_all(segment.file_count()))], &CancelToken::new());
    let dim = segment.dim();
    let stamps = vec![Stamp::default(); segment.file_count() as usize];
    let searcher = Searcher::new(vec![LiveSegment::new(1, Arc::new(segment), stamps, None)]);
    let cancel = CancelToken::new();
    let _ = searcher.lexical("load the user account, getUser parse_file", 5, None, &cancel);
    let _ = searcher.definitions(&["load_account", "Account"], 5, None);
    let _ = searcher.exact_definitions(&["load_account"], 5);
    let _ = searcher.near_names("laod_account", 5);
    let _ = searcher.outline(5, None);
    if dim == DIM {
        let _ = searcher.dense(&[0.25; DIM], 5, -1.0, None, &cancel);
    }
    for path in searcher.paths().iter().take(8) {
        let _ = searcher.file_chunks(path);
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn segment_seeds() -> Vec<Vec<u8>> {
    let build = |files: &[(&str, Language, &str)]| {
        let mut builder = SegmentBuilder::new(DIM);
        for (path, language, text) in files {
            let found = cut(path, *language, text, &CutOptions::default(), &CancelToken::new()).unwrap();
            let mut vectors = carrel_core::formats::vectors::Vectors::default();
            found.chunks.iter().for_each(|_| vectors.push(&[0.25; DIM]));
            let rows: Vec<_> = (0..found.chunks.len()).map(|row| vectors.row(row, DIM)).collect();
            let imports = found.imports;
            let file = FileEntry {
                path,
                language: *language,
                hash: 7,
                size: text.len() as u64,
                mtime_ns: 1,
                updated_at: 1,
                imports: &imports,
            };
            builder.add_file(&file, &found.chunks, text, &rows);
        }
        builder.finish()
    };
    vec![
        build(&[("a.py", Language::PYTHON, SAMPLE)]),
        build(&[(
            "a.md",
            Language::MARKDOWN,
            "# Users\n\nHow an account is loaded, and what happens to it afterwards, in full.\n",
        )]),
        build(&[]),
    ]
}

// --- cutting

/// The first byte chooses the language, the second the sizes.
fn cut_text(data: &[u8]) {
    let [which, size, rest @ ..] = data else { return };
    let text = String::from_utf8_lossy(rest);
    let languages: Vec<Language> = Language::all().collect();
    let language = languages[*which as usize % languages.len()];
    let small = CutOptions { min_chars: 5, max_chars: 60, text_chars: 50, class_lines: 3, ..CutOptions::default() };
    let options = if size % 2 == 0 { CutOptions::default() } else { small };
    let file = cut("a/b.x", language, &text, &options, &CancelToken::new()).expect("nobody cancelled");
    let lines = LineTable::new(&text);
    let mut ids = HashSet::new();
    let mut end = 0;
    for chunk in &file.chunks {
        let span = chunk.span;
        let body = text.get(span.start_byte as usize..span.end_byte as usize).expect("a chunk is a piece of the text");
        assert!(!body.trim().is_empty(), "a chunk holds something");
        assert!(body.chars().count() <= options.max_chars, "a chunk is no longer than it may be");
        assert_eq!((lines.line_of(span.start_byte), lines.line_of(span.end_byte - 1)), (span.start_line, span.end_line));
        assert!(ids.insert(chunk.id), "ids differ");
        if chunk.kind != ChunkKind::Lines {
            assert!(span.start_byte >= end, "chunks stand in the order of the text, and apart");
        }
        end = span.end_byte;
        assert!(chunk.signature.chars().count() <= 200 && !chunk.signature.contains('\n'));
    }
}

fn cut_seeds() -> Vec<Vec<u8>> {
    let text_of = |language: Language| match language.name() {
        "python" => SAMPLE,
        "html" => "<html><body><script>var a = 1;</script><p id='x'>text</p></body></html>\n",
        "markdown" => "# A\n\ntext\n\n```py\n# no\n```\n\n| a | b |\n|---|---|\n\nB\n===\n- one\n  - two\n",
        "yaml" => "a: &x 1\nb:\n  - c\n  - d: |\n      e\n...\n---\n{f: [g]}\n",
        "jupyter" | "notebook" => {
            "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"a = 1\\n\", \"b\"]}, {\"cell_type\": \"markdown\", \"source\": \"# T\"}]}"
        }
        "json" => "{\"a\": [1, {\"b\": null}], \"c\": \"\\u00e9\"}\n",
        "bash" => "f() {\n  cat <<EOF\n  ${x:-$(y)}\nEOF\n}\n",
        "haskell" => "module A where\nf :: Int -> Int\nf x | x > 0 = 1\n    | otherwise = 2\nclass C a where\n  m :: a\n",
        "elixir" => "defmodule A do\n  def f(a), do: ~s(a)\nend\n",
        "ruby" => "class A\n  def m(a) = <<~X\n    #{a}\n  X\nend\n",
        "sql" => "CREATE TABLE a (b int);\nSELECT $$x$$ FROM a WHERE b = 'c';\n",
        "css" => "@media print { .a > b:not(.c)::before { color: red; } }\n",
        "toml" => "[a.b]\nc = \"\"\"d\"\"\"\n[[e]]\nf = 1979-05-27\n",
        "rust" => "impl<T: A> B for C<T> {\n    fn m(&self) -> r#type { r##\"x\"## }\n}\nmacro_rules! x { () => {} }\n",
        _ => {
            "// a\nnamespace n {\npublic class A<T> : B {\n  int x = 1;\n  /* c */ public int f(int a) { return \"s\" + 'c'; }\n}\n}\nfunc g() { if (a) { b(); } else { c(`t`); } }\n"
        }
    };
    let numbered = Language::all().enumerate();
    let seed = |(i, language): (usize, Language)| [&[i as u8, (i % 2) as u8][..], text_of(language).as_bytes()].concat();
    numbered.map(seed).collect()
}

// --- decoding

fn decode_bytes(data: &[u8]) {
    if let Ok(Decoded { text, encoding, .. }) = decode(data.to_vec(), || None) {
        assert!(!text.trim().is_empty() && !encoding.is_empty());
        let _ = (looks_minified(&text), unread(&text), has_words(&text));
        let _ = Language::of_file("noname", &text);
    }
}

fn decode_seeds() -> Vec<Vec<u8>> {
    let utf16 = |text: &str, mark: u16, big: bool| -> Vec<u8> {
        let units = std::iter::once(mark).chain(text.encode_utf16());
        units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    vec![
        b"x = 1\n".to_vec(),
        b"\xef\xbb\xbfx = '\xc3\xa9'\n".to_vec(),
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n".to_vec(),
        utf16("h\u{e9}llo \u{1f600}\n", 0xfeff, false),
        utf16("hello\n", 0xfeff, true),
        b"\x93quoted\x94 \x80\n".to_vec(),
        b"#!/usr/bin/env python3\n\0".to_vec(),
    ]
}

// --- ignore rules

/// The parts that `\xff` divides are a `.gitignore`, a `.carrelignore`, a `.git/config` and the name of a file.
fn ignore_rules(data: &[u8]) {
    static ROOT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        for path in [".git/info", "src/deep"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        for path in [".git/HEAD", "a.py", "src/b.log", "src/deep/c.txt"] {
            fs::write(folder.path().join(path), "ref: refs/heads/main\n").unwrap();
        }
        folder
    });
    let root = ROOT.path();
    let mut parts = data.split(|byte| *byte == 0xff);
    for file in [".gitignore", ".carrelignore", ".git/config"] {
        fs::write(root.join(file), parts.next().unwrap_or_default()).unwrap();
    }
    let found = walk(root, &WalkOptions::default(), &CancelToken::new()).expect("the folder is there");
    let access = AccessPolicy::new(root, &WalkOptions::default());
    for path in ["a.py", "src/b.log", "src/deep/c.txt"] {
        assert_eq!(
            access.check(path).is_ok(),
            found.files.iter().any(|file| file.path == path),
            "walk and check agree on {path}"
        );
    }
    let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let _ = (access.check(&name).is_ok(), access.check_unsaved(&name).is_ok());
    if let Ok(filter) =
        Filter::new(FilterOptions { path_globs: vec![name.clone()], exclude_globs: vec![name], ..FilterOptions::default() })
    {
        let _ = filter;
    }
}

fn ignore_seeds() -> Vec<Vec<u8>> {
    [
        &b"*.log\n!keep.log\n/src/**/c.txt\n\xff!.x/\n\xff[core]\n\tignoreCase = true\n\xffsrc/b.log"[..],
        b"\\!a\n[a-z]*.py\\ \n**/deep\n[[:alpha:]]?\n#x\n\xff\xff[include]\n path = ~/x\n[includeIf \"gitdir:**/a\"]\n path=\"b\\\"c\" ; d\n\xff../a.py",
        b"\xef\xbb\xbfa.py\r\nsrc/ \n!src/\n\xff*\n!*.py\xff[core]excludesFile = src/b.log\\\n x\xff{a,b}/[!c]*.py",
    ]
    .map(<[u8]>::to_vec)
    .to_vec()
}

// --- secrets

/// The first byte chooses the kind of file.
fn secrets(data: &[u8]) {
    static DETECTOR: LazyLock<Detector> = LazyLock::new(Detector::default);
    const NAMES: [&str; 6] = ["a.yaml", "b.py", "c.sh", "d.md", "settings.xml", "e.json"];
    let [which, rest @ ..] = data else { return };
    let name = NAMES[*which as usize % NAMES.len()];
    let text = String::from_utf8_lossy(rest);
    let found = DETECTOR.find(name, &text);
    let (hidden, masks) = masked(&text, &found);
    let ends = |text: &str| text.chars().filter(|c| matches!(c, '\n' | '\r')).count();
    assert_eq!(ends(&hidden), ends(&text), "lines keep their numbers");
    assert_eq!(masks.len(), found.len());
    let mut at = 0;
    for mask in masks {
        assert!(mask.original_start >= at && mask.original_end > mask.original_start);
        at = mask.original_end;
    }
    let _ = DETECTOR.whole(name, &text, found.len());
}

fn secret_seeds() -> Vec<Vec<u8>> {
    [
        "\0password: hunter2hunter2\napi_key: \"A8f3kd02ls93kdm2\"\nkind: Secret\ndata:\n  a: c2VjcmV0c2VjcmV0\n",
        "\x01DB_PASSWORD = 'Tr0ub4dor&3x' # no\nurl = \"postgres://me:s3cr3tpw@db/x\"\ntoken: str = f(x)\n",
        "\x02export TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345\ncurl -H 'Authorization: Basic dXNlcjpwYXNzd29yZA=='\n",
        "\x03-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\nAKIAIOSFODNN7EXAMPLE\n",
        "\x04<settings><servers><server><password>abc123def</password></server></servers></settings>\n",
        "\x05{\"type\": \"service_account\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMII\\n\", \"clientSecret\": \"x9\"}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

// --- questions

static SEARCHER: LazyLock<Searcher> = LazyLock::new(|| {
    let segment = Segment::from_bytes(&segment_seeds()[0]).unwrap();
    let stamps = vec![Stamp::default(); segment.file_count() as usize];
    Searcher::new(vec![LiveSegment::new(1, Arc::new(segment), stamps, None)])
});

/// A question and a text that may answer it, divided by a line end.
fn query(data: &[u8]) {
    let whole = String::from_utf8_lossy(data);
    let (question, text) = whole.split_once('\n').unwrap_or((&whole, SAMPLE));
    let words = name_words(question);
    let rated: Vec<(&str, f64)> = words.iter().map(|word| (word.as_str(), 1.0)).collect();
    let lines = LineTable::new(text).count() as usize;
    assert!(best_lines(&FocusInput { text, symbol: question, signature: question, is_target: false }, &rated, 10) < lines);
    let phrase = Phrase::new(question, |_| 1.0);
    let (quote, message) = (phrase.find(text), phrase.message(text));
    assert!((0.0..=1.001).contains(&quote.share), "{}", quote.share);
    assert!((0.0..=1.0).contains(&message.share) && (0.0..=1.0).contains(&message.held), "{message:?}");
    let owned: Vec<(String, f64)> = words.iter().map(|word| (word.clone(), 1.0)).collect();
    let _ = PathQuery::new(owned, &words).matches([question, text, "src/a.py"]);
    let _ = path_words(question);
    split_words(&whole, &mut |word, _| assert!(!word.is_empty()));
    if whole.len() < 4_000 {
        let count = Encoding::O200k.count(&whole);
        assert_eq!(Encoding::O200k.trim(&whole, count), whole.len());
        let half = Encoding::O200k.trim(&whole, count / 2);
        assert!(Encoding::O200k.count(&whole[..half]) <= count / 2);
    }
    let cancel = CancelToken::new();
    for hit in SEARCHER.lexical(question, 3, None, &cancel).unwrap() {
        assert!(hit.score.is_finite());
    }
    let _ = SEARCHER.definitions(&[question], 3, None).unwrap();
}

fn query_seeds() -> Vec<Vec<u8>> {
    [
        "where is getUserByID checked?",
        "`os.path.join` raises FileNotFoundError: [Errno 2]\nraise FileNotFoundError(\"[Errno 2]\")\nx\n",
        "could not open a.db: 3 pages\nf'could not open {path}: %d' + \"\"\"%(n)s pages\"\"\" `${a[b]}` \\(c) :d",
        "h\u{e9}llo \u{1f600} \u{202e} snake_case HTTPServer2 a::b->c\n\t\u{2028}fn a() {}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Write the inputs to start from, one file each, below `folder`.
#[allow(dead_code, reason = "the fuzzer's program for seeds uses it, the tests don't")]
pub fn write_seeds(folder: &Path) -> std::io::Result<()> {
    for target in TARGETS {
        fs::create_dir_all(folder.join(target.name))?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(folder.join(target.name).join(format!("seed{number}")), seed)?;
        }
    }
    Ok(())
}

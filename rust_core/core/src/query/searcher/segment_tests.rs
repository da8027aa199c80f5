//! Segments round-trip, merge and survive damage, as searches see them.

use proptest::prelude::*;

use crate::base::cancel::CancelToken;
use crate::base::error::Error;
use crate::base::language::Language;
use crate::base::types::{Chunk, ChunkKind, FileProperties, Scalar, SecretSpan, Span};
use crate::formats::segment::{FileDraft, FileEntry, FileMask, Segment, SegmentBuilder, format, merge};
use crate::formats::vectors::Vectors;
use crate::query::dense::dense_top_k;
use crate::query::lexical::{FieldWeights, Statistics, Terms, bm25f, definitions, evidence};
use crate::query::view::View;

const DIM: usize = 8;

/// A file as a test makes one.
#[derive(Clone, Debug)]
struct TestFile {
    path: String,
    text: String,
    chunks: Vec<Chunk>,
    vectors: Vectors,
    imports: Vec<String>,
}

fn kind_strategy() -> impl Strategy<Value = ChunkKind> {
    use ChunkKind as K;
    prop::sample::select(vec![
        K::Function,
        K::Method,
        K::Class,
        K::ClassHeader,
        K::Declaration,
        K::Section,
        K::Text,
        K::Cell,
        K::Lines,
    ])
}

prop_compose! {
    /// A chunk of `words`: names and text from a small vocabulary, so that chunks share terms.
    fn chunk_strategy()(
        id in any::<u128>(),
        kind in kind_strategy(),
        gap in 0_u32..5,
        name in "[a-c]{1,2}|getUser|parse_file|é",
        container in prop::option::of("Server|a\\.B|x"),
        inside in any::<bool>(),
        header in any::<bool>(),
        signature in "(def )?[a-c]{0,3}\\(self, [a-c]: str\\)|",
        definitions in prop::option::of(prop::collection::vec("[a-c]{1,2}|Users|user|", 0..3)),
        body in "([a-d]|user|getUser|parse|the|\n| ){0,30}",
        vector in prop::collection::vec(-1.0_f32..1.0, DIM),
    ) -> (Chunk, u32, String, Vec<f32>) {
        let container = container.unwrap_or_default();
        let base = name.clone();
        let name = if header { format!("{name} (header)") } else { name };
        let symbol = if inside && !container.is_empty() { format!("{container}.{name}") } else { name };
        let span = Span { start_byte: 0, end_byte: 0, start_line: 0, end_line: 0 };
        let chunk = Chunk { id, span, kind, symbol, container, signature, definitions: definitions.unwrap_or_else(|| vec![base]) };
        (chunk, gap, body, vector)
    }
}

fn files_strategy() -> impl Strategy<Value = Vec<TestFile>> {
    let parts = (prop::collection::vec(chunk_strategy(), 0..40), prop::collection::vec("[a-b]{0,3}(\\.é)?[a-b]{0,2}", 0..4));
    prop::collection::vec(parts, 0..6).prop_map(|files| {
        files
            .into_iter()
            .enumerate()
            .map(|(i, (parts, imports))| {
                let mut text = String::new();
                let mut chunks = Vec::new();
                let mut vectors = Vectors::default();
                for (mut chunk, gap, body, vector) in parts {
                    text.extend(std::iter::repeat_n('\n', gap as usize));
                    let start = text.len() as u32;
                    let start_line = text.bytes().filter(|b| *b == b'\n').count() as u32 + 1;
                    text.push_str(&body);
                    let lines = body.bytes().filter(|b| *b == b'\n').count() as u32;
                    chunk.span =
                        Span { start_byte: start, end_byte: text.len() as u32, start_line, end_line: start_line + lines };
                    chunks.push(chunk);
                    vectors.push(&vector);
                }
                TestFile { path: format!("src/dir{}/user{i}.py", i % 2), text, chunks, vectors, imports }
            })
            .collect()
    })
}

fn build(files: &[TestFile]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(DIM);
    for (i, file) in files.iter().enumerate() {
        let rows: Vec<_> = (0..file.vectors.len()).map(|row| file.vectors.row(row, DIM)).collect();
        let mut draft = FileDraft::new(&entry(file, i), file.chunks.clone(), &file.text, &rows);
        if file.path.contains("dir1") {
            // Sections that a segment may lack, for the tests of damage.
            let properties = FileProperties {
                version: Some("1".to_owned()),
                metadata: [("key".to_owned(), Scalar::Integer(7)), ("other".to_owned(), Scalar::Float(0.5))].into(),
            };
            let secret = SecretSpan { kind: "token".to_owned(), start_line: 3, end_line: 4 };
            draft = draft.with_properties(&properties).with_secrets(&[secret]).with_vectors_of(2, DIM, file.vectors.clone());
        }
        builder.push(draft);
    }
    builder.finish()
}

fn entry(file: &TestFile, i: usize) -> FileEntry<'_> {
    FileEntry {
        path: &file.path,
        language: Language::PYTHON,
        hash: u128::MAX - i as u128,
        size: file.text.len() as u64,
        mtime_ns: -1 + i as i64 * 1_000_000_007,
        updated_at: 1_700_000_000,
        imports: &file.imports,
    }
}

#[track_caller]
fn assert_holds(segment: &Segment, files: &[TestFile]) {
    assert_eq!(segment.file_count() as usize, files.len());
    for (i, file) in files.iter().enumerate() {
        let stored = segment.file(i as u32);
        let expected = entry(file, i);
        assert_eq!((stored.path, stored.hash, stored.size), (expected.path, expected.hash, expected.size));
        assert_eq!(
            (stored.mtime_ns, stored.updated_at, stored.language),
            (expected.mtime_ns, expected.updated_at, Language::PYTHON)
        );
        assert_eq!(stored.imports(), file.imports);
        let range = segment.file_chunks(i as u32);
        assert_eq!(range.len(), file.chunks.len());
        for (row, (ordinal, chunk)) in range.zip(&file.chunks).enumerate() {
            assert_eq!(&segment.chunk(ordinal), chunk);
            assert_eq!(segment.span(ordinal), chunk.span);
            assert_eq!(segment.file_of(ordinal), i as u32);
            assert_eq!(segment.vector(ordinal), file.vectors.row(row, DIM));
        }
    }
}

/// Everything that can be asked, as text that names chunks by path and id.
fn answers(views: &[View<'_>], k: usize) -> Vec<String> {
    let token = CancelToken::new();
    let name = |view: u32, chunk: u32| {
        let segment = views[view as usize].segment;
        format!("{}#{}", segment.file(segment.file_of(chunk)).path, segment.chunk_id(chunk))
    };
    let statistics = Statistics::new(views);
    let mut out = Vec::new();
    for query in ["user", "getUser parse a", "the b c d self", "nothing", "dir1 a é"] {
        let terms = Terms::new(views, &statistics, query);
        let found = bm25f(views, &terms, k, &FieldWeights::default(), &token).unwrap();
        let places: Vec<(u32, u32)> = found.hits.iter().map(|hit| (hit.view, hit.chunk)).collect();
        for (hit, evidence) in found.hits.iter().zip(evidence(views, &terms, &places)) {
            out.push(format!("{query}: {} {} {evidence:?}", name(hit.view, hit.chunk), hit.score));
        }
    }
    for names in [&["user"][..], &["getuser", "a"], &["é", "Users", "parse_files"]] {
        out.extend(definitions(views, names, k).iter().map(|s| format!("{names:?}: {} {}", name(s.view, s.chunk), s.score)));
    }
    let query = [0.5, -0.5, 0.5, 0.1, 0.0, 0.4, 0.2, -0.1];
    out.extend(
        dense_top_k(views, &query, k, 0.01, &token).unwrap().iter().map(|s| format!("{} {}", name(s.view, s.chunk), s.score)),
    );
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_built_is_read(files in files_strategy()) {
        let segment = Segment::from_bytes(&build(&files)).unwrap();
        assert_holds(&segment, &files);
    }

    #[test]
    fn a_merge_equals_building_from_scratch(files in files_strategy(), dead in any::<u8>(), split in 0_usize..6) {
        let split = split.min(files.len());
        let (left, right) = files.split_at(split);
        let parts = [Segment::from_bytes(&build(left)).unwrap(), Segment::from_bytes(&build(right)).unwrap()];
        let mut masks = [FileMask::new_all(left.len() as u32), FileMask::new_all(right.len() as u32)];
        let mut kept = Vec::new();
        for (i, file) in files.iter().enumerate() {
            if dead >> i & 1 == 1 {
                if i < split { masks[0].clear(i as u32) } else { masks[1].clear((i - split) as u32) }
            } else {
                kept.push(file.clone());
            }
        }
        let (bytes, ordinals) = merge(&[(&parts[0], &masks[0]), (&parts[1], &masks[1])], &CancelToken::new()).unwrap();
        let merged = Segment::from_bytes(&bytes).unwrap();
        let scratch = Segment::from_bytes(&build(&kept)).unwrap();
        let all = FileMask::new_all(kept.len() as u32);
        for k in [1, 5, 1000] {
            let ask = |segment| answers(&[View { segment, files: &all }], k);
            prop_assert_eq!(ask(&merged), ask(&scratch));
        }
        for (i, new) in ordinals.concat().into_iter().enumerate() {
            prop_assert_eq!(new.map(|f| merged.file(f).path), (dead >> i & 1 == 0).then_some(files[i].path.as_str()));
        }
    }

    #[test]
    fn masks_and_splitting_do_not_change_scores(files in files_strategy(), dead in any::<u8>(), split in 0_usize..6) {
        let split = split.min(files.len());
        let whole = Segment::from_bytes(&build(&files)).unwrap();
        let (left, right) = (Segment::from_bytes(&build(&files[..split])).unwrap(), Segment::from_bytes(&build(&files[split..])).unwrap());
        let mut mask = FileMask::new_none(files.len() as u32);
        let mut masks = [FileMask::new_none(split as u32), FileMask::new_none((files.len() - split) as u32)];
        for i in (0..files.len()).filter(|i| dead >> i & 1 == 0) {
            mask.set(i as u32);
            if i < split { masks[0].set(i as u32) } else { masks[1].set((i - split) as u32) }
        }
        let one = answers(&[View { segment: &whole, files: &mask }], 7);
        let two = answers(&[View { segment: &left, files: &masks[0] }, View { segment: &right, files: &masks[1] }], 7);
        prop_assert_eq!(&one, &two);
        let kept: Vec<TestFile> = (0..files.len()).filter(|i| dead >> i & 1 == 0).map(|i| files[i].clone()).collect();
        let scratch = Segment::from_bytes(&build(&kept)).unwrap();
        prop_assert_eq!(&one, &answers(&[View { segment: &scratch, files: &FileMask::new_all(kept.len() as u32) }], 7));
        let live = |line: &String| (0..files.len()).any(|i| dead >> i & 1 == 0 && line.contains(&files[i].path));
        prop_assert!(one.iter().all(live));
    }

    #[test]
    fn damage_is_noticed(files in files_strategy(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = build(&files);
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        assert!(matches!(Segment::from_bytes(&bytes), Err(Error::Damaged { .. })));
        bytes[at] ^= 1_u8 << bit;
        bytes.truncate(at);
        assert!(matches!(Segment::from_bytes(&bytes), Err(Error::Damaged { .. })));
    }

    #[test]
    fn other_dimensions_are_noticed_without_chunks(dim in 1_u32..1 << 31, bit in 0..32) {
        let mut bytes = SegmentBuilder::new(dim as usize).finish();
        bytes[12 + bit as usize / 8] ^= 1_u8 << (bit % 8);
        assert!(matches!(Segment::from_bytes(&bytes), Err(Error::Damaged { .. })));
    }

    #[test]
    fn forged_files_never_crash(files in files_strategy(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), table in any::<bool>()) {
        let mut bytes = build(&files);
        for (at, value) in edits {
            // Past magic, version and length, which would only be refused. Half of the cases forge the numbers and the table.
            let range = if table { 48 + 24 * 20 } else { bytes.len() - 24 };
            let at = 24 + at.index(range.min(bytes.len() - 24));
            bytes[at] = value;
        }
        format::seal(&mut bytes);
        if let Ok(segment) = Segment::from_bytes(&bytes) {
            let mask = FileMask::new_all(segment.file_count());
            answers(&[View { segment: &segment, files: &mask }], 10);
            for chunk in 0..segment.chunk_count() + 2 {
                segment.chunk(chunk);
                segment.vector(chunk);
            }
            for file in 0..segment.file_count() + 2 {
                segment.file(file).imports();
                segment.properties(file);
                segment.secrets(file);
                segment.file_chunks(file);
            }
            for model in segment.further_models() {
                let vectors = segment.vectors_of(model).unwrap();
                for chunk in 0..segment.chunk_count() + 2 {
                    vectors.row(chunk);
                }
            }
            segment.secret_counts().count();
            let _ = merge(&[(&segment, &mask), (&segment, &mask)], &CancelToken::new()).map(|(bytes, _)| Segment::from_bytes(&bytes));
        }
    }
}

#[test]
fn other_files_are_refused() {
    for bytes in [Vec::new(), b"SQLite format 3\0".to_vec(), vec![0; 4096]] {
        assert!(matches!(Segment::from_bytes(&bytes), Err(Error::Damaged { .. })));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.seg");
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(Segment::read(&path), Err(Error::Damaged { .. })));
    assert!(matches!(Segment::read(&folder.path().join("missing.seg")), Err(Error::Io { .. })));
}

#[test]
fn a_segment_is_read_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    std::fs::write(&path, build(&[])).unwrap();
    assert_eq!(Segment::read(&path).unwrap().chunk_count(), 0);
}

#[test]
fn a_cancelled_merge_stops() {
    let token = CancelToken::new();
    token.cancel();
    let file = TestFile { path: "a".into(), text: String::new(), chunks: vec![], vectors: Vectors::default(), imports: vec![] };
    let segment = Segment::from_bytes(&build(&[file])).unwrap();
    assert!(matches!(merge(&[(&segment, &FileMask::new_all(1))], &token), Err(Error::Cancelled)));
}

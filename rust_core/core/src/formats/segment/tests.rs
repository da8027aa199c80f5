//! The table of sections, and what a segment may lack or have besides.

use super::format::{REQUIRED, VERSION, seal};
use super::{FileDraft, FileEntry, FileMask, Marks, Segment, SegmentBuilder, merge};
use crate::base::cancel::CancelToken;
use crate::base::error::Error;
use crate::base::language::Language;
use crate::base::types::{Chunk, ChunkKind, FileProperties, Scalar, SecretSpan, Span};
use crate::formats::bytes::{read_u32, read_u64};
use crate::formats::vectors::Vectors;

const DIM: usize = 8;
const COUNT_AT: usize = 72;
const TABLE_AT: usize = 80;
const ENTRY: usize = 24;

fn vectors(rows: &[[f32; DIM]]) -> Vectors {
    let mut vectors = Vectors::default();
    for row in rows {
        vectors.push(row);
    }
    vectors
}

/// A file of two chunks, the first of its vectors along `axis`.
fn draft(path: &str, axis: usize) -> FileDraft {
    let file = FileEntry { path, language: Language::TEXT, hash: 1, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
    let chunk = |id| Chunk {
        id,
        span: Span { start_byte: 0, end_byte: 4, start_line: 1, end_line: 1 },
        kind: ChunkKind::Text,
        symbol: String::new(),
        container: String::new(),
        signature: String::new(),
        definitions: vec![],
    };
    let mut unit = [0.0; DIM];
    unit[axis] = 1.0;
    let vectors = vectors(&[unit, [0.25; DIM]]);
    let rows = [vectors.row(0, DIM), vectors.row(1, DIM)];
    FileDraft::new(&file, vec![chunk(2), chunk(3)], "word", &rows)
}

fn segment(dim: usize, drafts: impl IntoIterator<Item = FileDraft>) -> Segment {
    let mut builder = SegmentBuilder::new(dim);
    drafts.into_iter().for_each(|draft| builder.push(draft));
    Segment::from_bytes(&builder.finish()).unwrap()
}

fn merged(parts: &[&Segment]) -> Segment {
    let masks: Vec<FileMask> = parts.iter().map(|part| FileMask::new_all(part.file_count())).collect();
    let parts: Vec<(&Segment, &FileMask)> = parts.iter().copied().zip(&masks).collect();
    Segment::from_bytes(&merge(&parts, &CancelToken::new()).unwrap().0).unwrap()
}

fn is_damaged(bytes: &[u8]) -> bool {
    matches!(Segment::from_bytes(bytes), Err(Error::Damaged { .. }))
}

/// The file with one more section, as another Carrel may write it.
fn with_section(file: &[u8], tag: u16, flags: u32) -> Vec<u8> {
    let count = read_u32(file, COUNT_AT) as usize;
    let table_end = TABLE_AT + count * ENTRY;
    let mut out = file[..table_end].to_vec();
    out[COUNT_AT..COUNT_AT + 4].copy_from_slice(&(count as u32 + 1).to_le_bytes());
    for entry in 0..count {
        let at = TABLE_AT + entry * ENTRY + 8;
        let offset = read_u64(&out, at) + ENTRY as u64;
        out[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    }
    out.extend_from_slice(&u32::from(tag).to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&((file.len() + ENTRY) as u64).to_le_bytes());
    out.extend_from_slice(&7_u64.to_le_bytes());
    out.extend_from_slice(&file[table_end..]);
    out.extend_from_slice(b"unknown");
    finish(out)
}

fn finish(mut file: Vec<u8>) -> Vec<u8> {
    let length = file.len() as u64;
    file[16..24].copy_from_slice(&length.to_le_bytes());
    seal(&mut file);
    file
}

#[test]
fn an_unknown_section_is_passed_over_unless_it_must_be_known() {
    let whole = segment(DIM, [draft("a", 1)]);
    let read = Segment::from_bytes(&with_section(whole.bytes(), 999, 0)).unwrap();
    assert_eq!((read.file(0).path, read.chunk(1), read.vector(0)), ("a", whole.chunk(1), whole.vector(0)));
    let all = FileMask::new_all(1);
    let merging = merge(&[(&read, &all), (&whole, &all)], &CancelToken::new());
    assert!(matches!(merging, Err(Error::Invalid { field: "parts", .. })), "a merge would lose it");
    let error = Segment::from_bytes(&with_section(whole.bytes(), 999, REQUIRED)).unwrap_err();
    assert!(matches!(error, Error::NewerSegment { .. }), "{error}");
    assert!(error.to_string().contains("written by a newer Carrel (section 999): update Carrel"), "{error}");
}

#[test]
fn a_newer_version_is_refused_and_an_unknown_older_one_damaged() {
    for (version, newer) in [(VERSION + 1, true), (2, false), (0, false)] {
        let mut bytes = segment(DIM, [draft("a", 1)]).bytes().to_vec();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        seal(&mut bytes);
        let error = Segment::from_bytes(&bytes).unwrap_err();
        assert_eq!(matches!(error, Error::NewerSegment { .. }), newer, "{error}");
        assert_eq!(matches!(error, Error::Damaged { .. }), !newer, "{error}");
    }
}

#[test]
fn a_table_that_does_not_add_up_is_damage() {
    let whole = segment(DIM, [draft("a", 1).with_vectors_of(1, DIM, vectors(&[[1.0; DIM], [0.5; DIM]]))]).bytes().to_vec();
    let count = read_u32(&whole, COUNT_AT);
    for forged in [count + 1, u32::MAX, 0, 1, count - 1] {
        let mut bytes = whole.clone();
        bytes[COUNT_AT..COUNT_AT + 4].copy_from_slice(&forged.to_le_bytes());
        seal(&mut bytes);
        assert!(is_damaged(&bytes), "{forged} sections");
    }
    for entry in 0..count as usize {
        let at = TABLE_AT + entry * ENTRY;
        // Offset, length, and the tag of its neighbour, which is then there twice while this one is missing.
        for (field, value) in [(8, u64::MAX), (8, whole.len() as u64), (16, u64::MAX), (16, whole.len() as u64)] {
            let mut bytes = whole.clone();
            bytes[at + field..at + field + 8].copy_from_slice(&value.to_le_bytes());
            seal(&mut bytes);
            let empty = field == 8 && read_u64(&whole, at + 16) == 0;
            assert!(is_damaged(&bytes) || (empty && value == whole.len() as u64), "section {entry}: {value} at {field}");
        }
        let mut bytes = whole.clone();
        let neighbour = TABLE_AT + (entry + 1) % count as usize * ENTRY;
        bytes.copy_within(neighbour..neighbour + 4, at);
        seal(&mut bytes);
        assert!(is_damaged(&bytes), "section {entry} twice");
    }
    assert!(is_damaged(&finish(whole[..TABLE_AT + ENTRY].to_vec())), "the table is cut off");
}

#[test]
fn a_segment_may_have_no_vectors() {
    let (with, without) = (segment(DIM, [draft("a", 1)]), segment(0, [draft("b", 2)]));
    assert!(with.has_vectors() && !without.has_vectors());
    assert_eq!((without.dim(), without.vector(0).high.len(), without.vector(0).scale), (0, 0, 0.0));
    assert!(without.bytes().len() < with.bytes().len());
    let both = merged(&[&without, &with]);
    assert_eq!(both.dim(), DIM);
    assert_eq!((both.vector(0).scale, both.vector(2)), (0.0, with.vector(0)));
    assert!(both.vector(1).steps().all(|step| step == 0));
    assert!(!merged(&[&without, &without]).has_vectors());
    let other = segment(DIM * 8, []);
    let (mask, none) = (FileMask::new_all(1), FileMask::new_all(0));
    assert!(merge(&[(&with, &mask), (&other, &none)], &CancelToken::new()).is_err());
}

#[test]
fn a_place_without_a_vector_stays_one_in_a_merge_and_zeros_stay_zeros() {
    let mut rows = vectors(&[[1.0; DIM], [0.0; DIM]]);
    rows.make_absent(0..1, DIM);
    rows.make_absent(7..9, DIM);
    assert!(rows.row(0, DIM).steps().all(|step| step == 0));
    let mut lacking = draft("b", 2);
    lacking.vectors = rows;
    let both = merged(&[&segment(DIM, [draft("a", 1)]), &segment(DIM, [lacking])]);
    assert_eq!(both.chunks_without_vector(), [2]);
    assert!(segment(0, [draft("c", 3)]).chunks_without_vector().is_empty());
}

#[test]
fn a_further_model_has_vectors_of_its_own() {
    let row = |value: f32| [value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -value];
    let further = vectors(&[row(0.5), row(0.25)]);
    let files = [draft("a", 1), draft("b", 2).with_vectors_of(3, DIM, further.clone()), draft("c", 3)];
    let one = segment(DIM, files);
    let check = |segment: &Segment, first: u32| {
        assert_eq!(segment.further_models().collect::<Vec<_>>(), [3]);
        let found = segment.vectors_of(3).unwrap();
        assert_eq!(found.dim(), DIM);
        for chunk in 0..segment.chunk_count() {
            match chunk.checked_sub(first) {
                Some(at @ 0..2) => assert_eq!(found.row(chunk), further.row(at as usize, DIM)),
                _ => assert!(found.row(chunk).steps().all(|step| step == 0), "{chunk}"),
            }
        }
        assert!(segment.vectors_of(1).is_none() && segment.vectors_of(0).is_none());
    };
    check(&one, 2);
    let plain = segment(DIM, [draft("z", 4)]);
    assert!(plain.further_models().next().is_none());
    check(&merged(&[&plain, &one, &plain]), 4);
    check(&segment(0, [draft("b", 2).with_vectors_of(3, DIM, further.clone())]), 0);
}

#[test]
fn what_a_source_says_where_secrets_were_and_what_is_generated_is_kept() {
    let properties = FileProperties {
        version: Some("v2".to_owned()),
        metadata: [
            ("collection", Scalar::Text("docs".to_owned())),
            ("pages", Scalar::Integer(-12)),
            ("weight", Scalar::Float(0.5)),
            ("draft", Scalar::Bool(true)),
            ("old", Scalar::Bool(false)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into(),
    };
    let secret = |kind: &str, start_line, end_line| SecretSpan { kind: kind.to_owned(), start_line, end_line };
    let secrets = vec![secret("password", 3, 3), secret("private-key", 3, 30), secret("token", 400, 400)];
    let versioned = FileProperties { version: Some(String::new()), ..FileProperties::default() };
    let one = segment(
        DIM,
        [
            draft("a", 1).with_marks(Marks { is_guess: true, ..Marks::default() }),
            draft("b", 2).with_properties(&properties),
            draft("c", 3).with_secrets(&secrets).with_properties(&versioned),
            draft("d", 4)
                .with_properties(&FileProperties::default())
                .with_secrets(&[])
                .with_marks(Marks { is_generated: true, ..Marks::default() }),
        ],
    );
    let plain = segment(DIM, [draft("z", 4)]);
    assert!(!plain.has_properties());
    for (segment, first) in [(&one, 0), (&merged(&[&plain, &one]), 1)] {
        assert!(segment.has_properties());
        for file in 0..segment.file_count() + 2 {
            let (said, found) = (segment.properties(file), segment.secrets(file));
            match file.checked_sub(first) {
                Some(1) => assert_eq!((said, found), (properties.clone(), vec![])),
                Some(2) => assert_eq!((said, found), (versioned.clone(), secrets.clone())),
                _ => assert!(said.is_empty() && found.is_empty(), "{file}"),
            }
            assert_eq!(segment.marks(file).is_generated, file == first + 3, "{file}");
        }
        assert_eq!(segment.guessed_encodings().collect::<Vec<_>>(), [first]);
        assert_eq!(segment.secret_counts().collect::<Vec<_>>(), [(first + 2, 3)]);
    }
    let text = |key: &str| properties.metadata[key].to_string();
    assert_eq!(["collection", "pages", "weight", "draft"].map(text), ["docs", "-12", "0.5", "true"]);
}

//! Pruned search against scoring everything, and what people expect of a search.

use super::score::ORDINARY;
use super::{
    FieldWeights, Statistics, Terms, bm25f, covering_chunks, definitions, evidence, most_words, near_names, outline, rare_names,
    rarities, related_files,
};
use crate::base::cancel::CancelToken;
use crate::base::language::Language;
use crate::base::types::{Chunk, ChunkKind, Span};
use crate::formats::postings::fields::{code_length, length_code};
use crate::formats::segment::{FileEntry, FileMask, Segment, SegmentBuilder};
use crate::query::view::View;

fn chunk(symbol: &str, text: &str, start: usize) -> Chunk {
    Chunk {
        id: start as u128,
        span: Span { start_byte: start as u32, end_byte: (start + text.len()) as u32, start_line: 1, end_line: 1 },
        kind: ChunkKind::Function,
        symbol: symbol.to_owned(),
        container: String::new(),
        signature: String::new(),
        definitions: vec![symbol.to_owned()],
    }
}

/// A segment of files, each with chunks of (symbol, text).
fn segment(files: &[(&str, &[(&str, &str)])]) -> Segment {
    let mut builder = SegmentBuilder::new(0);
    for (path, parts) in files {
        let mut text = String::new();
        let mut chunks = Vec::new();
        for (symbol, body) in *parts {
            chunks.push(chunk(symbol, body, text.len()));
            text.push_str(body);
        }
        let file = FileEntry { path, language: Language::PYTHON, hash: 0, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
        builder.add_file(&file, &chunks, &text, &[]);
    }
    Segment::from_bytes(&builder.finish()).unwrap()
}

fn terms<'a>(views: &[View<'a>], query: &str) -> Terms<'a> {
    Terms::new(views, &Statistics::new(views), query)
}

/// Symbols found for `query`, best first.
fn ask(segment: &Segment, query: &str) -> Vec<String> {
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment, files: &files }];
    let found = bm25f(&views, &terms(&views, query), 10, &FieldWeights::default(), &CancelToken::new()).unwrap();
    found.hits.iter().map(|h| segment.chunk(h.chunk).symbol).collect()
}

#[test]
fn names_count_more_than_paths_and_paths_more_than_bodies() {
    let [call, check, nothing] =
        ["authenticate(user)", "check(user)", "nothing(user)"].map(|text| text.to_owned() + &" more".repeat(75));
    let segment = segment(&[
        ("src/a.py", &[("call", &call), ("authenticate", &check)]),
        ("src/authenticate.py", &[("other", &nothing)]),
        ("src/b.py", &[("unrelated", "x = 1")]),
    ]);
    assert_eq!(ask(&segment, "authenticate"), ["authenticate", "other", "call"]);
    assert_eq!(ask(&segment, "absent"), [""; 0]);
    assert_eq!(ask(&segment, ""), [""; 0]);
}

#[test]
fn an_error_code_is_found_exactly() {
    let segment = segment(&[("a.py", &[("one", "raise E('ORA-12154')"), ("two", "ORA 99 and 12155"), ("three", "ORA-12155")])]);
    assert_eq!(ask(&segment, "what is ORA-12154?")[0], "one");
}

#[test]
fn a_long_chunk_with_all_words_covers_a_question_and_a_short_one_with_half_does_not() {
    let filler = "step value other ".repeat(200);
    let long = format!("prepare the order {filler} connection {filler} worker kept");
    let segment =
        segment(&[("a.py", &[("short", "prepare order"), ("long", &long), ("most", "prepare connection worker kept")])]);
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &files }];
    let ask = |query: &str| {
        let found = covering_chunks(&views, &terms(&views, query), &terms(&views, query), 5, &CancelToken::new()).unwrap();
        found.into_iter().map(|one| (segment.chunk(one.chunk).symbol, one.score)).collect::<Vec<_>>()
    };
    let found = ask("prepare order connection worker kept unheard");
    assert_eq!(found.iter().map(|(symbol, _)| symbol.as_str()).collect::<Vec<_>>(), ["long", "most"]);
    assert!((found[0].1 - 1.05).abs() < 1e-6 && (0.75..1.0).contains(&found[1].1), "{found:?}");
    assert!(ask("").is_empty());
}

#[test]
fn of_chunks_with_all_telling_words_those_with_its_words_of_speech_come_first() {
    let filler: Vec<String> = (0..9).map(|i| format!("the connection {i} is lost")).collect();
    let mut chunks: Vec<(&str, &str)> = filler.iter().map(|text| ("other", text.as_str())).collect();
    chunks.push(("quoting", "the connection was not lost"));
    chunks.push(("half", "the connection was not made"));
    let segment = segment(&[("a.py", &chunks)]);
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &files }];
    let (telling, words) = (terms(&views, "connection lost"), terms(&views, "the connection was not lost"));
    let found = covering_chunks(&views, &telling, &words, 2, &CancelToken::new()).unwrap();
    assert_eq!(segment.chunk(found[0].chunk).symbol, "quoting");
}

#[test]
fn most_words_count_more_than_the_rarest_and_less_in_a_long_chunk() {
    let filler = "step value other ".repeat(3);
    let long = format!("could not open the file {filler}");
    let common: Vec<String> = (0..400).map(|i| format!("step could value open {i}")).collect();
    let mut chunks: Vec<(&str, &str)> = common.iter().map(|text| ("other", text.as_str())).collect();
    chunks.extend([("value", "customers"), ("long", &long), ("message", "could not open the file {}")]);
    let segment = segment(&[("a.py", &chunks)]);
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &files }];
    let question = terms(&views, "could not open the file customers");
    let found = most_words(&views, &question, 3, &CancelToken::new()).unwrap();
    assert_eq!(found.iter().map(|one| segment.chunk(one.chunk).symbol).collect::<Vec<_>>(), ["message", "long", "value"]);
}

#[test]
fn a_name_that_few_chunks_hold_is_found_among_many_words() {
    let common: Vec<String> = (0..199).map(|i| format!("open_file close the connection {i}")).collect();
    let mut chunks: Vec<(&str, &str)> = common.iter().map(|text| ("other", text.as_str())).collect();
    chunks.push(("naming", "x = get_content_size()"));
    chunks.push(("products", "PyCharm utf8"));
    let segment = segment(&[("a.py", &chunks)]);
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &files }];
    let ask = |text: &str| {
        let found = rare_names(&views, &Statistics::new(&views), &terms(&views, text), text);
        found.into_iter().map(|one| segment.chunk(one.chunk).symbol).collect::<Vec<_>>()
    };
    assert_eq!(ask("we close the connection with open_file and then getContentSize or get_content_size fails"), ["naming"]);
    assert!(ask("open_file and the connection").is_empty(), "every chunk has it");
    assert!(ask("content").is_empty(), "no name");
    assert!(ask("PyCharm and utf8").is_empty(), "products");
}

#[test]
fn definitions_prefer_the_exact_name() {
    let segment = segment(&[("b.py", &[("users", ""), ("User", ""), ("user", "")]), ("a.py", &[("user", ""), ("userland", "")])]);
    let files = FileMask::new_all(2);
    let found = definitions(&[View { segment: &segment, files: &files }], &["user", ""], 10);
    let found: Vec<_> = found.iter().map(|s| (segment.chunk(s.chunk).symbol, s.chunk, s.score)).collect();
    let expected = [("user", 3, 1.0), ("user", 2, 1.0), ("User", 1, 0.8), ("users", 0, 0.6)];
    assert_eq!(found, expected.map(|(name, chunk, score)| (name.to_owned(), chunk, score)));
}

#[test]
fn a_mistyped_name_is_near_those_that_are_a_letter_away() {
    let names = [
        ("AsyncClient", ""),
        ("parse_head", ""),
        ("parse_heads", ""),
        ("parse_heat", ""),
        ("Größe", ""),
        ("get", ""),
        ("MyWantedWordList", ""),
        ("order_wantedWords", ""),
    ];
    let others = [("AsyncClient", "use asyncclint instead"), ("gone_name", "")];
    let segment = segment(&[("a.py", &names), ("b.py", &others), ("dead.py", &[("dead_name", "")])]);
    let mut files = FileMask::new_all(3);
    files.clear(2);
    let views = [View { segment: &segment, files: &files }];
    for (typed, near) in [
        ("AsyncClent", &["AsyncClient"][..]), // left out
        ("AsyncClieent", &["AsyncClient"]),   // added
        ("AsnycClient", &["AsyncClient"]),    // swapped
        ("ASYNCCLIEMT", &["AsyncClient"]),    // another, in any case
        ("parse_hear", &["parse_head", "parse_heat"]),
        ("Grösse", &[]), // two letters
        ("Gröse", &["Größe"]),
        ("AsnycCleint", &[]),                                       // twice
        ("asyncclint_", &[]),                                       // some text has it, as words are kept
        ("asyncclint", &[]),                                        // some text has it
        ("AsyncClient", &[]),                                       // defined
        ("gat", &[]),                                               // short
        ("wantedword", &["MyWantedWordList", "order_wantedWords"]), // within: the shorter one first
        ("antedword", &[]),                                         // no word begins so
        ("dead_nam", &[]),                                          // of a file that is gone
    ] {
        assert_eq!(near_names(&views, typed, 5), near, "{typed}");
    }
    assert_eq!(near_names(&views, "parse_hear", 1), ["parse_head"]);
    assert_eq!(near_names(&views, &"x".repeat(100_000), 5), [""; 0]);
}

#[test]
fn an_outline_begins_with_the_file_whose_names_others_use() {
    let common = [("start", "run"), ("shared", "run")];
    let segment = segment(&[
        ("a.py", &[("start", "open_door(); open_door()"), ("lonely", "start")]),
        ("b.py", &[("open_door", "x"), ("shut_door", "open_door"), ("shared", "y")]),
        ("c.py", &[("other", "open_door shut_door")]),
        ("d.py", &common),
        ("e.py", &common),
        ("f.py", &common),
        ("gone.py", &[("ghost", "open_door shut_door")]),
    ]);
    let mut files = FileMask::new_all(7);
    files.clear(6);
    let views = [View { segment: &segment, files: &files }];
    let found = outline(&views, &Statistics::new(&views), 2);
    let first = &found[0];
    assert_eq!((first.path.as_str(), first.chunks), ("b.py", 3));
    assert_eq!(first.names, [("open_door".to_owned(), 2), ("shut_door".to_owned(), 1)]);
    assert_eq!(found.len(), 6, "every live file");
    assert!(found.iter().all(|file| file.names.iter().all(|(name, _)| name != "start" && name != "shared")), "of too many files");
    assert_eq!(found, outline(&views, &Statistics::new(&views), 2));
}

/// `194` as `kcqj`: one word to the splitter, at least two letters long, with no ending to cut.
fn word_of_rank(rank: u32) -> String {
    format!("k{rank}").chars().map(|c| c.to_digit(10).map_or(c, |d| b"bcfhjklmpq"[d as usize] as char)).collect()
}

/// Texts whose commonest words stand in nearly every chunk, enough of them that long lists are pruned.
fn zipf_texts(count: usize) -> Vec<String> {
    let mut state = 7_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        word_of_rank(2000_f64.powf(uniform) as u32)
    };
    (0..count).map(|i| (0..10 + i % 30).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn pruning_changes_nothing() {
    let texts = zipf_texts(8000);
    let mut builder = SegmentBuilder::new(0);
    for (i, text) in texts.iter().enumerate() {
        let path = format!("f{i:05}");
        let file =
            FileEntry { path: &path, language: Language::TEXT, hash: 0, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
        builder.add_file(&file, &[chunk("", text, 0)], text, &[]);
    }
    let segment = Segment::from_bytes(&builder.finish()).unwrap();
    let mut files = FileMask::new_all(segment.file_count());
    (0..8000).step_by(3).for_each(|f| files.clear(f));
    let weights = FieldWeights { name: 0.0, path: 0.0, body: 1.0 };
    for ranks in [&[1900, 1, 2, 3, 4][..], &[1, 2, 3, 4, 5], &[77, 500, 1, 12], &[1]] {
        let query = &ranks.iter().map(|r| word_of_rank(*r)).collect::<Vec<_>>().join(" ");
        let views = [View { segment: &segment, files: &files }];
        let found = bm25f(&views, &terms(&views, query), 20, &weights, &CancelToken::new()).unwrap();
        let live: Vec<(usize, &String)> = texts.iter().enumerate().filter(|(i, _)| i % 3 != 0).collect();
        let mut expected = plain_bm25(&live, query);
        expected.truncate(20);
        for (hit, (score, i)) in found.hits.iter().zip(&expected) {
            assert!((hit.score - score).abs() < 1e-3, "{query}: {hit:?} {score} {i}");
            let words: Vec<_> = texts[hit.chunk as usize].split(' ').collect();
            let mut matched = evidence(&views, &terms(&views, query), &[(0, hit.chunk)]).remove(0).matched;
            let mut held: Vec<_> = query.split(' ').filter(|t| words.contains(t)).collect();
            matched.sort_unstable();
            held.sort_unstable();
            assert_eq!(matched, held);
        }
        assert_eq!(found.hits.len(), expected.len());
    }
}

/// BM25 over these texts and no others, from the textbook but for the length that lengths are compared with.
fn plain_bm25(texts: &[(usize, &String)], query: &str) -> Vec<(f32, usize)> {
    let documents: Vec<Vec<&str>> = texts.iter().map(|(_, t)| t.split(' ').collect()).collect();
    let length = |d: &[&str]| code_length(length_code(d.len() as u32)) as f32;
    let mut scores: Vec<_> = texts.iter().map(|&(i, _)| (0.0, i)).collect();
    for term in query.split(' ') {
        let count = documents.iter().filter(|d| d.contains(&term)).count() as f32;
        let idf = (1.0 + (documents.len() as f32 - count + 0.5) / (count + 0.5)).ln();
        for (score, document) in scores.iter_mut().zip(&documents) {
            // Frequencies in these texts are small enough for the coarse scale to be exact, up to 6.
            let frequency = document.iter().filter(|w| **w == term).count() as f32;
            let frequency = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 8.0, 8.0, 10.0, 10.0, 12.0][frequency as usize];
            score.0 += idf * frequency / (frequency + 1.2 * (0.25 + 0.75 * length(document) / ORDINARY[2]));
        }
    }
    scores.retain(|s| s.0 > 0.0);
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scores
}

#[test]
fn a_file_speaks_with_all_its_chunks() {
    let segment = segment(&[
        ("pool.py", &[("a", "connection acquire"), ("b", "pool release"), ("c", "timeout")]),
        ("other.py", &[("d", "connection")]),
        ("none.py", &[("e", "nothing here")]),
    ]);
    let files = FileMask::new_all(segment.file_count());
    let views = [View { segment: &segment, files: &files }];
    let found = evidence(&views, &terms(&views, "connection pool timeouts"), &[(0, 4), (0, 1), (0, 3), (7, 0), (0, 0), (0, 99)]);
    let shares: Vec<f32> = found.iter().map(|e| e.file_share).collect();
    assert!(shares[1] > 2.0 * shares[2] && shares[2] > 0.0, "{shares:?}");
    assert!((shares[1] - shares[4]).abs() < f32::EPSILON, "chunks of one file");
    assert!([shares[0], shares[3], shares[5]].iter().all(|share| *share <= 0.0));
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    assert_eq!(found[1].matched, ["pool"]);
    assert!((found[1].covered - 1.0 / 3.0).abs() < 1e-6);
    let ranked =
        bm25f(&views, &terms(&views, "connection pool timeouts"), 10, &FieldWeights::default(), &CancelToken::new()).unwrap();
    for hit in &ranked.hits {
        let alone = &evidence(&views, &terms(&views, "connection pool timeouts"), &[(hit.view, hit.chunk)])[0];
        assert!((alone.share - hit.score / ranked.possible).abs() < 1e-6, "evidence is what the search scores");
    }
    let rare = rarities(&views, &Statistics::new(&views), &["connection", "pool", "nowhere"]);
    assert!(rare[1] <= rare[0] && rare[0] < rare[2], "{rare:?}");
    let found =
        bm25f(&views, &terms(&views, "connection pool unheard"), 10, &FieldWeights::default(), &CancelToken::new()).unwrap();
    assert!(found.hits.iter().all(|hit| hit.score < found.possible));
}

/// What the file `asked` is tied to in a segment of files of one chunk each: paths, closest first.
fn tied_to(files: &[(&str, &[(&str, &str)])], asked: &str) -> Vec<String> {
    let segment = segment(files);
    let live = FileMask::new_all(segment.file_count());
    let file = (0..segment.file_count()).find(|&file| segment.file(file).path == asked).unwrap();
    let text: String = files[file as usize].1.iter().map(|(_, body)| *body).collect();
    let views = [View { segment: &segment, files: &live }];
    let mut found: Vec<_> = related_files(&views, &Statistics::new(&views), (0, file), &text).into_iter().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().map(|((_, file), _)| segment.file(file).path.to_owned()).collect()
}

#[test]
fn a_file_is_tied_to_what_it_uses_and_to_what_uses_it() {
    let files: [(&str, &[(&str, &str)]); 5] = [
        ("shop.py", &[("checkout", "def checkout(): return load_basket(open_store())")]),
        ("basket.py", &[("load_basket", "def load_basket(store): ...")]),
        ("store.py", &[("open_store", "def open_store(): ..."), ("StoreError", "class StoreError: ...")]),
        ("desk.py", &[("serve", "def serve(): checkout(); raise storeerror")]),
        ("far.py", &[("unrelated", "def unrelated(): ...")]),
    ];
    let mut of_shop = tied_to(&files, "shop.py");
    of_shop.sort_unstable();
    assert_eq!(of_shop, ["basket.py", "desk.py", "store.py"]);
    assert_eq!(tied_to(&files, "far.py"), [""; 0]);
    assert_eq!(tied_to(&files, "basket.py"), ["shop.py"]);
}

#[test]
fn names_that_many_define_or_everything_uses_tie_nothing() {
    let many: Vec<String> = (0..4).map(|i| format!("many{i}.py")).collect();
    let users: Vec<String> = (0..30).map(|i| format!("user{i}.py")).collect();
    let mut files: Vec<(&str, &[(&str, &str)])> = vec![("asked.py", &[("asked", "render(common_name)")])];
    files.extend(many.iter().map(|path| (path.as_str(), &[("render", "def render(): ...")][..])));
    files.push(("common.py", &[("common_name", "common_name = 1")]));
    files.extend(users.iter().map(|path| (path.as_str(), &[("user", "use(common_name)")][..])));
    assert_eq!(tied_to(&files, "asked.py"), [""; 0]);
    assert_eq!(tied_to(&files, "common.py"), [""; 0]);
}

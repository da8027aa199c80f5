//! Bytes on disk to text: encodings told apart, what is no text told why.

use std::borrow::Cow;
use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
use std::string::FromUtf8Error;
use std::sync::Arc;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::base::error::{Error, Result};
use crate::base::file_state::{LastChange, modified_ns};
use crate::base::hash::xxh3_128;
use crate::base::masked_text::Unmasked;
use crate::base::types::SkipReason;
use crate::workspace::folder::OpenFile;
use crate::workspace::long_lines::looks_minified;

/// How much of a text is looked at to tell what it is.
const SAMPLE_BYTES: usize = 64 * 1024;
/// How much of a file tells whether it is text at all. Of one that isn't no more is read.
const HEAD_BYTES: u64 = 8 * 1024;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
/// What a file begins with that is a document for a program, though it may be all letters.
const DOCUMENT: &[u8] = b"%PDF-";

/// In a text one in so many letters and digits at least belongs to a word.
const LEAST_WORDS: usize = 5;
/// A longer run of letters is encoded data, in a script that sets words apart or has three bytes for each letter.
const LONGEST_WORD: usize = 60;

/// A file that was read and decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The text, without a byte order mark, with its line ends as they are.
    pub text: String,
    /// Its name by WHATWG; in small letters for the forms of Unicode.
    pub encoding: &'static str,
    /// Whether it isn't Unicode.
    pub is_legacy: bool,
    /// Whether nothing but its bytes names the encoding.
    pub is_guess: bool,
    /// `xxh3_128` of the raw bytes, of the text where its encoding might be another one.
    pub hash: u128,
    /// Raw size in bytes.
    pub size: u64,
    /// Modification time before reading, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// What else tells this state of the file from others.
    pub change: LastChange,
    /// The text as it was before secrets in it were masked; `None` while nothing was.
    pub unmasked: Option<Arc<Unmasked>>,
}

/// Read and decode a file of at most `max_bytes`. It is read from the handle alone: its path may mean another file by now. `charset`
/// says what it is written in, where that isn't Unicode.
pub fn read_source(
    opened: OpenFile,
    max_bytes: u64,
    charset: impl FnOnce() -> Option<&'static Encoding>,
) -> std::result::Result<Source, SkipReason> {
    let (bytes, metadata) = read_if(opened, max_bytes, |head| !is_binary(head))?;
    let (hash, size) = (xxh3_128(&bytes), bytes.len() as u64);
    let Decoded { text, encoding, is_guess, is_legacy } = decode(bytes, charset)?;
    let hash = if is_legacy { xxh3_128(text.as_bytes()) } else { hash };
    if looks_minified(&text) {
        return Err(SkipReason::Minified);
    }
    let change = LastChange::of(&metadata);
    Ok(Source { text, encoding, is_legacy, is_guess, hash, size, mtime_ns: modified_ns(&metadata), change, unmasked: None })
}

/// The raw bytes of a file, and what it was before reading, of at most `max_bytes`.
pub(crate) fn read_bytes(opened: OpenFile, max_bytes: u64) -> std::result::Result<(Vec<u8>, Metadata), SkipReason> {
    read_if(opened, max_bytes, |_| true)
}

/// As [`read_bytes`], of a file whose first bytes are of use.
fn read_if(
    opened: OpenFile,
    max_bytes: u64,
    is_of_use: impl FnOnce(&[u8]) -> bool,
) -> std::result::Result<(Vec<u8>, Metadata), SkipReason> {
    let OpenFile { file, metadata } = opened;
    if metadata.len() > max_bytes {
        return Err(SkipReason::TooLarge);
    }
    // The limit is enforced while reading too: the file may be growing.
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    let read = |most: u64, bytes: &mut Vec<u8>| (&file).take(most).read_to_end(bytes).map_err(|e| SkipReason::from(&e));
    let head = read(HEAD_BYTES.min(max_bytes + 1), &mut bytes)?;
    if !is_of_use(&bytes) {
        return Err(SkipReason::Binary);
    }
    read(max_bytes + 1 - head as u64, &mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(SkipReason::TooLarge);
    }
    Ok((bytes, metadata))
}

/// The bytes of a file of rules, as git's, which lies at `path`; `None` where there is none that may be read. Larger ones count as none
/// for git too. One that the machine fails to read is an error: without its rules files would count that it leaves out.
pub(crate) fn read_rules(path: &Path, opened: std::io::Result<OpenFile>) -> Result<Option<Vec<u8>>> {
    const MOST_BYTES: u64 = 100 << 20;
    match opened.map_err(|e| SkipReason::from(&e)).and_then(|file| read_bytes(file, MOST_BYTES)) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(reason) => Error::skip_reason(path, reason).map(|_| None),
    }
}

/// A text and what it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// See [`Source::encoding`].
    pub encoding: &'static str,
    /// See [`Source::is_guess`].
    pub is_guess: bool,
    /// See [`Source::is_legacy`].
    pub is_legacy: bool,
}

impl Decoded {
    fn unicode(text: String, encoding: &'static str) -> Self {
        Self { text, encoding, is_guess: false, is_legacy: false }
    }
}

/// Decode a file's bytes: by a mark, as Unicode, by what `charset` says, by what they look like. The commonest, UTF-8 without a mark,
/// is not copied.
pub fn decode(
    mut bytes: Vec<u8>,
    charset: impl FnOnce() -> Option<&'static Encoding>,
) -> std::result::Result<Decoded, SkipReason> {
    if bytes.is_empty() {
        return Err(SkipReason::Empty);
    }
    let decoded = match Wide::of(&bytes) {
        Some(wide) => wide.decode(&bytes),
        None if bytes.starts_with(UTF8_MARK) => utf8_or_legacy(bytes.split_off(UTF8_MARK.len()), charset),
        None => utf8_or_legacy(bytes, charset),
    }?;
    if decoded.text.trim().is_empty() { Err(SkipReason::Empty) } else { Ok(decoded) }
}

/// Tell whether a file that begins with these bytes is no text.
fn is_binary(head: &[u8]) -> bool {
    head.starts_with(DOCUMENT) || (head.contains(&0) && Wide::of(head).is_none())
}

/// A form of Unicode with two or four bytes for each letter.
struct Wide {
    name: &'static str,
    /// The mark that a file in this form may begin with.
    mark: &'static [u8],
    /// `None` where a letter has four bytes.
    encoding: Option<&'static Encoding>,
    letter: fn([u8; 4]) -> u32,
}

/// The longer marks first: one begins with the other.
const WIDE: [Wide; 4] = [
    Wide { name: "utf-32le", mark: &[0xff, 0xfe, 0, 0], encoding: None, letter: u32::from_le_bytes },
    Wide { name: "utf-32be", mark: &[0, 0, 0xfe, 0xff], encoding: None, letter: u32::from_be_bytes },
    Wide { name: "utf-16le", mark: &[0xff, 0xfe], encoding: Some(UTF_16LE), letter: u32::from_le_bytes },
    Wide { name: "utf-16be", mark: &[0xfe, 0xff], encoding: Some(UTF_16BE), letter: u32::from_be_bytes },
];

impl Wide {
    /// Return the form that a file begins in. Without a mark it shows in text with blanks or line ends, which have zeros in them: in
    /// one form there are no control characters, hardly anything but letters, and more of ASCII than in any other.
    fn of(bytes: &[u8]) -> Option<&'static Self> {
        let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        let plain = || {
            let forms = WIDE.iter().filter(|form| sample.contains(&0) && bytes.len().is_multiple_of(form.mark.len()));
            let forms = forms.filter_map(|form| Some((ascii_of_text(&form.text(sample).0)?, form)));
            forms.max_by_key(|(ascii, _)| *ascii).map(|(_, form)| form)
        };
        WIDE.iter().find(|form| bytes.starts_with(form.mark)).or_else(plain)
    }

    /// Return the text of such bytes, and whether all of them are letters.
    fn text<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, str>, bool) {
        if let Some(encoding) = self.encoding {
            let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
            return (text, !has_errors);
        }
        let (letters, rest) = bytes.as_chunks::<4>();
        let text: Option<String> = letters.iter().map(|bytes| char::from_u32((self.letter)(*bytes))).collect();
        let is_whole = text.is_some() && rest.is_empty();
        (text.unwrap_or_default().into(), is_whole)
    }

    fn decode(&self, bytes: &[u8]) -> std::result::Result<Decoded, SkipReason> {
        match self.text(bytes.strip_prefix(self.mark).unwrap_or(bytes)) {
            (text, true) if !text.contains('\0') => Ok(Decoded::unicode(text.into_owned(), self.name)),
            _ => Err(SkipReason::Binary),
        }
    }
}

/// Count the letters of ASCII in a text, of which one in a hundred is one; `None` for what is none.
fn ascii_of_text(text: &str) -> Option<usize> {
    let (mut all, mut usual, mut ascii) = (0, 0, 0);
    for c in text.chars() {
        if c.is_control() && !c.is_whitespace() {
            return None;
        }
        all += 1;
        ascii += usize::from(c.is_ascii());
        usual += usize::from(c.is_alphanumeric() || c.is_whitespace() || c.is_ascii_punctuation());
    }
    (usual * 10 >= all * 9 && ascii * 100 >= all).then_some(ascii)
}

fn utf8_or_legacy(
    bytes: Vec<u8>,
    charset: impl FnOnce() -> Option<&'static Encoding>,
) -> std::result::Result<Decoded, SkipReason> {
    if bytes.contains(&0) {
        return Err(SkipReason::Binary);
    }
    match String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes) {
        // ASCII to look at, which switches to Japanese and back by escapes.
        Ok(text) if text.contains("\x1b$") && detect(text.as_bytes()) == ISO_2022_JP => Ok(legacy(text.as_bytes(), charset())),
        Ok(text) => Ok(Decoded::unicode(text, "utf-8")),
        Err(bytes) if controls(&bytes) * 100 > bytes.len() => Err(SkipReason::Binary),
        Err(bytes) => Ok(legacy(&bytes, charset())),
    }
}

/// Decode UTF-8 with some bytes that are none, which are read as windows-1252; None where most of what isn't ASCII is none.
fn broken_utf8(bytes: &[u8]) -> Option<Decoded> {
    let (mut text, mut letters, mut broken) = (String::with_capacity(bytes.len()), 0, 0);
    for chunk in bytes.utf8_chunks() {
        letters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += chunk.invalid().len();
        text.push_str(chunk.valid());
        text.push_str(&WINDOWS_1252.decode_without_bom_handling(chunk.invalid()).0);
    }
    (letters > broken).then_some(Decoded { text, encoding: "utf-8", is_guess: true, is_legacy: true })
}

/// Decode bytes that are no Unicode. What `charset` or a detector says counts where all bytes fit it; windows-1252 has a letter for
/// every byte.
fn legacy(bytes: &[u8], charset: Option<&'static Encoding>) -> Decoded {
    let decode = |encoding: &'static Encoding, is_guess| {
        let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
        let decoded = || Decoded { text: text.into_owned(), encoding: encoding.name(), is_guess, is_legacy: true };
        (!has_errors).then(decoded)
    };
    let detected = || decode(detect(bytes), true);
    let last = || Decoded {
        text: WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
        encoding: WINDOWS_1252.name(),
        is_guess: true,
        is_legacy: true,
    };
    let named = || charset.and_then(|encoding| decode(encoding, false));
    named().or_else(|| broken_utf8(bytes)).or_else(detected).unwrap_or_else(last)
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Control characters that no text has; one in a hundred means that the bytes are something else.
fn controls(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)).count()
}

/// Tell whether a text has words in it, and isn't all numbers and encoded bytes.
pub fn has_words(text: &str) -> bool {
    let (mut words, mut rest, mut at) = (0, 0, 0);
    for part in text.split(|c: char| !c.is_alphanumeric()) {
        // Some scripts put no space between words.
        let is_word =
            part.chars().all(char::is_alphabetic) && part.len() >= 2 && (part.len() <= LONGEST_WORD || !part.is_ascii());
        *(if is_word { &mut words } else { &mut rest }) += part.len();
        at += part.len() + 1;
        if at > SAMPLE_BYTES {
            break;
        }
    }
    words * LEAST_WORDS > rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::folder::open_file;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: std::result::Result<(&str, &str), SkipReason>) {
        let decoded = decode(bytes.to_vec(), || None);
        assert_eq!(decoded.as_ref().map(|one| (one.text.as_str(), one.encoding)).map_err(|reason| *reason), expected);
    }

    fn utf16_bytes(text: &str, to: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to).collect()
    }

    #[test]
    fn encodings() {
        check("naïve\r\n".as_bytes(), Ok(("naïve\r\n", "utf-8")));
        check(b"\xef\xbb\xbfx", Ok(("x", "utf-8")));
        check(b"caf\xe9 = 1\n", Ok(("café = 1\n", "windows-1252")));
        check(&[&[0xff, 0xfe][..], &utf16_bytes("def f", u16::to_le_bytes)].concat(), Ok(("def f", "utf-16le")));
        check(&[&[0xfe, 0xff][..], &utf16_bytes("def f", u16::to_be_bytes)].concat(), Ok(("def f", "utf-16be")));
        check(&utf16_bytes("int main() { return 0; }", u16::to_le_bytes), Ok(("int main() { return 0; }", "utf-16le")));
        check(&utf16_bytes("int main() { return 0; }", u16::to_be_bytes), Ok(("int main() { return 0; }", "utf-16be")));
        for text in
            ["int main() { return 0; }", "注文 = 在庫を確認してから、注文を確定する\n一括で取り消す\n", "주문을 다시 넣는다\n"]
        {
            let utf32 = |to: fn(u32) -> [u8; 4]| text.chars().flat_map(|c| to(c.into())).collect::<Vec<_>>();
            for (name, mark, bytes) in [
                ("utf-16le", &[0xff, 0xfe][..], utf16_bytes(text, u16::to_le_bytes)),
                ("utf-16be", &[0xfe, 0xff], utf16_bytes(text, u16::to_be_bytes)),
                ("utf-32le", &[0xff, 0xfe, 0, 0], utf32(u32::to_le_bytes)),
                ("utf-32be", &[0, 0, 0xfe, 0xff], utf32(u32::to_be_bytes)),
            ] {
                check(&bytes, Ok((text, name)));
                check(&[mark, &bytes].concat(), Ok((text, name)));
                assert!(!is_binary(&bytes), "{name} {text}");
            }
        }
        check(b"plain \x1b$ text \x1b[1mbold\x1b[0m\n", Ok(("plain \x1b$ text \x1b[1mbold\x1b[0m\n", "utf-8")));
    }

    #[test]
    fn legacy_encodings_are_told_by_their_bytes_or_by_what_names_them() {
        for (encoding, text) in [
            (encoding_rs::SHIFT_JIS, "// 与信取消の処理\nvoid voidAuthorization();\n"),
            (encoding_rs::EUC_JP, "' 倉庫在庫を数える\nSub CountStock()\n"),
            (encoding_rs::GBK, "/* 超时的订单重新入队 */\nvoid requeue(void);\n"),
            (encoding_rs::EUC_KR, "// 배송 라벨을 인쇄한다\nfun printParcelLabel() {}\n"),
            (encoding_rs::WINDOWS_1251, "{ Печать отчёта по складу }\nprocedure Print;\n"),
            (ISO_2022_JP, "// 与信取消の処理\nvoid voidAuthorization();\n"),
            (WINDOWS_1252, "# le café du résumé\ndef f(): pass\n"),
        ] {
            let (bytes, _, lost) = encoding.encode(text);
            assert!(!lost);
            let decoded = decode(bytes.to_vec(), || None).unwrap();
            assert_eq!((decoded.text.as_str(), decoded.is_guess), (text, true), "{}", encoding.name());
            let named = decode(bytes.to_vec(), || Some(encoding)).unwrap();
            assert_eq!((named.text.as_str(), named.encoding, named.is_guess), (text, encoding.name(), false));
        }
    }

    #[test]
    fn some_broken_bytes_leave_the_rest_as_it_is() {
        check(
            &["größe prüfen, öffnen".as_bytes(), b" \xe9", &"ü".as_bytes()[..1]].concat(),
            Ok(("größe prüfen, öffnen éÃ", "utf-8")),
        );
        check("# 与信取消".as_bytes().split_last().unwrap().1, Ok(("# 与信取æ¶", "utf-8")));
    }

    #[test]
    fn what_is_no_text_says_why() {
        check(b"", Err(SkipReason::Empty));
        check(b" \n\t\n", Err(SkipReason::Empty));
        check(b"PK\x03\x04\x00\x00data", Err(SkipReason::Binary));
        check(&[7_u32, 300, 90_000, 65].map(u32::to_le_bytes).concat(), Err(SkipReason::Binary));
        check(b"a plain text with\0one zero, no more", Err(SkipReason::Binary));
        check(&[1_u16, 2, 0x4e00, 0].map(u16::to_le_bytes).concat(), Err(SkipReason::Binary));
        check(b"\x80\x81\x01\x02\x03\x04\x05\x06", Err(SkipReason::Binary));
    }

    #[test]
    fn words_tell_text_from_numbers_and_encoded_bytes() {
        assert!(has_words("allow if {\n  input.day != \"Friday\"\n}\n"));
        assert!(has_words("超时的订单重新入队，等待处理。"));
        assert!(has_words("店舗の在庫を確認してから注文を確定するために必要な手順を説明する文書です"));
        assert!(has_words(":10 LET A1=0"));
        assert!(!has_words("v 0.12 1.50 -3.7\nv 0.13 1.51 -3.8\n"));
        assert!(!has_words(&"F4sanPQlquwM2zh7fptTj62r14XOkXO7cRakDfBQZHwz9iAnB9jnCsdPTK/eUuZW\n".repeat(9)));
        assert!(!has_words("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  a.gz\n"));
    }

    #[test]
    fn reading_says_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        std::fs::write(&path, "x = 1\n").unwrap();
        let open = || open_file(&path).unwrap();
        let source = read_source(open(), 100, || None).unwrap();
        assert_eq!((source.text.as_str(), source.size, source.encoding), ("x = 1\n", 6, "utf-8"));
        assert!(source.mtime_ns > 0);
        assert_eq!(read_source(open(), 5, || None), Err(SkipReason::TooLarge));
        let gone = open_file(&folder.path().join("b.py")).unwrap_err();
        assert_eq!(SkipReason::from(&gone), SkipReason::Gone);
    }

    #[test]
    fn a_file_that_grows_is_read_to_its_end_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (before, after, limit) in [(3, 3, 3), (3, 10, 10), (1, 100, 1000), (3, 10, 9), (0, 5, 10), (10, 4, 10)] {
            let path = folder.path().join("a.py");
            std::fs::write(&path, vec![b'x'; before]).unwrap();
            let opened = open_file(&path).unwrap();
            std::fs::write(&path, vec![b'y'; after]).unwrap();
            let read = read_bytes(opened, limit).map(|(bytes, metadata)| (bytes.len(), metadata.len()));
            let expected = if after as u64 > limit { Err(SkipReason::TooLarge) } else { Ok((after, before as u64)) };
            assert_eq!(read, expected, "{before} {after} {limit}");
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(decoded) = decode(bytes.clone(), || None) {
                prop_assert!(!decoded.text.trim().is_empty());
            }
        }

        #[test]
        fn utf8_comes_back_as_it_was(text in "[a-z\u{e9}\u{4e2d}\r\n]{1,80}") {
            prop_assume!(!text.trim().is_empty());
            prop_assert_eq!(decode(text.clone().into_bytes(), || None), Ok(Decoded::unicode(text, "utf-8")));
        }
    }
}

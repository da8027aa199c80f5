//! Bytes on disk to text: encodings told apart, what is no text told why.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
use std::string::FromUtf8Error;
use std::sync::Arc;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::base::error::{Error, Result};
use crate::base::file_state::{LastChange, modified_ns};
use crate::base::hash::xxh3_128;
use crate::base::masked_text::Unmasked;
use crate::base::types::SkipReason;
use crate::workspace::folder::OpenFile;

/// How much of a text is looked at to tell whether a person wrote it.
const SAMPLE_BYTES: usize = 64 * 1024;
/// Average line length from which a text of some size is minified. Hand-written code stays under 60; data tables under 300.
const MINIFIED_AVERAGE: usize = 500;
/// Texts shorter than this are never called minified: a one-line JSON file is still a file that people open.
const MINIFIED_FROM_BYTES: usize = 5_000;

/// A file that was read and decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The text, without a byte order mark, with its line ends as they are.
    pub text: String,
    /// `utf-8`, `utf-16le`, `utf-16be` or `windows-1252`.
    pub encoding: &'static str,
    /// `xxh3_128` of the raw bytes.
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

/// Read and decode a file of at most `max_bytes`. It is read from the handle alone: its path may mean another file by now.
pub fn read_source(opened: OpenFile, max_bytes: u64) -> std::result::Result<Source, SkipReason> {
    let (bytes, metadata) = read_bytes(opened, max_bytes)?;
    let (hash, size) = (xxh3_128(&bytes), bytes.len() as u64);
    let (text, encoding) = decode(bytes)?;
    if looks_minified(&text) {
        return Err(SkipReason::Minified);
    }
    let change = LastChange::of(&metadata);
    Ok(Source { text, encoding, hash, size, mtime_ns: modified_ns(&metadata), change, unmasked: None })
}

/// The raw bytes of a file, and what it was before reading, of at most `max_bytes`.
pub(crate) fn read_bytes(opened: OpenFile, max_bytes: u64) -> std::result::Result<(Vec<u8>, Metadata), SkipReason> {
    let OpenFile { file, metadata } = opened;
    if metadata.len() > max_bytes {
        return Err(SkipReason::TooLarge);
    }
    // The limit is enforced while reading too: the file may be growing.
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(|e| SkipReason::from(&e))?;
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

/// Decode a file's bytes, and name the encoding. The commonest, UTF-8 without a mark, is not copied.
pub fn decode(mut bytes: Vec<u8>) -> std::result::Result<(String, &'static str), SkipReason> {
    if bytes.is_empty() {
        return Err(SkipReason::Empty);
    }
    let decoded = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => utf8_or_legacy(bytes.split_off(3)),
        [0xff, 0xfe, rest @ ..] => utf16(rest, UTF_16LE, "utf-16le"),
        [0xfe, 0xff, rest @ ..] => utf16(rest, UTF_16BE, "utf-16be"),
        _ => match utf16_without_mark(&bytes) {
            Some("utf-16le") => utf16(&bytes, UTF_16LE, "utf-16le"),
            Some(_) => utf16(&bytes, UTF_16BE, "utf-16be"),
            None => utf8_or_legacy(bytes),
        },
    }?;
    if decoded.0.trim().is_empty() { Err(SkipReason::Empty) } else { Ok(decoded) }
}

fn utf16(
    bytes: &[u8],
    encoding: &'static encoding_rs::Encoding,
    name: &'static str,
) -> std::result::Result<(String, &'static str), SkipReason> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    if had_errors || text.contains('\0') { Err(SkipReason::Binary) } else { Ok((text.into_owned(), name)) }
}

fn utf8_or_legacy(bytes: Vec<u8>) -> std::result::Result<(String, &'static str), SkipReason> {
    if bytes.contains(&0) {
        return Err(SkipReason::Binary);
    }
    match String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes) {
        Ok(text) => Ok((text, "utf-8")),
        Err(bytes) if controls(&bytes) * 100 > bytes.len() => Err(SkipReason::Binary),
        Err(bytes) => {
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(&bytes);
            Ok((text.into_owned(), "windows-1252"))
        }
    }
}

/// Control characters that no text has; one in a hundred means that the bytes are something else.
fn controls(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)).count()
}

/// UTF-16 without a mark shows in text that is mostly ASCII: every other byte is zero.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static str> {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    if sample.len() < 4 || !bytes.len().is_multiple_of(2) || !sample.contains(&0) {
        return None;
    }
    let zeros = |offset: usize| sample.iter().skip(offset).step_by(2).filter(|&&b| b == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    if odd * 10 >= pairs * 7 && even * 20 < pairs {
        Some("utf-16le")
    } else if even * 10 >= pairs * 7 && odd * 20 < pairs {
        Some("utf-16be")
    } else {
        None
    }
}

/// Whether a program rather than a person laid the text out: long lines throughout.
pub fn looks_minified(text: &str) -> bool {
    if text.len() < MINIFIED_FROM_BYTES {
        return false;
    }
    let sample = &text.as_bytes()[..text.len().min(SAMPLE_BYTES)];
    // So many line ends are enough; most texts have them soon.
    let enough = sample.len() / (MINIFIED_AVERAGE + 1);
    sample.iter().filter(|&&b| b == b'\n' || b == b'\r').take(enough).count() < enough
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::folder::open_file;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: std::result::Result<(&str, &str), SkipReason>) {
        assert_eq!(
            decode(bytes.to_vec()),
            expected.map(|(text, encoding)| (
                text.to_owned(),
                match encoding {
                    "utf-8" => "utf-8",
                    "utf-16le" => "utf-16le",
                    "utf-16be" => "utf-16be",
                    _ => "windows-1252",
                }
            ))
        );
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
    }

    #[test]
    fn what_is_no_text_says_why() {
        check(b"", Err(SkipReason::Empty));
        check(b" \n\t\n", Err(SkipReason::Empty));
        check(b"PK\x03\x04\x00\x00data", Err(SkipReason::Binary));
        check(b"\x80\x81\x01\x02\x03\x04\x05\x06", Err(SkipReason::Binary));
    }

    #[test]
    fn minified_code_is_told_from_long_lines() {
        assert!(looks_minified(&"var a=1;".repeat(2_000)));
        assert!(!looks_minified(&"var a=1;".repeat(100)));
        assert!(!looks_minified(&"let value = compute(input);\n".repeat(2_000)));
    }

    #[test]
    fn reading_says_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        std::fs::write(&path, "x = 1\n").unwrap();
        let open = || open_file(&path).unwrap();
        let source = read_source(open(), 100).unwrap();
        assert_eq!((source.text.as_str(), source.size, source.encoding), ("x = 1\n", 6, "utf-8"));
        assert!(source.mtime_ns > 0);
        assert_eq!(read_source(open(), 5), Err(SkipReason::TooLarge));
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
            if let Ok((text, _)) = decode(bytes.clone()) {
                prop_assert!(!text.trim().is_empty());
            }
        }

        #[test]
        fn utf8_comes_back_as_it_was(text in "[a-z\u{e9}\u{4e2d}\r\n]{1,80}") {
            prop_assume!(!text.trim().is_empty());
            prop_assert_eq!(decode(text.clone().into_bytes()), Ok((text, "utf-8")));
        }
    }
}

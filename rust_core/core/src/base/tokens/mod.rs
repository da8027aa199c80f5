//! Exact token counts of the encodings that chat models publish, offline: budgets in tokens rest on them.
//!
//! The tables come with the `tiktoken-rs` crate. Building one takes tens of milliseconds and some 20 MB, so each is built when
//! it is first asked for. Its regular expressions are slow; [`pieces`] cuts ASCII as they do, and a [`memo`] keeps what a piece
//! counted.

mod memo;
mod pieces;

use std::sync::OnceLock;

use memo::Memo;
use pieces::pieces;
use tiktoken_rs::CoreBPE;

/// An encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// GPT-3.5 and GPT-4; near enough to most others.
    Cl100k,
    /// GPT-4o and later.
    O200k,
}

impl Encoding {
    /// Find an encoding by the name that its authors gave it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "cl100k_base" => Some(Self::Cl100k),
            "o200k_base" => Some(Self::O200k),
            _ => None,
        }
    }

    fn memo(self) -> &'static Memo {
        static CL100K: OnceLock<Memo> = OnceLock::new();
        static O200K: OnceLock<Memo> = OnceLock::new();
        match self {
            Self::Cl100k => &CL100K,
            Self::O200k => &O200K,
        }
        .get_or_init(Memo::new)
    }

    fn table(self) -> Option<&'static CoreBPE> {
        static CL100K: OnceLock<Option<CoreBPE>> = OnceLock::new();
        static O200K: OnceLock<Option<CoreBPE>> = OnceLock::new();
        match self {
            Self::Cl100k => CL100K.get_or_init(|| tiktoken_rs::cl100k_base().ok()).as_ref(),
            Self::O200k => O200K.get_or_init(|| tiktoken_rs::o200k_base().ok()).as_ref(),
        }
    }

    /// Return the tokens of `text`; what looks like a special token in it is text. An encoding whose table can't be built counts
    /// bytes, which is never too few.
    pub fn count(self, text: &str) -> usize {
        blocks(text, BLOCK).map(|block| self.count_block(block)).sum()
    }

    /// Return the length in bytes of the longest prefix of whole characters that has at most `most` tokens.
    pub fn trim(self, text: &str, most: usize) -> usize {
        // No token is shorter than a byte.
        if text.len() <= most {
            return text.len();
        }
        let (mut end, mut left) = (0, most);
        for line in blocks(text, 1) {
            let count = self.count_block(line);
            if count > left {
                return end + self.trim_block(line, left);
            }
            end += line.len();
            left -= count;
        }
        end
    }

    fn count_block(self, block: &str) -> usize {
        let Some(table) = self.table() else { return block.len() };
        let count = |text: &str| table.encode_ordinary(text).len();
        let memo = self.memo();
        if block.is_ascii() {
            pieces(self, block).flat_map(parts).map(|piece| memo.count(piece, || count(piece))).sum()
        } else {
            parts(block).map(count).sum()
        }
    }

    /// A shorter text can have more tokens than a longer one (`hell`, `hello`), so a binary search would stop too soon: start
    /// beyond the tokens that fit, by more than the longest token, and go back.
    fn trim_block(self, block: &str, most: usize) -> usize {
        let Some(table) = self.table() else { return floor_boundary(block, most) };
        if most == 0 {
            return 0;
        }
        // A line of thousands of bytes is no code that anyone reads: near is good enough there, and fast.
        let near = block.len() > BLOCK;
        let fitting: usize = parts(block)
            .flat_map(|part| table.encode_ordinary(part))
            .take(most)
            .map(|token| table.decode_bytes(&[token]).map_or(1, |bytes| bytes.len()))
            .sum();
        let mut end = floor_boundary(block, if near { fitting } else { fitting + LONGEST_TOKEN });
        while end > 0 && self.count_block(&block[..end]) > most {
            end = floor_boundary(block, end - 1);
        }
        end
    }
}

/// Bytes that are encoded in one go.
const BLOCK: usize = 1_024;
/// Bytes of the longest token of either encoding.
const LONGEST_TOKEN: usize = 128;
/// Bytes without a line start after which a text is cut anywhere: the crate's regular expressions give up on far longer runs.
const LONGEST_RUN: usize = 65_536;

/// `text` in parts of at least `size` bytes whose tokens add up to those of the whole. In both encodings no token reaches
/// from a line end into the next line, unless that is blank or begins with a slash.
fn blocks(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let starts_line = |&at: &usize| {
            let indent = |next: char| next.is_whitespace() && !matches!(next, '\r' | '\n');
            bytes[at - 1] == b'\n'
                && bytes[at] != b'/'
                && rest[at..].trim_start_matches(indent).starts_with(|next: char| !next.is_whitespace())
        };
        let end = (size.clamp(1, bytes.len())..bytes.len()).find(starts_line).unwrap_or(bytes.len());
        let (block, after) = rest.split_at(end);
        rest = after;
        Some(block)
    })
}

/// Return the block itself; a monstrous one in pieces, which may count a token too many for each cut.
fn parts(block: &str) -> impl Iterator<Item = &str> {
    let mut rest = block;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at(floor_boundary(rest, LONGEST_RUN));
        rest = after;
        Some(part)
    })
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts by the authors' own `tiktoken` 0.13 over the same tables (their SHA-256 are those that it publishes).
    #[test]
    fn counts_are_those_of_the_authors() {
        for (text, cl100k, o200k) in [
            ("", 0, 0),
            ("hello world", 2, 2),
            ("fn main() {\n    println!(\"h\u{e9}llo, w\u{f6}rld\");\n}\n", 16, 15),
            ("\u{6570}\u{636e}\u{5e93}\u{8fde}\u{63a5}\u{6c60}", 4, 3),
            ("\u{1f642}\u{1f643}\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}", 18, 11),
            // A special token in a file is text there.
            ("<|endoftext|>", 7, 7),
            (&" ".repeat(100), 2, 2),
            ("x;\r\n\r\n//y\n\n\n   z", 7, 6),
            ("a1b22c333d4444", 9, 9),
            ("def authenticateUser(self, user_name: str) -> bool:\n    return True  # done\n", 20, 20),
            ("\t\t\tif (x != null) {\n\n\n}\n", 9, 9),
            ("It's don't WE'LL", 7, 5),
        ] {
            assert_eq!(Encoding::Cl100k.count(text), cl100k, "cl100k_base of {text:?}");
            assert_eq!(Encoding::O200k.count(text), o200k, "o200k_base of {text:?}");
        }
    }

    #[test]
    fn an_unknown_encoding_has_no_table() {
        assert_eq!(Encoding::from_name("cl100k_base"), Some(Encoding::Cl100k));
        assert_eq!(Encoding::from_name("o200k_base"), Some(Encoding::O200k));
        assert_eq!(Encoding::from_name("p50k_base"), None);
    }

    #[test]
    fn a_text_is_trimmed_to_whole_tokens() {
        for encoding in [Encoding::Cl100k, Encoding::O200k] {
            assert_eq!([0, 1, 2, 9].map(|most| encoding.trim("hello world", most)), [0, 5, 11, 11]);
        }
    }

    #[test]
    fn monstrous_runs_are_counted_in_time() {
        for run in [" ", "a", "^", "\u{6570}", "\n", "7", "\u{1f642}", " \t"] {
            let text = format!("{}x", run.repeat(300_000));
            let count = Encoding::Cl100k.count(&text);
            assert!(count > 0 && count <= text.len(), "{run:?}");
            assert!(Encoding::O200k.count(&text[..Encoding::O200k.trim(&text, 100)]) <= 100, "{run:?}");
        }
    }

    fn code() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                "[a-zA-Z_]{1,9}",
                "[ \t]{1,5}",
                Just("\n".to_owned()),
                Just("\r\n".to_owned()),
                "[(){};:/'.,0-9=<>-]{1,4}",
                "[\u{e9}\u{6570}\u{1f600}\u{200d}\u{85}\u{2028}]"
            ],
            0..60,
        )
        .prop_map(|words| words.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn blocks_add_up(text in code(), size in 1_usize..40) {
            prop_assert_eq!(blocks(&text, size).collect::<String>(), text.clone());
            for encoding in [Encoding::Cl100k, Encoding::O200k] {
                let whole = encoding.table().unwrap().encode_ordinary(&text).len();
                let parts: usize = blocks(&text, size).map(|block| encoding.count_block(block)).sum();
                prop_assert_eq!(parts, whole);
            }
        }

        #[test]
        fn ascii_is_cut_as_the_encodings_cut_it(text in "[ -~\t\n\r\x0b\x0c\x1f]{0,40}|[a-cA-C'sS \n/(1]{0,40}") {
            for encoding in [Encoding::Cl100k, Encoding::O200k] {
                let expected = encoding.table().unwrap().encode_ordinary(&text).len();
                let pieces: Vec<&str> = super::pieces::pieces(encoding, &text).collect();
                prop_assert_eq!(pieces.concat(), text.clone());
                let counted: usize = pieces.iter().map(|piece| encoding.table().unwrap().encode_ordinary(piece).len()).sum();
                prop_assert_eq!(counted, expected, "{:?}", pieces);
                prop_assert_eq!(encoding.count(&text), expected);
            }
        }

        #[test]
        fn the_trimmed_text_is_the_longest_that_fits(text in code(), most in 0_usize..40) {
            for encoding in [Encoding::Cl100k, Encoding::O200k] {
                let end = encoding.trim(&text, most);
                prop_assert!(text.is_char_boundary(end));
                prop_assert!(encoding.count(&text[..end]) <= most);
                for (longer, _) in text.char_indices().filter(|&(at, _)| at > end).take(LONGEST_TOKEN) {
                    prop_assert!(encoding.count(&text[..longer]) > most);
                }
            }
        }
    }
}

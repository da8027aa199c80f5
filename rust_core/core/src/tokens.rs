//! Exact token counts of the encodings that chat models publish, offline: budgets in tokens rest on them.
//!
//! The tables come with the `tiktoken-rs` crate. Building one takes tens of milliseconds and some 20 MB, so each is built when
//! it is first asked for.

use std::sync::OnceLock;

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
    /// By the name that its authors gave it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "cl100k_base" => Some(Self::Cl100k),
            "o200k_base" => Some(Self::O200k),
            _ => None,
        }
    }

    fn table(self) -> Option<&'static CoreBPE> {
        static CL100K: OnceLock<Option<CoreBPE>> = OnceLock::new();
        static O200K: OnceLock<Option<CoreBPE>> = OnceLock::new();
        match self {
            Self::Cl100k => CL100K.get_or_init(|| tiktoken_rs::cl100k_base().ok()).as_ref(),
            Self::O200k => O200K.get_or_init(|| tiktoken_rs::o200k_base().ok()).as_ref(),
        }
    }

    /// Tokens of `text`; what looks like a special token in it is text. Texts are cut into pieces at line ends first, which keeps
    /// time linear; an encoding whose table can't be built counts bytes, which is never too few.
    pub fn count(self, text: &str) -> usize {
        self.table().map_or(text.len(), |table| table.encode_ordinary(text).len())
    }

    /// The length in bytes of the longest prefix of whole characters that has at most `most` tokens.
    pub fn trim(self, text: &str, most: usize) -> usize {
        // No token is shorter than a byte: a prefix of `most` bytes always fits, and 200 bytes a token is beyond any real text.
        let mut low = floor_boundary(text, most);
        let mut high = floor_boundary(text, most.saturating_mul(200));
        if self.count(&text[..high]) <= most {
            return if high == text.len() { high } else { self.extend(text, high, most) };
        }
        while low < high {
            let middle = ceil_boundary(text, low.midpoint(high).max(low + 1));
            if middle > high {
                break;
            }
            if self.count(&text[..middle]) <= most {
                low = middle;
            } else {
                high = floor_boundary(text, middle - 1);
            }
        }
        low
    }

    fn extend(self, text: &str, from: usize, most: usize) -> usize {
        let mut end = from;
        for (i, c) in text[from..].char_indices() {
            let next = from + i + c.len_utf8();
            if self.count(&text[..next]) > most {
                break;
            }
            end = next;
        }
        end
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_counts() {
        for encoding in [Encoding::Cl100k, Encoding::O200k] {
            assert_eq!(encoding.count(""), 0);
            assert_eq!(encoding.count("hello world"), 2);
            assert_eq!(encoding.trim("hello world", 1), 5);
            assert_eq!(encoding.trim("hello world", 0), 0);
            assert_eq!(encoding.trim("hello world", 9), 11);
        }
        // A special token in a file is text there, of several tokens.
        assert!(Encoding::Cl100k.count("<|endoftext|>") > 1);
        assert_eq!(Encoding::from_name("p50k_base"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_trimmed_text_fits(text in "[a-z(){};\n \u{e9}\u{1f600}]{0,120}", most in 0_usize..40) {
            let end = Encoding::Cl100k.trim(&text, most);
            prop_assert!(text.is_char_boundary(end));
            prop_assert!(Encoding::Cl100k.count(&text[..end]) <= most);
            prop_assert!(end == text.len() || Encoding::Cl100k.count(&text) > most);
        }
    }
}

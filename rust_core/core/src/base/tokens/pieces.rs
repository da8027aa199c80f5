//! A text cut where both encodings cut it before they look up tokens: words, digits, signs, white space.
//!
//! The encodings say where by a regular expression with look-ahead, which is most of the time of counting. For ASCII, which
//! nearly all code is, the same cuts are a few comparisons. Tests compare them with the expressions themselves.

use super::Encoding;

/// Endings that are pieces of their own (cl100k) or end a word (o200k), in the order in which they are tried.
const CONTRACTIONS: [&[u8]; 7] = [b"s", b"t", b"re", b"ve", b"m", b"ll", b"d"];
/// Digits of one piece.
const DIGITS: usize = 3;

/// Return the pieces of a text of ASCII.
pub fn pieces(encoding: Encoding, text: &str) -> impl Iterator<Item = &str> {
    debug_assert!(text.is_ascii());
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, left) = rest.split_at(first_piece(encoding, rest.as_bytes())?);
        rest = left;
        Some(piece)
    })
}

/// Return the length of the first piece.
fn first_piece(encoding: Encoding, text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    if encoding == Encoding::Cl100k
        && let Some(length) = contraction(text)
    {
        return Some(length);
    }
    let ends_line = matches!(first, b'\r' | b'\n');
    Some(match text.get(1) {
        _ if first.is_ascii_alphabetic() => word(encoding, text),
        _ if first.is_ascii_digit() => run(&text[..text.len().min(DIGITS)], |byte| byte.is_ascii_digit()),
        // Whatever stands right before a word, but for a line end, belongs to it.
        Some(next) if next.is_ascii_alphabetic() && !ends_line => 1 + word(encoding, &text[1..]),
        Some(next) if is_sign(*next) && first == b' ' => 1 + signs(encoding, &text[1..]),
        _ if is_sign(first) => signs(encoding, text),
        _ => white_space(text),
    })
}

/// Return the length of the word that the text begins with.
fn word(encoding: Encoding, text: &[u8]) -> usize {
    if encoding == Encoding::Cl100k {
        return run(text, |byte| byte.is_ascii_alphabetic());
    }
    // Capitals, then small letters: `HTTPServer` is one word, `camelCase` two.
    let capitals = run(text, |byte| byte.is_ascii_uppercase());
    let letters = capitals + run(&text[capitals..], |byte| byte.is_ascii_lowercase());
    letters + contraction(&text[letters..]).unwrap_or(0)
}

/// Return the length of `'s`, `'re` and the like.
fn contraction(text: &[u8]) -> Option<usize> {
    let after = text.strip_prefix(b"'")?;
    let begins = |ending: &&&[u8]| after.get(..ending.len()).is_some_and(|next| next.eq_ignore_ascii_case(ending));
    CONTRACTIONS.iter().find(begins).map(|ending| 1 + ending.len())
}

/// Return the length of signs with the line ends after them.
fn signs(encoding: Encoding, text: &[u8]) -> usize {
    let signs = run(text, is_sign);
    signs + run(&text[signs..], |byte| matches!(byte, b'\r' | b'\n') || (byte == b'/' && encoding == Encoding::O200k))
}

/// Return the length of white space up to the last line end in it; without one, all but the last, which belongs to what follows.
fn white_space(text: &[u8]) -> usize {
    let length = run(text, is_white);
    match text[..length].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
        Some(last) => last + 1,
        None if length == text.len() => length,
        None => (length - 1).max(1),
    }
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

fn is_sign(byte: u8) -> bool {
    !is_white(byte) && !byte.is_ascii_alphanumeric()
}

/// Count how many of the first bytes are such.
fn run(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !is(byte)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::{Encoding, pieces};

    #[track_caller]
    fn check(encoding: Encoding, text: &str, expected: &[&str]) {
        assert_eq!(pieces(encoding, text).collect::<Vec<_>>(), expected, "{text:?}");
    }

    #[test]
    fn code_is_cut_as_the_encodings_cut_it() {
        use Encoding::{Cl100k, O200k};
        check(Cl100k, "fooBar(x, 12345)", &["fooBar", "(x", ",", " ", "123", "45", ")"]);
        check(O200k, "fooBar HTTPServer's", &["foo", "Bar", " HTTPServer's"]);
        check(Cl100k, "it's'TIS", &["it", "'s", "'T", "IS"]);
        check(Cl100k, "a  b\t\tc \n  \n d ", &["a", " ", " b", "\t", "\tc", " \n  \n", " d", " "]);
        check(O200k, "x //\n/y", &["x", " //\n/", "y"]);
        check(Cl100k, "x //\n/y", &["x", " //\n", "/y"]);
        check(Cl100k, "\n\nx\r\n", &["\n\n", "x", "\r\n"]);
    }
}

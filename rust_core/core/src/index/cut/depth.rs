//! How deep brackets or tags nest, told without parsing: some grammars take time that grows with the square of the depth, and
//! no person writes thousands of levels. A time limit alone would have a busy machine decide how a file is cut.

use crate::base::language::Language;

/// Levels from which a text is cut by lines. Hand-written code stays under a hundred.
const TOO_DEEP: usize = 2_000;

/// Tags that need no end tag: they nest nothing.
const OPEN_ENDED: &[&str] = &[
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img", "input", "isindex",
    "keygen", "link", "menuitem", "meta", "nextid", "param", "source", "track", "wbr", "p", "li", "dt", "dd", "rb", "rt", "rp",
    "optgroup", "option", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "caption",
];

/// Tell whether the text is nested too deep to parse.
pub fn is_too_deep(language: Language, text: &str) -> bool {
    if language == Language::HTML { tags(text) } else { brackets(text) }
}

/// Tell whether brackets nest too deep. Those in strings and comments count too: that thousands of them are left open there is as
/// unlikely.
fn brackets(text: &str) -> bool {
    // Most texts have too few of them, which the compiler counts many bytes at a time.
    if text.bytes().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count() < TOO_DEEP {
        return false;
    }
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth >= TOO_DEEP
    })
}

fn tags(text: &str) -> bool {
    let mut depth = 0_usize;
    text.split('<').skip(1).any(|tag| {
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let name = tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
            let closes_itself = tag.split('>').next().is_some_and(|inside| inside.ends_with('/'));
            if !closes_itself && !OPEN_ENDED.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                depth += 1;
            }
        }
        depth >= TOO_DEEP
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_levels_count_not_brackets() {
        assert!(is_too_deep(Language::BASH, &"[".repeat(TOO_DEEP)));
        assert!(!is_too_deep(Language::BASH, &"[".repeat(TOO_DEEP - 1)));
        assert!(!is_too_deep(Language::JSON, &"[{}], ".repeat(TOO_DEEP * 10)));
        assert!(!is_too_deep(Language::BASH, &"a) ;;\n".repeat(TOO_DEEP * 10)));
    }

    #[test]
    fn tags_that_nest_nothing_are_no_level() {
        assert!(is_too_deep(Language::HTML, &"<B>".repeat(TOO_DEEP)));
        assert!(!is_too_deep(Language::HTML, &"<br><p>a < b <img src=x> <x-y/> <!-- c -->".repeat(TOO_DEEP)));
        assert!(!is_too_deep(Language::HTML, &"<div><b>x</b></div>".repeat(TOO_DEEP)));
        assert!(!is_too_deep(Language::HTML, &"[".repeat(TOO_DEEP * 10)));
    }
}

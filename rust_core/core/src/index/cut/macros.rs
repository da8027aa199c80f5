//! Macros of C and C++ that stand on a line of their own.
//!
//! A grammar knows nothing of macros: it takes `BEGIN_NAMESPACE` for the type of what follows, and `namespace detail {` below it
//! for a function whose body is the rest of the file.

use crate::base::language::Language;

/// Return `text` with such lines made blank, every other byte where it was; None where there are none.
pub fn without_lone(language: Language, text: &str) -> Option<String> {
    if !matches!(language, Language::C | Language::CPP | Language::OBJECTIVE_C) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    let mut is_continued = false;
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |next| next.trim_start());
        // What stands last before a bracket is an entry of a list, and what a block follows is the head of a function.
        if !is_continued && is_macro(line.trim()) && !next.starts_with(['{', '}', ')', ']', ',', '=']) {
            plain.extend(line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }));
        } else {
            plain.push_str(line);
        }
        is_continued = line.trim_end().ends_with(['\\', ',', '=', '(', '|', '&', '+', '?', ':']);
    }
    (plain != text).then_some(plain)
}

/// Tell whether a line is a name in capitals, with or without arguments.
fn is_macro(line: &str) -> bool {
    let (name, arguments) = line.split_at(line.find('(').unwrap_or(line.len()));
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && name.len() > 1
        && arguments.is_ascii()
        && (arguments.is_empty() || arguments.ends_with(')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_a_macro_is_blank_and_nothing_moves() {
        let text = "NS_BEGIN\r\nnamespace a {\nPY_NS(detail)\nint b;\n}\nNS_END\n";
        let plain = without_lone(Language::CPP, text).unwrap();
        assert_eq!(plain, "        \r\nnamespace a {\n             \nint b;\n}\n      \n");
    }

    #[test]
    fn entries_of_lists_heads_of_functions_and_parts_of_expressions_stay() {
        let texts = [
            "enum E {\n  A,\n  B_C\n};\n",
            "TEST(A, b)\n{\n}\n",
            "#define X(a) \\\n  Y(a)\nint z;\n",
            "int a =\n  MAX_B\n  + 1;\n",
        ];
        for text in texts {
            assert_eq!(without_lone(Language::CPP, text), None, "{text}");
        }
        assert_eq!(without_lone(Language::RUST, "NS_BEGIN\nmod a {}\n"), None);
    }
}

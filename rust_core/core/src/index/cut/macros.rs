//! Macros of C, C++ and Objective-C that stand on a line of their own.
//!
//! A grammar knows nothing of macros: it takes `BEGIN_NAMESPACE` for the type of what follows, and `namespace detail {` below it
//! for a function whose body is the rest of the file.

use crate::base::language::Language;

/// Return `text` with such lines made blank, every other byte where it was; None where there are none.
pub fn without_lone(language: Language, text: &str) -> Option<String> {
    if !matches!(language, Language::C | Language::CPP | Language::OBJECTIVE_C) {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut is_lone = vec![false; lines.len()];
    let mut belongs_above = false; // what stands below goes on with, or is headed by, what stands above it
    for at in (0..lines.len()).rev() {
        let says = lines[at].trim();
        let is_continued = at > 0 && lines[at - 1].trim_end().ends_with(['\\', ',', '=', '(', '|', '&', '+', '?', ':']);
        is_lone[at] = is_macro(says) && !is_continued && !belongs_above;
        if !says.is_empty() && !is_lone[at] {
            belongs_above = says.starts_with(['{', '}', ')', ']', ',', '=']) || is_head(says) || is_macro(says);
        }
    }
    if !is_lone.contains(&true) {
        return None;
    }
    let blank = |byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' };
    let mut plain = String::with_capacity(text.len());
    for (line, is_lone) in lines.into_iter().zip(is_lone) {
        if is_lone { plain.extend(line.bytes().map(blank)) } else { plain.push_str(line) }
    }
    Some(plain)
}

/// Tell whether a line begins with a name and its parameters, whose type may stand on the line above (`VOID`, `API( Error )`).
fn is_head(line: &str) -> bool {
    line.split_once('(').is_some_and(|(name, _)| {
        let name = name.trim_end();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Tell whether a line is a name in capitals, with or without arguments.
fn is_macro(line: &str) -> bool {
    let (name, arguments) = line.split_at(line.find('(').unwrap_or(line.len()));
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
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
            "BOOL\nAPIENTRY\n\nDllMain(HMODULE h)\n{\n}\nVOID\nBar(VOID)\n{\n}\n",
            "  FT_EXPORT( FT_Error )\n  FT_Init( FT_Library *library );\n",
            "#define X(a) \\\n  Y(a)\nint z;\n",
            "int a =\n  MAX_B\n  + 1;\n",
        ];
        for text in texts {
            assert_eq!(without_lone(Language::CPP, text), None, "{text}");
        }
        assert_eq!(without_lone(Language::RUST, "NS_BEGIN\nmod a {}\n"), None);
    }
}

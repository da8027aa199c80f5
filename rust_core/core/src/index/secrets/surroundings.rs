//! Tell where in a program people write for people: in comments, and in literals, which hold messages, settings and other languages.

use super::operators::is_quote;
use super::work::Work;
use crate::base::language::Language;

/// A line is read no further back.
const LONGEST_LEAD: usize = 400;
/// A document within a program (`<<EOF`) is no longer.
const LONGEST_DOCUMENT: usize = 20_000;
/// Signs that begin a comment at a line's beginning, and those that do so after a blank as well.
const LINE_COMMENTS: [&[u8]; 3] = [b"*", b";", b"%"];
const COMMENTS: [&[u8]; 5] = [b"//", b"/*", b"<!--", b"--", b"#"];

/// The long literals of a file, read as far as was asked.
pub(super) struct Surroundings {
    /// Backticks open a literal.
    backticks: bool,
    at: usize,
    /// The sign that closes the literal that is open at `at`.
    closing: Option<&'static [u8]>,
    document_end: usize,
    work: Work,
}

impl Surroundings {
    pub fn new(language: Option<Language>, length: usize) -> Self {
        let backticks = [Language::JAVASCRIPT, Language::TYPESCRIPT, Language::TSX, Language::GO];
        let backticks = language.is_some_and(|language| backticks.contains(&language));
        Self { backticks, at: 0, closing: None, document_end: 0, work: Work::for_length(length) }
    }

    /// Tell whether a place of a program is in a comment or in a literal. Places must be asked for in their order.
    pub fn are_for_people(&mut self, text: &[u8], at: usize) -> bool {
        is_in_line(text, at) || self.in_long_literal(text, at)
    }

    fn in_long_literal(&mut self, text: &[u8], place: usize) -> bool {
        while self.at < place {
            let rest = &text[self.at..place];
            if let Some(closing) = self.closing {
                let end = rest.iter().position(|&b| b == closing[0]).unwrap_or(rest.len());
                self.at += end;
                if text[self.at..].starts_with(closing) {
                    self.at += closing.len();
                    self.closing = None;
                } else {
                    self.at += 1;
                }
                continue;
            }
            let Some(next) = rest.iter().position(|b| matches!(b, b'"' | b'\'' | b'`' | b'<')) else {
                self.at = place;
                break;
            };
            self.at += next;
            let rest = &text[self.at..];
            self.closing = match rest[0] {
                b'"' if rest.starts_with(b"\"\"\"") => Some(b"\"\"\""),
                b'\'' if rest.starts_with(b"'''") => Some(b"'''"),
                b'"' if text[..self.at].ends_with(b"r#") => Some(b"\"#"),
                b'"' if text[..self.at].ends_with(b"@") => Some(b"\""),
                b'`' if self.backticks => Some(b"`"),
                b'<' if self.at >= self.document_end && rest.starts_with(b"<<") => {
                    self.document_end = document_end(text, self.at, &mut self.work).unwrap_or(self.document_end);
                    None
                }
                _ => None,
            };
            self.at += self.closing.map_or(1, <[u8]>::len);
        }
        self.closing.is_some() || place < self.document_end
    }
}

/// Tell whether a place is in a comment of its line, or in a literal there.
pub(super) fn is_in_line(text: &[u8], at: usize) -> bool {
    let length = text[..at].iter().rev().take(LONGEST_LEAD).take_while(|&&b| b != b'\n').count();
    let lead = text[at - length..at].trim_ascii_start();
    if LINE_COMMENTS.iter().any(|sign| lead.starts_with(sign)) {
        return true;
    }
    let (mut open, mut place) = (None, 0);
    while place < lead.len() {
        let byte = lead[place];
        let rest = &lead[place..];
        if byte == b'\\' {
            place += 1;
        } else if open == Some(byte) {
            open = None;
        } else if open.is_none() {
            let before = place.checked_sub(1).map(|before| lead[before]);
            let apart = before.is_none_or(|b| b.is_ascii_whitespace());
            // A word has an apostrophe, a lifetime is one.
            let opens = byte != b'\'' || before.is_none_or(|b| !b.is_ascii_alphanumeric() && !b"<&".contains(&b));
            if apart && COMMENTS.iter().any(|sign| rest.starts_with(sign) && is_comment(rest, sign)) {
                return true;
            }
            open = Some(byte).filter(|_| is_quote(byte) && opens);
        }
        place += 1;
    }
    open.is_some()
}

/// Return where the comment begins that stands on the same line behind a place.
pub(super) fn comment_behind(text: &[u8], at: usize) -> Option<usize> {
    let length = text[at..].iter().take(LONGEST_LEAD).take_while(|&&b| b != b'\n').count();
    let begins = |&place: &usize| {
        let rest = &text[place..at + length];
        text[place - 1].is_ascii_whitespace() && COMMENTS.iter().any(|sign| rest.starts_with(sign) && is_comment(rest, sign))
    };
    (at + 1..at + length).find(begins)
}

/// Tell whether a sign begins a comment, and no option, directive or attribute.
fn is_comment(rest: &[u8], sign: &[u8]) -> bool {
    let next = rest.get(sign.len());
    match sign {
        b"--" => next.is_some_and(|next| !next.is_ascii_alphanumeric()),
        b"#" => !rest.starts_with(b"#define") && next.is_none_or(|next| !b"[{".contains(next)),
        _ => true,
    }
}

/// Return where the document ends that `<<EOF` announces at `at`.
fn document_end(text: &[u8], at: usize, work: &mut Work) -> Option<usize> {
    let line = at + text[at..].iter().take(80).position(|&b| b == b'\n')?;
    let sign = text[at..line].iter().position(|b| !b"<-~'\"\\".contains(b)).map(|length| at + length)?;
    let length = text[sign..line].iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_').count();
    let name = &text[sign..sign + length];
    if length < 2 || text.get(sign + length).is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let body = &text[line + 1..text.len().min(line + LONGEST_DOCUMENT)];
    let mut end = line + 1;
    let body = if work.take(body.len()) { body } else { b"" };
    for row in body.split_inclusive(|&b| b == b'\n') {
        if row.trim_ascii().strip_prefix(name).is_some_and(|rest| rest.iter().all(|b| b";,)".contains(b))) {
            return Some(end);
        }
        end += row.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: bool, text: &str) {
        let at = text.find("password").unwrap();
        let surroundings = || Surroundings::new(Some(Language::GO), text.len());
        assert_eq!(surroundings().are_for_people(text.as_bytes(), at), expected, "{text}");
    }

    #[test]
    fn comments_and_literals_are_for_people() {
        for text in [
            "# the password",
            "x = call()  # the password",
            "x(); // the password",
            "int x; /* the password */",
            "-- the password",
            "<!-- the password",
            "print(\"the password\")",
            "print('the password')",
            "x = \"\"\"\nuser: a\npassword: b\n\"\"\"",
            "x := `\nuser: a\npassword: b\n`",
            "let x = r#\"\npassword: b\n\"#",
            "x = <<~EOF\n  password: b\nEOF\n",
            "$x = <<<'EOF'\npassword: b\nEOF;\n",
        ] {
            check(true, text);
        }
    }

    #[test]
    fn statements_are_not() {
        for text in [
            "x = 'a'; password = b",
            "url = \"http://a\"; password = b",
            "x = \"\"\"a\"\"\"\npassword = b",
            "x = <<EOF\na\nEOF\npassword = b",
            "cout << EOF\npassword = b",
            "app --password b",
            "#define password b",
            "fn f<'a>(password: &'a str)",
            "x := `a`\npassword := b",
        ] {
            check(false, text);
        }
    }
}

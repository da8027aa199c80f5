//! The lines of an ignore file, read as git reads them (`dir.c`).

use super::wildmatch::Glob;

/// The patterns of one file, in its order.
#[derive(Clone, Debug, Default)]
pub(in crate::workspace::walk) struct PatternList(Vec<Pattern>);

#[derive(Clone, Debug)]
struct Pattern {
    negative: bool,
    /// It ended in `/`.
    only_folders: bool,
    /// It has no other `/`: it is matched with the last name alone.
    only_name: bool,
    /// What precedes the first special character.
    literal: Vec<u8>,
    rest: Rest,
}

/// What follows the literal part.
#[derive(Clone, Debug)]
enum Rest {
    Nothing,
    /// A single `*` and these bytes, in a pattern for names.
    EndsWith(Vec<u8>),
    Glob(Glob),
}

const SPECIAL: &[u8] = b"*?[\\";

impl PatternList {
    /// Read the text of a file. With `fold`, case doesn't count (`core.ignoreCase`).
    pub fn parse(text: &[u8], fold: bool) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        Self(lines.filter_map(|line| Pattern::parse(line, fold)).collect())
    }

    /// Tell whether the last pattern that matches ignores (`true`) or takes in again (`false`) the entry at `path`, relative to
    /// the folder that the patterns are for.
    pub fn decide(&self, path: &[u8], is_folder: bool, fold: bool) -> Option<bool> {
        if self.0.is_empty() {
            return None;
        }
        let name = path.iter().rposition(|byte| *byte == b'/').map_or(path, |at| &path[at + 1..]);
        let found = self.0.iter().rev().find(|pattern| {
            (is_folder || !pattern.only_folders) && pattern.matches(if pattern.only_name { name } else { path }, fold)
        });
        found.map(|pattern| !pattern.negative)
    }
}

impl Pattern {
    fn parse(line: &[u8], fold: bool) -> Option<Self> {
        if line.first() == Some(&b'#') {
            return None;
        }
        // Git's lines are C strings.
        let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let line = without_trailing_spaces(line);
        let (negative, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (only_folders, line) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        if line.is_empty() {
            return None;
        }
        let only_name = !line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        let special = |byte: &u8| SPECIAL.contains(byte);
        let (literal, rest) = line.split_at(line.iter().position(special).unwrap_or(line.len()));
        let rest = match rest {
            [] => Rest::Nothing,
            [b'*', end @ ..] if only_name && literal.is_empty() && !end.iter().any(special) => Rest::EndsWith(end.to_vec()),
            // Git matches what follows the literal part by itself: `a**/b` means `a` and `**/b`.
            rest => Rest::Glob(Glob::new(rest, fold)),
        };
        Some(Self { negative, only_folders, only_name, literal: literal.to_vec(), rest })
    }

    fn matches(&self, text: &[u8], fold: bool) -> bool {
        let same = |a: &[u8], b: &[u8]| if fold { a.eq_ignore_ascii_case(b) } else { a == b };
        let Some((start, text)) = text.split_at_checked(self.literal.len()) else { return false };
        same(start, &self.literal)
            && match &self.rest {
                Rest::Nothing => text.is_empty(),
                Rest::EndsWith(end) => text.len().checked_sub(end.len()).is_some_and(|from| same(&text[from..], end)),
                Rest::Glob(glob) => glob.matches(text),
            }
    }
}

/// Remove spaces at the end, which don't count unless a backslash precedes them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => at += 1,
            b'\\' if at + 1 == line.len() => return line,
            byte => {
                at += if byte == b'\\' { 2 } else { 1 };
                end = at;
            }
        }
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, ignored: &[&str], kept: &[&str]) {
        let list = PatternList::parse(text.as_bytes(), false);
        for (paths, expected) in [(ignored, true), (kept, false)] {
            for path in paths {
                let (name, is_folder) = path.strip_suffix('/').map_or((*path, false), |name| (name, true));
                assert_eq!(list.decide(name.as_bytes(), is_folder, false).unwrap_or(false), expected, "{text:?} {path}");
            }
        }
    }

    #[test]
    fn lines_are_read_as_git_reads_them() {
        check("\u{feff}a.py\r\nb.py ", &["a.py", "b.py", "x/b.py"], &["c.py"]);
        check("a.py\\ \n# b.py\n\\#c\n\\!d", &["a.py ", "#c", "!d"], &["a.py", " b.py", "c", "d"]);
        check("/a\nb/\nc/d\n!x/b/", &["a", "b/", "y/b/", "c/d"], &["x/a", "b", "x/b/", "x/c/d"]);
        check("*.py\n!keep.py\n/keep.py", &["a.py", "x/b.py", "keep.py"], &["x/keep.py"]);
        check("foo**/bar", &["foobar", "foo/x/bar"], &["fooxbar"]);
        check("é?\n*ü", &["éa", "aü"], &["éé", "ü/a"]);
        check("\n \n/\n!\n//\n\0x\n\t", &["\t"], &["a", "x"]);
    }
}

//! Git's glob matching (`wildmatch.c`), byte for byte, without its recursion: a pattern is compiled into tokens and all ways to
//! match are followed at once, so that no pattern of a repository can make a match slow or deep.

/// A compiled glob over the bytes of a `/`-separated path.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    tokens: Vec<Token>,
    /// Shorter texts can't match.
    least: usize,
    fold: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`: any byte but `/`.
    Any,
    Class(Box<[bool; 256]>),
    /// `*`, or `**` where that crosses folders.
    Star {
        crosses: bool,
    },
    /// `**/`: go on behind the next two tokens (a crossing star and a `/`), or with them.
    Folders,
    /// What git can't parse never matches.
    Never,
}

impl Glob {
    /// Compile `pattern`. With `fold`, ASCII letters match in both cases, as far as they do for git.
    pub fn new(pattern: &[u8], fold: bool) -> Self {
        let tokens = Parser { pattern, at: 0, fold }.tokens();
        let mut least = 0;
        let mut skip = 0;
        for token in &tokens {
            let optional = skip > 0;
            skip = if *token == Token::Folders { 2 } else { skip.max(1) - 1 };
            least += usize::from(!optional && !matches!(token, Token::Star { .. } | Token::Folders));
        }
        Self { tokens, least, fold }
    }

    /// Tell whether the whole of `text` matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        if text.len() < self.least {
            return false;
        }
        let end = self.tokens.len();
        // Positions in the pattern that what was read so far leads to.
        let mut active = vec![false; end + 1];
        active[0] = true;
        self.skip_empty(&mut active);
        for &byte in text {
            let byte = if self.fold { byte.to_ascii_lowercase() } else { byte };
            active[end] = false;
            for at in (0..end).rev() {
                if !active[at] {
                    continue;
                }
                active[at] = matches!(self.tokens[at], Token::Star { crosses } if crosses || byte != b'/');
                if self.tokens[at].takes(byte) {
                    active[at + 1] = true;
                }
            }
            self.skip_empty(&mut active);
            if !active.contains(&true) {
                return false;
            }
        }
        active[end]
    }

    /// Go on over tokens that may match nothing.
    fn skip_empty(&self, active: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Star { .. } if active[at] => active[at + 1] = true,
                Token::Folders if active[at] => {
                    active[at] = false;
                    active[at + 1] = true;
                    active[at + 3] = true;
                }
                _ => {}
            }
        }
    }
}

impl Token {
    /// Tell whether this token takes `byte` and is done with it.
    fn takes(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => byte != b'/',
            Self::Class(set) => set[byte as usize],
            Self::Star { .. } | Self::Folders | Self::Never => false,
        }
    }
}

struct Parser<'a> {
    pattern: &'a [u8],
    at: usize,
    fold: bool,
}

impl Parser<'_> {
    fn tokens(mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                // Git doesn't fold the case of what is escaped.
                b'\\' => tokens.push(self.next().map_or(Token::Never, Token::Byte)),
                b'?' => tokens.push(Token::Any),
                b'[' => tokens.push(self.class().map_or(Token::Never, |set| Token::Class(Box::new(set)))),
                b'*' => self.star(&mut tokens),
                byte => tokens.push(Token::Byte(if self.fold { byte.to_ascii_lowercase() } else { byte })),
            }
            if tokens.last() == Some(&Token::Never) {
                break;
            }
        }
        tokens
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    /// Read the rest of a row of stars, of which the first is read.
    fn star(&mut self, tokens: &mut Vec<Token>) {
        let begins_name = self.at < 2 || self.pattern[self.at - 2] == b'/';
        let first = self.at;
        while self.peek() == Some(b'*') {
            self.at += 1;
        }
        let rest = &self.pattern[self.at..];
        let crosses = self.at > first && begins_name && (rest.is_empty() || rest[0] == b'/' || rest.starts_with(b"\\/"));
        if crosses && rest.first() == Some(&b'/') {
            self.at += 1;
            let same = [Token::Folders, Token::Star { crosses: true }, Token::Byte(b'/')];
            if !tokens.ends_with(&same) {
                tokens.extend(same);
            }
        } else {
            tokens.push(Token::Star { crosses });
        }
    }

    /// Return the bytes between `[` and `]`; `None` where git finds no end or no such class.
    fn class(&mut self) -> Option<[bool; 256]> {
        let mut set = [false; 256];
        let negated = matches!(self.peek(), Some(b'!' | b'^'));
        self.at += usize::from(negated);
        // Where a range may begin.
        let mut before = None;
        let mut byte = self.next()?;
        loop {
            let mut here = Some(byte);
            if byte == b'\\' {
                let escaped = self.next()?;
                set[escaped as usize] = true;
                here = Some(escaped);
            } else if let (b'-', Some(from), true) = (byte, before, self.peek().is_some_and(|next| next != b']')) {
                let mut to = self.next()?;
                if to == b'\\' {
                    to = self.next()?;
                }
                self.add_range(&mut set, from, to);
                here = None;
            } else if byte == b'[' && self.peek() == Some(b':') {
                if self.add_named(&mut set)? {
                    here = None;
                } else {
                    set[usize::from(b'[')] = true;
                }
            } else {
                set[byte as usize] = true;
            }
            before = here;
            byte = self.next()?;
            if byte == b']' {
                break;
            }
        }
        for member in &mut set {
            *member ^= negated;
        }
        set[usize::from(b'/')] = false;
        Some(set)
    }

    fn add_range(&self, set: &mut [bool; 256], from: u8, to: u8) {
        let inside = from..=to;
        for byte in 0..=u8::MAX {
            set[byte as usize] |=
                inside.contains(&byte) || self.fold && byte.is_ascii_lowercase() && inside.contains(&byte.to_ascii_uppercase());
        }
    }

    /// Read `[:name:]`, of which `[` is read; `false` where it is only the single byte `[`.
    fn add_named(&mut self, set: &mut [bool; 256]) -> Option<bool> {
        let start = self.at + 1;
        let end = start + self.pattern.get(start..)?.iter().position(|byte| *byte == b']')?;
        if end == start || self.pattern[end - 1] != b':' {
            return Some(false);
        }
        let fold = self.fold;
        let member: fn(u8) -> bool = match &self.pattern[start..end - 1] {
            b"alnum" => |byte| byte.is_ascii_alphanumeric(),
            b"alpha" => |byte| byte.is_ascii_alphabetic(),
            b"blank" => |byte| matches!(byte, b' ' | b'\t'),
            b"cntrl" => |byte| byte.is_ascii_control(),
            b"digit" => |byte| byte.is_ascii_digit(),
            b"graph" => |byte| byte.is_ascii_graphic(),
            b"lower" => |byte| byte.is_ascii_lowercase(),
            b"print" => |byte| matches!(byte, 0x20..=0x7e),
            b"punct" => |byte| byte.is_ascii_punctuation(),
            b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
            b"upper" if fold => |byte| byte.is_ascii_alphabetic(),
            b"upper" => |byte| byte.is_ascii_uppercase(),
            b"xdigit" => |byte| byte.is_ascii_hexdigit(),
            _ => return None,
        };
        for byte in 0..=u8::MAX {
            set[byte as usize] |= member(byte);
        }
        self.at = end + 1;
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let glob = Glob::new(pattern.as_bytes(), false);
        for text in yes {
            assert!(glob.matches(text.as_bytes()), "{pattern} should match {text}");
        }
        for text in no {
            assert!(!glob.matches(text.as_bytes()), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn globs_match_as_they_do_for_git() {
        check("a*/b", &["a/b", "axy/b"], &["a/x/b", "b"]);
        check("**/b", &["b", "x/b", "x/y/b"], &["xb", "b/c"]);
        check("a/**/b", &["a/b", "a/x/y/b"], &["ab"]);
        check("a/**", &["a/b", "a/b/c", "a/"], &["a"]);
        check("a**b", &["ab", "axxb"], &["a/b"]);
        check("**/**/a", &["a", "x/a", "x/y/a"], &["xa"]);
        check("?.py", &["a.py"], &["é.py", "/.py", ".py"]);
        check("[a-c!]x[!d]", &["bxe", "!xa"], &["dxe", "bxd", "bx/"]);
        check("[[:digit:]_][]-]", &["1]", "_-"], &["a]", "1x"]);
        check("[[:x", &[], &["[:x", ":x", "x"]);
        check("[[:nothing:]]", &[], &["a", ":"]);
        check("[[:]a]", &["[a]", ":a]"], &["a"]);
        check(r"\*[\]\\]", &["*]", r"*\"], &["x]"]);
        check("[a", &[], &["[a", "a"]);
        check("a\\", &[], &["a", "a\\"]);
    }

    #[test]
    fn case_is_folded_where_git_folds_it() {
        let glob = Glob::new(b"Re*[C-E[:upper:]]", true);
        assert!(glob.matches(b"rEad") && glob.matches(b"REX") && !glob.matches(b"rea1"));
        assert!(!Glob::new(b"\\A", true).matches(b"A"), "what is escaped is not folded");
    }

    #[test]
    fn no_pattern_makes_a_match_slow() {
        let text = "a".repeat(4000) + "b";
        check(&("*a".repeat(2000) + "c"), &[], &[&text]);
        check(&("**/".repeat(200_000) + "c"), &["x/c"], &[&text]);
        check(&"?*".repeat(500_000), &[], &[&text]);
    }
}

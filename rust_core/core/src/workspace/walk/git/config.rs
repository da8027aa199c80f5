//! The few settings of git that decide what is ignored, from the files where git looks for them. No program is started.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::sources::Sources;
use super::wildmatch::Glob;
use crate::base::error::Result;
use crate::workspace::walk::rules::resolved;

/// Includes may lie this deep in each other, as for git.
const MOST_INCLUDES: usize = 10;

/// What was found; the last value of a setting counts.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `core.excludesFile`, as written.
    pub excludes_file: Option<Vec<u8>>,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
}

/// What the conditions of `includeIf` are about; none outside a repository.
#[derive(Debug, Default)]
pub(super) struct Context {
    /// The folder of the repository's (or worktree's) own files.
    pub git_folder: Option<PathBuf>,
}

impl Settings {
    /// Read the configuration of the machine and the user.
    pub fn read_global(&mut self, context: &Context, sources: &mut Sources) -> Result<()> {
        global_files().iter().try_for_each(|file| self.read(file, context, sources, 0))
    }

    /// Read a file over what was read before. A file that isn't there, and the rest of a broken one, count as empty.
    pub fn read(&mut self, file: &Path, context: &Context, sources: &mut Sources, depth: usize) -> Result<()> {
        let text = sources.read(file)?.unwrap_or_default();
        for entry in entries(&text) {
            match (entry.section.as_slice(), entry.subsection.as_deref(), entry.key.as_slice()) {
                (b"core", None, b"excludesfile") => self.excludes_file = entry.value.or(self.excludes_file.take()),
                (b"core", None, b"ignorecase") => self.ignore_case = is_true(entry.value.as_deref()),
                (b"include", None, b"path") | (b"includeif", Some(_), b"path") if depth < MOST_INCLUDES => {
                    let holds = |condition: Vec<u8>| context.holds(&condition, file, sources);
                    let counts = entry.subsection.map_or(Ok(true), holds)?;
                    let Some(path) = entry.value.and_then(|value| expand(&value)).filter(|_| counts) else { continue };
                    let path = file.parent().map_or(path.clone(), |folder| folder.join(&path));
                    self.read(&path, context, sources, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Return the user's own ignore file. A relative path is relative to `top`, the repository's working folder.
    pub fn excludes_path(&self, top: &Path) -> Option<PathBuf> {
        match &self.excludes_file {
            Some(written) => expand(written.strip_prefix(b":(optional)").unwrap_or(written)).map(|path| top.join(path)),
            None => user_folder().map(|folder| folder.join("git").join("ignore")),
        }
    }
}

/// Tell whether a repository's `config` says that its worktrees have settings of their own. Git asks the file itself, without
/// what it includes, and only one that names its format.
pub(super) fn worktrees_have_settings(text: &[u8]) -> bool {
    let (mut has_format, mut found) = (false, false);
    for entry in entries(text).into_iter().filter(|entry| entry.subsection.is_none()) {
        match (entry.section.as_slice(), entry.key.as_slice()) {
            (b"core", b"repositoryformatversion") => has_format = true,
            (b"extensions", b"worktreeconfig") => found = is_true(entry.value.as_deref()),
            _ => {}
        }
    }
    has_format && found
}

impl Context {
    /// Tell whether the condition of an `includeIf` in `file` holds. One that isn't known here, as for an older git, doesn't.
    fn holds(&self, condition: &[u8], file: &Path, sources: &mut Sources) -> Result<bool> {
        let Some(git_folder) = &self.git_folder else { return Ok(false) };
        Ok(if let Some(pattern) = condition.strip_prefix(b"gitdir:") {
            folder_matches(pattern, git_folder, file, false)?
        } else if let Some(pattern) = condition.strip_prefix(b"gitdir/i:") {
            folder_matches(pattern, git_folder, file, true)?
        } else if let Some(pattern) = condition.strip_prefix(b"onbranch:") {
            let head = sources.read(&git_folder.join("HEAD"))?.unwrap_or_default();
            let branch = head.trim_ascii().strip_prefix(b"ref:").map(<[u8]>::trim_ascii_start);
            let branch = branch.and_then(|name| name.strip_prefix(b"refs/heads/"));
            branch.is_some_and(|branch| Glob::new(&with_all_below(pattern), false).matches(branch))
        } else {
            false
        })
    }
}

fn folder_matches(pattern: &[u8], git_folder: &Path, file: &Path, fold: bool) -> Result<bool> {
    let folders = [git_folder.to_owned(), resolved(git_folder)?];
    // What a path from outside the pattern brings in is taken literally.
    let (literal, pattern) = if let Some(rest) = pattern.strip_prefix(b"./") {
        (resolved(file)?.parent().map(slashed), rest)
    } else if let Some(rest) = pattern.strip_prefix(b"~/") {
        (home().map(|home| resolved(&home)).transpose()?.map(|home| slashed(&home)), rest)
    } else if pattern.starts_with(b"/") || pattern.get(1) == Some(&b':') {
        (Some(Vec::new()), pattern)
    } else {
        let glob = Glob::new(&with_all_below(&[b"**/", pattern].concat()), fold);
        return Ok(folders.iter().any(|folder| glob.matches(&slashed(folder))));
    };
    let Some(mut literal) = literal else { return Ok(false) };
    if !literal.is_empty() {
        literal.push(b'/');
    }
    Ok(folders.iter().any(|folder| {
        let folder = slashed(folder);
        let Some((start, rest)) = folder.split_at_checked(literal.len()) else { return false };
        let same = if fold { start.eq_ignore_ascii_case(&literal) } else { *start == *literal };
        same && Glob::new(&with_all_below(pattern), fold).matches(rest)
    }))
}

/// Let a pattern that ends in `/` mean all that is below.
fn with_all_below(pattern: &[u8]) -> Vec<u8> {
    let mut pattern = pattern.to_vec();
    if pattern.ends_with(b"/") {
        pattern.extend(b"**");
    }
    pattern
}

/// Return the bytes of a path, with `/` between its names.
pub(in crate::workspace::walk) fn slashed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) {
        let bytes = bytes.strip_prefix(br"\\?\").unwrap_or(bytes);
        bytes.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect()
    } else {
        bytes.to_vec()
    }
}

/// Expand a path of a configuration file; `~/` is the user's folder. Those of other users (`~name/`) aren't known here.
fn expand(written: &[u8]) -> Option<PathBuf> {
    let path = |bytes: &[u8]| -> PathBuf { bytes_to_path(bytes) };
    if written == b"~" {
        home()
    } else if let Some(rest) = written.strip_prefix(b"~/") {
        Some(home()?.join(path(rest)))
    } else {
        Some(path(written))
    }
}

/// Return the path that these bytes name.
pub(super) fn bytes_to_path(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
    }
    #[cfg(not(unix))]
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn home() -> Option<PathBuf> {
    set("HOME").map(PathBuf::from).or_else(env::home_dir)
}

/// Return where the user's configuration lies (`$XDG_CONFIG_HOME`).
fn user_folder() -> Option<PathBuf> {
    set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".config")))
}

/// Return the configuration files of the machine and the user, from the weakest.
fn global_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let no_system = set("GIT_CONFIG_NOSYSTEM").is_some_and(|value| is_true(Some(value.as_encoded_bytes())));
    match set("GIT_CONFIG_SYSTEM") {
        _ if no_system => {}
        Some(file) => files.push(file.into()),
        None => files.extend(SYSTEM_FILES.iter().map(PathBuf::from)),
    }
    if let Some(file) = env::var_os("GIT_CONFIG_GLOBAL") {
        files.push(file.into());
    } else {
        files.extend(user_folder().map(|folder| folder.join("git").join("config")));
        files.extend(home().map(|home| home.join(".gitconfig")));
    }
    files
}

/// Git is built with one of these. Those of package managers come first: what a machine's administrator wrote is stronger.
const SYSTEM_FILES: &[&str] = if cfg!(windows) {
    &[r"C:\Program Files\Git\etc\gitconfig"]
} else if cfg!(target_os = "macos") {
    &[
        "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
        "/opt/homebrew/etc/gitconfig",
        "/usr/local/etc/gitconfig",
        "/etc/gitconfig",
    ]
} else {
    &["/etc/gitconfig"]
};

/// Tell whether a value means true, as a key without a value does.
fn is_true(value: Option<&[u8]>) -> bool {
    let Some(value) = value else { return true };
    let value = value.to_ascii_lowercase();
    match value.as_slice() {
        b"true" | b"yes" | b"on" => true,
        number => std::str::from_utf8(number).ok().and_then(|text| text.parse::<i64>().ok()).is_some_and(|number| number != 0),
    }
}

/// One setting of a file; names are in lower case but for the subsection's.
#[derive(Debug, Default, PartialEq, Eq)]
struct Entry {
    section: Vec<u8>,
    subsection: Option<Vec<u8>>,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

/// Return the settings of a file, up to the first line that git couldn't read.
fn entries(text: &[u8]) -> Vec<Entry> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader { text, at: 0 };
    let mut entries = Vec::new();
    let (mut section, mut subsection) = (Vec::new(), None);
    while let Some(byte) = reader.next() {
        match byte {
            byte if byte.is_ascii_whitespace() => {}
            b'#' | b';' => reader.skip_line(),
            b'[' => match reader.section() {
                Some(found) => (section, subsection) = found,
                None => break,
            },
            byte if byte.is_ascii_alphabetic() => match reader.entry(byte) {
                Some((key, value)) => {
                    entries.push(Entry { section: section.clone(), subsection: subsection.clone(), key, value });
                }
                None => break,
            },
            _ => break,
        }
    }
    entries
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Return the next byte; a line end of Windows is one byte.
    fn next(&mut self) -> Option<u8> {
        if self.text[self.at..].starts_with(b"\r\n") {
            self.at += 1;
        }
        let byte = self.text.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// Read `[name]`, `[name "sub"]` or `[name.sub]`, of which `[` is read.
    fn section(&mut self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let mut name = Vec::new();
        loop {
            match self.next()? {
                b']' => break,
                b' ' | b'\t' => {
                    while matches!(self.text.get(self.at), Some(b' ' | b'\t')) {
                        self.at += 1;
                    }
                    return (self.next()? == b'"').then(|| self.subsection()).flatten().map(|sub| (name, Some(sub)));
                }
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
        let dot = name.iter().position(|byte| *byte == b'.');
        Some(match dot {
            Some(at) => (name[..at].to_vec(), Some(name[at + 1..].to_vec())),
            None => (name, None),
        })
    }

    fn subsection(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next()? {
                b'"' => return (self.next()? == b']').then_some(name),
                b'\n' => return None,
                b'\\' => name.push(self.next()?),
                byte => name.push(byte),
            }
        }
    }

    /// Read `key = value`, whose `first` byte is read.
    fn entry(&mut self, first: u8) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let mut key = vec![first.to_ascii_lowercase()];
        let mut byte = self.next();
        while let Some(letter) = byte.filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
            key.push(letter.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, Some(b' ' | b'\t')) {
            byte = self.next();
        }
        match byte {
            None | Some(b'\n') => Some((key, None)),
            Some(b'=') => Some((key, Some(self.value()?))),
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let (mut quoted, mut kept) = (false, 0);
        loop {
            match self.next() {
                None | Some(b'\n') if quoted => return None,
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !quoted => {
                    self.skip_line();
                    break;
                }
                Some(b'"') => {
                    quoted = !quoted;
                    kept = value.len();
                }
                Some(b'\\') => {
                    match self.next()? {
                        b'\n' => continue,
                        b't' => value.push(b'\t'),
                        b'b' => value.push(8),
                        b'n' => value.push(b'\n'),
                        byte @ (b'\\' | b'"') => value.push(byte),
                        _ => return None,
                    }
                    kept = value.len();
                }
                // Blanks count between words and in quotes only.
                Some(byte) if byte.is_ascii_whitespace() && !quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                Some(byte) => {
                    value.push(byte);
                    kept = value.len();
                }
            }
        }
        value.truncate(kept);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Option<&str>)]) {
        let found: Vec<_> = entries(text.as_bytes())
            .into_iter()
            .map(|entry| {
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                let section = entry.subsection.map_or(String::new(), |sub| format!("{}.", text(sub)));
                (format!("{}.{section}{}", text(entry.section), text(entry.key)), entry.value.map(text))
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_grammar_of_configuration_files() {
        check(
            "\u{feff}[Core] ExcludesFile = a b # c\r\n\tignoreCase\n",
            &[("core.excludesfile", Some("a b")), ("core.ignorecase", None)],
        );
        check(
            "[includeIf \"gitdir:~/\\\"W\\\"/\"]\npath = \"x ;\" y  \\\n z\\t\n",
            &[("includeif.gitdir:~/\"W\"/.path", Some("x ; y   z\t"))],
        );
        check("[a.B]\nk=1\n[b]\nl = \"open\n[c]\nm = 1\n", &[("a.b.k", Some("1"))]);
        check("[core]\n# x\n; y\nexcludesFile =\n", &[("core.excludesfile", Some(""))]);
    }
}

//! What an `.editorconfig` says of the encoding of a file.

use encoding_rs::Encoding;
use globset::GlobBuilder;

use super::folder::Folder;
use super::read::read_bytes;

/// The file that says it.
pub(super) const CHARSET_FILE: &str = ".editorconfig";
const MOST_BYTES: u64 = 1 << 20;

/// Return the `charset` that counts for a file of the workspace, by the nearest file that says one. Nothing outside is read.
pub fn charset(root: &Folder, path: &str) -> Option<&'static Encoding> {
    let mut above = Some(path);
    while let Some((folder, _)) = above.map(|inside| inside.rsplit_once('/').unwrap_or(("", inside))) {
        let file = if folder.is_empty() { CHARSET_FILE.to_owned() } else { format!("{folder}/{CHARSET_FILE}") };
        if let Ok((bytes, _)) = root.file(&file).map_err(drop).and_then(|file| read_bytes(file, MOST_BYTES).map_err(drop)) {
            let (said, is_last) = said_of(&String::from_utf8_lossy(&bytes), path[folder.len()..].trim_start_matches('/'));
            if said.is_some() || is_last {
                return said;
            }
        }
        above = (!folder.is_empty()).then_some(folder);
    }
    None
}

/// Return what a file says of the one at `relative`, and whether none above it counts.
fn said_of(text: &str, relative: &str) -> (Option<&'static Encoding>, bool) {
    let (mut said, mut is_last, mut fits) = (None, false, None);
    for line in text.lines().map(str::trim) {
        if let Some(glob) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            fits = Some(fits_glob(glob, relative));
            continue;
        }
        let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else { continue };
        if fits.is_none() && key.eq_ignore_ascii_case("root") {
            is_last = value.eq_ignore_ascii_case("true");
        } else if fits == Some(true) && key.eq_ignore_ascii_case("charset") {
            said = Encoding::for_label(value.as_bytes());
        }
    }
    (said, is_last)
}

/// Tell whether a glob of a section fits; one without a `/` fits in any folder.
fn fits_glob(glob: &str, relative: &str) -> bool {
    let anchored = glob.strip_prefix('/').map(str::to_owned);
    let glob = anchored.unwrap_or_else(|| if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") });
    GlobBuilder::new(&glob).literal_separator(true).build().is_ok_and(|glob| glob.compile_matcher().is_match(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_section_that_fits_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(path), text).unwrap();
        };
        write(
            ".editorconfig",
            "root = true\n[*]\nindent_size = 2\n[*.{c,h}]\nCharset = latin1\n[old/*.c]\ncharset = windows-1251\n",
        );
        write("new/.editorconfig", "[x.c]\ncharset = gbk\n");
        write("alone/.editorconfig", "root = true\n");
        let root = Folder::open(folder.path()).unwrap();
        let name = |path: &str| charset(&root, path).map(Encoding::name);
        assert_eq!(name("a.c"), Some("windows-1252"));
        assert_eq!(name("deep/in/a.h"), Some("windows-1252"));
        assert_eq!(name("old/a.c"), Some("windows-1251"));
        assert_eq!(name("new/x.c"), Some("GBK"));
        assert_eq!(name("new/y.c"), Some("windows-1252"));
        assert_eq!(name("alone/y.c"), None);
        assert_eq!(name("a.py"), None);
    }
}

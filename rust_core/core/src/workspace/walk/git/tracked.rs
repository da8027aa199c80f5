//! Which folders git tracks files in, as its index says: a file of binary entries, one for each tracked path.
//!
//! Its form: `git help gitformat-index`. Read are versions 2 to 4, split and sparse ones, with hashes of 20 and of 32 bytes. One that
//! is damaged says nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::base::sync::locked;
use crate::base::types::SkipReason;
use crate::workspace::folder::open_file;
use crate::workspace::read::read_bytes;
use crate::workspace::walk::folders::may_hold_own_code;
use crate::workspace::walk::stamp::{RuleFileStamp, stamp_of};

/// A larger index says nothing: it would have some five million entries.
const MOST_BYTES: u64 = 512 << 20;
/// Bytes of an entry before its hash: times, device, mode, owner, size.
const STATUS_BYTES: usize = 40;
const HASH_BYTES: [usize; 2] = [20, 32];
/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
/// A longer path is none that a system can hold, and no project has so many levels, or folders with such names.
const LONGEST_PATH: usize = 4096;
const MOST_LEVELS: usize = 64;
const MOST_FOLDERS: usize = 20_000;
/// Where an entry has its mode, and the mode's type of another repository's commit.
const MODE_AT: usize = 24;
const SUBMODULE: u32 = 0xe;

type Folders = HashSet<Vec<u8>>;

/// The tracked folders of a repository whose names don't tell whether they count. Read when the first one is asked for.
#[derive(Debug)]
pub struct TrackedFolders {
    index: PathBuf,
    read: Mutex<Option<(RuleFileStamp, Arc<Folders>)>>,
}

impl TrackedFolders {
    pub fn of(git_folder: &Path) -> Self {
        Self { index: git_folder.join("index"), read: Mutex::default() }
    }

    /// Tell whether git tracks anything in the folder at `path`, relative to the repository.
    pub fn has(&self, path: &[u8]) -> Result<bool, SkipReason> {
        let stamp = stamp_of(&self.index);
        let mut read = locked(&self.read);
        let folders = match read.as_ref().filter(|(known, _)| *known == stamp) {
            Some((_, folders)) => Arc::clone(folders),
            None => Arc::clone(&read.insert((stamp, Arc::new(self.folders()?))).1),
        };
        Ok(folders.contains(path))
    }

    fn folders(&self) -> Result<Folders, SkipReason> {
        let mut folders = Folders::new();
        let Some(bytes) = read(&self.index)? else { return Ok(folders) };
        let mut found = Folders::new();
        let Some(shared) = each_path(&bytes, |path| note(&mut found, path)) else { return Ok(folders) };
        folders.extend(found);
        if !shared.is_empty()
            && let Some(bytes) = read(&self.index.with_file_name(format!("sharedindex.{shared}")))?
        {
            let mut found = Folders::new();
            if each_path(&bytes, |path| note(&mut found, path)).is_some() {
                folders.extend(found);
            }
        }
        Ok(folders)
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, SkipReason> {
    match open_file(path).map_err(|e| SkipReason::from(&e)).and_then(|file| read_bytes(file, MOST_BYTES)) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(fault @ SkipReason::Fault(_)) => Err(fault),
        Err(_) => Ok(None),
    }
}

/// Note the folders above a tracked path whose names don't tell whether they count.
fn note(folders: &mut Folders, path: &[u8]) {
    for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/').take(MOST_LEVELS) {
        let begin = path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        if str::from_utf8(&path[begin..end]).is_ok_and(may_hold_own_code)
            && folders.len() < MOST_FOLDERS
            && !folders.contains(&path[..end])
        {
            folders.insert(path[..end].to_vec());
        }
    }
}

/// Call `each` with every path of an index; return the hash of the index that it adds to, empty if it isn't split. `None` where it
/// is damaged: what `each` got then is of no use.
fn each_path(bytes: &[u8], mut each: impl FnMut(&[u8])) -> Option<String> {
    HASH_BYTES.into_iter().find(|&hash| walk(bytes, hash, |_| ()).is_some()).and_then(|hash| walk(bytes, hash, &mut each))
}

fn walk(bytes: &[u8], hash: usize, mut each: impl FnMut(&[u8])) -> Option<String> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..number(8)? {
        let start = at;
        at += STATUS_BYTES + hash;
        let flags = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
        at += if version > 2 && flags & EXTENDED != 0 { 4 } else { 2 };
        let kept = if version == 4 { name.len().checked_sub(varint(bytes, &mut at)?)? } else { 0 };
        let end = at + bytes.get(at..)?.iter().take(LONGEST_PATH).position(|&byte| byte == 0)?;
        name.truncate(kept);
        name.extend_from_slice(&bytes[at..end]);
        // An entry of a split index that replaces one has no name.
        let length = usize::from(flags & NAME_LENGTH);
        if name.len().min(usize::from(NAME_LENGTH)) != length || name.len() > LONGEST_PATH {
            return None;
        }
        // Up to version 3 an entry is filled up with one to eight zeros.
        at = if version == 4 { end + 1 } else { start + (end - start + 8) / 8 * 8 };
        if number(start + MODE_AT)? >> 12 & 0xf != SUBMODULE {
            each(&name);
        }
    }
    let last = bytes.len().checked_sub(hash)?;
    let mut shared = String::new();
    while at < last {
        let size = number(at + 4)? as usize;
        let body = bytes.get(at + 8..at.checked_add(8)?.checked_add(size)?)?;
        if &bytes[at..at + 4] == b"link" {
            shared = body.get(..hash)?.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        }
        at += 8 + size;
    }
    (at == last).then_some(shared)
}

/// Read a number as git writes the offsets of its packs.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_shl(7)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1).filter(|&value| value < 1 << 30)?;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::LazyLock;

    use super::*;
    use proptest::prelude::*;

    /// Make a repository in a new folder by git's own hands; `None` where there is no git that can.
    fn repository(files: &[&str], start: &[&str], then: &[&[&str]]) -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(file), file).unwrap();
        }
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b.example"]).args(arguments).current_dir(folder.path());
            command.output().is_ok_and(|done| done.status.success())
        };
        let done = git(start) && git(&["add", "-A"]) && git(&["commit", "-qm", "x"]) && then.iter().all(|step| git(step));
        done.then_some(folder)
    }

    const FILES: [&str; 6] = ["a/build/deep/x.py", "a/é/build/y.py", "a/vendor/lib/z.c", "b/vendor/own.rb", ".ci/run.sh", "z.py"];

    #[track_caller]
    fn check(start: &[&str], then: &[&[&str]]) {
        let Some(folder) = repository(&FILES, start, then) else { return };
        let tracked = TrackedFolders::of(&folder.path().join(".git"));
        let has = |path: &str| tracked.has(path.as_bytes()).unwrap();
        let paths = ["a/build", "a/é/build", "a/vendor", "b/vendor", ".ci", "build", "a"];
        assert_eq!(paths.map(has), [true, true, true, true, true, false, false], "{start:?} {then:?}");
    }

    #[test]
    fn every_form_of_an_index_is_read() {
        check(&["init", "-q"], &[]);
        check(&["init", "-q", "--object-format=sha256"], &[]);
        check(&["init", "-q"], &[&["update-index", "--index-version", "4"]]);
        check(&["init", "-q"], &[&["update-index", "--index-version", "4"], &["update-index", "--skip-worktree", "z.py"]]);
        check(&["init", "-q"], &[&["update-index", "--skip-worktree", "z.py"]]);
        check(&["init", "-q"], &[&["update-index", "--split-index"]]);
        check(&["init", "-q"], &[&["update-index", "--untracked-cache"]]);
    }

    #[test]
    fn a_sparse_index_names_folders() {
        let Some(folder) = repository(&FILES, &["init", "-q"], &[&["sparse-checkout", "set", "--cone", "--sparse-index", "b"]])
        else {
            return;
        };
        let tracked = TrackedFolders::of(&folder.path().join(".git"));
        assert_eq!(tracked.has(b"b/vendor"), Ok(true));
    }

    #[test]
    fn a_change_of_the_index_is_seen() {
        let Some(folder) = repository(&FILES, &["init", "-q"], &[]) else { return };
        let tracked = TrackedFolders::of(&folder.path().join(".git"));
        assert_eq!(tracked.has(b"a/build"), Ok(true));
        std::fs::write(folder.path().join(".git/index"), "DIRC").unwrap();
        assert_eq!(tracked.has(b"a/build"), Ok(false));
        std::fs::remove_file(folder.path().join(".git/index")).unwrap();
        assert_eq!(tracked.has(b"a/build"), Ok(false));
    }

    static INDEX: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| {
        let folder = repository(&FILES, &["init", "-q"], &[])?;
        Some(std::fs::read(folder.path().join(".git/index")).unwrap())
    });

    proptest! {
        #[test]
        fn a_damaged_index_says_nothing_wrong(at in 0_usize..2_000, byte: u8, cut in 0_usize..2_000) {
            let Some(mut bytes) = INDEX.clone() else { return Ok(()) };
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut.max(1).min(length));
            // Whatever comes out: no panic, and no endless loop.
            let _ = each_path(&bytes, |_| ());
        }
    }
}

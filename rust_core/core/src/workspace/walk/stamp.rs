//! Whether the ignore files of a folder are still those that were read.

use std::fs::{self, Metadata};
use std::io::Result;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::base::file_state::{LastChange, modified_ns};
use crate::base::system_fault::{SystemFault, uninterrupted};

/// Ignore files from the strongest to the weakest. Within one kind, the deepest folder wins.
pub const IGNORE_FILES: [&str; 3] = [".carrelignore", ".ignore", ".gitignore"];
/// A folder that changed this short before it was looked at may change again without its time telling: file systems count
/// time in steps, of up to 2 s (FAT).
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// Of a file that is there: its size and time, which a tool may set back, and what it can't.
pub(super) type RuleFileStamp = Option<(u64, i64, LastChange)>;

/// What was found when a folder's rules were read.
///
/// A name can only come into a folder, or leave it, with the folder's own time. So while that stands, names that were not there
/// need not be asked for: one look at a folder instead of five, which counts where each look is slow (network, WSL's `/mnt`).
pub(super) struct FolderStamp {
    folder: Option<LastChange>,
    /// Those of [`IGNORE_FILES`]: `None` where the folder has no such name.
    files: [Option<RuleFileStamp>; IGNORE_FILES.len()],
    /// Whether the folder has a `.git`. What that holds is looked at by [`super::git`].
    has_git: bool,
}

impl FolderStamp {
    /// Look at all names of the folder, which had `metadata` just before.
    pub fn of(folder: &Path, metadata: Option<&Metadata>) -> Result<Self> {
        Self::at(folder, metadata, SystemTime::now())
    }

    fn at(folder: &Path, metadata: Option<&Metadata>, now: SystemTime) -> Result<Self> {
        let time = metadata.map(LastChange::of).filter(|change| is_settled(*change, now));
        let mut files = [None; IGNORE_FILES.len()];
        for (file, name) in files.iter_mut().zip(IGNORE_FILES) {
            let path = folder.join(name);
            // A link that leads nowhere is an entry.
            *file = is_entry(&path)?.then(|| stamp_of(&path));
        }
        Ok(Self { folder: time, files, has_git: is_entry(&folder.join(".git"))? })
    }

    /// Tell whether the folder's ignore files are as they were; it has `metadata` now.
    pub fn holds(&mut self, folder: &Path, metadata: Option<&Metadata>) -> bool {
        if self.folder.is_some() && self.folder == metadata.map(LastChange::of) {
            let mut there = self.files.iter().zip(IGNORE_FILES).filter_map(|(file, name)| Some((file.as_ref()?, name)));
            return there.all(|(file, name)| *file == stamp_of(&folder.join(name)));
        }
        let Ok(now) = Self::of(folder, metadata) else { return false };
        let same = self.files == now.files && self.has_git == now.has_git;
        if same {
            *self = now; // something else came or went: from its new time on, one look is enough again
        }
        same
    }
}

/// Tell whether there is such an entry. Fails where the machine can't say.
fn is_entry(path: &Path) -> Result<bool> {
    match uninterrupted(|| fs::symlink_metadata(path)) {
        Err(error) if SystemFault::of(&error).is_some() => Err(error),
        looked => Ok(looked.is_ok()),
    }
}

/// Return what tells a version of a file from others; `None` where there is none.
pub(super) fn stamp_of(path: &Path) -> RuleFileStamp {
    uninterrupted(|| fs::metadata(path)).ok().map(|metadata| (metadata.len(), modified_ns(&metadata), LastChange::of(&metadata)))
}

/// Tell whether a change at this time lies back far enough. A time in the future is a clock that can't be trusted.
fn is_settled(change: LastChange, now: SystemTime) -> bool {
    let changed = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(change.changed_ns).unwrap_or(0));
    change.changed_ns > 0 && now.duration_since(changed).is_ok_and(|age| age >= SETTLED_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that what `change` does to a folder is seen, which was looked at long after it had changed last.
    #[track_caller]
    fn check(before: &[&str], change: impl FnOnce(&Path), same: bool) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in before {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "a\n").unwrap();
        }
        // So long that the change can't fall into the same step of the file system's clock.
        std::thread::sleep(Duration::from_millis(50));
        let metadata = || fs::symlink_metadata(root).ok();
        let mut stamp = FolderStamp::at(root, metadata().as_ref(), SystemTime::now() + 2 * SETTLED_AFTER).unwrap();
        assert!(stamp.folder.is_some() && stamp.holds(root, metadata().as_ref()));
        change(root);
        assert_eq!(stamp.holds(root, metadata().as_ref()), same);
        assert!(stamp.folder.is_none() || stamp.folder == metadata().as_ref().map(LastChange::of) || !same, "an old time");
    }

    #[test]
    fn each_change_of_an_ignore_file_is_seen() {
        let write = |name: &'static str| move |root: &Path| fs::write(root.join(name), "changed\n").unwrap();
        for name in IGNORE_FILES {
            check(&["a.py"], write(name), false);
            check(&[name], write(name), false);
            check(&[name], |root| fs::remove_file(root.join(name)).unwrap(), false);
        }
        check(&["a.py"], |root| fs::create_dir(root.join(".git")).unwrap(), false);
        check(&[".git/x"], |root| fs::remove_dir_all(root.join(".git")).unwrap(), false);
        check(&[".git/x"], write(".git/y"), true);
        check(&["a.py", ".gitignore"], write("a.py"), true);
        check(&["a.py", ".gitignore"], write("b.py"), true);
    }

    #[cfg(unix)]
    #[test]
    fn an_edit_that_keeps_size_and_time_is_seen() {
        let keep_time = |path: &Path, write: &dyn Fn(&Path)| {
            let time = fs::metadata(path).unwrap().modified().unwrap();
            write(path);
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        let edit = |root: &Path| keep_time(&root.join(".gitignore"), &|path| fs::write(path, "b\n").unwrap());
        let replace = |root: &Path| {
            keep_time(&root.join(".gitignore"), &|path| {
                fs::write(root.join("draft"), "b\n").unwrap();
                fs::rename(root.join("draft"), path).unwrap();
            });
        };
        check(&[".gitignore"], edit, false);
        check(&[".gitignore"], replace, false);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_may_lead_somewhere_later() {
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("rules");
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(".carrelignore")).unwrap();
        let metadata = fs::symlink_metadata(folder.path()).ok();
        let mut stamp = FolderStamp::at(folder.path(), metadata.as_ref(), SystemTime::now() + 2 * SETTLED_AFTER).unwrap();
        assert!(stamp.holds(folder.path(), metadata.as_ref()));
        fs::write(&target, "*.py\n").unwrap();
        assert!(!stamp.holds(folder.path(), metadata.as_ref()));
    }

    #[test]
    fn a_folder_that_just_changed_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = fs::symlink_metadata(folder.path()).ok();
        assert!(FolderStamp::of(folder.path(), metadata.as_ref()).unwrap().folder.is_none());
        let past = SystemTime::now() - Duration::from_secs(60);
        assert!(FolderStamp::at(folder.path(), metadata.as_ref(), past).unwrap().folder.is_none(), "a clock that is ahead");
    }
}

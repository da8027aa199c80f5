//! Files of a workspace, opened without following a link.
//!
//! Between the moment when a path is looked at and the one when it is opened, the file or a folder on its way may be swapped for a
//! link to somewhere else. So a file is opened below a folder that is held open, no part of the way may be a link, and what was
//! opened, not the path, is asked what it is. Nothing here waits: a named pipe in a file's place is refused.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use crate::base::system_fault::{SystemFault, uninterrupted};

/// A folder that is held open. On Windows its path is kept, and where a file was opened is compared with it.
#[derive(Debug)]
pub struct Folder(system::Handle);

/// A regular file that was opened to read it.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// Its metadata when it was opened.
    pub metadata: Metadata,
}

impl Folder {
    /// Open a folder. Links in `path` itself are followed: the root of a workspace may be reached through some.
    pub fn open(path: &Path) -> Result<Self> {
        uninterrupted(|| system::open(path)).map(Self)
    }

    /// Open a folder below this one. `relative` is `/`-separated and holds names only.
    pub fn folder(&self, relative: &str) -> Result<Self> {
        uninterrupted(|| system::folder(&self.0, relative)).map(Self)
    }

    /// Open a regular file below this folder to read it.
    pub fn file(&self, relative: &str) -> Result<OpenFile> {
        uninterrupted(|| system::file(&self.0, relative)).and_then(regular)
    }

    /// Open a regular file in this folder, or the one that the link `name` leads to.
    pub fn linked_file(&self, name: &str) -> Result<OpenFile> {
        uninterrupted(|| system::linked_file(&self.0, name)).and_then(regular)
    }

    /// Whether the folder has an entry of this name, if only a link that leads nowhere. One that can't be looked at counts as none.
    pub fn has(&self, name: &str) -> Result<bool> {
        match uninterrupted(|| system::look(&self.0, name)) {
            Err(error) if SystemFault::of(&error).is_some() => Err(error),
            looked => Ok(looked.is_ok()),
        }
    }
}

/// Open a regular file, also one that links lead to.
pub fn open_file(path: &Path) -> Result<OpenFile> {
    uninterrupted(|| system::plain(path)).and_then(regular)
}

fn regular(file: File) -> Result<OpenFile> {
    let metadata = uninterrupted(|| file.metadata())?;
    if metadata.is_file() {
        Ok(OpenFile { file, metadata })
    } else {
        Err(Error::new(ErrorKind::InvalidInput, "not a regular file"))
    }
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io::Result;
    use std::os::fd::{AsFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
    use rustix::io::Errno;

    pub type Handle = OwnedFd;

    /// A named pipe must not be waited for.
    const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    /// A folder that may be entered need not be readable, where the system tells these apart.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    const ENTER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    pub fn open(path: &Path) -> Result<Handle> {
        Ok(rustix::fs::open(path, ENTER, Mode::empty())?)
    }

    pub fn plain(path: &Path) -> Result<File> {
        Ok(File::from(rustix::fs::open(path, READ, Mode::empty())?))
    }

    pub fn folder(handle: &Handle, relative: &str) -> Result<Handle> {
        if relative.is_empty() { handle.try_clone() } else { Ok(beneath(handle, relative, ENTER)?) }
    }

    pub fn file(handle: &Handle, relative: &str) -> Result<File> {
        Ok(File::from(beneath(handle, relative, READ)?))
    }

    pub fn linked_file(handle: &Handle, name: &str) -> Result<File> {
        Ok(File::from(openat(handle, name, READ, Mode::empty())?))
    }

    pub fn look(handle: &Handle, name: &str) -> Result<()> {
        Ok(statat(handle, name, AtFlags::SYMLINK_NOFOLLOW).map(drop)?)
    }

    fn beneath(handle: &Handle, relative: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        match in_one_step(handle, relative, flags) {
            // An old kernel doesn't know the call, a sandbox may forbid it, and while something is renamed it may not be able to tell.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return opened,
        }
        step_by_step(handle, relative, flags)
    }

    #[cfg(target_os = "linux")]
    fn in_one_step(handle: &Handle, relative: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(handle, relative, flags, Mode::empty(), resolve)
    }

    pub(super) fn step_by_step(handle: &Handle, relative: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let mut opened: Option<OwnedFd> = None;
        let mut names = relative.split('/').peekable();
        while let Some(name) = names.next() {
            if matches!(name, "" | "." | "..") {
                return Err(Errno::INVAL);
            }
            let flags = if names.peek().is_some() { ENTER } else { flags };
            let from = opened.as_ref().unwrap_or(handle).as_fd();
            opened = Some(openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty())?);
        }
        opened.ok_or(Errno::INVAL)
    }
}

#[cfg(windows)]
mod system {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::io::{Error, ErrorKind, Result};
    use std::os::windows::ffi::OsStringExt;
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::{Component, Path, PathBuf};

    use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_BACKUP_SEMANTICS, FILE_NAME_NORMALIZED, GetFinalPathNameByHandleW};

    /// The final path of the folder, as the system names it.
    pub type Handle = PathBuf;

    pub fn open(path: &Path) -> Result<Handle> {
        final_path(&folder_at(path)?)
    }

    pub fn plain(path: &Path) -> Result<File> {
        File::open(path)
    }

    pub fn folder(handle: &Handle, relative: &str) -> Result<Handle> {
        let path = join(handle, relative)?;
        let opened = folder_at(&path)?;
        is_at(&opened, &path)?;
        final_path(&opened)
    }

    pub fn file(handle: &Handle, relative: &str) -> Result<File> {
        let path = join(handle, relative)?;
        let opened = File::open(&path)?;
        is_at(&opened, &path)?;
        Ok(opened)
    }

    pub fn linked_file(handle: &Handle, name: &str) -> Result<File> {
        File::open(join(handle, name)?)
    }

    pub fn look(handle: &Handle, name: &str) -> Result<()> {
        fs::symlink_metadata(join(handle, name)?).map(drop)
    }

    fn folder_at(path: &Path) -> Result<File> {
        let opened = File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?;
        if opened.metadata()?.is_dir() { Ok(opened) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    /// A final path is verbatim: only `\` separates names in it. `..` would lead out of it, a drive or a root begin anew.
    fn join(handle: &Path, relative: &str) -> Result<PathBuf> {
        let mut path = handle.to_owned();
        for name in relative.split('/').filter(|_| !relative.is_empty()) {
            if !Path::new(name).components().eq([Component::Normal(name.as_ref())]) {
                return Err(ErrorKind::InvalidInput.into());
            }
            path.push(name);
        }
        Ok(path)
    }

    /// What a link on the way led to lies elsewhere.
    fn is_at(opened: &File, path: &Path) -> Result<()> {
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        if lower(&final_path(opened)?) == lower(path) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::InvalidInput, "reached through a link"))
        }
    }

    fn final_path(opened: &File) -> Result<PathBuf> {
        let mut buffer = vec![0_u16; 512];
        loop {
            let (handle, room) = (opened.as_raw_handle(), buffer.len() as u32);
            // SAFETY: the handle is open as long as `opened` is, and the buffer has room for as many units as is said.
            let length = unsafe { GetFinalPathNameByHandleW(handle, buffer.as_mut_ptr(), room, FILE_NAME_NORMALIZED) } as usize;
            if length == 0 {
                return Err(Error::last_os_error());
            }
            if length < buffer.len() {
                return Ok(OsString::from_wide(&buffer[..length]).into());
            }
            buffer.resize(length + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;

    fn text(opened: Result<OpenFile>) -> Option<String> {
        let mut text = String::new();
        opened.ok()?.file.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn files_below_are_opened_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("ws/a/b")).unwrap();
        fs::write(place.path().join("ws/a/b/c.txt"), "inside").unwrap();
        fs::write(place.path().join("outside.txt"), "outside").unwrap();
        let root = Folder::open(&place.path().join("ws")).unwrap();
        assert_eq!(text(root.file("a/b/c.txt")).as_deref(), Some("inside"));
        assert_eq!(text(root.folder("a").and_then(|a| a.file("b/c.txt"))).as_deref(), Some("inside"));
        assert!(root.has("a").unwrap() && !root.has("b").unwrap());
        for path in ["../outside.txt", "a/../../outside.txt", "/etc/hostname", "a/b", "a/nothing", "a/b/c.txt/d", ""] {
            assert!(root.file(path).is_err(), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_and_no_pipe_waited_for() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let ws = place.path().join("ws");
        fs::create_dir_all(ws.join("real")).unwrap();
        fs::write(ws.join("real/x.txt"), "inside").unwrap();
        symlink("real", ws.join("folder")).unwrap();
        symlink("real/x.txt", ws.join("file")).unwrap();
        symlink(place.path(), ws.join("out")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, ws.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        symlink(&ws, place.path().join("to-ws")).unwrap();
        let root = Folder::open(&place.path().join("to-ws")).unwrap();
        let Folder(handle) = &root;
        for path in ["folder/x.txt", "file", "out/ws/real/x.txt", "pipe"] {
            assert!(root.file(path).is_err(), "{path}");
            // As where the kernel can't do it in one step.
            let steps = system::step_by_step(handle, path, rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK);
            assert!(steps.map_err(Error::from).and_then(|opened| regular(opened.into())).is_err(), "{path}");
        }
        assert!(root.folder("folder").is_err() && root.has("folder").unwrap());
        assert_eq!(text(root.linked_file("file")).as_deref(), Some("inside"));
        let steps = system::step_by_step(handle, "real/x.txt", rustix::fs::OFlags::RDONLY).unwrap();
        assert_eq!(text(regular(steps.into())).as_deref(), Some("inside"));
        assert!(open_file(&ws.join("pipe")).is_err());
    }
}

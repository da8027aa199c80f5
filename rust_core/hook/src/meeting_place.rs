//! Where clients meet the server; `python/carrel/frontends/agents/meeting_place.py` finds the same folder by the same rules.

use std::path::{Path, PathBuf};

/// What came of a try to reach the server.
pub enum Connected {
    /// It is there.
    To(Stream),
    /// It isn't.
    ToNobody,
    /// The place isn't the user's alone, or can't be reached: nothing is sent, and nothing started.
    NotAllowed,
}

/// The folder that the server's socket is in; `None` where the environment names none.
pub fn runtime_folder() -> Option<PathBuf> {
    #[cfg(windows)]
    const NAMED: [(&str, &str); 1] = [("LOCALAPPDATA", "carrel/run")];
    #[cfg(not(windows))]
    const NAMED: [(&str, &str); 3] =
        [("XDG_RUNTIME_DIR", "carrel"), ("XDG_CACHE_HOME", "carrel/run"), ("HOME", ".cache/carrel/run")];
    NAMED.into_iter().find_map(|(variable, below)| {
        let named = PathBuf::from(std::env::var_os(variable)?);
        let counts = named.is_absolute() && (variable != "XDG_RUNTIME_DIR" || is_own(&named));
        counts.then(|| named.join(below))
    })
}

#[cfg(unix)]
pub use unix::{Stream, connect, is_own, is_private, make_folder};

#[cfg(windows)]
pub use windows::{Stream, connect, is_own, is_private, make_folder};

#[cfg(unix)]
mod unix {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    use std::time::Duration;

    use super::{Connected, Path};

    /// The connection.
    pub type Stream = std::os::unix::net::UnixStream;

    /// How long the server may take for an answer.
    const ANSWER: Duration = Duration::from_secs(2);
    /// The rights of group and others.
    const OTHERS: u32 = 0o077;

    unsafe extern "C" {
        safe fn geteuid() -> u32;
    }

    /// Tells whether a folder is there and this user's: `sudo -E` hands on another's.
    pub fn is_own(folder: &Path) -> bool {
        folder.metadata().is_ok_and(|state| state.is_dir() && state.uid() == geteuid())
    }

    /// Tells whether a folder is there and the user's alone.
    pub fn is_private(folder: &Path) -> bool {
        folder.symlink_metadata().is_ok_and(|state| state.is_dir() && state.uid() == geteuid() && state.mode() & OTHERS == 0)
    }

    /// Makes the folder, for the user alone.
    pub fn make_folder(folder: &Path) -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Connects to the server.
    pub fn connect(folder: &Path) -> Connected {
        match folder.symlink_metadata() {
            Err(error) if error.kind() == NotFound => return Connected::ToNobody,
            _ if !is_private(folder) => return Connected::NotAllowed,
            _ => {}
        }
        match Stream::connect(folder.join("agents.sock")) {
            Ok(stream) => match stream.set_read_timeout(Some(ANSWER)).and_then(|()| stream.set_write_timeout(Some(ANSWER))) {
                Ok(()) => Connected::To(stream),
                Err(_) => Connected::NotAllowed,
            },
            Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => Connected::ToNobody,
            Err(_) => Connected::NotAllowed,
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::{File, OpenOptions};
    use std::io::ErrorKind::NotFound;
    use std::os::windows::fs::OpenOptionsExt;
    use std::time::Duration;

    use super::{Connected, Path};

    /// The connection.
    pub type Stream = File;

    /// The server may learn who connects, and no more.
    const SECURITY_IDENTIFICATION: u32 = 0x1_0000;
    const ERROR_PIPE_BUSY: i32 = 231;
    const PAUSE: Duration = Duration::from_millis(5);

    /// Tells whether a folder is this user's: here none is asked about.
    pub fn is_own(_: &Path) -> bool {
        true
    }

    /// Tells whether a folder is there: what is in a user's local application data is theirs.
    pub fn is_private(folder: &Path) -> bool {
        folder.symlink_metadata().is_ok_and(|state| state.is_dir())
    }

    /// Makes the folder.
    pub fn make_folder(folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)
    }

    /// Connects to the pipe that the server named in its folder: nobody else can know the name before it is taken.
    pub fn connect(folder: &Path) -> Connected {
        let Ok(name) = std::fs::read_to_string(folder.join("agents.pipe")) else {
            return Connected::ToNobody;
        };
        if !name.starts_with(r"\\.\pipe\carrel-") {
            return Connected::NotAllowed;
        }
        loop {
            match OpenOptions::new().read(true).write(true).security_qos_flags(SECURITY_IDENTIFICATION).open(&name) {
                Ok(stream) => return Connected::To(stream),
                // The server makes the next instance in a moment; if it doesn't, this program ends all the same.
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => std::thread::sleep(PAUSE),
                Err(error) if error.kind() == NotFound => return Connected::ToNobody,
                Err(_) => return Connected::NotAllowed,
            }
        }
    }
}

//! What is wrong with the machine, told from what is wrong with a path.

use std::fmt;
use std::io::{Error, ErrorKind, Result};

/// A failure of the machine over a path: too many open files, no memory, a broken disk or network mount. It says nothing of what is
/// at the path, so nothing may be forgotten for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SystemFault(i32);

impl SystemFault {
    /// Return the fault that an error is; `None` where the path itself isn't there, isn't allowed or isn't what it should be.
    pub fn of(error: &Error) -> Option<Self> {
        let code = error.raw_os_error().unwrap_or(match error.kind() {
            ErrorKind::OutOfMemory => system::NO_MEMORY,
            _ => system::IO,
        });
        (!is_of_path(error)).then_some(Self(code))
    }

    /// Whether every other path fails too, since the machine has no more of something: files to open, memory.
    #[must_use]
    pub fn exhausts(self) -> bool {
        system::TOO_MANY_FILES.contains(&self.0) || self.kind() == ErrorKind::OutOfMemory
    }

    /// Return what a person can do about it; empty where that depends on the path.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        use ErrorKind as Kind;
        if system::TOO_MANY_FILES.contains(&self.0) {
            "close other programs or raise the limit of open files (`ulimit -n`), and index again; what was indexed before is kept"
        } else if self.kind() == Kind::OutOfMemory {
            "free some memory and index again; what was indexed before is kept"
        } else if matches!(self.kind(), Kind::WouldBlock | Kind::ResourceBusy | Kind::ExecutableFileBusy) {
            "close the program that uses it and index again; what was indexed before is kept"
        } else {
            ""
        }
    }

    fn kind(self) -> ErrorKind {
        Error::from_raw_os_error(self.0).kind()
    }
}

impl fmt::Display for SystemFault {
    /// What the system says.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from_raw_os_error(self.0).fmt(f)
    }
}

/// Repeat a call that a signal interrupted.
pub fn uninterrupted<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn is_of_path(error: &Error) -> bool {
    if let Some(code) = error.raw_os_error() {
        if system::OF_PATHS.contains(&code) {
            return true;
        }
        if system::OF_THE_MACHINE.contains(&code) {
            return false;
        }
    }
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidData
            | ErrorKind::UnexpectedEof
            | ErrorKind::CrossesDevices
            | ErrorKind::FileTooLarge
            | ErrorKind::Unsupported
    )
}

#[cfg(unix)]
mod system {
    use rustix::io::Errno;

    pub const NO_MEMORY: i32 = Errno::NOMEM.raw_os_error();
    pub const IO: i32 = Errno::IO.raw_os_error();
    pub const TOO_MANY_FILES: &[i32] = &[Errno::MFILE.raw_os_error(), Errno::NFILE.raw_os_error()];
    /// A link where none is followed, something that isn't a file, a file that is too large, a name that can't be, what the file
    /// system doesn't know, and a file whose encryption is locked.
    pub const OF_PATHS: &[i32] = &[
        Errno::LOOP.raw_os_error(),
        Errno::MLINK.raw_os_error(),
        Errno::NXIO.raw_os_error(),
        Errno::OVERFLOW.raw_os_error(),
        Errno::ILSEQ.raw_os_error(),
        Errno::NOSYS.raw_os_error(),
        Errno::NOTSUP.raw_os_error(),
        Errno::OPNOTSUPP.raw_os_error(),
        #[cfg(target_os = "linux")]
        Errno::NOKEY.raw_os_error(),
    ];
    pub const OF_THE_MACHINE: &[i32] = &[];
}

#[cfg(windows)]
mod system {
    use windows_sys::Win32::Foundation::{
        ERROR_BAD_NET_NAME, ERROR_BAD_NETPATH, ERROR_CANT_ACCESS_FILE, ERROR_CANT_RESOLVE_FILENAME, ERROR_IO_DEVICE,
        ERROR_LOCK_VIOLATION, ERROR_NOT_ENOUGH_MEMORY, ERROR_SHARING_VIOLATION, ERROR_STOPPED_ON_SYMLINK,
        ERROR_TOO_MANY_OPEN_FILES, ERROR_UNTRUSTED_MOUNT_POINT, ERROR_VIRUS_DELETED, ERROR_VIRUS_INFECTED,
    };

    pub const NO_MEMORY: i32 = ERROR_NOT_ENOUGH_MEMORY as i32;
    pub const IO: i32 = ERROR_IO_DEVICE as i32;
    pub const TOO_MANY_FILES: &[i32] = &[ERROR_TOO_MANY_OPEN_FILES as i32];
    /// A file that another program keeps to itself, one that a virus scanner refuses, and links that lead nowhere or aren't files.
    pub const OF_PATHS: &[i32] = &[
        ERROR_SHARING_VIOLATION as i32,
        ERROR_LOCK_VIOLATION as i32,
        ERROR_VIRUS_INFECTED as i32,
        ERROR_VIRUS_DELETED as i32,
        ERROR_CANT_ACCESS_FILE as i32,
        ERROR_CANT_RESOLVE_FILENAME as i32,
        ERROR_STOPPED_ON_SYMLINK as i32,
        ERROR_UNTRUSTED_MOUNT_POINT as i32,
    ];
    /// A network drive that went away: to the standard library its files are not found.
    pub const OF_THE_MACHINE: &[i32] = &[ERROR_BAD_NETPATH as i32, ERROR_BAD_NET_NAME as i32];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_path_is_no_fault() {
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::NotADirectory, ErrorKind::InvalidInput] {
            assert_eq!(SystemFault::of(&kind.into()), None, "{kind:?}");
        }
        #[cfg(unix)]
        {
            use rustix::io::Errno;
            for code in [
                Errno::LOOP,
                Errno::NAMETOOLONG,
                Errno::ACCESS,
                Errno::ISDIR,
                Errno::ILSEQ,
                Errno::NOSYS,
                Errno::NOTSUP,
                Errno::OPNOTSUPP,
            ] {
                assert_eq!(SystemFault::of(&code.into()), None, "{code:?}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_of_the_machine_keeps_its_words() {
        use rustix::io::Errno;
        for code in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::IO,
            Errno::STALE,
            Errno::NOBUFS,
            Errno::TIMEDOUT,
            Errno::AGAIN,
            Errno::BUSY,
            Errno::NOTCONN,
            Errno::HOSTDOWN,
            Errno::NODEV,
        ] {
            let error = Error::from(code);
            let fault = SystemFault::of(&error).unwrap_or_else(|| panic!("{code:?}"));
            assert_eq!(fault.to_string(), error.to_string());
            assert_eq!(fault.exhausts(), matches!(code, Errno::MFILE | Errno::NFILE | Errno::NOMEM), "{code:?}");
        }
    }

    #[test]
    fn an_error_without_a_number_has_the_nearest() {
        let fault = SystemFault::of(&ErrorKind::OutOfMemory.into()).unwrap();
        assert!(fault.remedy().contains("memory"));
        assert!(SystemFault::of(&Error::other("broken")).is_some());
    }

    #[test]
    fn a_call_is_repeated_until_no_signal_interrupts_it() {
        let mut left = 3;
        let done = uninterrupted(|| {
            left -= 1;
            if left > 0 { Err(ErrorKind::Interrupted.into()) } else { Ok(left) }
        });
        assert_eq!(done.unwrap(), 0);
        assert!(uninterrupted(|| Err::<(), _>(ErrorKind::NotFound.into())).is_err());
    }
}

//! Starts the server, apart from the agent that asked for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::meeting_place;

/// While a start is so new, it may still come up. A server that listens removes the mark of its start.
const NEW: Duration = Duration::from_secs(10);
/// What didn't come up isn't tried again before so long, since each try costs a prompt more than a second.
const PAUSE: Duration = Duration::from_secs(300);

/// Variables that the server needs; what else stands in an agent's environment, such as its tokens, is not handed on.
const VARIABLES: [&str; 31] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "USERNAME",
    "USERDOMAIN",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "NUMBER_OF_PROCESSORS",
];
const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Starts the server unless somebody did a moment ago; tells whether it is worth waiting for. `None` where it can't be started.
pub fn start(folder: &Path) -> Option<bool> {
    if !meeting_place::is_private(folder) {
        meeting_place::make_folder(folder).ok()?;
        if !meeting_place::is_private(folder) {
            return None;
        }
    }
    let mark = folder.join("agents.starting");
    let age = mark.metadata().and_then(|state| state.modified()).ok().and_then(|then| then.elapsed().ok());
    if let Some(age) = age.filter(|age| *age < PAUSE) {
        return Some(age < NEW);
    }
    std::fs::write(&mark, b"").ok()?;
    let mut command = Command::new(program()?);
    command.args(["agents", "serve"]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let wanted = |name: &str| VARIABLES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let environment = std::env::vars_os().filter(|(name, _)| wanted(&name.to_string_lossy().to_uppercase()));
    let environment: Vec<_> = environment.collect();
    command.env_clear().envs(environment);
    detach(&mut command);
    Some(command.spawn().is_ok())
}

/// `carrel` beside this program: in `bin` of what the package is installed into, or of a checkout's environment.
fn program() -> Option<PathBuf> {
    const PLACES: [&str; 2] =
        if cfg!(windows) { ["Scripts/carrel.exe", ".venv/Scripts/carrel.exe"] } else { ["bin/carrel", ".venv/bin/carrel"] };
    let own = std::env::current_exe().ok()?;
    own.ancestors().skip(1).flat_map(|above| PLACES.map(|place| above.join(place))).find(|program| program.is_file())
}

/// Has it outlive the agent and its terminal.
#[cfg(unix)]
fn detach(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    unsafe extern "C" {
        safe fn setsid() -> i32;
    }
    // SAFETY: setsid is safe to call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            setsid();
            Ok(())
        });
    }
}

/// Has it outlive the agent and its terminal, and keep none of the pipes that the agent reads: it waits for their end.
#[cfg(windows)]
fn detach(command: &mut Command) {
    use std::os::windows::io::{AsRawHandle, RawHandle};
    use std::os::windows::process::CommandExt;

    /// A console without a window, which Python shares: detached from all, `carrel.exe` would have it open a window.
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    const HANDLE_FLAG_INHERIT: u32 = 1;
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn SetHandleInformation(handle: RawHandle, mask: u32, flags: u32) -> i32;
    }
    for handle in [std::io::stdin().as_raw_handle(), std::io::stdout().as_raw_handle(), std::io::stderr().as_raw_handle()] {
        // SAFETY: it takes any value, and refuses what is no handle.
        unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    }
    command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
}

"""Use the managed Qdrant server: find its program, have a supervisor start it, and hold on to it while it is needed.

All programs of a user share one server and its data in one folder; `qdrant_supervisor` ends it with the last of them.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from carrel.extensions.stores.qdrant_supervisor import GRACE_SECONDS, HEALTH_SECONDS, HEALTH_TRIES, STARTING_FILE, STATE_FILE
from carrel.model.errors import ProviderError
from carrel.model.plain_data import as_dict, read_json
from carrel.system.child_environment import child_environment
from carrel.system.filesystem import private_folder

log = logging.getLogger(__name__)

OLDEST = (1, 13, 2)
"""The first version with the queries that are asked."""
START_SECONDS = HEALTH_TRIES * HEALTH_SECONDS + 10


class RunningQdrant(Struct):
    """A server that runs for as long as this isn't closed."""

    url: str
    key: str
    _held: socket.socket

    def __repr__(self) -> str:
        """Leave the key out."""
        return f"{type(self).__name__}({self.url!r})"

    def close(self) -> None:
        """Need it no more."""
        self._held.close()

    @property
    def alive(self) -> bool:
        """Tell whether the supervisor is still there."""
        self._held.setblocking(False)
        try:
            return bool(self._held.recv(1))
        except BlockingIOError:
            return True
        except OSError:
            return False


def program_name() -> str:
    """Return the name of Qdrant's program on this system."""
    return "qdrant.exe" if sys.platform == "win32" else "qdrant"


def find_program(folder: Path, chosen: str = "") -> Path | None:
    """Return the program that was chosen, else the one installed into `folder`, else that on PATH, if there is any."""
    if chosen:
        return Path(chosen).expanduser()
    installed = folder / "bin" / program_name()
    if installed.is_file():
        return installed
    on_path = shutil.which("qdrant")
    return Path(on_path) if on_path else None


def check_version(program: Path) -> str:
    """Return the version of the program. Raises `ProviderError` where it doesn't start or is too old. Runs on a thread."""
    try:
        done = subprocess.run(  # noqa: S603 - the program that the person chose or allowed to be installed
            [str(program), "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            stdin=subprocess.DEVNULL,
            env=child_environment(),
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ProviderError(
            f"{program} can't be started ({reason})", "Check that it is Qdrant's program for this system."
        ) from None
    words = (word.removeprefix("v").partition("-")[0] for word in (done.stdout + done.stderr).split())
    version = next((word for word in words if word.count(".") == 2 and word.replace(".", "0").isdecimal()), "")
    if not version or done.returncode:
        raise ProviderError(f"{program} doesn't say which version of Qdrant it is", "Check that it is Qdrant's program.")
    if tuple(map(int, version.split("."))) < OLDEST:
        raise ProviderError(f"{program} is Qdrant {version}, which is too old", f"Install {'.'.join(map(str, OLDEST))} or newer.")
    return version


async def start(folder: Path, program: Path, *, grace: float = GRACE_SECONDS, tries: int = HEALTH_TRIES) -> RunningQdrant:
    """Return the running server, started if nobody did. Raises `ProviderError` that says why there is none."""
    await asyncio.to_thread(check_version, program)
    return await asyncio.to_thread(_start, folder, program, grace, tries)


def _start(folder: Path, program: Path, grace: float, tries: int) -> RunningQdrant:
    try:
        private_folder(folder)
    except OSError as error:
        raise ProviderError(f"{folder} can't be made ({error.strerror})", "Make its parent writable.") from None
    end = time.monotonic() + START_SECONDS
    supervisor: subprocess.Popen[bytes] | None = None
    while True:
        state = _state(folder)
        if held := _held(state):
            return RunningQdrant(str(state["url"]), str(state["key"]), held)
        if supervisor is not None and (problem := _problem_of(supervisor, state)):
            (folder / STARTING_FILE).unlink(missing_ok=True)
            raise ProviderError(problem, f"See {folder / 'server.log'}.")
        if supervisor is None and _may_start(folder):
            if state.get("problem"):  # of an earlier one, which is ending
                (folder / STATE_FILE).unlink(missing_ok=True)
            supervisor = _spawn(folder, program, grace, tries)
        if time.monotonic() > end:
            raise ProviderError(
                f"Qdrant didn't start within {START_SECONDS:g} s.", f"See {folder / 'server.log'}.", retryable=True
            )
        time.sleep(0.1)


def _state(folder: Path) -> dict[str, Any]:
    try:
        return as_dict(read_json((folder / STATE_FILE).read_bytes()))
    except OSError:
        return {}


def _held(state: dict[str, Any]) -> socket.socket | None:
    """Return a connection to the supervisor that the file names; None where it is gone, or its server failed."""
    if not isinstance(state.get("control"), int) or state.get("problem"):
        return None
    connection = socket.socket()
    connection.settimeout(3)
    try:
        connection.connect(("127.0.0.1", state["control"]))
        connection.sendall(f"{state.get('token')}\n".encode())
        if connection.recv(8) == b"ok\n":  # another program may have got the port meanwhile
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _problem_of(supervisor: subprocess.Popen[bytes], state: dict[str, Any]) -> str | None:
    if state.get("problem"):
        return str(state["problem"])
    code = supervisor.poll()
    return f"The supervisor of Qdrant ended with code {code}" if code is not None else None


def _may_start(folder: Path) -> bool:
    """Tell whether this process shall start the supervisor: one of several that come at once can make the file."""
    lock = folder / STARTING_FILE
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        try:
            stale = time.time() - lock.stat().st_mtime > START_SECONDS
        except OSError:
            return False
        if stale:  # whoever began was killed
            lock.unlink(missing_ok=True)
        return False
    except OSError as error:
        raise ProviderError(f"{folder} can't be written ({error.strerror})", "Make it writable.") from None
    return True


def _spawn(folder: Path, program: Path, grace: float, tries: int) -> subprocess.Popen[bytes]:
    """Start the supervisor apart from this process: it must outlive one editor where another needs the server."""
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    command = [
        sys.executable,
        "-m",
        "carrel.extensions.stores.qdrant_supervisor",
        str(folder),
        str(program),
        str(grace),
        str(tries),
    ]
    try:
        supervisor = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(("VIRTUAL_ENV", "CONDA_PREFIX"), ("PYTHON",)),
            **apart,
        )
    except OSError as error:
        raise ProviderError(f"The supervisor of Qdrant can't be started ({error.strerror})") from None
    threading.Thread(target=supervisor.wait, name="carrel-qdrant", daemon=True).start()  # so that no zombie stays behind
    return supervisor

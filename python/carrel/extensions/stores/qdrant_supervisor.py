"""Keep one Qdrant server for all of a user's programs.

Started as `python -m carrel.extensions.stores.qdrant_supervisor FOLDER PROGRAM GRACE TRIES`.

Users hold a connection to the supervisor's control port for as long as they need the server; the system closes it when they
die. When the last one is gone for some seconds, the server is stopped and this process ends, so neither outlives the editors.
Needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from carrel.system.child_environment import child_environment
from carrel.system.filesystem import locked
from carrel.system.leftovers import killed_with_this

USUAL_PORT = 6333
GRACE_SECONDS = 10.0
"""How long the server waits for the next user: an editor that restarts comes back within a moment."""
HEALTH_TRIES = 30
HEALTH_SECONDS = 0.5
STOP_SECONDS = 15.0
"""How long the server may take to write what it holds, before it is killed."""
LOG_BYTES = 1_000_000
STATE_FILE = "server.json"
STARTING_FILE = "starting"
LOCK_FILE = "supervisor.lock"
_TELL = "The program's last words are in server.log beside it."


def main(folder: Path, program: str, grace: float = GRACE_SECONDS, tries: int = HEALTH_TRIES) -> int:
    """Serve until nobody needs the server any more; return 1 where it never did."""
    # A second server on the same data would damage it; one that is just stopping is waited for.
    with locked(folder / LOCK_FILE, STOP_SECONDS + 5) as alone:
        if not alone:
            return 1
        return _run(folder, program, grace, tries)


def _run(folder: Path, program: str, grace: float, tries: int) -> int:
    _end_orphan(folder)
    listening = socket.create_server(("127.0.0.1", 0))
    state: dict[str, object] = {
        "control": listening.getsockname()[1],
        "token": secrets.token_hex(16),
        "key": secrets.token_hex(16),
        "pid": os.getpid(),
    }
    port, grpc_port = _ports()
    child, log = _start(folder, program, port, grpc_port, str(state["key"]))
    drained = threading.Thread(target=_drain, args=(child.stdout, log), daemon=True)
    drained.start()
    problem = _healthy(child, port, tries)
    state |= {"url": f"http://127.0.0.1:{port}", "child": child.pid, "problem": problem or ""}
    _write_state(folder, state)
    (folder / STARTING_FILE).unlink(missing_ok=True)
    if problem is None:
        _serve(listening, str(state["token"]), child, grace)
    else:
        time.sleep(min(grace, 1.0))  # for who waits for the start to read why it failed
    listening.close()
    _stop(child)
    drained.join(1)
    if _own_state(folder, str(state["token"])):
        (folder / STATE_FILE).unlink(missing_ok=True)
    return 0 if problem is None else 1


def _end_orphan(folder: Path) -> None:
    """Stop a server whose supervisor was killed. That it knows our key says that the process is the one we mean."""
    try:
        old = json.loads((folder / STATE_FILE).read_text("utf-8"))
        request = Request(f"{old['url']}/collections", headers={"api-key": str(old["key"])})  # noqa: S310 - our own file
        ours = not _answers_anybody(str(old["url"]))
        if ours and build_opener(ProxyHandler({})).open(request, timeout=2).status == 200:
            os.kill(int(old["child"]), signal.SIGTERM)
            time.sleep(1)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # there is none
    (folder / STATE_FILE).unlink(missing_ok=True)


def _answers_anybody(url: str) -> bool:
    """Tell whether a server wants no key: ours does, and another one must not get it."""
    try:
        with build_opener(ProxyHandler({})).open(Request(f"{url}/collections"), timeout=2):  # noqa: S310 - our own file
            return True
    except HTTPError as refused:
        return refused.code not in (401, 403)


def _ports() -> tuple[int, int]:
    """Return a port for HTTP, the usual one unless it is taken, and one for gRPC."""
    ports = []
    for wanted in (USUAL_PORT, USUAL_PORT + 1):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", wanted))
            except OSError:
                probe.bind(("127.0.0.1", 0))
            ports.append(int(probe.getsockname()[1]))
    return ports[0], ports[1]


def _start(folder: Path, program: str, port: int, grpc_port: int, key: str) -> tuple[subprocess.Popen[bytes], Path]:
    storage = folder / "storage"
    storage.mkdir(parents=True, exist_ok=True)
    config = folder / "config.yaml"
    lines = [
        "# Written by Carrel at every start.",
        "log_level: WARN",
        "telemetry_disabled: true",
        f"storage: {{storage_path: {json.dumps(str(storage))}, snapshots_path: {json.dumps(str(folder / 'snapshots'))}}}",
        f"service: {{host: 127.0.0.1, http_port: {port}, grpc_port: {grpc_port}, api_key: {key}, enable_static_content: false}}",
    ]
    _write_private(config, "\n".join(lines) + "\n")
    child = subprocess.Popen(  # noqa: S603 - the program that the person chose or allowed to be installed
        [program, "--config-path", str(config), "--disable-telemetry"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=child_environment(),
        preexec_fn=killed_with_this(signal.SIGTERM),  # noqa: PLW1509 - no other thread runs yet; elsewhere the next supervisor ends it
    )
    return child, folder / "server.log"


def _drain(output: IO[bytes] | None, log: Path) -> None:
    """Keep the beginning of what the server says; whatever comes later is read and dropped, so that it never waits for us."""
    if output is None:
        return
    written = 0
    with log.open("wb") as kept:
        while piece := output.read1(65_536):  # type: ignore[attr-defined]
            if written < LOG_BYTES:
                kept.write(piece[: LOG_BYTES - written])
                kept.flush()
                written += len(piece)


def _healthy(child: subprocess.Popen[bytes], port: int, tries: int) -> str | None:
    """Wait until the server answers; return why it doesn't."""
    opener = build_opener(ProxyHandler({}))
    for _ in range(tries):
        if child.poll() is not None:
            return f"Qdrant ended at its start with code {child.returncode}. {_TELL}"
        try:
            with opener.open(Request(f"http://127.0.0.1:{port}/healthz"), timeout=HEALTH_SECONDS) as answer:
                if answer.status == 200:
                    return None
        except (URLError, OSError):
            pass
        time.sleep(HEALTH_SECONDS)
    return f"Qdrant didn't answer within {tries * HEALTH_SECONDS:g} s. {_TELL}"


def _serve(listening: socket.socket, token: str, child: subprocess.Popen[bytes], grace: float) -> None:
    """Count users by their connections; return when none came for `grace` seconds, or the server died."""
    chosen = selectors.DefaultSelector()
    chosen.register(listening, selectors.EVENT_READ)
    died, alarm = socket.socketpair()

    def watch() -> None:
        child.wait()
        alarm.close()

    threading.Thread(target=watch, daemon=True).start()
    chosen.register(died, selectors.EVENT_READ)
    users: set[socket.socket] = set()
    while True:
        events = chosen.select(None if users else grace)
        if not events and not users:
            return
        for key, _ in events:
            if key.fileobj is died:
                return
            if key.fileobj is listening:
                user, _ = listening.accept()
                if _admitted(user, token):
                    users.add(user)
                    chosen.register(user, selectors.EVENT_READ)
                else:
                    user.close()
            elif isinstance(key.fileobj, socket.socket) and not _alive(key.fileobj):
                chosen.unregister(key.fileobj)
                users.discard(key.fileobj)
                key.fileobj.close()


def _admitted(user: socket.socket, token: str) -> bool:
    """Read the token; whoever can't read our file has no business here."""
    user.settimeout(2)
    try:
        said = user.recv(64)
        user.sendall(b"ok\n" if said.strip() == token.encode() else b"no\n")
    except OSError:
        return False
    user.setblocking(False)
    return said.strip() == token.encode()


def _alive(user: socket.socket) -> bool:
    try:
        return bool(user.recv(64))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _write_state(folder: Path, state: dict[str, object]) -> None:
    new = folder / f"{STATE_FILE}.new"
    _write_private(new, json.dumps(state))
    new.replace(folder / STATE_FILE)


def _own_state(folder: Path, token: str) -> bool:
    try:
        return bool(json.loads((folder / STATE_FILE).read_text("utf-8")).get("token") == token)
    except (OSError, ValueError):
        return False


def _write_private(path: Path, text: str) -> None:
    """Write a file that only the user can read: it holds keys."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))

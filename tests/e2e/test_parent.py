"""A program on standard input and output ends with the process that started it, though another holds its input open."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.lsp_client import LspClient

from carrel.frontends.common import parent_process
from carrel.frontends.common.transport import frame

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts and kills processes by POSIX's means")

SECONDS = 40.0
UP = frame(b"{}")
HANGS = f"""
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"])
os.write(1, {UP!r})
time.sleep(600)
"""
EDITOR = """
import os, subprocess, sys, time
how, *command = sys.argv[1:]
settle = lambda: None
if how == "detached":
    import signal
    settle = lambda: (os.setsid(), signal.signal(signal.SIGHUP, signal.SIG_IGN))
program = subprocess.Popen(command, preexec_fn=settle)
print(program.pid, file=sys.stderr, flush=True)
time.sleep(600)
"""
"""An editor whose program inherits its input and output. The test holds the other ends, also when the editor is killed."""


def initialize(process_id: int | None) -> bytes:
    params: dict[str, object] = {"processId": process_id, "rootUri": None, "capabilities": {}}
    return frame(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode())


class Started:
    """An editor, its program and what belongs to that."""

    def __init__(self, editor: asyncio.subprocess.Process, program: int) -> None:
        self.editor = editor
        self.program = psutil.Process(program)

    def send(self, data: bytes) -> None:
        assert self.editor.stdin
        self.editor.stdin.write(data)

    async def read(self, size: int) -> bytes:
        assert self.editor.stdout
        return await asyncio.wait_for(self.editor.stdout.readexactly(size), SECONDS)

    async def kill_editor(self) -> None:
        editor = psutil.Process(self.editor.pid)
        self.editor.kill()
        await ended([editor])  # asyncio's own wait would wait for the pipes, which the program holds


async def ended(processes: list[psutil.Process]) -> None:
    """Wait until none of them runs any more."""
    async with asyncio.timeout(SECONDS):
        while any(runs(process) for process in processes):  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0.05)


def runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


@contextlib.asynccontextmanager
async def started(env: dict[str, str], *command: str, how: str = "plain") -> AsyncIterator[Started]:
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, **env, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    line = [sys.executable, "-c", EDITOR, how, *command]
    editor = await asyncio.create_subprocess_exec(*line, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
    assert editor.stderr
    one = Started(editor, int(await asyncio.wait_for(editor.stderr.readline(), SECONDS)))
    try:
        yield one
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in (*one.program.children(recursive=True), one.program):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        with contextlib.suppress(ProcessLookupError):
            editor.kill()
        assert editor.stdin
        editor.stdin.close()
        await asyncio.wait_for(editor.wait(), SECONDS)
        assert editor.stdout
        # To their ends, which closes them: a warning of an open pipe would fail whatever test runs next.
        await asyncio.wait_for(asyncio.gather(editor.stdout.read(), editor.stderr.read()), SECONDS)


CARREL = (sys.executable, "-m", "carrel")


@pytest.mark.parametrize("moment", ["started", "answered", "loaded"])
async def test_a_language_server_ends_with_its_parent(env: dict[str, str], moment: str) -> None:
    async with started(env, *CARREL, "serve") as one:
        if moment != "started":
            one.send(initialize(None))
            await one.read(40)
        else:
            await imported(one)
        if moment == "loaded":
            one.send(frame(b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}'))
            assert one.editor.stdout
            await asyncio.wait_for(one.editor.stdout.readuntil(b'"id":2'), SECONDS)
        await one.kill_editor()
        await ended([one.program])


async def imported(one: Started) -> None:
    """Wait until a program has begun: its watch is a second thread."""
    async with asyncio.timeout(SECONDS):
        while one.program.num_threads() < 2:  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("moment", ["started", "answered"])
async def test_an_mcp_server_ends_with_its_parent(env: dict[str, str], tmp_path: Path, moment: str) -> None:
    async with started(env, *CARREL, "mcp", "--root", str(tmp_path)) as one:
        if moment == "answered":
            one.send(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},')
            one.send(b'"clientInfo":{"name":"x","version":"1"}}}\n')
            await one.read(40)
        else:
            await imported(one)
        await one.kill_editor()
        await ended([one.program])


async def test_the_process_that_a_client_names_counts_as_well(env: dict[str, str]) -> None:
    """A wrapper that stays stands between editor and server, and the editor is killed before the server is loaded."""
    named = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    client = await LspClient.spawn(env=env)
    client.write(initialize(named.pid).partition(b"\r\n\r\n")[2])
    server = psutil.Process(client.process.pid)
    async with asyncio.timeout(SECONDS):
        while server.num_threads() < 3:  # noqa: ASYNC110 - a thread for each process that it watches
            await asyncio.sleep(0.01)
    named.kill()
    await named.wait()
    await ended([server])
    await client.kill()


async def test_what_was_detached_on_purpose_stays_until_the_end_of_its_input(env: dict[str, str]) -> None:
    async with started(env, *CARREL, "serve", how="detached") as one:
        one.send(initialize(None))
        await one.read(40)
        await one.kill_editor()
        one.send(frame(b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}'))
        assert one.editor.stdout
        await asyncio.wait_for(one.editor.stdout.readuntil(b'"id":2'), SECONDS)
        assert runs(one.program)
        assert one.editor.stdin
        one.editor.stdin.close()
        await ended([one.program])


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "parent", "proxy killed"])
async def test_a_copilot_server_that_hangs_ends_with_its_client(env: dict[str, str], tmp_path: Path, how: str) -> None:
    if how == "proxy killed" and sys.platform != "linux":
        pytest.skip("only Linux ends a program with the one that started it")
    command = (*CARREL, "copilot-proxy", "--workspace", str(tmp_path), "--", sys.executable, "-c", HANGS)
    async with started(env, *command) as one:
        assert await one.read(len(UP)) == UP
        server, helper = one.program.children(recursive=True)
        if how == "end of input":
            assert one.editor.stdin
            one.editor.stdin.close()
        elif how == "parent":
            await one.kill_editor()
        else:
            one.program.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        try:
            # Linux ends the server of a proxy that is killed, not what the server started; a real one ends by its end of input.
            await ended([one.program, server] if how == "proxy killed" else [one.program, server, helper])
        finally:
            for process in (server, helper):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()


@pytest.mark.parametrize("parent", [0, 1])
def test_a_parent_that_cannot_be_known_is_not_watched(monkeypatch: pytest.MonkeyPatch, parent: int) -> None:
    watched = list[object]()
    monkeypatch.setattr(parent_process, "STARTED_BY", parent)
    monkeypatch.setattr(parent_process, "_watched", set())
    monkeypatch.setattr(parent_process, "_watch", watched.append)
    parent_process.end_with_parent()
    assert not watched


@pytest.mark.parametrize("system", ["waits", "polls"])
def test_the_end_of_a_process_is_seen(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    if system == "polls":
        monkeypatch.setattr(parent_process, "_system_waits", lambda *_: False)
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        seen = threading.Event()

        def watch() -> None:
            if parent_process._wait_for_end(child.pid, lambda: child.poll() is not None):
                seen.set()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        assert not seen.is_set()
        assert child.stdin
        child.stdin.close()
        assert seen.wait(SECONDS)
        thread.join()

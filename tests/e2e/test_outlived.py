"""No program of Carrel outlives the one that started it, and none leaves anything behind.

`CARREL_TEST_STARTS` says how many are started; `make test-long` starts 200.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from tests.lsp_client import LspClient
from tests.shop import index

from carrel.frontends.common.uris import path_to_uri

STARTS = int(os.environ.get("CARREL_TEST_STARTS", "9"))
EDITOR = Path(__file__).with_name("editor.py")
STAND_IN = Path(__file__).parents[1] / "frontends/copilot" / "stand_in.py"
AT_ONCE = 3
MARK = "CARREL_TEST_MARK"
POOL_THREADS = 4  # fewer than one a folder

# A marked process whose command is a child of the system's own can't be asked for its environment; it isn't ours.
UNREADABLE = (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess, OSError)


def commands(project: Path, tmp_path: Path) -> list[list[str]]:
    carrel = [sys.executable, "-m", "carrel"]
    server = [sys.executable, str(STAND_IN), str(tmp_path / "record")]
    return [
        [*carrel, "serve"],
        [*carrel, "mcp", "--root", str(project)],
        [*carrel, "copilot-proxy", "--workspace", str(project), "--", *server],
    ]


def marked(mark: str) -> list[psutil.Process]:
    """The processes that were started with this mark in their environment, and those that they started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except UNREADABLE:
            continue
    return found


async def left(mark: str, seconds: float = 20.0) -> list[str]:
    """Who is still there after so long: the programs end by themselves, within a second or two."""
    end = time.monotonic() + seconds
    while (alive := marked(mark)) and time.monotonic() < end:  # noqa: ASYNC110 - other processes set no event
        await asyncio.sleep(0.1)
    names = []
    for process in alive:
        try:
            names.append(f"{process.pid}: {' '.join(process.cmdline())}, {process.num_threads()} threads")
        except UNREADABLE:
            continue
    return names


async def start_and_leave(how: str, command: list[str], env: dict[str, str], *, seconds: float = 20.0) -> list[str]:
    """Let an editor start a program and leave it; return what is left of both."""
    mark = uuid.uuid4().hex
    editor = await asyncio.create_subprocess_exec(
        sys.executable, str(EDITOR), how, *command, env={**os.environ, **env, MARK: mark}, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert editor.stdout
    assert (await asyncio.wait_for(editor.stdout.readline(), 60)).strip() == b"ready"
    if how == "killed":
        assert len(marked(mark)) >= 2, "the count sees the editor and its program"
        editor.kill()
    await asyncio.wait_for(editor.wait(), 60)
    found = await left(mark, seconds)
    for process in marked(mark):
        process.kill()
    return [f"{how} {command[3]}: {name}" for name in found]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
async def test_the_count_sees_who_stays(env: dict[str, str]) -> None:
    stays = ["/bin/sh", "-c", f"sleep 60 & exec {sys.executable} -m carrel serve", "child of serve"]
    found = await start_and_leave("killed", stays, {**env, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}, seconds=2)
    assert len(found) == 1
    assert "sleep 60" in found[0]


@pytest.mark.timeout(60 + 10 * STARTS)
@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in of the Copilot server knows POSIX only")
async def test_nothing_outlives_its_editor(project: Path, env: dict[str, str], tmp_path: Path) -> None:
    index(project, env)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**env, "TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    kinds = itertools.cycle(itertools.product(commands(project, tmp_path), ("normal", "killed", "closed")))
    chosen = list(itertools.islice(kinds, STARTS))
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(how: str, command: list[str]) -> list[str]:
        async with turn:
            return await start_and_leave(how, command, env)

    found = await asyncio.gather(*(one(how, command) for command, how in chosen))
    assert [name for names in found for name in names] == []
    assert [path.name for path in scratch.iterdir()] == [], "no temporary file stays"
    # The lock of the index is free: the next server writes.
    async with LspClient.started(project, options={"ragEnabled": True}, env=env) as client:
        await client.request("carrel/search", {"query": "order"})
        assert (await client.request("carrel/status", {}))["role"] == "writer"


async def held(client: LspClient) -> tuple[int, int, int]:
    process = psutil.Process(client.process.pid)
    return process.num_threads(), process.num_fds(), len(process.children(recursive=True))


async def test_a_folder_that_was_closed_holds_no_thread_and_no_file(
    project: Path, env: dict[str, str], options: dict[str, Any], tmp_path: Path
) -> None:
    if sys.platform == "win32":
        pytest.skip("no file descriptors there")
    folders = [tmp_path / f"folder{number}" for number in range(3)]
    for folder in folders:
        folder.mkdir()
        (folder / "a.py").write_text("def load_account(number):\n    return accounts[number]\n")

    def change(client: LspClient, kind: str, folder: Path) -> None:
        event = {"added": [], "removed": [], kind: [{"uri": path_to_uri(str(folder)), "name": folder.name}]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    async with LspClient.started(project, options=options, env=env) as client:
        await client.request("carrel/index", {})
        counts = []
        for number in range(max(STARTS, 12)):
            folder = folders[number % 3]
            change(client, "added", folder)
            await client.request("carrel/index", {"workspaceFolder": path_to_uri(str(folder))})
            await client.request("carrel/search", {"query": "load account"})
            change(client, "removed", folder)
            await client.request("carrel/status", {})
            counts.append(await held(client))
        threads, files, children = counts[5]
        for _ in range(100):  # an index that is being closed goes a moment later
            after = await held(client)
            # The pools make their threads one by one when all are busy, and keep them.
            if after[0] <= threads + POOL_THREADS and after[1:] <= (files, children):
                break
            await asyncio.sleep(0.1)
        else:
            pytest.fail(f"threads, open files, children: {counts[5]} after 6 folders, {after} after {len(counts)}")

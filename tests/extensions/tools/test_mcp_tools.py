"""How servers of tools are started."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.mcp.hostile_service import serving
from tests.waiting import listens, wait_until

from carrel.extensions.tools.servers import mcp_bounds, shared_servers
from carrel.extensions.tools.servers.mcp_tools import connected
from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.fakes import fake_outbound
from carrel.model.outbound import Destination
from carrel.settings.tool_settings import ToolServer


async def test_a_program_is_not_taken_from_the_folder_that_carrel_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "ran"
    (tmp_path / "planted_server.py").write_text(f"open({str(seen)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProviderError):
        async with connected("s", ToolServer(command=sys.executable, args=("-m", "planted_server")), fake_outbound()):
            pass
    assert not seen.exists()


SERVER = Path(__file__).parents[2] / "frontends/mcp" / "tool_server.py"


@contextlib.contextmanager
def served(kind: str, folder: Path) -> Iterator[ToolServer]:
    """Give a real server: a program that the connection starts, or one that listens."""
    told = folder / "told"
    told.write_text("Greet somebody.")
    if kind == "stdio":
        yield ToolServer(command=sys.executable, args=(str(SERVER), str(told)))
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(told), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        wait_until(lambda: listens(port))
        try:
            yield ToolServer(url=f"http://127.0.0.1:{port}/mcp")
        finally:
            server.kill()


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_an_answer_is_given_up_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(mcp_bounds.Bound.__init__, "__defaults__", (300_000,))
    with served(kind, tmp_path) as server:
        async with connected("tests", server, fake_outbound()) as connection:
            assert (await connection.call("shout", {"characters": 100_000})).text == "x" * 100_000
            with pytest.raises(ProviderError, match="failed to run shout: it sent more than 300,000 bytes at once"):
                await connection.call("shout", {"characters": 1_000_000})


async def test_a_permission_that_was_withdrawn_counts_for_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbound = fake_outbound()

    def refuse(destination: Destination) -> None:
        raise NotAllowed(destination.provider, destination.host)

    with served("http", tmp_path) as server:
        async with connected("tests", server, outbound) as connection:
            assert await connection.list_tools()
            monkeypatch.setattr(outbound.permissions, "check", refuse)
            with pytest.raises(NotAllowed):
                await connection.call("greet", {"name": "Ann"})


async def test_a_server_that_hangs_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnceAnswering:
        listed = 0

        async def list_tools(self) -> list[dict[str, Any]]:
            self.listed += 1
            await asyncio.sleep(0 if self.listed == 1 else 3600)
            return [{"name": "greet"}]

    connections: list[OnceAnswering] = []

    @contextlib.asynccontextmanager
    async def connect(name: str, server: ToolServer) -> AsyncIterator[Any]:
        connections.append(OnceAnswering())
        yield connections[-1]

    monkeypatch.setattr(shared_servers, "_REUSE_SECONDS", 0.05)
    servers = shared_servers.SharedServers(connect)
    async with servers.in_use():
        for starts in (1, 2):
            assert (await servers.open("t", ToolServer()))[1] == [{"name": "greet"}]
            assert len(connections) == starts


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("comment", "it sent more than 100,000 values at once"),
        ("values", "it sent more than 100,000 values at once"),
        ("gzip", "it answered compressed, which it wasn't asked to"),
        ("pings", "it made more than 1,000 requests"),
    ],
)
async def test_a_service_that_says_too_much_is_given_up(how: str, problem: str) -> None:
    with serving() as url:
        async with connected("tests", ToolServer(url=f"{url}/{how}"), fake_outbound()) as connection:
            with pytest.raises(ProviderError, match=problem):
                await connection.call("greet", {})


@pytest.mark.parametrize("how", ["good", "notes"])
async def test_a_service_may_use_any_line_end_and_tell_of_its_progress(how: str) -> None:
    with serving() as url:
        async with connected("tests", ToolServer(url=f"{url}/{how}"), fake_outbound()) as connection:
            assert (await connection.call("greet", {})).text == "hi"


async def test_a_program_that_never_ends_its_line_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_bounds.Bound.__init__, "__defaults__", (300_000,))
    endless = "import sys\nwhile True: sys.stdout.write('x' * 10_000)"
    with pytest.raises(ProviderError, match="could not be started: it sent more than 300,000 bytes at once"):
        async with connected("tests", ToolServer(command=sys.executable, args=("-c", endless)), fake_outbound()):
            pass


def cancelled_start(folder: Path, then: str, *, ended: bool) -> tuple[int, list[str]]:
    """Cancel a start whose server says nothing, and wait for it, or end the loop; return the program's id and all complaints."""
    began = folder / "began"
    program = f"import os, sys, time; print(os.getpid(), file=open({str(began)!r}, 'w', 1)); {then}"
    told: list[str] = []

    async def start() -> None:
        async with connected("silent", ToolServer(command=sys.executable, args=("-c", program)), fake_outbound()):
            pass

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        task = asyncio.create_task(start())
        async with asyncio.timeout(30):
            while not (began.exists() and began.read_text()):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.01)
        task.cancel()
        if ended:
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            await asyncio.sleep(0.3)  # it waits for its program now, and the end of the loop cancels what waits

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(run())
        gc.collect()
    return int(began.read_text()), [*told, *(str(one.message) for one in warned)]


def test_a_start_that_is_cancelled_fails_for_nobody(tmp_path: Path) -> None:
    assert cancelled_start(tmp_path, "sys.stdin.read()", ended=True)[1] == []


def is_there(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="a process is looked up by POSIX's means")
def test_a_loop_that_ends_leaves_no_program(tmp_path: Path) -> None:
    process, told = cancelled_start(tmp_path, "time.sleep(60)", ended=False)
    assert told == []
    wait_until(lambda: not is_there(process))  # it is killed at once; that it is gone may take the system a moment

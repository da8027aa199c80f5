"""An editor's server, an MCP server and a chat proxy on one folder: one writes the index, and nothing is indexed twice."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from tests.lsp_client import LspClient
from tests.shop import write_many

Ask = Callable[[str], Any]


@pytest.fixture
async def proxied(project: Path, env: dict[str, str]) -> AsyncIterator[Ask]:
    """A chat proxy; `await ask(question)` gives what it says of the context, and what it sent to its upstream."""
    got: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        got.append(await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        writer.close()

    async with await asyncio.start_server(upstream, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        words = ["proxy", "--upstream", url, "--port", "0", "--workspace", str(project), "--deadline-ms", "5000"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "carrel", *words, env={**os.environ, **env}, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr
        address = (await process.stderr.readline()).decode().split("Listening on ")[1].split(",")[0]
        async with httpx.AsyncClient(base_url=address, timeout=20) as http:

            async def ask(question: str) -> tuple[str, str]:
                messages = [{"role": "user", "content": question}]
                body = {"model": "m", "messages": messages, "prompt_cache_key": str(len(got))}  # each a conversation of its own
                answer = await http.post("/v1/chat/completions", json=body)
                return answer.headers["x-carrel-context"], got[-1].decode()

            yield ask
        process.terminate()
        await process.wait()
        await process.stderr.read()


def segments(env: dict[str, str]) -> dict[str, int]:
    """What was written, and when."""
    return {path.name: path.stat().st_mtime_ns for path in Path(env["XDG_CACHE_HOME"]).rglob("*.seg")}


async def follows(ask: Ask, question: str, expected: str) -> None:
    async with asyncio.timeout(20):
        while expected not in (await ask(question))[1]:  # noqa: ASYNC110 - it is another process's doing
            await asyncio.sleep(0.2)


async def test_three_kinds_of_process_share_one_index(project: Path, env: dict[str, str], proxied: Ask) -> None:
    write_many(project, 60, 40)
    # Who only looks holds no index: the others could not fill it.
    assert (await proxied("how does login work?"))[0] == "no index"
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "carrel", "mcp", "--structured", "--root", str(project)], env={**os.environ, **env}
    )
    async with (
        LspClient.started(project, options={"ragEnabled": True}, env=env) as editor,
        Client(command, read_timeout_seconds=60) as assistant,
    ):
        indexed, found = await asyncio.gather(
            editor.request("carrel/index", {}), assistant.call_tool("search_code", {"query": "authenticate user"})
        )
        assert found.structured_content["hits"][0]["path"] == "src/auth.py"
        await follows(proxied, "authenticate user", "src/auth.py")
        roles = [
            (await editor.request("carrel/status", {}))["role"],
            (await assistant.call_tool("index_status", {})).structured_content["folders"][0]["role"],
        ]
        assert sorted(roles) == ["follower", "writer"]
        before = segments(env)
        # Whoever asks for more indexing finds it done.
        again = await editor.request("carrel/index", {})
        assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 65)
        for _ in range(3):
            await assistant.call_tool("search_code", {"query": "function"})
            await proxied("function")
        assert segments(env) == before

        (project / "src/lynx.py").write_text("def lynx_watch(forest):\n    return forest.look_for_lynx()\n")
        async with asyncio.timeout(20):  # until whoever writes has looked at the disk again
            while "src/lynx.py" not in (await proxied("lynx_watch"))[1]:
                await editor.request("carrel/search", {"query": "lynx_watch"})
                await assistant.call_tool("search_code", {"query": "lynx_watch"})
                await asyncio.sleep(0.2)
        await editor.request("carrel/index", {})
        written = segments(env)
        assert len(written.keys() - before.keys()) == 1
        assert before.items() <= written.items()
    assert indexed["added"] in (0, 65)

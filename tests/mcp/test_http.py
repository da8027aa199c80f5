"""The same over loopback HTTP: a token, and headers that a rebound name would send."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "a-token-of-tests"  # noqa: S105


@pytest.fixture
async def server(
    request: pytest.FixtureRequest, env: dict[str, str], project: Path, tmp_path: Path
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A running server, and where it listens; a parameter is more of its command line."""
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    arguments = ["-m", "carrel", "mcp", "--structured", "--root", str(project), "--http", "0", "--token-file", str(token)]
    arguments += getattr(request, "param", ())
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, env=env, stderr=asyncio.subprocess.PIPE)
    assert process.stderr
    line = (await process.stderr.readline()).decode()
    found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
    assert found, line
    yield process, found[0]
    if process.returncode is None:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 10) in (0, -15)
        await process.stderr.read()


@pytest.fixture
def url(server: tuple[asyncio.subprocess.Process, str]) -> str:
    return server[1]


async def test_tools_over_http(url: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http:
        for mode in ("legacy", "auto"):
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                result = await client.call_tool("search_code", {"query": "check a login"})
                assert result.structured_content["hits"][0]["path"] == "src/auth.py"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "localhost:1"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "[::1"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://[::1"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": ""}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
async def test_others_are_kept_out(url: str, headers: dict[str, str], status: int) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient() as http:
        answer = await http.post(url, json=ping, headers={"Accept": "application/json, text/event-stream", **headers})
    assert answer.status_code == status


async def test_a_second_origin_is_seen(url: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    own = url.removesuffix("/mcp").encode()
    headers = [(b"Authorization", f"Bearer {TOKEN}".encode()), (b"Origin", own), (b"Origin", b"https://evil.example")]
    async with httpx2.AsyncClient() as http:
        answer = await http.post(url, json=ping, headers=[(b"Accept", b"application/json, text/event-stream"), *headers])
    assert (answer.status_code, "at most one Origin" in answer.text) == (400, True)


async def test_a_request_with_two_lengths_is_refused(url: str) -> None:
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    writer.write(f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 20)  # to the end: the connection is closed
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"both Content-Length and Transfer-Encoding" in answer


@pytest.mark.parametrize("server", [("--rate-limit", "12")], indirect=True)
async def test_past_the_limit_requests_are_told_to_wait(url: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=accept, timeout=60) as http:
        strangers = [(await http.post(url, json=ping)).status_code for _ in range(5)]
        assert strangers == [401] * 5  # who has no token uses up nobody's requests
        own = {"Authorization": f"Bearer {TOKEN}"}
        answers = [await http.post(url, json=ping, headers=own) for _ in range(3)]
    assert [answer.status_code == 429 for answer in answers] == [False, False, True]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 5
    refused = answers[-1].json()
    assert (refused["jsonrpc"], refused["id"]) == ("2.0", None)
    assert "Carrel's own limit of 12 requests a minute" in refused["error"]["message"]
    assert "--rate-limit" in refused["error"]["message"]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
async def test_ctrl_c_ends_it_quietly(server: tuple[asyncio.subprocess.Process, str]) -> None:
    process, _ = server
    process.send_signal(signal.SIGINT)
    _, noise = await asyncio.wait_for(process.communicate(), 10)
    assert (process.returncode, noise) == (130, b"")

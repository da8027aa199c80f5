"""Each request has a connection to the upstream to itself, and later ones use it again."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator

import httpx
import pytest

from carrel.frontends.chat_proxy import upstream
from carrel.frontends.chat_proxy.upstream import OwnConnections, connections_to, proxy_for


class Transport(httpx.AsyncBaseTransport):
    """Answers when `gate` is open, one request at a time."""

    def __init__(self, gate: asyncio.Event) -> None:
        self.gate, self.busy, self.closed = gate, False, False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert not self.busy, "two requests on one connection"
        assert not self.closed
        self.busy = True
        try:
            await self.gate.wait()
            if request.url.path == "/broken":
                raise httpx.ReadError("broken")
        finally:
            self.busy = False
        return httpx.Response(200, stream=httpx.ByteStream(b"{}"))

    async def aclose(self) -> None:
        self.closed = True


async def test_a_crowd_has_a_connection_each_and_leaves_them_to_later_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Transport] = []
    gate = asyncio.Event()

    def make() -> Transport:
        made.append(Transport(gate))
        return made[-1]

    async with httpx.AsyncClient(transport=OwnConnections(make)) as client:
        crowd = [asyncio.create_task(client.get(f"http://a/{path}")) for path in ["x"] * 90 + ["broken"] * 5 + ["left"] * 5]
        while len(made) < 100:  # noqa: ASYNC110 - the tasks go on meanwhile
            await asyncio.sleep(0)
        for task in crowd[-5:]:
            task.cancel()
        gate.set()
        results = await asyncio.gather(*crowd, return_exceptions=True)
        assert [type(result) for result in results] == [httpx.Response] * 90 + [httpx.ReadError] * 5 + [
            asyncio.CancelledError
        ] * 5
        assert sum(not one.closed for one in made) == upstream._MOST_IDLE
        assert all(one.closed for one in made[90:]), "what failed or was left is not used again"
        for _ in range(5):
            assert (await client.get("http://a/x")).json() == {}
        async with client.stream("GET", "http://a/x"), client.stream("GET", "http://a/x"):
            pass
        assert len(made) == 100
        monkeypatch.setattr(upstream, "_IDLE_SECONDS", -1.0)
        await client.get("http://a/x")
        assert all(one.closed for one in made)


@pytest.fixture
def server() -> Iterator[tuple[str, list[int]]]:
    """A server that keeps connections, and the ports of its callers."""
    ports: list[int] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            ports.append(self.client_address[1])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}", ports
    listening.shutdown()
    listening.server_close()
    thread.join()


async def test_connections_are_kept_between_requests(server: tuple[str, list[int]]) -> None:
    url, ports = server
    async with httpx.AsyncClient(transport=connections_to(url)) as client:
        for _ in range(3):
            await client.get(url)
    assert len(set(ports)) == 1


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "http://api.example/v1", None),
        ({"http_proxy": "http://p:1", "https_proxy": "http://q:2"}, "http://api.example", "http://p:1"),
        ({"http_proxy": "http://p:1", "https_proxy": "http://q:2"}, "https://api.example", "http://q:2"),
        ({"all_proxy": "p:3"}, "https://api.example", "http://p:3"),
        ({"https_proxy": "http://q:2", "no_proxy": ".example"}, "https://api.example", None),
        ({"https_proxy": "http://q:2", "no_proxy": "other"}, "https://key:word@api.example:99", "http://q:2"),
    ],
)
def test_the_proxy_of_the_environment_counts(
    variables: dict[str, str], url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == proxy

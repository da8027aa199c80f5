"""A server that answers Qdrant's requests with something else: every use ends with an error that says cause and remedy."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")

from qdrant_client import AsyncQdrantClient
from tests.contract.suites.common import chunk_id, collected, pack

from carrel.extensions.stores import qdrant
from carrel.extensions.stores.qdrant import QdrantStore, connect
from carrel.model.errors import CarrelError, NotAllowed, ProviderError
from carrel.model.ports import VectorRecord

ID = "00000000-0000-0000-0000-000000000001"
VECTORS = {"size": 4, "distance": "Cosine"}
INFO = {
    "status": "green",
    "optimizer_status": "ok",
    "segments_count": 1,
    "config": {
        "params": {"vectors": VECTORS},
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
        "optimizer_config": {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0,
                             "flush_interval_sec": 5},
    },
    "payload_schema": {},
}  # fmt: skip
DONE = {"operation_id": 1, "status": "completed"}
HONEST: dict[str, Any] = {
    "exists": {"exists": True},
    "collection": INFO,
    "query": {"points": [{"id": ID, "version": 1, "score": 0.5}]},
    "retrieve": [{"id": ID, "vector": [1.0, 0.0, 0.0, 0.0]}],
    "scroll": {"points": [{"id": ID, "payload": {}}], "next_page_offset": None},
    "count": {"count": 1},
    "upsert": DONE,
    "delete": DONE,
}


class Server(ThreadingHTTPServer):
    """Answers each operation by `bodies`, or honestly."""

    daemon_threads = True
    bodies: dict[str, Callable[[], bytes]]
    status: dict[str, tuple[int, dict[str, str]]]
    client: AsyncQdrantClient

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        end = self.path.partition("?")[0].split("/")[3:]
        names = {(): "collection", ("points",): "upsert" if self.command == "PUT" else "retrieve"}
        name = names.get(tuple(end), end[-1] if end else "")
        honest = json.dumps({"result": HONEST.get(name, True), "status": "ok", "time": 0.1}).encode()
        body = self.server.bodies.get(name, lambda: honest)()
        status, headers = self.server.status.get(name, (200, {}))
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the base class calls them by these names

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the base class names it so


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
async def server(running: Server) -> AsyncIterator[Server]:
    running.bodies, running.status = {}, {}
    running.client = connect(running.url, None, 10, "")
    yield running
    await running.client.close()


USES: dict[str, Callable[[QdrantStore], Any]] = {
    "exists": lambda store: store.open(),
    "collection": lambda store: store.open(),
    "query": lambda store: store.search(pack(1, 0, 0, 0), 3),
    "retrieve": lambda store: store.vectors([chunk_id(1)]),
    "scroll": lambda store: collected(store.ids()),
    "count": lambda store: store.count(),
    "upsert": lambda store: store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))]),
    "delete": lambda store: store.publish([], [chunk_id(1)]),
}
NO_ANSWERS = {
    "no JSON": b"<html>It works!</html>",
    "nothing": b"",
    "half": b'{"result": {"poi',
    "null": b"null",
    "a list": b"[]",
    "no fields": b"{}",
    "another kind": b'{"result": "x"}',
    "wrong fields": b'{"result": [{"a": 1}], "status": "ok", "time": 1}',
    "deep": b"[" * 100_000,
    "no UTF-8": b'{"result": "\xff\xfe"}',
}


async def used(server: Server, operation: str) -> Any:
    return await USES[operation](QdrantStore(server.client, "x", 4, leaves_machine=False))


@pytest.mark.parametrize("operation", USES)
async def test_an_honest_answer_is_taken(server: Server, operation: str) -> None:
    await used(server, operation)


@pytest.mark.parametrize("operation", USES)
async def test_what_is_no_answer_is_told(server: Server, operation: str) -> None:
    for name, body in NO_ANSWERS.items():
        server.bodies = {operation: lambda body=body: body}  # type: ignore[misc]
        with pytest.raises(ProviderError) as raised:
            await used(server, operation)
        assert raised.value.reason, name
        assert raised.value.remedy, name
    for status, headers in ((429, {"Retry-After": "1"}), (429, {"Retry-After": "soon"}), (302, {"Location": "/"}), (500, {})):
        server.status = {operation: (status, headers)}
        with pytest.raises(ProviderError):
            await used(server, operation)


def result(value: object) -> Callable[[], bytes]:
    return lambda: json.dumps({"result": value, "status": "ok", "time": 0.1}).encode()


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("query", {"points": [{"id": ID, "version": 1, "score": float("nan")}]}),
        ("query", {"points": [{"id": ID, "version": 1, "score": float("inf")}]}),
        ("query", {"points": [{"id": ID, "version": 1, "score": None}]}),
        ("query", {"points": [{"id": 12, "version": 1, "score": 0.5}]}),
        ("query", {"points": [{"id": "a.py", "version": 1, "score": 0.5}]}),
        ("query", {"points": None}),
        ("retrieve", [{"id": ID, "vector": [1.0, 0.0]}]),
        ("retrieve", [{"id": ID, "vector": [float("nan")] * 4}]),
        ("retrieve", [{"id": ID, "vector": ["a", "b", "c", "d"]}]),
        ("retrieve", [{"id": ID, "vector": None}]),
        ("retrieve", [{"id": ID, "vector": {"other": [1.0, 0.0, 0.0, 0.0]}}]),
        ("retrieve", [{"id": 12, "vector": [1.0, 0.0, 0.0, 0.0]}]),
        ("scroll", {"points": [{"id": 12, "payload": {}}], "next_page_offset": None}),
        ("scroll", {"points": [], "next_page_offset": ID}),
        ("scroll", {"points": [{"id": ID, "payload": {}}] * 2_000, "next_page_offset": None}),
        ("scroll", {"points": [{"id": ID, "payload": {}}], "next_page_offset": ID}),
        ("collection", {**INFO, "config": {"params": {}}}),
        ("collection", {**INFO, "config": {**INFO["config"], "params": {"vectors": {**VECTORS, "size": 8}}}}),  # type: ignore[dict-item]
    ],
)
async def test_an_answer_that_cannot_be_true_is_told(server: Server, operation: str, answer: object) -> None:
    server.bodies = {operation: result(answer)}
    with pytest.raises(CarrelError) as raised:
        await used(server, operation)
    assert raised.value.remedy


async def test_points_that_were_not_asked_for_are_left_out(server: Server) -> None:
    stranger = ID.replace("1", "2")
    server.bodies = {"retrieve": result([{"id": place, "vector": [1.0, 0.0, 0.0, 0.0]} for place in (ID, stranger)])}
    assert list(await used(server, "retrieve")) == [chunk_id(1)]
    server.bodies = {"query": result({"points": [{"id": ID, "version": 1, "score": 9.0}] * 50})}
    assert await used(server, "query") == [(chunk_id(1), 1.0)] * 3


async def test_a_scroll_that_never_ends_is_left(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant, "MOST_PAGES", 5)
    numbers = itertools.count(1)

    def page() -> bytes:
        number = next(numbers)
        points = [{"id": f"00000000-0000-0000-0000-{number:012}", "payload": {}}]
        return result({"points": points, "next_page_offset": f"00000000-0000-0000-0000-{number + 1:012}"})()

    server.bodies = {"scroll": page}
    with pytest.raises(ProviderError, match="more than 5,000 points"):
        await used(server, "scroll")
    assert next(numbers) == 6


def test_a_key_goes_nowhere_without_encryption() -> None:
    with pytest.raises(ProviderError, match="without encryption") as raised:
        connect("http://vectors.example:6333", "planted-key", 1, "")
    assert "planted-key" not in str(raised.value)
    for url in ("http://127.0.0.1:6333", "http://localhost:6333", "https://vectors.example:6333"):
        connect(url, "planted-key", 1, "")
    connect("http://vectors.example:6333", None, 1, "")


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")  # said once a process
async def test_a_permission_that_was_withdrawn_counts_at_once() -> None:
    allowed = True

    def permit() -> None:
        if not allowed:
            raise NotAllowed("qdrant", "vectors.example")

    client = AsyncQdrantClient(":memory:")
    store = QdrantStore(client, "chunks", 4, leaves_machine=False, permit=permit)
    await store.open()
    await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))])
    allowed = False
    for use in (store.search(pack(1, 0, 0, 0), 1), store.vectors([chunk_id(1)]), store.count(), collected(store.ids())):
        with pytest.raises(NotAllowed):
            await use
    with pytest.raises(NotAllowed):
        await store.publish([], [chunk_id(1)])
    allowed = True
    assert await store.count() == 1
    await client.close()

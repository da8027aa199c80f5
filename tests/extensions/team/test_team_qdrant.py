"""A team's values in Qdrant: permissions, counts, and answers of something else."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")

from tests.extensions.team.common import Developer, outbound
from tests.extensions.team.test_embedding_cache import DIM

from carrel.extensions.team.values import QdrantValues
from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.outbound import Destination, Load, collect, summed
from carrel.policy.permissions import PermissionFile


async def test_nothing_is_sent_before_a_person_allowed_it_and_no_key_without_encryption(tmp_path: Path) -> None:
    around = outbound(tmp_path, "planted-key")
    values = QdrantValues(around, "http://qdrant.example:6333", "carrel-team")
    with pytest.raises(NotAllowed, match=r"carrel confirm team qdrant\.example:6333"):
        await values.read([bytes(16)])
    developer = Developer(tmp_path / "1", values)
    await developer.vectors()
    assert "carrel confirm team" in str(developer.model.problem)
    assert (await developer.status()).waiting == 3
    PermissionFile(tmp_path / "permissions.json").allow(Destination("team", "qdrant.example:6333"))
    with pytest.raises(ProviderError, match="without encryption") as raised:
        await values.read([bytes(16)])
    assert "planted-key" not in str(raised.value)


async def test_what_was_sent_is_counted(tmp_path: Path) -> None:
    around = outbound(tmp_path)
    values = QdrantValues(around, qdrant_server.server_url(), f"carrel-team-count-{os.getpid()}")
    with collect() as receipt:
        await Developer(tmp_path, values).vectors()
    (sent,) = summed(receipt)
    assert (sent.destination, sent.role) == (values.destinations[0], "store")
    assert sent.load == Load(requests=sent.load.requests)
    assert 3 <= sent.load.requests <= 10
    assert sent.bytes > 3 * DIM
    assert around.meter.total(values.destinations[0]).requests >= 3  # type: ignore[attr-defined]
    await values.aclose()


class Liar(http.server.BaseHTTPRequestHandler):
    """Answers everything with the server's `body`."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body: bytes = self.server.body  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST  # noqa: N815 - the base class calls it by this name

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the base class names it so


@pytest.fixture
def liar() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


async def test_odd_answers_are_errors_or_nothing(liar: Any, tmp_path: Path) -> None:
    values = QdrantValues(outbound(tmp_path), f"http://127.0.0.1:{liar.server_address[1]}", "carrel-team")
    for body in (b"<html>", b"", b"null", b"[]", b"{}", b'{"result": 1}', b"[" * 100_000):
        liar.body = body
        with pytest.raises(ProviderError):
            await values.read([bytes(16)])
    identity = "00000000-0000-0000-0000-000000000000"
    for point, found in (
        (None, {}),
        ({}, {}),
        ({"id": 5, "payload": {"value": "AA=="}}, {}),
        ({"id": identity, "payload": None}, {}),
        ({"id": identity, "payload": {"value": 7}}, {}),
        ({"id": identity.replace("0", "1"), "payload": {"value": "AA=="}}, {}),
        ({"id": identity, "payload": {"value": "no base 64"}}, {bytes(16): b""}),
        ({"id": identity, "payload": {"value": "AA=="}}, {bytes(16): b"\0"}),
    ):
        liar.body = json.dumps({"result": [point]}).encode()
        assert await values.read([bytes(16)]) == found
    await values.aclose()

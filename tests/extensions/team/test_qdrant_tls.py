"""The real Qdrant server with TLS and a certificate of one's own authority, asked by both of Carrel's clients."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Iterator

import pytest
from tests.contract import qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")

from tests.contract.certificates import Authority

from carrel.extensions.stores.qdrant import QdrantStore, connect
from carrel.extensions.team.values import QdrantValues
from carrel.model.errors import ProviderError
from carrel.model.fakes import fake_outbound
from carrel.model.ports import ChunkId, VectorRecord

Ask = Callable[[str], Awaitable[bool]]
ROW = struct.pack("<4f", 1, 0, 0, 0)


async def of_team(url: str) -> bool:
    values = QdrantValues(fake_outbound(qdrant="a key"), url, "carrel-team")
    try:
        await values.write({bytes(16): b"value"})
        return await values.read([bytes(16)]) == {bytes(16): b"value"}
    finally:
        await values.aclose()


async def of_store(url: str) -> bool:
    client = connect(url, "a key", 10, "")
    store = QdrantStore(client, "carrel-tls", 4, leaves_machine=False, title="Qdrant at the test")
    try:
        await store.publish([VectorRecord(ChunkId("0" * 32), ROW, {"path": "a.py"})])
        return [chunk for chunk, _ in await store.search(ROW, 1)] == ["0" * 32]
    finally:
        await client.close()


CLIENTS = pytest.mark.parametrize("ask", [of_team, of_store])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[str]:
    url, process, _ = qdrant_server.start(qdrant_server.binary(), authority.certificate())
    yield url
    process.kill()


@CLIENTS
async def test_an_authority_of_ones_own_is_trusted_where_it_is_named(
    ask: Ask, server: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert await ask(server)


@CLIENTS
@pytest.mark.parametrize(
    ("host", "days", "trusted", "part"),
    [
        ("127.0.0.1", 30, False, r"isn't trusted \(unable to get local issuer certificate\).*SSL_CERT_FILE"),
        ("other.example", 30, True, r"isn't trusted \(IP address mismatch.*Ask for it by the name"),
        ("127.0.0.1", -9, True, r"isn't trusted \(certificate has expired\).*renewed"),
    ],
)
async def test_a_wrong_certificate_is_told_with_what_mends_it(
    ask: Ask, host: str, days: int, trusted: bool, part: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    url, process, _ = qdrant_server.start(qdrant_server.binary(), authority.certificate(host, days=days))
    try:
        with pytest.raises(ProviderError, match=part) as raised:
            await ask(url)
    finally:
        process.kill()
    assert not raised.value.retryable


@CLIENTS
async def test_a_server_without_tls_is_told_apart_from_one_that_is_gone(ask: Ask) -> None:
    url = qdrant_server.server_url().replace("http://", "https://")
    with pytest.raises(ProviderError, match=r"answers without encryption.*Switch TLS on there"):
        await ask(url)

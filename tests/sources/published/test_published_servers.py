"""Who may ask a server for a published repository, and what one that fails costs."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import time
from pathlib import Path

import pytest
from tests.contract import qdrant_server
from tests.sources.published.common import at, found, published, source

from carrel.model.errors import CarrelError, InvalidInput, NotAllowed, ProviderError
from carrel.model.fakes import FakeKeys, FakeMeter, FakePermissions
from carrel.model.outbound import Outbound
from carrel.model.published import PublishedAddress
from carrel.providers.published_repository import QdrantRepository
from carrel.settings.source_settings import read_sources
from carrel.sources import remote_source


async def test_a_key_opens_what_it_names_and_nothing_else(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT__SERVICE__API_KEY", "the-key-of-the-administrator")
    monkeypatch.setenv("QDRANT__SERVICE__JWT_RBAC", "true")
    url, process, _ = qdrant_server.start(qdrant_server.binary())
    try:
        for name in ("shop", "secret"):
            owner = at(url, name, "the-key-of-the-administrator")
            await published(shop, owner)
            await owner.aclose()
        reader = jwt([{"collection": "carrel-repo-shop", "access": "r"}])
        allowed, other, none = at(url, "shop", reader), at(url, "secret", reader), at(url, "shop")
        assert (await found(source(allowed)))[0].chunk.symbol == "authenticate_user"
        with pytest.raises(ProviderError, match="doesn't open this repository"):
            await found(source(other))
        with pytest.raises(ProviderError, match="wants a key"):
            await found(source(none))
        with pytest.raises(ProviderError, match="doesn't open this repository"):
            await published(shop, allowed)
        publisher = at(url, "shop", jwt([{"collection": "carrel-repo-shop", "access": "rw"}]))
        assert (await published(shop, publisher)).added == 0, "a key of one collection publishes to it, once it is there"
        for one in (allowed, other, none, publisher):
            await one.aclose()
    finally:
        process.kill()


def jwt(access: object) -> str:
    """Sign as Qdrant's documentation says: HS256 by the server's key."""
    parts = [{"alg": "HS256", "typ": "JWT"}, {"access": access, "exp": int(time.time()) + 600}]
    text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encoded(hmac.digest(b'the-key-of-the-administrator', text.encode(), hashlib.sha256))}"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_a_server_that_is_killed_is_told_and_left_alone(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.providers.published_repository._PUBLISHERS_PAUSES", (0.01,))
    url, process, _ = qdrant_server.start(qdrant_server.binary())
    repository = at(url, "shop")
    try:
        await published(shop, repository)
        one = source(repository)
        asking = [asyncio.create_task(found(one)) for _ in range(20)]
        await asyncio.sleep(0.01)
        process.kill()
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(item, list | CarrelError) for item in ended)
        with pytest.raises(ProviderError):
            await found(one)
        with pytest.raises(ProviderError, match="It is asked again in"):
            await found(one)
        with pytest.raises(ProviderError):
            await published(shop, repository)
    finally:
        await repository.aclose()
        process.kill()


async def test_a_server_that_hangs_costs_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_source, "SECONDS", 0.2)
    hanging = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    port = hanging.getsockname()[1]
    repository = at(f"http://127.0.0.1:{port}", "shop")
    one = source(repository)
    with pytest.raises(ProviderError, match="no answer within"):
        await found(one)
    with pytest.raises(ProviderError, match="It is asked again in"):
        await found(one)
    await repository.aclose()
    hanging.close()


async def test_nothing_is_sent_to_a_host_that_nobody_allowed() -> None:
    outbound = Outbound(FakePermissions([]), FakeKeys(), FakeMeter())
    one = source(QdrantRepository(PublishedAddress.read("qdrant://q.example.com/shop"), outbound))
    for _ in range(2):  # what a person may allow at any moment is no failure of the server
        with pytest.raises(NotAllowed, match=r"carrel confirm qdrant q\.example\.com:6333"):
            await found(one)


@pytest.mark.parametrize(
    ("url", "base", "collection"),
    [
        ("qdrant://localhost:7/a", "http://localhost:7", "carrel-repo-a"),
        ("qdrant://[::1]/a", "http://[::1]:6333", "carrel-repo-a"),
        ("qdrant://q.example.com/acme/a.b", "https://q.example.com:6333", "carrel-repo-acme~a.b"),
    ],
)
def test_an_address_is_encrypted_off_this_machine(url: str, base: str, collection: str) -> None:
    address = PublishedAddress.read(url)
    assert (address.base_url, address.collection) == (base, collection)


@pytest.mark.parametrize(
    "url",
    ["http://h/a", "qdrant://h", "qdrant://h/", "qdrant://h/a/b/c", "qdrant://h/../a", "qdrant://u:p@h/a", "qdrant://h:x/a"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        PublishedAddress.read(url)
    with pytest.raises(ValueError, match="url"):
        read_sources({"a": {"kind": "repository", "url": url}})

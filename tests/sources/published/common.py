"""A repository that is published, and those who search it."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

from carrel.composition.composition import Composition
from carrel.index.open_index import OpenIndex
from carrel.model.fakes import fake_outbound
from carrel.model.native import CancelToken, SecretOptions, mask_secrets
from carrel.model.ports import Embedder, EmbeddingSpec
from carrel.model.published import PublishedAddress
from carrel.model.types import Hit, Query
from carrel.providers.local import bundled
from carrel.providers.published_repository import QdrantRepository
from carrel.question.question_secrets import mask_by
from carrel.settings.settings import Settings
from carrel.settings.source_settings import SourceSettings
from carrel.sources.publishing import Publication, PublishReport, checkout_of
from carrel.sources.remote_source import RemoteSource
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner

LOGIN = "where is a login checked against the user table"
AWS = "AKIA" + "Z7QX4M2P6LK3VT5B"


def git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")


def at(url: str, name: str, key: str = "") -> QdrantRepository:
    address = PublishedAddress.read(f"qdrant://{url.partition('://')[2]}/{name}")
    return QdrantRepository(address, fake_outbound(qdrant=key) if key else fake_outbound(), "keyring" if key else "")


def indexed(root: Path) -> OpenIndex:
    index = Composition().open_index(root, dataclasses.replace(Settings(), cache_folder=str(root.parent / uuid.uuid4().hex)))
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    return index


async def published(
    root: Path, repository: Any, *, with_text: bool = True, allow_dirty: bool = False, model: EmbeddingSpec | None = None
) -> PublishReport:
    index = await asyncio.to_thread(indexed, root)
    try:
        state = await asyncio.to_thread(checkout_of, root, allow_dirty=allow_dirty)
        return await Publication(index.store, model or index.embedder.spec, state, with_text).run(repository)
    finally:
        index.store.close()


def source(
    repository: Any, root: Path = Path("/nonexistent"), embedder: Callable[[str], Embedder | None] | None = None
) -> RemoteSource:
    own, options = bundled(), SecretOptions()
    settings = SourceSettings(kind="repository", url=str(repository.address))
    model = embedder or (lambda model: own if own.spec.id == model else None)
    return RemoteSource(
        "shop", settings, root, repository, model, lambda path, text: mask_secrets(path, text, options), mask_by(options)
    )


async def found(one: RemoteSource, text: str = LOGIN, own: Any = None) -> list[Hit]:
    return await one.search(Query(text, 5), explicit=True, wait_ms=0, view=own)


def files(hits: Sequence[Hit]) -> set[str]:
    return {hit.chunk.path.partition(" ")[2] for hit in hits}


async def stored(repository: QdrantRepository) -> list[dict[str, Any]]:
    """Every point that is kept, visible or not."""
    url = f"{repository.address.base_url}/collections/{repository.address.collection}/points/scroll"
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(url, json={"limit": 1000, "with_payload": True, "with_vector": True})
    return [dict(point) for point in answer.json()["result"]["points"]]


class Killed(BaseException):
    """Ends a run at once, in whichever of its tasks."""


class Dying:
    """Dies at the n-th write of a run, as a killed process does."""

    def __init__(
        self, inner: QdrantRepository, at: int, writes: Sequence[str] = ("add", "mark", "unmark", "delete", "write_head")
    ) -> None:
        self._inner = inner
        self._left = at
        self._writes = writes

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in self._writes:
            return value

        async def write(*arguments: Any) -> Any:
            if self._left == 0:
                raise Killed
            self._left -= 1
            return await value(*arguments)

        return write


class Pausing:
    """Waits before the n-th call of one kind, as a slow run does, until it is let go."""

    def __init__(self, inner: QdrantRepository, name: str, number: int = 0) -> None:
        self._inner, self._name, self._left = inner, name, number
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name != self._name:
            return value

        async def paused(*arguments: Any) -> Any:
            self._left -= 1
            if self._left == -1:
                self.reached.set()
                await self.go_on.wait()
            return await value(*arguments)

        return paused

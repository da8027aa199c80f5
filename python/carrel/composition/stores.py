"""Find the store of vectors that is set, and make what keeps a copy of an index there.

A new store is one module in `extensions/stores`, and here its package, its place and what opens it; CONTRIBUTING.md has
the rest. A plugin needs nothing here. That a package is missing is said when the store is to be opened: the index answers
by its own vectors meanwhile.
"""

# ruff: noqa: PLC0415 - a store's package is imported when it is opened
from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import secrets
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from carrel.index.outbox import Backlog, Comparison, Outbox
from carrel.index.replica import ReplicaStatus, StorePlace, VectorReplica
from carrel.model.errors import ProviderError, StoreError
from carrel.model.installation import how_to_install
from carrel.model.kinds import KINDS, PLUGIN
from carrel.model.outbound import Destination
from carrel.model.ports import StoreRequest
from carrel.system.plugins import plugins

if TYPE_CHECKING:
    from carrel.extensions.stores.qdrant_install import Download
    from carrel.index.replica import ReplicatedIndex
    from carrel.model.outbound import Outbound
    from carrel.model.ports import ChunkId, VectorRecord, VectorStore
    from carrel.settings.store_settings import StoreSettings

__all__ = ["Backlog", "Comparison", "ReplicaStatus", "StorePlace", "VectorReplica", "make_replica", "place_of_store"]

PACKAGES = {"lancedb": "lancedb", "qdrant": "qdrant_client"}
"""By kind, the package that its extra installs."""
NO_PROGRAM = (
    "Qdrant's program isn't on this machine",
    "Have it installed: `carrel store install`, or set the URL of a server.",
)
"""Reason and remedy."""
_QDRANT_SECONDS = 30
_OUTBOXES = "outboxes"
PLUGINS = "plugins"
"""The folder of what stores of other packages keep of an index."""


class IndexFolder(Struct, frozen=True):
    """Which index is copied: its root, its folder, the workspace's folder around that, and the dimension of its vectors."""

    root: Path
    directory: Path
    home: Path
    dim: int


class _Opened(Struct):
    """A store with what runs for it."""

    vectors: VectorStore
    close: Callable[[], Coroutine[Any, Any, None]]
    _lives: Callable[[], bool] = lambda: True

    @property
    def alive(self) -> bool:
        """Tell whether what runs for it still does."""
        return self._lives()


def qdrant_folder() -> Path:
    """Return where the managed Qdrant's program, configuration and data are."""
    import platformdirs

    return platformdirs.user_data_path("carrel", appauthor=False) / "qdrant"


def is_installed(kind: str) -> bool:
    """Tell whether the package of a kind of store is there."""
    return kind not in PACKAGES or importlib.util.find_spec(PACKAGES[kind]) is not None


def not_installed(kind: str) -> str:
    """Say what a kind of store needs that isn't there."""
    return f"The store {kind} needs a package that isn't installed. Install it: {how_to_install(kind)}"


def destination_of(settings: StoreSettings) -> Destination | None:
    """Return where the store that is set sends vectors; None for a store on this machine's disk."""
    parts = urlsplit(settings.url)
    provider = settings.kind if settings.kind in KINDS else f"{PLUGIN}{settings.kind}"
    return Destination(provider, parts.netloc.lower()) if settings.url else None


def place_of_store(settings: StoreSettings, index: IndexFolder) -> StorePlace | None:
    """Return where the vectors of an index are kept besides it; None where nowhere."""
    destination = destination_of(settings)
    match settings.kind:
        case "lancedb":
            place = StorePlace("lancedb", str(index.directory / "lancedb"))
        case "qdrant" if settings.url:
            place = StorePlace("qdrant", settings.url, destination)
        case "qdrant":
            place = StorePlace("qdrant", "the managed Qdrant on this machine")
        case "segments":
            return None
        case kind:
            place = StorePlace(kind, settings.url or str(index.directory / PLUGINS / kind), destination)
    kept = not place.leaves_machine if settings.content is None else settings.content
    return replace(place, with_content=kept)


def make_replica(settings: StoreSettings, index: IndexFolder, store: ReplicatedIndex, outbound: Outbound) -> VectorReplica | None:
    """Return what keeps a copy of the index in the store that is set; None where none is. Raises `StoreError`."""
    place = place_of_store(settings, index)
    if place is None:
        return None
    name = settings.collection or collection_name(index, shared=place.leaves_machine)
    # Another place is another copy, of which nothing is known.
    identity = "\0".join((place.kind, place.name, name, str(index.dim), str(place.with_content)))
    digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:12]
    outbox = Outbox(index.directory / _OUTBOXES / f"{place.kind}-{digest}.sqlite")
    return VectorReplica(place, store, outbox, partial(_open, settings, place, index, name, outbound), _records)


def _records(index: ReplicatedIndex, ids: Sequence[ChunkId], with_content: bool) -> list[VectorRecord]:
    from carrel.index.replica import vector_records

    return vector_records(index.snapshot(), ids, with_content=with_content)


def collection_name(index: IndexFolder, *, shared: bool) -> str:
    """Return the name of an index in a store: by the absolute root, and what else tells indexes of it apart.

    In a store that others may use, it also tells machines apart: two checkouts at the same path are not the same code.
    """
    real = os.path.normcase(os.path.realpath(index.root))
    more = [index.directory.name] if index.directory != index.home else []
    more += [index.home.name] if "-lines-" in index.home.name else []
    more += [_installation()] if shared else []
    digest = hashlib.sha256("\0".join((real, *more)).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"carrel-{digest}"


def _installation() -> str:
    """Return what tells this user's Carrel from others, made once."""
    import platformdirs

    from carrel.system.filesystem import private_folder, replace_file

    path = platformdirs.user_data_path("carrel", appauthor=False) / "installation"
    try:
        if not path.exists():
            private_folder(path.parent)
            replace_file(path, secrets.token_hex(16).encode())
        return path.read_text("utf-8")
    except OSError as error:
        raise StoreError(f"{path} can't be kept ({error.strerror})", "Make its folder writable.") from None


async def _open(settings: StoreSettings, place: StorePlace, index: IndexFolder, name: str, outbound: Outbound) -> _Opened:
    """Open the store. Raises `CarrelError` that says what is missing."""
    if not is_installed(settings.kind):
        raise StoreError(not_installed(settings.kind))
    if package := PACKAGES.get(settings.kind):
        await asyncio.to_thread(importlib.import_module, package)  # takes a second: questions are answered meanwhile
    dim = index.dim
    if settings.kind not in KINDS:
        return await _open_plugin(settings, place, index.directory / PLUGINS / settings.kind, name, dim, outbound)
    if settings.kind == "lancedb":
        return await _open_lancedb(place, name if settings.collection else "chunks", dim)
    if settings.url:
        return await _open_qdrant_url(settings, place, name, dim, outbound)
    return await _open_managed_qdrant(settings, name, dim)


def _permission(place: StorePlace, outbound: Outbound) -> Callable[[], None]:
    """Return what raises `NotAllowed` once the person allows the place of a store no more."""

    def permit() -> None:
        if place.destination is not None:
            outbound.permissions.check(place.destination)

    return permit


async def _open_plugin(
    settings: StoreSettings, place: StorePlace, folder: Path, name: str, dim: int, outbound: Outbound
) -> _Opened:
    from carrel.extensions.stores.plugin import open_plugin

    permit = _permission(place, outbound)
    permit()
    key = outbound.keys.find(settings.kind, settings.key) if settings.key else None
    if settings.key not in ("", "none") and key is None:
        raise StoreError(
            f"There is no key for the store {settings.kind} in {settings.key}", "Put it there, or change `store.key`."
        )
    request = StoreRequest(folder, name, dim, settings.url, key.reveal() if key else None, permit)
    store = await open_plugin(plugins()[settings.kind], request)
    if store.leaves_machine and not place.leaves_machine:
        raise StoreError(
            f"The store {settings.kind} says that it sends vectors to another machine, which `url` doesn't name",
            "Set its address as `url`, so that you are asked for it.",
        )
    return _Opened(store, store.aclose)


async def _open_lancedb(place: StorePlace, table: str, dim: int) -> _Opened:
    from carrel.extensions.stores.lance import LanceStore

    store = LanceStore(place.name, table, dim)
    await store.open()

    async def end() -> None:
        store.close()

    return _Opened(store, end)


async def _open_qdrant_url(settings: StoreSettings, place: StorePlace, name: str, dim: int, outbound: Outbound) -> _Opened:
    from carrel.extensions.stores.qdrant import QdrantStore, connect

    destination = place.destination
    if destination is None:
        raise StoreError("This Qdrant has no URL")

    permit = _permission(place, outbound)
    permit()
    key = outbound.keys.find("qdrant", settings.key)
    client = connect(settings.url, key.reveal() if key else None, _QDRANT_SECONDS, "" if destination.local else outbound.proxy)
    store = QdrantStore(
        client, name, dim, leaves_machine=place.leaves_machine, title=f"Qdrant at {destination.host}", permit=permit
    )
    return await _opened_qdrant(store, client)


async def _open_managed_qdrant(settings: StoreSettings, name: str, dim: int) -> _Opened:
    from carrel.extensions.stores import qdrant_process
    from carrel.extensions.stores.qdrant import QdrantStore, connect

    folder = qdrant_folder()
    program = qdrant_process.find_program(folder, settings.program)
    if program is None:
        raise ProviderError(*NO_PROGRAM)
    running = await qdrant_process.start(folder, program)
    client = connect(running.url, running.key, _QDRANT_SECONDS, "")
    store = QdrantStore(client, name, dim, leaves_machine=False, title="The managed Qdrant")
    try:
        return await _opened_qdrant(store, client, running)
    except BaseException:
        running.close()
        raise


async def _opened_qdrant(store: Any, client: Any, running: Any = None) -> _Opened:
    async def end() -> None:
        await client.close()
        if running is not None:
            running.close()

    try:
        await store.open()
    except BaseException:
        await client.close()
        raise
    return _Opened(store, end, (lambda: bool(running.alive)) if running is not None else (lambda: True))


def qdrant_program(settings: StoreSettings) -> Path | None:
    """Return the program of the managed Qdrant, if there is one."""
    from carrel.extensions.stores import qdrant_process

    return qdrant_process.find_program(qdrant_folder(), settings.program)


async def find_qdrant(proxy: str) -> Download:
    """Return what would be downloaded for this machine. Raises `ProviderError`."""
    from carrel.extensions.stores import qdrant_install

    return await qdrant_install.find(qdrant_install.archive_name(), proxy=proxy)


async def install_qdrant(download: Download, proxy: str, progress: Callable[[int, int], None]) -> Path:
    """Download and unpack the program; a person agreed to it. Raises `ProviderError` and `StoreError`."""
    from carrel.extensions.stores import qdrant_install

    return await qdrant_install.install(download, qdrant_folder(), proxy=proxy, progress=progress)

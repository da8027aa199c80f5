"""Vectors that a service gave, kept on disk: a branch switch or a second clone asks for none of them again.

One SQLite file in the person's cache folder for all workspaces and programs. It holds no text: a key is the hash of model, kind
and text. Beside them stands which texts the model refused, by a hash that takes in the model's settings.

Vectors are float16: half of the bytes of float32 with an error of 0.0005, a tenth of what the index loses when it packs them into
bytes; both a new and a kept vector are rounded so, so that an index doesn't depend on which it got. A cache that can't be used is
none: nothing here raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import math
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from carrel.extensions.team.team_cache import TeamCache
from carrel.model.outbound import Destination
from carrel.model.ports import EmbeddingSpec
from carrel.model.remote import RemoteEmbedder
from carrel.model.vectors import Vectors
from carrel.system.background import run_blocking
from carrel.system.filesystem import private_file, private_folder

log = logging.getLogger(__name__)

MOST_BYTES = 2_000_000_000
"""Some 600,000 vectors of 1,536 values; the ones that were used longest ago make room."""
_USE_SECONDS = 24 * 3600.0
"""A use is noted once in so long: reading must seldom write."""
_WAIT_SECONDS = 2.0
_AT_ONCE = 500
_MOST_REFUSED = 10_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, used INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON vectors (used);
"""
_REFUSED = "CREATE TABLE IF NOT EXISTS refused (key BLOB PRIMARY KEY, reason TEXT NOT NULL)"
"""A table of its own, which files lack that an earlier Carrel made, and which that one leaves alone."""
_VERSION = 1


class EmbeddingCache:
    """The file. Used from any thread, by any number of processes."""

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._has_warned = False

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that are kept, by key."""
        if not self._path.exists():
            return {}
        vectors: dict[bytes, bytes] = {}
        stale: list[bytes] = []
        limit = self._clock() - _USE_SECONDS

        def work(database: sqlite3.Connection) -> None:
            for key, vector, used in _rows(database, "SELECT key, vector, used FROM vectors", keys):
                vectors[key] = vector
                if used < limit:
                    stale.append(key)

        self._run(work)
        if stale:
            now = int(self._clock())
            self._run(lambda database: _note_use(database, now, stale))
        return vectors

    def write(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors; make room where there are too many."""
        now = int(self._clock())

        def work(database: sqlite3.Connection) -> None:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", [(*row, now) for row in vectors.items()])
            _make_room(database, self._most_bytes)

        if vectors:
            self._run(work)

    def read_refused(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the reasons of the texts that were refused, by key."""
        reasons: dict[bytes, str] = {}
        if self._path.exists():
            self._run(lambda database: reasons.update(_rows(database, "SELECT key, reason FROM refused", keys)))
        return reasons

    def refuse(self, key: bytes, reason: str) -> None:
        """Keep that a text was refused, and why; the oldest of too many go."""

        def work(database: sqlite3.Connection) -> None:
            database.execute("INSERT OR REPLACE INTO refused VALUES (?, ?)", (key, reason))
            database.execute("DELETE FROM refused WHERE rowid <= (SELECT MAX(rowid) FROM refused) - ?", (_MOST_REFUSED,))

        self._run(work)

    def _run(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do something in one transaction. What fails is logged once; a damaged file is set aside."""
        with self._lock:
            try:
                private_folder(self._path.parent, close=False)
                private_file(self._path)
                with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT_SECONDS)) as database, database:
                    if _is_ours(database):
                        work(database)
            except sqlite3.DatabaseError as error:
                self._fail(error)
                if not isinstance(error, sqlite3.OperationalError) or error.sqlite_errorname == "SQLITE_ERROR":
                    self._set_aside()
            except OSError as error:
                self._fail(error)

    def _set_aside(self) -> None:
        with contextlib.suppress(OSError):
            self._path.replace(self._path.with_name(self._path.name + ".damaged"))
            self._path.with_name(self._path.name + "-journal").unlink(missing_ok=True)

    def _fail(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("%s can't be used, so vectors are asked for again: %s", self._path, error)


def _is_ours(database: sqlite3.Connection) -> bool:
    """Make the tables of an empty file; tell whether it is of this version."""
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        database.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION};")
        version = _VERSION
    if version == _VERSION:
        database.execute(_REFUSED)
    database.execute("PRAGMA synchronous = OFF")  # what a power cut damages is only a cache
    return version == _VERSION


def _rows(database: sqlite3.Connection, select: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
    """Give the rows that have one of these keys."""
    for at in range(0, len(keys), _AT_ONCE):
        part = keys[at : at + _AT_ONCE]
        yield from database.execute(f"{select} WHERE key IN ({','.join('?' * len(part))})", part)


def _note_use(database: sqlite3.Connection, now: int, keys: Sequence[bytes]) -> None:
    database.executemany("UPDATE vectors SET used = ? WHERE key = ?", [(now, key) for key in keys])


def _make_room(database: sqlite3.Connection, most: int) -> None:
    """Delete what was used longest ago, a tenth of all more than must go. The file keeps its size, and is filled again."""
    names = ("page_size", "page_count", "freelist_count")
    page, pages, free = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    used = page * (pages - free)
    if used <= most:
        return
    rows = database.execute("SELECT COUNT(*) FROM vectors").fetchone()[0]
    gone = math.ceil(rows * (1 - 0.9 * most / used))
    database.execute("DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?)", [gone])


class CachedEmbedder:
    """A `RemoteEmbedder` that asks only for what is kept neither here nor by the team."""

    def __init__(
        self,
        inner: RemoteEmbedder,
        cache: EmbeddingCache,
        mask: Callable[[str], str] = str,
        team: TeamCache | None = None,
        settings: str = "",
    ) -> None:
        """Take what masks the secrets of a question; documents come masked. The team is never told of a question.

        `settings` are those of the model: a text that it refused is asked for again under others.
        """
        self._inner = inner
        self._cache = cache
        self._mask = mask
        self._team = team
        self._settings = settings
        self._estimated = False  # on the loop of callers that have none

    @property
    def spec(self) -> EmbeddingSpec:
        """Return the model's own."""
        return self._inner.spec

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return all that it asks."""
        return self._inner.destinations

    async def check(self) -> None:
        """Raise `ProviderError` where a permission or a key is missing."""
        await self._inner.check()

    async def learn_dim(self) -> int:
        """Ask how many numbers a vector has. Raises `ProviderError`."""
        return await self._inner.learn_dim()

    def with_dim(self, dim: int) -> Self:
        """Return the same with this dimension."""
        return type(self)(self._inner.with_dim(dim), self._cache, self._mask, self._team, self._settings)

    @property
    def shared(self) -> bool:
        """Tell whether a team's cache answers."""
        return self._team is not None and self._team.usable

    @property
    def problem(self) -> str | None:
        """Say why the team's cache can't be used, in words for a person."""
        return self._team.problem if self._team else None

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._inner.aclose()
        team = self._team
        if team:
            await team.aclose()
            if self._estimated:
                await asyncio.to_thread(lambda: run_blocking(team.aclose()))

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
        """Return one row a text, those that are kept without asking. Raises `ProviderError`."""
        if kind == "query" and self.spec.leaves_machine:
            texts = [self._mask(text) for text in texts]
        keys = self.keys(texts, kind)
        rows = await asyncio.to_thread(self._read, keys)
        if kind == "document":
            rows |= await self._of_team([key for key in keys if key not in rows])
        missing = [number for number, key in enumerate(keys) if key not in rows]
        if missing:
            vectors = await self._inner.embed([texts[number] for number in missing], kind)
            if vectors.fault(self.spec.dim, len(missing)):
                return vectors  # whoever asked says what is wrong with it
            halves = await asyncio.to_thread(self._halves, [keys[number] for number in missing], vectors)
            rows |= await asyncio.to_thread(self._keep, halves)
            if self._team and kind == "document":
                await self._team.share({key: half for key, half in halves.items() if any(half)})
        return Vectors(b"".join(rows[key] for key in keys), max(self.spec.dim, 1))

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the documents that the model would have to be asked for. Fetches what the team has. Runs on a thread."""
        keys = self.keys(texts, "document")
        kept = set(self._kept(keys))
        if self._team and self.spec.dim:
            self._estimated = True
            kept |= run_blocking(self._of_team([key for key in keys if key not in kept])).keys()
        refused = self.refused([text for text, key in zip(texts, keys, strict=True) if key not in kept])
        return [text for text, key in zip(texts, keys, strict=True) if key not in kept and text not in refused]

    def refused(self, texts: Sequence[str]) -> Mapping[str, str]:
        """Return which documents the model refused, and why, unless their vectors are kept. Runs on a thread."""
        keys = self.keys(texts, "document", self._settings)
        reasons = self._cache.read_refused(keys)
        refusals = {text: reasons[key] for text, key in zip(texts, keys, strict=True) if key in reasons}
        of_vectors = dict(zip(refusals, self.keys(list(refusals), "document"), strict=True))
        kept = self._kept(list(of_vectors.values()))
        return {text: reason for text, reason in refusals.items() if of_vectors[text] not in kept}

    def note_refused(self, text: str, reason: str) -> None:
        """Keep that the model refused this document. Runs on a thread."""
        self._cache.refuse(self.keys([text], "document", self._settings)[0], reason)

    def keys(self, texts: Sequence[str], kind: Literal["query", "document"], settings: str = "") -> list[bytes]:
        """Return the keys of texts."""
        head = f"{self.spec.id}\0{self.spec.dim}\0{kind}\0{settings}".encode("utf-8", "surrogatepass")
        return [hashlib.blake2b(head + text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        return {key: _widened(half, self.spec.dim) for key, half in self._kept(keys).items()}

    def _kept(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that are kept; not those of zeros, which were once taken for vectors."""
        return {key: half for key, half in self._cache.read(keys).items() if len(half) == 2 * self.spec.dim and any(half)}

    async def _of_team(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return what the team has, which is kept here from now on."""
        if not self._team or not keys:
            return {}
        return await asyncio.to_thread(self._keep, await self._team.find(keys, self.spec.dim))

    def _halves(self, keys: Sequence[bytes], vectors: Vectors) -> dict[bytes, bytes]:
        return {key: struct.pack(f"<{self.spec.dim}e", *vectors.floats(row)) for row, key in enumerate(keys)}

    def _keep(self, halves: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        self._cache.write(halves)
        return {key: _widened(half, self.spec.dim) for key, half in halves.items()}


def _widened(half: bytes, dim: int) -> bytes:
    """Return float16 as float32."""
    return struct.pack(f"<{dim}f", *struct.unpack(f"<{dim}e", half))

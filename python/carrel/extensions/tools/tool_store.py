"""What was read of each source of tools, and what the person approved of it: one JSON file in their data folder."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from msgspec import convert

from carrel.model.catalogue_tool import CatalogueTool, KeptSource, KeptTools
from carrel.model.errors import StoreError
from carrel.system.filesystem import locked, replace_file

log = logging.getLogger(__name__)
_VERSION = 2
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_UNREADABLE = (OSError, *_DAMAGED)
_LOCK_SECONDS = 5.0
"""How long a change waits for that of another process."""


class _NewerVersionError(ValueError):
    """A newer Carrel wrote the file."""


class ToolStore:
    """Read again whenever the file changed: another process may have written it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int, int] | None, KeptTools] = (None, KeptTools())

    def kept(self) -> KeptTools:
        """Return what is kept; the same object as long as nothing changes. A file that can't be read holds nothing."""
        read = self._read
        try:
            status = self._path.stat()
        except OSError:
            return KeptTools() if read[0] is not None else read[1]
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if read[0] != stamp:
            try:
                read = (stamp, self._load())
            except _UNREADABLE as error:
                reason = "a newer Carrel wrote it" if isinstance(error, _NewerVersionError) else type(error).__name__
                log.warning("%s can't be read, so no tool in it counts: %s", self._path, reason)
                read = (stamp, KeptTools())
            self._read = read
        return read[1]

    def put(self, name: str, origin: str, tools: Sequence[CatalogueTool]) -> None:
        """Keep what a source holds now; what another origin stood behind is approved no more. Raises `StoreError`."""
        with self._changing() as kept:
            held = kept.sources.get(name)
            left = kept if held is None or held.origin == origin else _without(kept, name)
            self._write(replace(left, sources={**left.sources, name: KeptSource(origin, time.time(), tuple(tools))}))

    def remove(self, name: str) -> None:
        """Forget a source, and what was approved of it. Raises `StoreError`."""
        with self._changing() as kept:
            self._write(_without(kept, name))

    def approve(self, tools: Iterable[CatalogueTool]) -> None:
        """Keep that the person saw and approved these tools as they are; one that is no longer held so isn't approved.

        Raises `StoreError`.
        """
        with self._changing() as kept:
            held = {tool.qualified: tool for source in kept.sources.values() for tool in source.tools}
            seen = {tool.qualified: tool for tool in tools if held.get(tool.qualified) == tool}
            self._write(KeptTools(kept.sources, {**kept.approved, **seen}))

    @contextmanager
    def _changing(self) -> Iterator[KeptTools]:
        """Hold the file for a change, against threads and other processes; gives what is in it. Raises `StoreError`."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        try:
            with self._lock:
                lock.parent.mkdir(parents=True, exist_ok=True)
                with locked(lock, _LOCK_SECONDS, pause=0.01) as alone:
                    if not alone:
                        raise StoreError(f"{self._path} is being changed by another process", "Try again.")
                    yield self._held()
                    self._read = (None, KeptTools())  # two writes within a tick of the clock may look the same
        except OSError as error:
            raise StoreError(f"{self._path} can't be written ({error.strerror})", "Make its folder writable.") from None

    def _held(self) -> KeptTools:
        """Read what a change starts from; a damaged file is put aside. Raises `StoreError` for one of a newer Carrel."""
        try:
            return self._load()
        except FileNotFoundError:
            return KeptTools()
        except _NewerVersionError:
            raise StoreError(
                f"{self._path} was written by a newer Carrel, so nothing in it is changed",
                "Update Carrel, or move the file away and approve your tools again.",
            ) from None
        except _DAMAGED:
            aside = self._path.with_name(f"{self._path.name}.damaged")
            self._path.replace(aside)
            log.warning("%s was damaged: it is %s now, and tools have to be approved again", self._path, aside)
            return KeptTools()

    def _load(self) -> KeptTools:
        return _decode(json.loads(self._path.read_text("utf-8")))

    def _write(self, kept: KeptTools) -> None:
        document = {
            "version": _VERSION,
            "sources": {
                name: {"origin": held.origin, "at": held.at, "tools": [asdict(tool) for tool in held.tools]}
                for name, held in kept.sources.items()
            },
            "approved": {name: asdict(tool) for name, tool in kept.approved.items()},
        }
        replace_file(self._path, json.dumps(document, ensure_ascii=True).encode())


def _without(kept: KeptTools, name: str) -> KeptTools:
    sources = {source: held for source, held in kept.sources.items() if source != name}
    approved = {qualified: tool for qualified, tool in kept.approved.items() if tool.source != name}
    return KeptTools(sources, approved)


def _decode(raw: Any) -> KeptTools:
    if raw["version"] > _VERSION:
        raise _NewerVersionError
    if raw["version"] != _VERSION:
        raise ValueError("another version")
    sources = {
        name: KeptSource(held["origin"], float(held["at"]), convert(held["tools"], tuple[CatalogueTool, ...]))
        for name, held in raw["sources"].items()
    }
    return KeptTools(sources, convert(raw["approved"], dict[str, CatalogueTool]))

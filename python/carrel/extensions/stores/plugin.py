"""The store of another package behind the port `VectorStore`: its faults are `ProviderError`s, its answers are checked.

It runs in Carrel's process. So its factory is called on a thread that nobody waits for at the end, and every answer is awaited
within a time; a coroutine of it that blocks blocks Carrel.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from carrel.model.errors import CarrelError, ProviderError
from carrel.model.ports import ChunkId, StoreRequest, VectorRecord, Where
from carrel.model_calls.chat_model import guarded, within
from carrel.system.plugins import package_of

T = TypeVar("T")

_OPEN_SECONDS, _ANSWER_SECONDS, _CLOSE_SECONDS = 30.0, 60.0, 3.0
_METHODS = ("publish", "search", "vectors", "ids")


async def open_plugin(entry: EntryPoint, request: StoreRequest) -> PluginStore:
    """Have a package open its store. Raises `ProviderError` where it can't, is late, or gives what is no store."""
    title = f"The store {entry.name} of the package {package_of(entry)}"

    async def make() -> Any:
        store = await _on_thread(lambda: entry.load()(request))
        return await store if inspect.isawaitable(store) else store

    store = await within(guarded(make(), title), _OPEN_SECONDS, title)
    lacking = [name for name in _METHODS if not callable(getattr(store, name, None))]
    if lacking or not isinstance(getattr(store, "leaves_machine", None), bool):
        missing = ", ".join([*lacking, "leaves_machine"])
        raise ProviderError(f"{title} isn't one: it needs {missing}", "docs/extending.md says what a store must have.")
    return PluginStore(store, title, request.dim)


class PluginStore:
    """A store of another package."""

    def __init__(self, store: Any, title: str, dim: int) -> None:
        """Take the store, its name in messages, and the dimension of its vectors."""
        self._store, self._title, self.dim = store, title, dim
        self.leaves_machine: bool = store.leaves_machine

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Have records replaced or added, and ids deleted."""
        await self._ask(lambda: self._store.publish(upsert, delete))

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Return the ids that it finds, with cosines."""
        answer = await self._ask(lambda: self._store.search(vector, k, where, floor))
        try:
            pairs = [(chunk_id, float(score)) for chunk_id, score in answer]
        except (TypeError, ValueError):
            pairs = [(None, math.nan)]
        if not all(isinstance(chunk_id, str) and math.isfinite(score) for chunk_id, score in pairs):
            raise ProviderError(f"{self._title} gave no ids with scores")
        return pairs

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that it keeps."""
        kept = await self._ask(lambda: self._store.vectors(ids))
        if not isinstance(kept, Mapping) or not all(isinstance(row, bytes) and len(row) == 4 * self.dim for row in kept.values()):
            raise ProviderError(f"{self._title} gave no vectors of {self.dim} values")
        return kept

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give the ids of all that it keeps, in pages."""
        try:
            async for page in self._store.ids():
                yield [ChunkId(str(chunk_id)) for chunk_id in page]
        except CarrelError:
            raise
        except (Exception, SystemExit) as error:
            raise ProviderError(f"{self._title} failed: {type(error).__name__}.") from error

    async def aclose(self) -> None:
        """Have it closed, if it can be, and wait for that a moment."""
        if hasattr(self._store, "aclose"):
            with contextlib.suppress(CarrelError):
                await self._ask(self._store.aclose, _CLOSE_SECONDS)

    async def _ask(self, call: Callable[[], Awaitable[T]], seconds: float = _ANSWER_SECONDS) -> T:
        async def work() -> T:
            return await call()

        return await within(guarded(work(), self._title), seconds, self._title)


async def _on_thread(work: Callable[[], T]) -> T:
    """Run work that may block on a thread that ends with the process."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # whoever awaits it judges
            done.set_exception(error)

    threading.Thread(target=run, name="carrel-plugin", daemon=True).start()
    return await asyncio.wrap_future(done)

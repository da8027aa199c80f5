"""Unsaved buffers: what an editor shows is what answers, before it is saved.

A buffer whose text differs from its file lies over the index as an overlay. Typing is gathered for a moment; a question
doesn't wait for that moment but brings every dirty buffer in first (`flush`). Lives on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.model.editor_languages import language_of
from carrel.model.errors import CarrelError
from carrel.system.background import Debouncer

if TYPE_CHECKING:
    from carrel.index.open_index import OpenIndex
    from carrel.model.native import CancelToken
    from carrel.upkeep.lifecycle import RunInteractive

log = logging.getLogger(__name__)

_TYPING_SECONDS = 0.3
"""Typing must rest for so long before a buffer is indexed."""


class Buffers:
    """The open documents of one workspace, by relative path."""

    def __init__(
        self, root: Path, run: RunInteractive, unsettled: Callable[[str], bool], changed: Callable[[tuple[str]], None]
    ) -> None:
        """Take what runs native work on a thread.

        `unsettled(path)` tells that the index has yet to see the file on disk; `changed(paths)` has files read from there again.
        """
        self._root = root
        self._run = run
        self._typing = Debouncer(_TYPING_SECONDS, self._flush_later)
        self._unsettled = unsettled
        self._changed = changed
        self._texts: dict[str, Callable[[], str]] = {}
        self._uris: dict[str, str] = {}  # of documents that have no file
        self._languages: dict[str, str] = {}  # as the editor names them
        self._dirty: set[str] = set()
        self._overlaid: set[str] = set()
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.index: OpenIndex | None = None

    @property
    def overlaid(self) -> frozenset[str]:
        """Return the documents that differ from the index."""
        return frozenset(self._overlaid)

    def text(self, path: str) -> str | None:
        """Return what the editor shows for `path`, if it has it open."""
        text = self._texts.get(path)
        return text() if text else None

    def uri(self, path: str) -> str | None:
        """Return what the editor calls a document that has no file."""
        return self._uris.get(path)

    def path_of(self, uri: str) -> str | None:
        """Return the path that stands for an open document that has no file."""
        return next((path for path, other in self._uris.items() if other == uri), None)

    def is_taken(self, path: str) -> bool:
        """Tell whether the path stands for a document or a file."""
        return path in self._texts or os.path.lexists(self._root / path)

    def opened(self, path: str, text: Callable[[], str], uri: str | None = None, language: str = "") -> None:
        """Note a document; `text` gives what it holds whenever it is asked. One without a file is known by its URI.

        The editor's `language` counts where neither settings nor the file say one.
        """
        self._texts[path] = text
        if uri is not None:
            self._uris[path] = uri
        self._languages[path] = language
        self.changed(path)

    def changed(self, path: str) -> None:
        """Note that a document may differ from what is indexed."""
        if path not in self._texts:
            return
        self._dirty.add(path)
        if self.index is not None:
            self._typing.restart()

    def closed(self, path: str) -> None:
        """Forget a document; its file on disk answers again."""
        for kept in (self._texts, self._uris, self._languages):
            kept.pop(path, None)
        self._dirty.add(path)
        self._flush_later()

    def attach(self, index: OpenIndex | None) -> None:
        """Lay every open document over an index that was just opened, or over none."""
        self.index = index
        self._overlaid.clear()
        self._dirty = set(self._texts)
        if index and self._dirty:
            self._flush_later()

    async def flush(self) -> None:
        """Bring every dirty buffer into the answers now."""
        self._typing.cancel()
        async with self._lock:
            while self._dirty and self.index:
                path = self._dirty.pop()
                await self._refresh(self.index, path)

    async def settle(self, paths: set[str]) -> None:
        """Lift the overlay of files that were saved and indexed."""
        self._dirty |= paths & self._overlaid
        await self.flush()

    async def close(self) -> None:
        """Stop; the store is about to close."""
        self._typing.cancel()
        self.index = None
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _flush_later(self) -> None:
        if self.index is None:
            return
        task = asyncio.get_running_loop().create_task(self.flush())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refresh(self, index: OpenIndex, path: str) -> None:
        text = self.text(path)
        # A follower's index lags behind the disk until the writer has seen the file: the overlay stays.
        keep = path in self._overlaid and (index.store.role == "follower" or self._unsettled(path))
        now_overlaid = path in self._overlaid

        named = False

        def work(token: CancelToken) -> None:
            nonlocal now_overlaid, named
            language = language_of(self._languages.get(path, ""))
            if language not in (None, "text"):  # editors call so what they know nothing of
                named = index.store.name_language(path, language)
            now_overlaid = self._overlay(index, path, text, keep or self._unsettled(path), token)

        try:
            await self._run(work)
        except CarrelError as error:
            log.warning("An open buffer can't be indexed: %s", error)
            self._dirty.add(path)  # the next question tries again; until then it answers as it did
        except asyncio.CancelledError:
            self._dirty.add(path)
            raise
        if named:
            self._changed((path,))
        if now_overlaid:
            self._overlaid.add(path)
        else:
            self._overlaid.discard(path)

    def _overlay(self, index: OpenIndex, path: str, text: str | None, keep: bool, token: CancelToken) -> bool:
        """Tell whether the buffer lies over the index afterwards. Runs on a thread."""
        from carrel.model.local_index import READ_FAILED  # noqa: PLC0415 - the core and search are imported by the first buffer
        from carrel.model_calls.embedding import embed_buffer  # noqa: PLC0415

        store = index.store
        # What isn't on disk yet, or no longer, is in the editor all the same; `cut_buffer` asks the rules about its name.
        refusal = store.refusal(path) or "gone"
        if (
            text is None
            or not refusal.startswith(("gone", READ_FAILED))
            or (not keep and store.holds(path, text.encode("utf-8", "surrogatepass")))
        ):
            store.close_buffer(path)
            return False
        batch = store.cut_buffer(path, text, token)
        embed_buffer(batch, index.embedder, token)
        store.commit_buffer(batch)
        return True

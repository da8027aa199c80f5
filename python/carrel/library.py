"""Carrel without an editor (spec A4): `Index(path)`, or `Index()` for texts that the caller has."""

from __future__ import annotations

import datetime  # noqa: F401 - before msgspec imports it, which would lose a Ctrl-C in it and crash later
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from carrel.core.errors import InvalidInput
from carrel.core.local_index import Progress
from carrel.core.native import CancelToken
from carrel.core.ports import Embedder
from carrel.core.types import Budget, ContextItem, ContextPack, Filters, Format, Hit, Query
from carrel.engine.context import render
from carrel.engine.embedding import embed_batch_blocking
from carrel.engine.formats import Form, ToolForm
from carrel.engine.indexer import IndexReport, follow_index
from carrel.engine.retriever import Retrieval
from carrel.server.composition import Composition
from carrel.server.context_service import ContextRequest, context_blocking
from carrel.server.indexing import IndexRunner
from carrel.server.jobs import Work
from carrel.server.models import HASHED_WORDS, embedders
from carrel.server.open_index import OpenIndex
from carrel.server.queries import search_blocking
from carrel.server.settings import Settings
from carrel.server.settings_files import settings_of

LINE_CHUNKS = (50, 5)
"""Lines and overlap of spec A1's chunks."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A place that answers a query. Lines are 1-based and inclusive; `score` is relevance from 0 to 1."""

    content: str
    file_path: str
    start_line: int
    end_line: int
    score: float
    symbol: str = ""


def bag_of_words() -> Embedder:
    """Make spec A2's cosine over words, which needs no model: the fallback when none is usable."""
    return embedders().get(HASHED_WORDS)


class Index:
    """A searchable index of a folder, or of texts that are added one by one.

    With `path` the index is the one that editors use, kept in the user's cache folder and brought up to date by `index`;
    without it nothing touches the disk. `line_chunks` cuts every file into windows of (lines, overlap), True of `LINE_CHUNKS`,
    instead of along its syntax. The user's settings and the folder's `.carrel.toml` say what is left out; `SettingsError` where
    they can't be read.

    `embedder` is any `Embedder`. One that isn't in the core is awaited on an event loop of Carrel's own, so that every method can
    be called from anywhere, a notebook's running loop included.

    Safe to share between threads; close it, or use it in a `with` block.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        line_chunks: tuple[int, int] | bool = False,
        embedder: Embedder | None = None,
    ) -> None:
        windows = LINE_CHUNKS if line_chunks is True else line_chunks or None
        if windows and not 0 <= windows[1] < windows[0]:
            raise InvalidInput(
                "line_chunks", f"{windows} are no windows", "Give (lines, overlap), the overlap less than the lines."
            )
        composition = Composition(embedder) if embedder else Composition()
        self._composition, self._runner = composition, IndexRunner()
        self._on_disk = path is not None
        if path is None:
            self._settings, self._index = Settings(), composition.memory_index(windows=windows)
            return
        root = Path(path).expanduser().resolve()
        if not root.is_dir():
            raise InvalidInput("path", f"{root} is not a folder")
        self._settings, _ = settings_of(root)
        self._index = composition.open_index(root, self._settings, windows=windows)

    def add_file(self, path: str | Path, content: str) -> None:
        """Add a text under this path, in place of an earlier one. It is kept in memory only."""
        store, token = self._index.store, CancelToken()
        batch = store.cut_buffer(Path(path).as_posix(), content, token)
        embed_batch_blocking(batch, self._index.embedder, token)
        store.commit_buffer(batch)

    def index(
        self, *, force: bool = False, progress: Progress = lambda *_: None, cancel: CancelToken | None = None
    ) -> IndexReport:
        """Bring the index up to date with the folder. An editor's server that writes it is waited for; raises `NotWriter`."""
        if not self._on_disk:
            raise InvalidInput("path", "is not given: this index has no folder", "Give its texts to add_file.")
        token = cancel or CancelToken()
        if self._index.store.role == "follower" and not self._index.store.try_lead():
            report = follow_index(self._index.store, token, force=force)
            self._index.read_meta()
            return report
        return self._runner.run_blocking(self._index, Work(full=True, force=force), token, progress)

    def search(self, query: str, k: int = 3, *, filters: Filters | None = None) -> list[SearchHit]:
        """Find the `k` best places, best first. A folder that was never indexed is indexed first."""
        return [_public(hit) for hit in self._search(query, k, filters).hits]

    def context(
        self,
        query: str,
        budget: int | Budget = 4_000,
        *,
        k: int = 5,
        model: str | None = None,
        form: Format | Form = "xml",
        filters: Filters | None = None,
    ) -> ContextPack:
        """Pack what goes in front of a chat request: at most `budget` characters, or tokens of `model` by a `Budget`.

        `form` is one of the three by name, or one of your own, such as a `SourceForm` with another header and separator.

        A fault doesn't fail the chat: the pack is empty then, and its `problem` says why. Raises `InvalidInput` for filters
        that can't be used.
        """
        amount = Budget(budget) if isinstance(budget, int) else budget
        request = ContextRequest(query, k, amount, filters or Filters(), model, format=form)
        answer = context_blocking(
            self._current, request, lambda: self._composition.tokenizer(self._settings, model), CancelToken()
        )
        if isinstance(answer.cause, InvalidInput):
            raise answer.cause
        return replace(answer.pack, problem=answer.problem)

    def search_code(self, query: str, k: int = 3) -> str:
        """Answer as the `search_code` tool does, for a language model (spec A5)."""
        hits = self._search(query, k, None).hits
        return render([ContextItem(hit, hit.chunk.text) for hit in hits], ToolForm())

    def close(self) -> None:
        """Release files and locks. A second call does nothing."""
        self._index.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        """Count the files in the index."""
        return self._index.store.snapshot().files

    def _search(self, query: str, k: int, filters: Filters | None) -> Retrieval:
        return search_blocking(self._current(), Query(query, limit=k, filters=filters or Filters()), CancelToken())

    def _current(self) -> OpenIndex:
        """Return the index with what its writer committed; one that was never made is made now."""
        self._index.follow()
        if self._on_disk and not self._index.store.snapshot().files:
            self.index()
        return self._index


def _public(hit: Hit) -> SearchHit:
    chunk = hit.chunk
    return SearchHit(chunk.text, chunk.path, chunk.span.start_line, chunk.span.end_line, hit.score, chunk.symbol)

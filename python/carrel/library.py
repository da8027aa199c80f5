"""Carrel without an editor (spec A4): `Index(path)`, or `Index()` for texts that the caller has."""

from __future__ import annotations

import datetime  # noqa: F401 - before msgspec imports it, which would lose a Ctrl-C in it and crash later
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from carrel.core.errors import InvalidInput
from carrel.core.local_index import CoreEmbedder, Progress
from carrel.core.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.core.types import Budget, ContextItem, ContextPack, Filters, Format, Hit, Query
from carrel.engine.context import pack, render
from carrel.engine.formats import Form, ToolForm
from carrel.engine.indexer import IndexReport, follow_index, run_index
from carrel.engine.prepare import prepare_blocking
from carrel.engine.retriever import Retrieval, retrieve
from carrel.providers.local import LocalEmbedder, bundled
from carrel.providers.tokenizers import tokenizer_for

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


def bag_of_words() -> CoreEmbedder:
    """Spec A2's cosine over words, which needs no model: the fallback when none is usable."""
    return LocalEmbedder.hashed()


class Index:
    """A searchable index of a folder, or of texts that are added one by one.

    With `path` the index is the one that editors use, kept in the user's cache folder and brought up to date by `index`;
    without it nothing touches the disk. `line_chunks` cuts every file into windows of (lines, overlap), True of `LINE_CHUNKS`,
    instead of along its syntax. The user's settings and the folder's `.carrel.toml` say what is left out; `SettingsError`
    where they can't be read. Safe to share between threads; close it, or use it in a `with` block.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        line_chunks: tuple[int, int] | bool = False,
        embedder: CoreEmbedder | None = None,
    ) -> None:
        self._embedder = embedder or bundled()
        self._on_disk = path is not None
        windows = LINE_CHUNKS if line_chunks is True else line_chunks or None
        if windows and not 0 <= windows[1] < windows[0]:
            raise InvalidInput("line_chunks", f"{windows} are no windows: give (lines, overlap), the overlap less than the lines")
        cut = CutOptions(always_lines=windows)
        if path is None:
            self._store = self._memory(cut)
        else:
            root = Path(path).expanduser().resolve()
            if not root.is_dir():
                raise InvalidInput("path", f"{root} is not a folder")
            self._store = self._disk(root, cut, windows)

    def add_file(
        self,
        path: str | Path,
        content: str,
        *,
        metadata: Mapping[str, str | float | bool] | None = None,
        version: str | None = None,
    ) -> None:
        """Add a text under this path, in place of an earlier one. It is kept in memory only. `Filters` compare `metadata`."""
        batch = self._store.cut_buffer(Path(path).as_posix(), content, CancelToken(), metadata=metadata or {}, version=version)
        self._embedder.embed_batch(batch, CancelToken())
        self._store.commit_buffer(batch)

    def index(
        self, *, force: bool = False, progress: Progress = lambda *_: None, cancel: CancelToken | None = None
    ) -> IndexReport:
        """Bring the index up to date with the folder. An editor's server that writes it is waited for; raises `NotWriter`."""
        if not self._on_disk:
            raise InvalidInput("path", "this index has no folder; give its texts to add_file")
        if self._store.role == "follower" and not self._store.try_lead():
            return follow_index(self._store, cancel or CancelToken(), force=force)
        return run_index(
            self._store, self._embedder, cancel or CancelToken(), scope="force" if force else "all", progress=progress
        )

    def search(self, query: str, k: int = 3, *, filters: Filters | None = None) -> list[SearchHit]:
        """The `k` best places, best first. A folder that was never indexed is indexed first."""
        return [_public(hit) for hit in self._ask(query, k, filters)[1].hits]

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
        """What goes in front of a chat request: at most `budget` characters, or tokens of `model` by a `Budget`.

        `form` is one of the three by name, or one of your own, such as a `SourceForm` with another header and separator.
        """
        view, found = self._ask(query, k, filters)
        amount = Budget(budget) if isinstance(budget, int) else budget
        tokenizer = tokenizer_for(model)
        return pack(found.hits, amount, tokenizer, query=query, form=form, dropped=found.dropped, read_lines=view.lines)

    def search_code(self, query: str, k: int = 3) -> str:
        """The answer of the `search_code` tool, for a language model (spec A5)."""
        hits = self._ask(query, k, None)[1].hits
        return render([ContextItem(hit, hit.chunk.text) for hit in hits], ToolForm())

    def close(self) -> None:
        """Release files and locks. A second call does nothing."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        """Files in the index."""
        return self._store.snapshot().files

    def _ask(self, query: str, k: int, filters: Filters | None) -> tuple[Snapshot, Retrieval]:
        self._store.follow()
        if self._on_disk and not self._store.snapshot().files:
            self.index()
        view = self._store.snapshot()
        asked = Query(query, limit=k, filters=filters or Filters())
        return view, retrieve(view, prepare_blocking(asked, self._embedder), CancelToken())

    def _memory(self, cut: CutOptions) -> Store:
        return Store.open(
            "", "", embedder_id=self._embedder.spec.id, dim=self._embedder.spec.dim, walk=WalkOptions(), cut=cut, in_memory=True
        )

    def _disk(self, root: Path, cut: CutOptions, windows: tuple[int, int] | None) -> Store:
        from carrel.server.index_location import locate, prepare  # noqa: PLC0415 - texts need no settings
        from carrel.server.settings_files import settings_of  # noqa: PLC0415
        from carrel.server.wiring import secret_options, walk_options  # noqa: PLC0415

        settings, _ = settings_of(root)
        location = locate(root, settings)
        if windows:  # other chunks, another index
            lines, overlap = windows
            location = replace(
                location, directory=location.directory.with_name(f"{location.directory.name}-lines-{lines}-{overlap}")
            )
        prepare(location, root)
        return Store.open(
            str(location.directory),
            str(root),
            embedder_id=self._embedder.spec.id,
            dim=self._embedder.spec.dim,
            walk=walk_options(settings),
            cut=cut,
            secrets=secret_options(settings),
        )


def _public(hit: Hit) -> SearchHit:
    chunk = hit.chunk
    return SearchHit(chunk.text, chunk.path, chunk.span.start_line, chunk.span.end_line, hit.score, chunk.symbol)

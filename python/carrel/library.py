"""Use Carrel without an editor: `Index(path)`, or `Index()` for texts that the caller has."""

from __future__ import annotations

import datetime  # noqa: F401 - before msgspec imports it, which would lose a Ctrl-C in it and crash later
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import replace

from carrel.assist.assessment import ATTEMPTS, AssessedSearch, search_assessed
from carrel.assist.assisted_retrieval import Assistants
from carrel.composition.composition import Composition
from carrel.composition.models import hashed_words
from carrel.index.indexer import IndexReport, follow_index_blocking
from carrel.index.open_index import OpenIndex
from carrel.library_arguments import (
    HitCount,
    budget_argument,
    chat_model_argument,
    filters_argument,
    form_argument,
    history_argument,
    metadata_argument,
    path_argument,
)
from carrel.model.bounds import checked
from carrel.model.conversation import Message
from carrel.model.errors import InvalidInput
from carrel.model.local_index import Progress, SnapshotView
from carrel.model.native import CancelToken, ChunkInfo
from carrel.model.ports import ChatModel, Embedder, Reranker, Tokenizer
from carrel.model.remote import RemoteEmbedder
from carrel.model.structs import whole_characters
from carrel.model.types import Budget, ContextItem, ContextPack, Filters, Format, Hit, Query, Signals
from carrel.model_calls.embedding import embed_batch_blocking
from carrel.pack.context import render
from carrel.pack.formats import Form, ToolForm
from carrel.question.prepare import prepare_blocking
from carrel.search import files
from carrel.search.bag_of_words import cosine, word_counts
from carrel.search.files import file_chunks
from carrel.search.retriever import Retrieval
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context_blocking
from carrel.service.queries import search_blocking
from carrel.settings.settings import Settings
from carrel.settings.settings_files import settings_of
from carrel.system.background import run_blocking, run_to_end
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner

if TYPE_CHECKING:
    from carrel.extensions.rag.config import AskModel

__all__ = [
    "BagOfWords",
    "Budget",
    "Index",
    "Message",
    "SearchHit",
    "bag_of_words",
    "pick_files_by_grouped_chunk_hits",
]

LINE_CHUNKS = (50, 5)
"""Lines and overlap of chunks that are asked for by lines."""
RETRY_SECONDS = 60.0
"""A first index whose files all failed isn't tried again by questions for so long: each would wait for a model that is down."""
_PUBLISH_SECONDS = 600.0
"""How long `index` may tell the store of vectors of changes; what waits then is told next time."""
CANDIDATES = 20
"""How many hits `retrieve_context` chooses from."""


class SearchHit(Struct, frozen=True):
    """A place that answers a query. Lines are 1-based and inclusive; `score` is relevance from 0 to 1.

    `definitions` are the names that it defines, `class_name` is the class, or heading, that it stands in, and `imports` is what
    its file imports, as far as the index knows them.
    """

    content: str
    file_path: str
    start_line: int
    end_line: int
    score: float
    symbol: str = ""
    class_name: str = ""
    definitions: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


def bag_of_words() -> Embedder:
    """Make the model of an index that needs none: words in hashed places, the fallback when no model is usable."""
    return hashed_words()


class Index:
    """A searchable index of a folder, or of texts that are added one by one.

    With `path` the index is the one that editors use, kept in the user's cache folder and brought up to date by `index`;
    without it nothing touches the disk. `line_chunks` cuts every file into windows of (lines, overlap), True of `LINE_CHUNKS`;
    a folder has an index of its own for them, unless its settings ask for the same. The user's settings and the folder's
    `.carrel.toml` say what is left out, and how files are cut without `line_chunks`; `SettingsError` where they can't be read.

    `embedder` is any `Embedder`. One that isn't in the core is awaited on an event loop of Carrel's own, so that every method can
    be called from anywhere, a notebook's running loop included. `reranker` judges what `retrieve_context` gives, and the hits of
    other searches that ask for it. `planner` is a chat model that is asked, where a question is worth it, what to search for
    beside the user's words. Where one isn't given, the settings name it or there is none.

    Safe to share between threads; close it, or use it in a `with` block.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        line_chunks: tuple[int, int] | bool = False,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        planner: ChatModel | AskModel | None = None,
    ) -> None:
        path = path if path is None else path_argument(path)
        windows = LINE_CHUNKS if line_chunks is True else checked("line_chunks", line_chunks or None, tuple[int, int] | None)
        if windows and not 0 <= windows[1] < windows[0]:
            raise InvalidInput(
                "line_chunks", f"{windows} are no windows", "Give (lines, overlap), the overlap less than the lines."
            )
        if embedder is not None and not hasattr(embedder, "spec"):
            raise InvalidInput("embedder", f"must be a model, not {type(embedder).__name__}", "See docs/extending.md.")
        composition = Composition(embedder)
        self._composition, self._runner, self._reranker = composition, IndexRunner(), reranker
        self._planner = None if planner is None else chat_model_argument(planner)
        self._own_embedder = embedder
        self._on_disk, self._next_try = path is not None, -math.inf
        if path is None:
            self._settings, self._index = Settings(), composition.memory_index(windows=windows)
            return
        root = path.expanduser().resolve()
        if not root.is_dir():
            raise InvalidInput("path", f"{root} is not a folder")
        self._settings, _ = settings_of(root)
        self._index = composition.open_index(root, self._settings, windows=windows)
        composition.attach_replica(self._index, self._settings)

    def add_file(
        self,
        path: str | Path,
        content: str,
        *,
        metadata: Mapping[str, str | float | bool] | None = None,
        version: str | None = None,
    ) -> None:
        """Add a text under this path, in place of an earlier one. It is kept in memory only. `Filters` compare `metadata`.

        Raises `ProviderError` where the model can't embed it, and `InvalidInput` for a text that can't be searched: too long,
        binary or minified. The earlier version stays then.
        """
        store, token = self._index.store, CancelToken()
        text = whole_characters(checked("content", content, str))
        batch = store.cut_buffer(
            path_argument(path).as_posix(),
            text,
            token,
            metadata=metadata_argument(metadata or {}),
            version=checked("version", version, str | None),
        )
        if text.strip() and not batch.files:
            most = f"{self._settings.max_file_bytes:,}"
            raise InvalidInput("content", f"has more than {most} bytes, or is binary or minified", "Divide it, or leave it out.")
        embed_batch_blocking(batch, self._index.embedder, token)
        store.commit_buffer(batch)

    def index(
        self, *, force: bool = False, progress: Progress = lambda *_: None, cancel: CancelToken | None = None
    ) -> IndexReport:
        """Bring the index up to date with the folder. An editor's server that writes it is waited for; raises `NotWriter`."""
        if not self._on_disk:
            raise InvalidInput("path", "is not given: this index has no folder", "Give its texts to add_file.")
        token = cancel or CancelToken()
        report = self._run_index(token, progress, force=force)
        if replica := self._index.replica:
            run_blocking(replica.catch_up(_PUBLISH_SECONDS), token)
        return report

    def _run_index(self, token: CancelToken, progress: Progress = lambda *_: None, *, force: bool = False) -> IndexReport:
        if self._index.store.role == "follower" and not self._index.store.try_become_writer():
            report = follow_index_blocking(self._index.store, token, force=force)
            self._index.read_meta()
            return report
        report = self._runner.run_blocking(self._index, Work(full=True, force=force), token, progress)
        self._composition.attach_replica(self._index, self._settings)  # it may have become large
        return report

    def index_project(self) -> IndexReport:
        """Do `index`, under the name that stands beside `retrieve_context`."""
        return self.index()

    def search(
        self,
        query: str,
        k: int = 3,
        *,
        filters: Filters | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        rerank: bool | None = None,
    ) -> list[SearchHit]:
        """Find the `k` best places, best first. A folder that was never indexed is indexed first.

        `history` is the conversation before the query, oldest turn first, which a follow-up speaks of, each a `Message` or an
        object with its `role` and `text`; `rerank` None: as the settings say.
        """
        retrieval = self._search(query, k, filters, self._assistants(rerank), history)
        return [_public(hit) for hit in retrieval.hits]

    def context(
        self,
        query: str,
        budget: int | Budget = 4_000,
        *,
        k: int | None = None,
        model: str | None = None,
        tokenizer: Tokenizer | None = None,
        chars_per_token: float | None = None,
        form: Format | Form = "xml",
        filters: Filters | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        rerank: bool | None = None,
    ) -> ContextPack:
        """Pack what goes in front of a chat request: at most `budget` characters, or tokens by a `Budget`.

        It holds at most `k` places; None: as many as an editor's context of this budget. Tokens are counted by `tokenizer`,
        estimated by `chars_per_token`, or else those of `model`. `form` is one of the three by name, or one of your own, such as
        a `SourceForm` with another header and separator. `history` and `rerank` are those of `search`.

        A fault doesn't fail the chat: the pack is empty then, and its `problem` says why. Raises `InvalidInput` for arguments
        that can't be used.
        """
        ratio = checked("chars_per_token", chars_per_token, float | None)
        if ratio is not None and not ratio > 0:
            raise InvalidInput("chars_per_token", f"{ratio} is no ratio: give a number above 0, such as 4.0")
        if tokenizer is not None and not hasattr(tokenizer, "trim"):
            raise InvalidInput("tokenizer", f"must be a tokenizer, not {type(tokenizer).__name__}", "See docs/extending.md.")
        places, room = checked("k", k, HitCount | None), budget_argument(budget)
        request = ContextRequest(
            checked("query", query, str),
            self._settings.places(room) if places is None else places,
            room,
            filters_argument(filters),
            checked("model", model, str | None),
            trigger="explicit",
            format=form_argument(form),
            history=history_argument(history),
        )
        answer = context_blocking(
            self._current,
            request,
            lambda: tokenizer or self._composition.tokenizer(self._settings, model, chars_per_token=ratio),
            CancelToken(),
            self._assistants(rerank, chat=True),
        )
        if isinstance(answer.cause, InvalidInput):
            raise answer.cause
        return replace(answer.pack, problem=answer.problem)

    def search_code(self, query: str, k: int = 3) -> str:
        """Answer as the `search_code` tool does, for a language model."""
        return _listed(self._search(query, k, None).hits)

    def retrieve_context(self, query: str, limit: int = 5) -> str:
        """Return the `limit` best of some 20 hits, judged by the reranker if there is one, in the form of `search_code`."""
        limit = checked("limit", limit, int)
        helpers = replace(self._assistants(rerank=self._reranker is not None or None), candidates=max(CANDIDATES, limit))
        return _listed(self._search(query, max(limit, 0), None, helpers).hits)

    def search_assessed(self, query: str, model: ChatModel | AskModel, *, attempts: int = ATTEMPTS) -> AssessedSearch:
        """Search until `model` says that what was found is enough, at most `attempts` times.

        It may have the query replaced or more fetched; `problem` of the result says so where it gave up or the model failed.
        """

        async def search(text: str, k: int) -> Sequence[Hit]:
            token = CancelToken()
            return await run_to_end(None, lambda: self._search(text, k, None, token=token).hits, token)

        return run_blocking(search_assessed(query, search, chat_model_argument(model), attempts=attempts))

    @property
    def embedder(self) -> Embedder:
        """The model that the index is searched with."""
        return self._index.embedder

    def snapshot(self) -> SnapshotView:
        """Return the index as it stands, for use cases. A folder that was never indexed is indexed first."""
        return self._current().store.snapshot()

    def close(self) -> None:
        """Release files and locks, and the connections of a model that the settings chose. A second call does nothing."""
        if self._index.replica:
            run_blocking(self._index.close_replica())
        self._index.store.close()
        if self._index.embedder is not self._own_embedder and isinstance(self._index.embedder, RemoteEmbedder):
            run_blocking(self._index.close_model())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        """Count the files in the index."""
        return self._index.store.snapshot().files

    def _search(
        self,
        query: str,
        k: int,
        filters: Filters | None,
        assistants: Assistants | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        token: CancelToken | None = None,
    ) -> Retrieval:
        question = Query(checked("query", query, str), limit=checked("k", k, HitCount), filters=filters_argument(filters))
        before = history_argument(history)
        return search_blocking(self._current(), question, token or CancelToken(), history=before, assistants=assistants)

    def _assistants(self, rerank: bool | None, *, chat: bool = False) -> Assistants:
        """Return the models that help: those that the caller gave (its reranker where it asks), else those of the settings."""
        assistants = self._composition.assistants(
            self._settings,
            plan="never" if self._planner else None,
            rerank=False if self._reranker else rerank,
            chat=chat,
        )
        assistants = replace(assistants, reranker=(self._reranker if rerank else None) or assistants.reranker)
        if self._planner is None:
            return assistants
        return replace(assistants, planner=self._planner, when="always" if self._settings.planner == "always" else "auto")

    def _chunks_of(self, path: str) -> list[SearchHit]:
        chunks = file_chunks(self._index.store.snapshot(), path, CancelToken())
        return [_public(Hit(chunk, 0.0, Signals())) for chunk in chunks]

    def _current(self) -> OpenIndex:
        """Return the index with what its writer committed; one that was never made is made now.

        One whose files all failed a moment ago is left as it is: the answer says why. Its store of vectors is opened beside the
        question, which the index's own answer meanwhile.
        """
        self._index.follow()
        if self._on_disk and self._has_nothing() and time.monotonic() >= self._next_try:
            self._run_index(CancelToken())
            if self._index.store.failed_count:
                self._next_try = time.monotonic() + RETRY_SECONDS
        if self._index.replica:
            run_blocking(self._index.start_replica())
        return self._index

    def _has_nothing(self) -> bool:
        """Tell whether it has no file, or none of which the model gave a vector."""
        store = self._index.store
        view = store.snapshot()
        return not view.files or (store.failed_count > 0 and view.chunks_without_vectors == view.chunks)


class BagOfWords:
    """Search texts by the exact cosine of their words: no model, no hashing, nothing stored.

    `line_chunks` is that of `Index`. Every chunk is compared with every query, which is meant for some thousand files.
    """

    def __init__(self, *, line_chunks: tuple[int, int] | bool = False) -> None:
        self._index = Index(line_chunks=line_chunks, embedder=bag_of_words())  # cuts texts and masks secrets
        self._chunks: dict[str, list[tuple[Counter[str], SearchHit]]] = {}

    def add_file(self, path: str | Path, content: str) -> None:
        """Add a text under this path, in place of an earlier one."""
        self._index.add_file(path, content)
        name = Path(path).as_posix()
        hits = self._index._chunks_of(name)
        self._chunks[name] = [(word_counts(hit.content), hit) for hit in hits]

    def search(self, query: str, k: int = 3) -> list[SearchHit]:
        """Return the `k` best chunks that share a word with the query, best first; `score` is the cosine."""
        counts = word_counts(query)
        scored = [replace(hit, score=cosine(counts, held)) for chunks in self._chunks.values() for held, hit in chunks]
        hits = sorted((hit for hit in scored if hit.score > 0), key=lambda hit: (-hit.score, hit.file_path, hit.start_line))
        return hits[: max(k, 0)]


def pick_files_by_grouped_chunk_hits(
    embedder: Embedder | None,
    vector_db: Index,
    section_query: str | Query,
    candidate_pool_size: int = 200,
    n_files: int = 5,
    file_key: str | Callable[[ChunkInfo], str] = "filename",
) -> list[str]:
    """Return the paths of the `n_files` best files by the summed relevance of their chunks, best first.

    At most `candidate_pool_size` chunks are summed, by what `file_key` names: "filename" (the path), "folder", "language",
    "symbol", "container", or a function of the chunk. `embedder` is the index's own, or None for it.
    """
    if not isinstance(section_query, Query):
        section_query = Query(checked("section_query", section_query, str))
    index = vector_db._current()
    model = index.embedder.spec.id
    if embedder is not None and embedder.spec.id != model:
        raise InvalidInput("embedder", f"{embedder.spec.id} can't be compared with the index, whose vectors are those of {model}")
    size, most = checked("candidate_pool_size", candidate_pool_size, HitCount), checked("n_files", n_files, HitCount)
    prepared = prepare_blocking(files.pool_query(section_query, size), index.embedder)
    pool = files.pool(index.store.snapshot(), prepared, size, CancelToken())
    return [name for name, _ in pool.best(most, file_key)]


def _listed(hits: Sequence[Hit]) -> str:
    return render([ContextItem(hit, hit.chunk.text) for hit in hits], ToolForm())


def _public(hit: Hit) -> SearchHit:
    chunk = hit.chunk
    lines = chunk.span
    return SearchHit(
        content=chunk.text,
        file_path=chunk.path,
        start_line=lines.start_line,
        end_line=lines.end_line,
        score=hit.score,
        symbol=chunk.symbol,
        class_name=chunk.container,
        definitions=chunk.definitions,
        imports=chunk.imports,
    )

"""Plain objects (`config`) behind Carrel's ports, for whatever takes a port: `carrel.Index(embedder=...)`, reviews, sources.

A plain call blocks, so that it runs on a thread of its own, one call at a time: many local models can't bear two. Coroutine
functions are awaited and may overlap. A cancel ends the wait at once; a call that blocks ends by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from carrel.extensions.rag.calls import cause_of, checked_piece, may_pass, pieces, vectors
from carrel.extensions.rag.config import AskModel, SimilarityStore, TextEmbedder, TextStore
from carrel.extensions.rag.documents import FoundDocument, read_documents, source_of_document
from carrel.model.conversation import Message, ToolSpec
from carrel.model.errors import CarrelError, ProviderError, StoreError
from carrel.model.lines import lines_of
from carrel.model.ports import (
    MODEL_DEFAULTS,
    ChatSpec,
    ChunkId,
    ChunkRef,
    Delta,
    EmbeddingSpec,
    Sampling,
    SourceCandidate,
    Unavailable,
)
from carrel.model.structs import whole_characters
from carrel.model.types import Chunk, Filters, Query, Span
from carrel.model.vectors import Vectors, WrongVectors

_REMEMBERED = 10_000
"""Chunks that a source remembers how it found them."""


class EmbedderPort:
    """A plain embedder behind the `Embedder` port. `spec` says what Carrel must know of it: an index belongs to `spec.id`."""

    def __init__(self, embedder: TextEmbedder, spec: EmbeddingSpec) -> None:
        self.spec = spec
        self._embedder, self._caller = embedder, _Caller()

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:  # noqa: ARG002 - it knows no kinds
        """Return a row a text; a blank text, which many models refuse, has a zero row. Raises `ProviderError`."""
        places = [place for place, text in enumerate(texts) if text.strip()]
        rows = [[0.0] * self.spec.dim] * len(texts)
        if places:
            sent = [whole_characters(texts[place]) for place in places]
            answer = await self._caller.call(ProviderError, "embedder", self._embedder.embed, sent, normalize_embeddings=True)
            for place, row in zip(places, vectors(answer, len(sent)), strict=True):
                rows[place] = row
        try:
            return Vectors.unit(rows, self.spec.dim)
        except WrongVectors as error:
            raise ProviderError(f"The embedder gave {error}", "Correct the dimension in its specification.") from None


class ChatModelPort:
    """A plain chat model behind the `ChatModel` port, without tools.

    It takes one system and one user prompt: what was said before stands in the user prompt as a transcript.
    """

    def __init__(self, model: AskModel, spec: ChatSpec) -> None:
        self.spec = replace(spec, tools=False)
        self._model, self._caller = model, _Caller()

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),  # noqa: ARG002 - it knows none
        options: Sampling = MODEL_DEFAULTS,
    ) -> AsyncIterator[Delta]:
        """Give the answer piece by piece. Raises `ProviderError`."""
        limits = [most for most in (options.max_tokens, self.spec.max_output) if most is not None]
        answer = await self._caller.call(
            ProviderError,
            "model",
            self._model.ask,
            system_prompt="\n\n".join(message.text for message in messages if message.role == "system"),
            user_prompt=transcript([message for message in messages if message.role != "system"]),
            temperature=0.3 if options.temperature is None else options.temperature,
            max_new_tokens=min(limits) if limits else self.spec.window // 4,
            stream=True,
            **({"stop": list(options.stop)} if options.stop else {}),
        )
        if isinstance(answer, AsyncIterable):
            async for piece in _async_pieces(answer):
                yield Delta(piece)
        else:
            iterator = pieces(answer)
            try:
                while (piece := await self._caller.call(ProviderError, "model", next, iterator, None)) is not None:
                    yield Delta(piece)
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    self._caller.later(close)
        yield Delta(finish="stop")


class SourcePort:
    """A plain store, with the embedder of its vectors, behind the `Source` port; without one its `text_search` is asked.

    A plain store can't read a document by its name: `read` repeats the search that offered it, so that what has gone is told.
    A filter of metadata is handed to the store, filters of paths are applied to what it found. Relevance is the documents' scores
    where these fall from 1 to 0, and their place among the others where they don't.
    """

    def __init__(
        self,
        store: SimilarityStore | TextStore,
        embedder: TextEmbedder | None,
        *,
        name: str,
        description: str,
        leaves_machine: bool = False,
    ) -> None:
        self.name, self.description, self.leaves_machine = name, description, leaves_machine
        self._store, self._embedder, self._caller = store, embedder, _Caller()
        self._offered: OrderedDict[ChunkId, _Search] = OrderedDict()

    async def candidates(self, query: Query, k: int) -> Sequence[SourceCandidate]:
        """Return the documents that the store finds for the question, as chunks."""
        if k <= 0 or not query.text.strip():
            return []
        search = _Search(query.text, k, query.filters.metadata)
        offered = []
        for chunk, relevance in await self._find(search):
            if _allows(query.filters, chunk, relevance):
                chunk_id = ChunkId(chunk.id)
                self._offered[chunk_id] = search
                self._offered.move_to_end(chunk_id)
                ref = ChunkRef(self.name, chunk_id)
                offered.append(SourceCandidate(ref, relevance, chunk.path, chunk.span.start_line, chunk.span.end_line))
        while len(self._offered) > _REMEMBERED:
            self._offered.popitem(last=False)
        return offered

    async def read(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk | Unavailable]:
        """Return the documents as the store gives them now."""
        search_of = {ref: self._offered.get(ref.id) for ref in refs if ref.source == self.name}
        searches = {id(search): search for search in search_of.values() if search is not None}
        chunks = {chunk.id: chunk for search in searches.values() for chunk, _ in await self._find(search)}
        return [
            chunks[ref.id] if search_of.get(ref) and ref.id in chunks else Unavailable(ref, "isn't found in the store any more")
            for ref in refs
        ]

    async def _find(self, search: _Search) -> list[tuple[Chunk, float]]:
        store: Any = self._store
        text, wanted = search.text, dict(search.metadata) or None
        rest = {"top_k": search.k, "metadata_filter": wanted, "similarity_threshold": None}
        if self._embedder is None:
            answer = await self._caller.call(StoreError, "store", store.text_search, query=text, **rest)
        else:
            rows = await self._caller.call(
                ProviderError, "embedder", self._embedder.embed, [whole_characters(text)], normalize_embeddings=True
            )
            [vector] = vectors(rows, 1)
            answer = await self._caller.call(StoreError, "store", store.similarity_search, query_embedding=vector, **rest)
        documents = [document for document in read_documents(answer, search.k) if document.text.strip()]
        chunks = {chunk.id: (chunk, document) for document in documents for chunk in [_chunk(document)]}
        scores = [document.distance for _, document in chunks.values()]
        relevances = [score for score in scores if score is not None and 0 <= score <= 1]
        falling = len(relevances) == len(scores) and relevances == sorted(relevances, reverse=True)
        places = relevances if falling else [1 - place / len(scores) for place in range(len(scores))]
        return [(chunk, relevance) for (chunk, _), relevance in zip(chunks.values(), places, strict=True)]


@dataclass(frozen=True, slots=True)
class _Search:
    """What a store was asked."""

    text: str
    k: int
    metadata: Mapping[str, str | Sequence[str]]


def transcript(messages: Sequence[Message]) -> str:
    """Return a conversation as one text; a single message as it is."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].text
    return "\n\n".join(f"{message.role}: {message.text}" for message in messages)


class _Caller:
    """Calls plain functions on one thread, and awaits coroutine functions."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def call(
        self, error_kind: type[ProviderError | StoreError], what: str, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Return what it gives. Raises only errors of the tree."""
        try:
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                answer = function(*args, **kwargs)
            else:
                answer = await asyncio.get_running_loop().run_in_executor(self._thread(), lambda: function(*args, **kwargs))
            return await answer if inspect.isawaitable(answer) else answer
        except CarrelError:
            raise
        except (Exception, SystemExit) as error:
            raise error_kind(f"The {what} failed: {cause_of(error)}", retryable=may_pass(error)) from error

    def later(self, function: Callable[[], Any]) -> None:
        """Call a function when those before it have ended, without waiting."""
        self._thread().submit(function)

    def _thread(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="carrel-plain")
        return self._pool


async def _async_pieces(answer: AsyncIterable[Any]) -> AsyncIterator[str]:
    try:
        async for piece in answer:
            yield checked_piece(piece)
    except CarrelError:
        raise
    except (Exception, SystemExit) as error:
        raise ProviderError(f"The model failed: {cause_of(error)}", retryable=may_pass(error)) from error


def _chunk(document: FoundDocument) -> Chunk:
    source = source_of_document(document.raw)
    path = str(document.metadata.get("path") or source).replace("\\", "/").lstrip("/") or "unknown"
    first = _line(document.metadata.get("start_line"), 1)
    last = _line(document.metadata.get("end_line"), first + len(lines_of(document.text)) - 1)
    name = hashlib.blake2b(
        f"{source}\0{document.text}".encode("utf-8", "surrogatepass"), digest_size=16, usedforsecurity=False
    ).hexdigest()
    return Chunk(id=name, path=path, source="docs", span=Span(first, max(first, last)), text=document.text)


def _line(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else otherwise


def _allows(filters: Filters, chunk: Chunk, relevance: float) -> bool:
    """Tell whether a document may answer; a filter that a plain store knows nothing of lets nothing pass."""
    rest = replace(filters, path_globs=(), exclude=(), sources=(), min_score=None, metadata={})
    return (
        rest == Filters()
        and (not filters.sources or "docs" in filters.sources)
        and (filters.min_score is None or relevance >= filters.min_score)
        and (not filters.path_globs or any(fnmatchcase(chunk.path, glob) for glob in filters.path_globs))
        and not any(fnmatchcase(chunk.path, glob) for glob in filters.exclude)
    )

"""Carrel's ports as the plain objects that an agent takes (`config`), and a plain chat model as a port."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from carrel.extensions.rag.calls import checked_piece, failures, pieces
from carrel.extensions.rag.config import AskModel, ChatHistory, history_pairs
from carrel.extensions.rag.documents import Document, described, finite
from carrel.model.conversation import Message, ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, ChatSpec, Delta, Embedder, Sampling, Scalar, Tokenizer
from carrel.model.types import Chunk, Filters, Query
from carrel.model.vectors import Vectors, WrongVectors
from carrel.model_calls.chat_model import complete
from carrel.model_calls.embedding import embed_queries, run_with
from carrel.pack.formats import source_of
from carrel.question.prepare import prepare_blocking
from carrel.search.candidates import CANDIDATES_A_HIT, MINIMUM_POOL, native_filter
from carrel.search.retriever import retrieve, to_chunk
from carrel.system.background import iterate_blocking, run_blocking

log = logging.getLogger(__name__)

_MODEL = "The model"
FoundPair = tuple[Document, float]


class PlainEmbedder:
    """An `Embedder` port as an agent's embedder. Its vectors have length one or zero, whatever is asked for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: Sequence[str], normalize_embeddings: bool = True) -> list[list[float]]:  # noqa: ARG002 - they are
        """Return the vector of each text, as a question's. Raises `ProviderError`."""
        queries = list(dict.fromkeys(texts))
        rows = run_with(self._embedder, embed_queries(self._embedder, queries))
        dim = self._embedder.spec.dim
        return [list(Vectors(rows[text], dim).floats(0)) for text in texts]


class PlainChatModel:
    """A `ChatModel` port as an agent's model, with its window and its tokenizer."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def max_seq_length(self) -> int:
        """Tokens of prompt and answer together."""
        return self._model.spec.window

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's own, where it is known."""
        return self._model.spec.tokenizer

    def ask(
        self,
        *,
        system_prompt: str,
        user_prompt: str,
        temperature: float = 0.3,
        max_new_tokens: int | None = None,
        stream: bool = False,
        chat_history: ChatHistory | None = None,
        stop: Sequence[str] = (),
    ) -> str | Iterator[str]:
        """Return the answer, or with `stream` an iterator of its pieces. Raises `ProviderError`."""
        said = [Message(_role(role), text) for role, text in history_pairs(chat_history)]
        system = [Message("system", system_prompt)] if system_prompt else []
        messages = [*system, *said, Message("user", user_prompt)]
        most = self._model.spec.max_output
        if max_new_tokens is not None and most is not None:
            most = min(max_new_tokens, most)
        options = Sampling(temperature, max_new_tokens if most is None else most, tuple(stop))
        if stream:
            return iterate_blocking(self._pieces(messages, options))
        return run_blocking(complete(self._model, messages, options=options)).text

    async def _pieces(self, messages: Sequence[Message], options: Sampling) -> AsyncIterator[str]:
        async for delta in self._model.stream(messages, (), options):
            if delta.text:
                yield delta.text


class PlainLocalIndex:
    """A local index as an agent's store: by the question's text as `search` finds it, or by vectors of its own model alone.

    By vectors, scores and thresholds are cosines; the least one is the model's floor, unless a threshold is given.
    """

    def __init__(self, view: Callable[[], SnapshotView], embedder: Embedder) -> None:
        self._view, self._embedder = view, embedder

    def text_search(
        self,
        query: str,
        top_k: int,
        metadata_filter: Mapping[str, Any] | None = None,
        similarity_threshold: float | None = None,
    ) -> list[FoundPair]:
        """Return the chunks for a question as they stand now; those that can't be read any more are left out."""
        prepared = prepare_blocking(Query(query, max(top_k, 0), filters_of(metadata_filter)), self._embedder)
        hits = retrieve(self._view(), prepared, CancelToken()).hits
        least = similarity_threshold
        return [(document_of(hit.chunk), hit.score) for hit in hits if least is None or hit.score >= least]

    def similarity_search(
        self,
        query_embedding: Sequence[float],
        top_k: int,
        metadata_filter: Mapping[str, Any] | None = None,
        similarity_threshold: float | None = None,
    ) -> list[FoundPair]:
        """Return the chunks with the nearest vectors as they stand now, without those that overlap a better one."""
        view, cancel = self._view(), CancelToken()
        floor = self._embedder.spec.floor if similarity_threshold is None else similarity_threshold
        pool = max(CANDIDATES_A_HIT * top_k, MINIMUM_POOL)
        wanted = native_filter(filters_of(metadata_filter))
        hits = view.dense(_packed(query_embedding, self._embedder.spec.dim), pool, floor, wanted, cancel)
        read = view.read_best([scored.doc for scored in hits], top_k, [], cancel)
        return [
            (document_of(to_chunk(current)), scored.score)
            for scored, current in zip(hits, read, strict=False)  # as far as was read
            if not isinstance(current, str)
        ]


def document_of(chunk: Chunk) -> Document:
    """Return a chunk as a document. Its metadata hold no empty values; `source` is the name that a model cites."""
    metadata = {
        "source": source_of(chunk),
        "path": chunk.path,
        "start_line": chunk.span.start_line,
        "end_line": chunk.span.end_line,
        "language": chunk.language,
        "kind": chunk.kind,
        "symbol": chunk.symbol,
        "container": chunk.container,
    }
    return Document(chunk.text, {name: value for name, value in metadata.items() if value != ""})


def filters_of(metadata_filter: object) -> Filters:
    """Return a filter as Carrel's index compares it: numbers and booleans are written as it writes them."""
    if metadata_filter is None:
        return Filters()
    if not isinstance(metadata_filter, Mapping):
        raise InvalidInput(
            "metadata_filter", f"is {described(metadata_filter)}", 'Give a dictionary, such as {"kind": "method"}.'
        )
    return Filters(metadata={str(key): [_written(v) for v in _values(key, value)] for key, value in metadata_filter.items()})


def _values(key: object, value: object) -> tuple[Scalar, ...]:
    values = tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)
    if not all(isinstance(value, str | int | float) for value in values):
        raise InvalidInput("metadata_filter", f"{key!r} is {described(value)}", "Give a text, a number or several.")
    return values


def _written(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _packed(vector: Sequence[float], dim: int) -> bytes:
    """Return a vector as ports take it: of length one, or zero."""
    values = [finite(value) for value in vector]
    if any(value is None for value in values):
        raise InvalidInput("query_embedding", "has a value that is not a finite number")
    try:
        return Vectors.unit([[value for value in values if value is not None]], dim).data
    except WrongVectors as error:
        raise InvalidInput(
            "query_embedding", f"is {error}", "Embed the question by the model that the store's vectors are of."
        ) from None


def _role(role: str) -> Any:
    if role not in ("system", "user", "assistant"):
        raise InvalidInput("chat_history", f"the role {role!r} is unknown", "Use system, user or assistant.")
    return role


class ChatModelPort:
    """A plain chat model behind the `ChatModel` port, without tools, for whatever takes a port: questions, reviews.

    It takes one system and one user prompt: what was said before stands in the user prompt as a transcript. A plain call blocks,
    so that it runs on a thread of its own, one call at a time: many local models can't bear two. Coroutine functions are awaited
    and may overlap. A cancel ends the wait at once; a call that blocks ends by itself.
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
            self._model.ask,
            system_prompt="\n\n".join(message.text for message in messages if message.role == "system"),
            user_prompt=transcript([message for message in messages if message.role != "system"]),
            temperature=0.3 if options.temperature is None else options.temperature,
            max_new_tokens=min(limits) if limits else self.spec.window // 4,
            stream=True,
            **({"stop": list(options.stop)} if options.stop else {}),
        )
        if isinstance(answer, AsyncIterable):
            with failures(_MODEL):
                async for piece in answer:
                    yield Delta(checked_piece(piece))
        else:
            iterator = pieces(answer)
            try:
                while (piece := await self._caller.call(next, iterator, None)) is not None:
                    yield Delta(piece)
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    self._caller.later(close)
        yield Delta(finish="stop")


def transcript(messages: Sequence[Message]) -> str:
    """Return a conversation as one text; a single message as it is."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].text
    return "\n\n".join(f"{message.role}: {message.text}" for message in messages)


class _Caller:
    """Calls plain functions on one thread, and awaits coroutine functions."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what it gives. Raises only errors of the tree."""
        with failures(_MODEL):
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                answer = function(*args, **kwargs)
            else:
                answer = await asyncio.get_running_loop().run_in_executor(self._thread(), lambda: function(*args, **kwargs))
            return await answer if inspect.isawaitable(answer) else answer

    def later(self, function: Callable[[], Any]) -> None:
        """Call a function when those before it have ended, without waiting."""
        self._thread().submit(function)

    def _thread(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="carrel-plain")
        return self._pool

"""Protocols of plain values for models, stores and tools, as use cases call them.

Nothing of the compiled core appears here, so that anybody can write an implementation: docs/extending.md shows two. A fake of
each stands in `model.fakes`, and tests/contract/suites/ tests what every implementation must do. `composition` picks one for each
port, use cases never name one; whoever makes an implementation closes it.

Rules for all of them:
- A coroutine runs on the event loop, never blocks it, and ends at once when it is cancelled. Time limits are the caller's.
- Calls may overlap. An implementation whose service takes one call at a time queues them.
- A failure of a model or service is a `ProviderError`, whose `retryable` says whether waiting helps; of a database on disk a
  `StoreError`; an argument that can't be used is an `InvalidInput`. Nothing else is raised. Callers may try again what is
  retryable; rate limits, and the splitting of what one request can't hold, are the implementation's, but for the limits that
  a spec announces.
- Texts may hold anything that a Python string can, halves of surrogate pairs included; no text at all is no error.
- Scores are higher-is-better; paths are relative, with `/`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NewType, Protocol, runtime_checkable

from msgspec import Struct, field

from carrel.model.conversation import Finish, Message, ToolCall, ToolSpec
from carrel.model.types import ContextItem
from carrel.model.vectors import Vectors

ChunkId = NewType("ChunkId", str)
"""Names a chunk outside the core: 32 hexadecimal digits of its 128-bit id, the same as long as the chunk's content is."""

# --- models


class EmbeddingSpec(Struct, frozen=True):
    """What has to be known of an embedding model before it is asked."""

    id: str  # provider, model and version: vectors of different ids are never compared
    dim: int
    floor: float = 0.0  # cosine below which a hit is noise
    max_texts: int = 256  # of one request
    max_tokens: int | None = None  # of all texts of one request, None for no limit
    leaves_machine: bool = False  # whether texts are sent elsewhere
    price: float = 0.0  # US dollars for a million tokens


class Embedder(Protocol):
    """Turn texts into vectors of length one (or zero, for a text that says nothing to the model)."""

    @property
    def spec(self) -> EmbeddingSpec: ...
    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
        """Return one row a text, in order. Callers keep to the limits of `spec`; a single text that is too long for the model is
        shortened, not refused.
        """


class RerankerSpec(Struct, frozen=True):
    """What has to be known of a reranker before it is asked."""

    id: str
    max_texts: int = 100  # of one request
    candidates: int = 100  # texts that are worth judging for one question
    floor: float = 0.0  # score of what doesn't answer: relevance 0
    sure: float = 1.0  # score of what surely answers: relevance 1
    leaves_machine: bool = False
    price: float = 0.0  # US dollars for a thousand requests


class Reranker(Protocol):
    """Judge texts by how well they answer a query."""

    @property
    def spec(self) -> RerankerSpec: ...
    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score from 0 to 1 a text, in order; texts that are too long are shortened."""


class Tokenizer(Protocol):
    """Count and cut by a model's tokens."""

    @property
    def name(self) -> str: ...
    def count(self, text: str) -> int: ...
    def trim(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of at most so many tokens, of whole characters."""


class ChatSpec(Struct, frozen=True):
    """What has to be known of a chat model before it is asked."""

    id: str
    window: int = 8_192  # tokens of prompt and answer together
    max_output: int | None = None  # tokens of an answer, None where the model doesn't say
    tools: bool = True  # whether it can call tools
    tokenizer: Tokenizer | None = None  # its own, None where it isn't known
    leaves_machine: bool = False
    price: float | None = None  # US dollars for a million tokens of prompts, None where it isn't known
    output_price: float | None = None  # likewise, of answers


class Sampling(Struct, frozen=True):
    """How an answer is drawn; None leaves the choice to the model."""

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


MODEL_DEFAULTS = Sampling()


class Delta(Struct, frozen=True):
    """A piece of an answer: text, whole tool calls, or the end with its reason."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish | None = None


class ChatModel(Protocol):
    """Answer a conversation. `model_calls.chat_model.complete` gathers a stream into one answer."""

    @property
    def spec(self) -> ChatSpec: ...
    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        """Give the answer piece by piece; the last piece, and no other, has `finish`. What the model can't choose is ignored."""


# --- stores and sources


Scalar = str | int | float | bool


class VectorRecord(Struct, frozen=True):
    """A chunk's vector as a store keeps it. `payload` is what may be filtered by, such as path, language and kind."""

    id: ChunkId
    vector: bytes  # little-endian float32, `dim` values, of length one or zero
    payload: Mapping[str, Scalar] = field(default_factory=dict)


class Where(Struct, frozen=True):
    """Which records may answer: for each key the payload must have one of the values. Callers check finer filters themselves."""

    equals: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)

    def matches(self, payload: Mapping[str, Scalar]) -> bool:
        """Tell whether a record with this payload may answer."""
        return all(key in payload and payload[key] in values for key, values in self.equals.items())


class VectorStore(Protocol):
    """Keep and search vectors of one model for one index. Words, names, lines and rules stay with the local index."""

    @property
    def dim(self) -> int: ...
    @property
    def leaves_machine(self) -> bool:
        """Whether vectors and payloads are sent elsewhere."""

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add records, of equal ids the last, then delete ids; done when a search sees it.

        There may be any number of both. After a failure some may be kept; to say it all again is harmless. An unknown id to
        delete is no error. Raises `InvalidInput` for a vector of another dimension, and keeps nothing then.
        """

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Return at most `k` ids with their cosines, best first, none below `floor`. A zero vector finds nothing.

        Raises `InvalidInput` for a vector of another dimension.
        """

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""

    def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give the ids of all that is kept, in pages of any size: what the index no longer has is found so, and deleted."""


class StoreRequest(Struct, frozen=True):
    """Say what a plugin's store is opened with."""

    folder: Path  # for what it keeps on this machine; it is this index's alone
    name: str  # of the collection, where a store holds those of several indexes
    dim: int
    url: str = ""  # as it is set; empty for a store on this machine
    key: str | None = None  # from the place that is set
    permit: Callable[[], None] = lambda: None  # raises `NotAllowed` once the person allows `url` no more

    def __repr__(self) -> str:
        """Leave the key out."""
        return f"{type(self).__name__}({self.name!r}, {self.url!r})"


class PublishedVectors(Struct, frozen=True):
    """A store that answers now. What `unpublished` files hold it doesn't have yet, or not as it stands.

    `name` and `remedy` are words for a person, for when it doesn't answer.
    """

    store: VectorStore
    unpublished: Sequence[str] = ()
    name: str = "The store of vectors"
    remedy: str = ""


# --- tools and audit


class ToolResult(Struct, frozen=True):
    """What a tool says to a model; `is_error` that it failed, with the cause in the text.

    `note` may stand in place of the text when room is needed later. `items` are the lines of the workspace that the text shows:
    citations are checked against them.
    """

    text: str
    is_error: bool = False
    note: str = ""
    items: tuple[ContextItem, ...] = ()


class Tool(Protocol):
    """Something that a model may have run. Callers check arguments against `spec.schema` before."""

    @property
    def spec(self) -> ToolSpec: ...
    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Do it. A failure that the model can do something about is a result with `is_error`."""


@runtime_checkable
class BudgetedTool(Tool, Protocol):
    """A tool that chooses by itself what to leave out; what any other says is cut at the end."""

    async def run_within(self, arguments: Mapping[str, Any], max_tokens: int) -> ToolResult:
        """Do as `run`, with a text of at most so many tokens."""


class AuditEvent(Struct, frozen=True):
    """Something that was done. `details` hold hashes, counts, scores and line ranges, never text or keys."""

    kind: str  # one of `kinds.AUDIT_KINDS`, or what a later Carrel wrote
    at: float  # Unix seconds
    user: str
    details: Mapping[str, Any] = field(default_factory=dict)  # plain data that JSON can hold


class AuditLog(Protocol):
    """Keep events for later reading."""

    def record(self, event: AuditEvent) -> None:
        """Keep an event. Never raises and never waits for a disk: a question isn't broken by its record."""

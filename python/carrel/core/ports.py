"""What the engine asks of models, stores, sources and tools, as Protocols of plain values.

Nothing of the compiled core appears here, so that anybody can write an implementation: docs/extending.md shows three. A fake of
each stands in `core.fakes`, and tests/contract holds what every implementation must do. The server's composition root picks
the implementations; the engine never names one.

Coroutines run on the event loop and end when they are cancelled. A failure of a model or service is a `ProviderError`; its
`retryable` says whether waiting helps. Scores are higher-is-better; paths are relative, with `/`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NewType, Protocol

from carrel.core.conversation import Message, ToolCall, ToolSpec
from carrel.core.types import Chunk, Query
from carrel.core.vectors import Vectors

ChunkId = NewType("ChunkId", str)
"""Names a chunk outside the core: 32 hexadecimal digits of its 128-bit id, the same as long as the chunk's content is."""

# --- models


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """What has to be known of an embedding model before it is asked."""

    id: str  # model and version: vectors of different ids are never compared
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
        """Return one row a text, in order. Callers keep to the limits of `spec`."""


class Reranker(Protocol):
    """Judge texts by how well they answer a query."""

    @property
    def id(self) -> str: ...
    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score from 0 to 1 a text, in order."""


class Tokenizer(Protocol):
    """Count and cut by a model's tokens."""

    @property
    def name(self) -> str: ...
    def count(self, text: str) -> int: ...
    def trim(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of at most so many tokens, of whole characters."""


@dataclass(frozen=True, slots=True)
class ChatSpec:
    """What has to be known of a chat model before it is asked."""

    id: str
    window: int = 8_192  # tokens of prompt and answer together
    max_output: int | None = None  # tokens of an answer, None where the model doesn't say
    tools: bool = True  # whether it can call tools
    leaves_machine: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn; None leaves the choice to the model."""

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


MODEL_DEFAULTS = Sampling()


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer: text, whole tool calls, or the end with its reason."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Literal["stop", "length", "tools", "filter"] | None = None


class ChatModel(Protocol):
    """Answer a conversation. `conversation.complete` gathers a stream into one answer."""

    @property
    def spec(self) -> ChatSpec: ...
    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]: ...


# --- stores and sources


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A chunk's vector as a store keeps it. `payload` is what may be filtered by, such as path, language and kind."""

    id: ChunkId
    vector: bytes  # little-endian float32, `dim` values
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Where:
    """Which records may answer: each key must equal one of its values."""

    equals: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


class VectorStore(Protocol):
    """Keep and search vectors of one model for one index. Words, names, lines and rules stay with the local index."""

    @property
    def dim(self) -> int: ...
    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId]) -> None:
        """Replace or add records, then delete ids; done when a search sees it. An unknown id to delete is no error."""

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Return at most `k` ids with their cosines, best first, none below `floor`."""

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """Names a chunk among all sources."""

    source: str
    id: ChunkId


@dataclass(frozen=True, slots=True)
class SourceCandidate:
    """A chunk that a source offers; `relevance` is from 0 to 1 and comparable across sources."""

    ref: ChunkRef
    relevance: float
    path: str
    start_line: int = 1
    end_line: int = 1


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a chunk can't be given as it stands: deleted, changed beyond recognition, or not allowed any more."""

    ref: ChunkRef
    reason: str


class Source(Protocol):
    """Something that answers questions with chunks: a workspace, a folder of documents, a repository elsewhere."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str:
        """One line for whoever chooses between sources."""

    async def candidates(self, query: Query, k: int) -> Sequence[SourceCandidate]:
        """Return at most `k` chunks, best first."""

    async def read(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk | Unavailable]:
        """Return each chunk with its text as it stands now, in order."""


# --- tools and audit


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool says to a model; `is_error` that it failed, with the cause in the text."""

    text: str
    is_error: bool = False


class Tool(Protocol):
    """Something that a model may have run. Arguments are checked against `spec.schema` before."""

    @property
    def spec(self) -> ToolSpec: ...
    async def run(self, arguments: Mapping[str, Any]) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """Something that was done. `details` hold hashes, counts, scores and line ranges, never text or keys."""

    kind: str  # such as "context", "search", "tool", "model"
    at: float  # Unix seconds
    user: str
    details: Mapping[str, Any] = field(default_factory=dict)


class AuditLog(Protocol):
    """Keep events for later reading."""

    def record(self, event: AuditEvent) -> None:
        """Keep an event. Never raises and never waits for a disk: a question isn't broken by its record."""

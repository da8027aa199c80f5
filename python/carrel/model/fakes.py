"""Stand-ins for every port, for tests of what uses them: deterministic, in memory, and told what they shall do.

`faulty` makes any of them, or a real implementation, fail, hang, or answer garbage.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import inspect
import math
import re
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct, field

from carrel.model.conversation import Completion, Message, ToolSpec
from carrel.model.errors import InvalidInput, NotAllowed
from carrel.model.outbound import Destination, Hold, Load, Outbound, Secret
from carrel.model.patterns import lazy_pattern
from carrel.model.ports import (
    MODEL_DEFAULTS,
    AuditEvent,
    ChatSpec,
    ChunkId,
    Delta,
    EmbeddingSpec,
    RerankerSpec,
    Sampling,
    ToolResult,
    VectorRecord,
    Where,
)
from carrel.model.vectors import BYTES_A_VALUE, Vectors

P = TypeVar("P")
Answer = Completion | Callable[[Sequence[Message]], Completion]

_WORD = lazy_pattern(r"\w+")


class FakeEmbedder:
    """Counts words in hashed places: texts that share words are near. `requests` holds what it was asked."""

    def __init__(self, spec: EmbeddingSpec | None = None) -> None:
        self.spec = spec or EmbeddingSpec("fake", 32)
        self.requests: list[tuple[tuple[str, ...], str]] = []

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
        """Return one row a text."""
        self.requests.append((tuple(texts), kind))
        return Vectors.unit([self._counts(text) for text in texts], self.spec.dim)

    def _counts(self, text: str) -> list[float]:
        row = [0.0] * self.spec.dim
        for word in _words(text):
            row[_number(word) % self.spec.dim] += 1.0
        return row


class FakeReranker:
    """Scores a text by the share of the query's words that it holds."""

    def __init__(self, spec: RerankerSpec | None = None) -> None:
        self.spec = spec or RerankerSpec("fake")

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score a text."""
        return [_share(query, text) for text in texts]


class FakeTokenizer:
    """Takes every character for a token."""

    name = "characters"

    def count(self, text: str) -> int:
        """Return the number of characters."""
        return len(text)

    def trim(self, text: str, max_tokens: int) -> str:
        """Return so many characters."""
        return text[: max(max_tokens, 0)]


class FakeChatModel:
    """Gives the answers of its script one after the other, the last one for ever. `requests` holds what it was asked."""

    def __init__(self, *script: Answer, spec: ChatSpec | None = None) -> None:
        self.spec = spec or ChatSpec("fake")
        self.requests: list[tuple[tuple[Message, ...], tuple[ToolSpec, ...], Sampling]] = []
        self._script = list(script) or [Completion("")]

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        """Give the next answer: its words one by one, its calls, its end."""
        self.requests.append((tuple(messages), tuple(tools), options))
        answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        said = answer(messages) if callable(answer) else answer
        for word in re.findall(r"\s*\S+\s*|\s+", said.text):
            yield Delta(word)
        yield Delta(calls=said.calls, finish="tools" if said.calls else said.finish)


class FakeTool:
    """Answers with `answer` of its arguments. `runs` holds these."""

    def __init__(self, spec: ToolSpec, answer: Callable[[Mapping[str, Any]], str]) -> None:
        self.spec = spec
        self.runs: list[Mapping[str, Any]] = []
        self._answer = answer

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Answer; what `answer` raises is a failure of the tool."""
        self.runs.append(arguments)
        try:
            return ToolResult(self._answer(arguments))
        except Exception as error:
            return ToolResult(f"{self.spec.name} failed: {error}", is_error=True)


class FakeAuditLog(Struct):
    """Keeps events in a list."""

    events: list[AuditEvent] = field(default_factory=list)

    def record(self, event: AuditEvent) -> None:
        """Keep an event."""
        self.events.append(event)


def faulty(
    inner: P, *, fail: Exception | None = None, hang: bool = False, garble: Callable[[Any], Any] | None = None, after: int = 0
) -> P:
    """Return `inner` with a fault in each of its calls, from call number `after` on, counted from 0.

    `fail` is raised, `hang` never returns, `garble` replaces what is answered (each piece of a stream).
    """
    return cast("P", _Faulty(inner, fail, hang=hang, garble=garble, after=after))


class _Faulty:
    def __init__(
        self, inner: Any, fail: Exception | None, *, hang: bool, garble: Callable[[Any], Any] | None, after: int
    ) -> None:
        self._inner, self._fail, self._hang, self._garble, self._left = inner, fail, hang, garble, after

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if inspect.isasyncgenfunction(value):
            return self._stream(value)
        if inspect.iscoroutinefunction(value):
            return self._coroutine(value)
        return self._plain(value) if inspect.ismethod(value) else value

    def _stream(self, call: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            change = await self._fault()
            async for piece in call(*args, **kwargs):
                yield change(piece)

        return stream

    def _coroutine(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            change = await self._fault()
            return change(await call(*args, **kwargs))

        return coroutine

    def _plain(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._due()(call(*args, **kwargs))

    async def _fault(self) -> Callable[[Any], Any]:
        change = self._due()
        if self._hang and self._left < 0:
            await asyncio.Event().wait()
        return change

    def _due(self) -> Callable[[Any], Any]:
        self._left -= 1
        if self._left >= 0:
            return lambda answer: answer
        if self._fail is not None:
            raise self._fail
        return self._garble or (lambda answer: answer)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _share(query: str, text: str) -> float:
    wanted, held = set(_words(query)), set(_words(text))
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big")


class FakePermissions:
    """Allows what it is told to; everything where nothing was said. `checked` holds what was checked."""

    def __init__(self, allowed: Sequence[Destination] | None = None) -> None:
        self.allowed = allowed
        self.checked: list[Destination] = []

    def check(self, destination: Destination) -> None:
        """Raise `NotAllowed` for what is not allowed."""
        self.checked.append(destination)
        if self.allowed is not None and destination not in self.allowed and not destination.local:
            raise NotAllowed(destination.provider, destination.host)


class FakeKeys:
    """Has one key for each provider named, wherever it is looked for."""

    def __init__(self, **keys: str) -> None:
        self.keys = keys

    def find(self, provider: str, place: str) -> Secret | None:  # noqa: ARG002 - it knows no places
        """Return the provider's key."""
        key = self.keys.get(provider)
        return None if key is None else Secret(key)


class FakeMeter:
    """Admits everything. `used` and `failures` hold what was recorded."""

    def __init__(self) -> None:
        self.used: list[tuple[Destination, Load]] = []
        self.failures: list[tuple[Destination, str]] = []

    async def admit(self, destination: Destination, load: Load) -> Hold:  # noqa: ARG002 - nothing is limited
        """Never wait, and hold nothing."""
        return Hold()

    def record(self, destination: Destination, load: Load) -> None:
        """Keep it."""
        self.used.append((destination, load))

    def give_back(self, destination: Destination, hold: Hold) -> None:
        """Do nothing: nothing was held."""

    def failed(self, destination: Destination, reason: str) -> None:
        """Keep it."""
        self.failures.append((destination, reason))


def fake_outbound(**keys: str) -> Outbound:
    """Return surroundings in which everything is allowed and the providers named have these keys."""
    return Outbound(FakePermissions(), FakeKeys(**keys), FakeMeter())


class MemoryStore:
    """Keeps records in a dict and looks at all of them."""

    leaves_machine = False

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._records: dict[ChunkId, VectorRecord] = {}

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add records, then delete ids."""
        for record in upsert:
            self._unpack(record.vector)
        self._records |= {record.id: record for record in upsert}
        for chunk_id in delete:
            self._records.pop(chunk_id, None)

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Compare the vector with every record that may answer; equal ones are ordered by id."""
        sought = self._unpack(vector)
        if not any(sought):
            return []
        allowed = (record for record in self._records.values() if where is None or where.matches(record.payload))
        scored = ((record.id, _cosine(sought, self._unpack(record.vector))) for record in allowed)
        good = (pair for pair in scored if floor is None or pair[1] >= floor)
        return heapq.nsmallest(max(k, 0), good, key=lambda pair: (-pair[1], pair[0]))

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""
        return {chunk_id: self._records[chunk_id].vector for chunk_id in ids if chunk_id in self._records}

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give all ids, as one page."""
        if self._records:
            yield tuple(self._records)

    def _unpack(self, vector: bytes) -> tuple[float, ...]:
        if len(vector) != BYTES_A_VALUE * self.dim:
            raise InvalidInput("vector", f"has {len(vector)} bytes; {self.dim} values of float32 are {BYTES_A_VALUE * self.dim}")
        return struct.unpack(f"<{self.dim}f", vector)


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    lengths = math.hypot(*left) * math.hypot(*right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / lengths if lengths else 0.0

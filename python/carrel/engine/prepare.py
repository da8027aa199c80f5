"""What has to be awaited before a question can be answered on a thread: its embedding.

`prepare` runs on the event loop; with the core's own models it never waits. What it gives is handed to `retriever.retrieve`,
which asks nobody else. Where a model fails or is late, the question is answered by words alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from carrel.core.errors import CarrelError, ProviderError, place_of
from carrel.core.local_index import CoreEmbedder
from carrel.core.native import ParsedQuery
from carrel.core.ports import ChunkId, Embedder, EmbeddingSpec
from carrel.core.types import LONGEST_QUERY, Query, both_ends
from carrel.core.vectors import Vectors
from carrel.engine import issue_text, query_words
from carrel.engine.issue_text import IssueText
from carrel.engine.query_words import Question

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchText:
    """A text that is searched for, with its vector: empty where no model gave one.

    `dense` are the cosines of chunks that a store of vectors elsewhere found; None where the local index is searched with the
    vector.
    """

    question: Question
    vector: bytes = b""
    dense: Sequence[tuple[ChunkId, float]] | None = None

    def parsed(self, *, quotes: bool) -> ParsedQuery:
        """Return it as the index takes it; with `quotes` texts are read for what they hold of it word for word."""
        return self.question.parsed(quotes=quotes, vector=self.vector, scores=self.dense)


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query with all that models say to it.

    `texts` are by name the parts of an issue (`IssueText.parts`); any other query is searched for by one text, named "".
    """

    query: Query
    model: EmbeddingSpec
    texts: Mapping[str, SearchText]
    issue: IssueText | None = None  # where the text has the structure of an issue
    problem: str | None = None  # why there are no vectors, for a person
    milliseconds: float = 0.0  # how long reading and embedding took


async def prepare(query: Query, embedder: Embedder, *, seconds: float | None = None) -> PreparedQuery:
    """Read a query and have its texts embedded, within so many seconds. Raises nothing but a cancel."""
    began = time.perf_counter()
    issue = issue_text.read(query.text) if query.text.strip() else None
    parts = issue.parts() if issue else {"": query.text}
    questions = {name: query_words.read(both_ends(part, LONGEST_QUERY)) for name, part in parts.items()}
    asked = list(dict.fromkeys(question.text for question in questions.values() if question.text))
    problem: str | None = None
    vectors: Mapping[str, bytes] = {}
    try:
        vectors = await embed_queries(embedder, asked, seconds=seconds)
    except CarrelError as error:
        problem = f"{error} The question was answered by its words alone."
        log.warning("A question was not embedded: %s at %s", type(error).__name__, place_of(error))
    texts = {name: SearchText(question, vectors.get(question.text, b"")) for name, question in questions.items()}
    return PreparedQuery(query, embedder.spec, texts, issue, problem, round(1000 * (time.perf_counter() - began), 3))


def prepare_blocking(query: Query, embedder: Embedder) -> PreparedQuery:
    """Do `prepare` from a thread without an event loop."""
    return _run(prepare(query, embedder), embedder)


async def embed_queries(embedder: Embedder, texts: Sequence[str], *, seconds: float | None = None) -> Mapping[str, bytes]:
    """Return the vector of each text. Raises `ProviderError` where the model fails, is late, or gives something else."""
    if not texts:
        return {}
    spec = embedder.spec
    try:
        if isinstance(embedder, CoreEmbedder):  # never waits
            vectors = await embedder.embed(texts, "query")
        else:
            async with asyncio.timeout(seconds):
                rows = [await embedder.embed(part, "query") for part in _requests(texts, spec.max_texts)]
            vectors = Vectors(b"".join(part.data for part in rows), spec.dim)
    except TimeoutError:
        raise ProviderError(f"The embedding model {spec.id} didn't answer within {seconds:g} s.", retryable=True) from None
    except CarrelError:
        raise
    except Exception as error:
        raise ProviderError(f"The embedding model {spec.id} failed: {type(error).__name__}.") from error
    if vectors.dim != spec.dim or len(vectors) != len(texts):
        got = f"{len(vectors)} vectors of {vectors.dim} values"
        raise ProviderError(f"The embedding model {spec.id} gave {got} for {len(texts)} texts; {spec.dim} values each were due.")
    return dict(zip(texts, vectors, strict=True))


def _requests(texts: Sequence[str], most: int) -> list[Sequence[str]]:
    return [texts[at : at + max(most, 1)] for at in range(0, len(texts), max(most, 1))]


def _run(work: Coroutine[Any, Any, T], embedder: Embedder) -> T:
    if not isinstance(embedder, CoreEmbedder):
        return asyncio.run(work)
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("a model of the core waited")

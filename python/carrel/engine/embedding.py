"""Ask embedding models that are awaited: in requests that keep to their limits, with every answer checked.

Runs on the event loop; `batch_requests` and `give_vectors` do native work and belong on a thread. A model of the core never
comes here: it embeds a batch inside the core (`CoreEmbedder`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from carrel.core.background import run_at_once, run_blocking
from carrel.core.errors import CarrelError, ProviderError
from carrel.core.local_index import is_of_core
from carrel.core.native import Batch, CancelToken
from carrel.core.ports import Embedder, EmbeddingSpec, Tokenizer
from carrel.core.remote import KeepsVectors
from carrel.core.vectors import BYTES_A_VALUE, Vectors, WrongVectors
from carrel.engine.model_call import within

log = logging.getLogger(__name__)
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

QUERY_SECONDS = 5.0
"""How long a question waits for its vectors where it has no deadline; words answer it then."""
REQUEST_SECONDS = 120.0
"""A request of the index that isn't answered for so long is given up, and tried again."""
AT_ONCE = 4
"""Requests of one batch that are under way together."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try of a request whose failure is `retryable`."""
LONGEST_PAUSE = 30.0
"""The most that a model may ask us to wait before the next try."""
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """Texts that go to a model together; `first` is the number of the first one in the whole."""

    first: int
    texts: tuple[str, ...]


def requests(texts: Sequence[str], spec: EmbeddingSpec, tokenizer: Tokenizer | None = None) -> list[EmbeddingRequest]:
    """Divide texts by a model's limits; one that is longer than a request may be is trimmed.

    Tokens are counted by `tokenizer`, and estimated by characters without one.
    """
    most_texts, most_tokens = max(spec.max_texts, 1), spec.max_tokens
    found: list[EmbeddingRequest] = []
    first, used, taken = 0, 0, list[str]()
    for number, text in enumerate(texts):
        fitting, tokens = _fitted(text, most_tokens, tokenizer)
        if taken and (len(taken) >= most_texts or (most_tokens is not None and used + tokens > most_tokens)):
            found.append(EmbeddingRequest(first, tuple(taken)))
            first, used, taken = number, 0, []
        taken.append(fitting)
        used += tokens
    if taken:
        found.append(EmbeddingRequest(first, tuple(taken)))
    return found


def _fitted(text: str, most: int | None, tokenizer: Tokenizer | None) -> tuple[str, int]:
    if most is None:
        return text, 0
    if tokenizer is None:
        text = text[: most * CHARACTERS_A_TOKEN]
        return text, math.ceil(len(text) / CHARACTERS_A_TOKEN)
    tokens = tokenizer.count(text)
    return (text, tokens) if tokens <= most else (tokenizer.trim(text, most), most)


async def embed_queries(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    seconds: float | None = QUERY_SECONDS,
    kind: Literal["query", "document"] = "query",
) -> Mapping[str, bytes]:
    """Return the vector of each text. Raises `ProviderError` where the model fails, is late, or gives something else."""
    if not texts:
        return {}
    if is_of_core(embedder):
        vectors = await _ask(embedder, texts, kind)
    else:

        async def ask_all() -> list[Vectors]:
            return [await _ask(embedder, request.texts, kind) for request in requests(texts, embedder.spec)]

        parts = await within(ask_all(), seconds, _name(embedder.spec))
        vectors = Vectors(b"".join(part.data for part in parts), embedder.spec.dim)
    return dict(zip(texts, vectors, strict=True))


async def embed_documents(
    embedder: Embedder, asked: Sequence[EmbeddingRequest], *, patient: bool = True, sleep: Sleep = asyncio.sleep
) -> list[Vectors | ProviderError]:
    """Embed each request, a few at once; one that failed for good gives its error. Raises nothing but a cancel.

    Only a `patient` caller has requests tried again. Where a team shares vectors, requests go out in any order: of several
    who index the same at the same time, each pays for another part.
    """
    pauses = PAUSES if patient else ()
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(request: EmbeddingRequest) -> Vectors | ProviderError:
        async with turn:
            return await _with_tries(embedder, request, pauses, sleep)

    order = list(range(len(asked)))
    if isinstance(embedder, KeepsVectors) and embedder.shared:
        random.shuffle(order)
    answers = dict(zip(order, await asyncio.gather(*(one(asked[number]) for number in order)), strict=True))
    return [answers[number] for number in range(len(asked))]


async def _with_tries(
    embedder: Embedder, request: EmbeddingRequest, pauses: Sequence[float], sleep: Sleep
) -> Vectors | ProviderError:
    for pause in (*pauses, None):
        try:
            return await within(_ask(embedder, request.texts, "document"), REQUEST_SECONDS, _name(embedder.spec))
        except ProviderError as error:
            if pause is None or not error.retryable:
                return error
            await sleep(min(max(pause, error.retry_after or 0.0), LONGEST_PAUSE))
    raise AssertionError("the last try returns")


async def _ask(embedder: Embedder, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
    """Ask once. Raises `ProviderError` for whatever goes wrong in the model, and for vectors that can't be used."""
    spec = embedder.spec
    try:
        vectors = await embedder.embed(texts, kind)
    except CarrelError:
        raise
    except WrongVectors as error:
        raise ProviderError(f"The embedding model {spec.id} gave {error}.") from error
    except (Exception, SystemExit) as error:  # the last would end the loop that others share
        raise ProviderError(f"The embedding model {spec.id} failed: {type(error).__name__}.") from error
    if not isinstance(vectors, Vectors):
        raise ProviderError(f"The embedding model {spec.id} gave a {type(vectors).__name__} where vectors were due.")
    if fault := vectors.fault(spec.dim, len(texts)):
        raise ProviderError(f"The embedding model {spec.id} gave {fault}.")
    return vectors


def batch_requests(batch: Batch, spec: EmbeddingSpec, tokenizer: Tokenizer | None = None) -> list[EmbeddingRequest]:
    """Divide the texts of a batch into requests. Runs on a thread."""
    return requests(batch.texts(), spec, tokenizer)


def give_vectors(
    batch: Batch, asked: Sequence[EmbeddingRequest], answers: Sequence[Vectors | ProviderError], spec: EmbeddingSpec
) -> None:
    """Give a batch its vectors. The chunks of requests that failed lack theirs until the next run; words find them meanwhile."""
    answered = list(zip(asked, answers, strict=True))
    batch.set_vectors(
        b"".join(answer.data if isinstance(answer, Vectors) else _zeros(len(request.texts), spec) for request, answer in answered)
    )
    for request, answer in answered:
        if isinstance(answer, ProviderError):
            log.warning("%d chunks were not embedded and will be tried again: %s", len(request.texts), answer)
            batch.lack_vectors(request.first, len(request.texts), str(answer))


def run_with(embedder: Embedder, work: Coroutine[Any, Any, T], cancel: CancelToken | None = None) -> T:
    """Run a coroutine that awaits nothing but this model, from a thread, whether or not it has an event loop.

    With a model of the core it never waits, and needs no loop.
    """
    return run_at_once(work) if is_of_core(embedder) else run_blocking(work, cancel)


def embed_batch_blocking(batch: Batch, embedder: Embedder, cancel: CancelToken) -> None:
    """Give a batch its vectors from a thread, whether or not it has an event loop. Raises `ProviderError`."""
    if is_of_core(embedder):
        embedder.embed_batch(batch, cancel)
        return
    asked = batch_requests(batch, embedder.spec)
    answers = run_blocking(embed_documents(embedder, asked), cancel)
    if failed := next((answer for answer in answers if isinstance(answer, ProviderError)), None):
        raise failed
    give_vectors(batch, asked, answers, embedder.spec)


def embed_buffer(batch: Batch, embedder: Embedder, cancel: CancelToken) -> None:
    """Give a buffer its vectors by a model of the core. Any other waits for the file to be saved: until then words find it,
    since typing must neither wait for a remote model nor pay for it."""
    if is_of_core(embedder):
        embedder.embed_batch(batch, cancel)
    else:
        batch.set_vectors(_zeros(len(batch.text_paths()), embedder.spec))


def _name(spec: EmbeddingSpec) -> str:
    return f"The embedding model {spec.id}"


def _zeros(texts: int, spec: EmbeddingSpec) -> bytes:
    return bytes(texts * spec.dim * BYTES_A_VALUE)

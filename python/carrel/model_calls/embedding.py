"""Ask embedding models that are awaited: in requests that keep to their limits, with every answer checked.

Runs on the event loop; `batch_requests` and `give_vectors` do native work and belong on a thread. A model of the core never
comes here: it embeds a batch inside the core (`CoreEmbedder`).
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, TypeVar

from msgspec import Struct

from carrel.model.errors import CarrelError, ProviderError, TextRefused, UnusableAnswer
from carrel.model.local_index import is_of_core
from carrel.model.native import Batch, CancelToken
from carrel.model.ports import Embedder, EmbeddingSpec, Tokenizer
from carrel.model.remote import PLAIN_WORDS, KeepsVectors, RemoteEmbedder
from carrel.model.vectors import BYTES_A_VALUE, Vectors, WrongVectors
from carrel.model_calls.chat_model import within
from carrel.system.background import run_at_once, run_blocking

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

QUERY_SECONDS = 5.0
"""How long a question waits for its vectors where it has no deadline; words answer it then."""
REQUEST_SECONDS = 120.0
"""A request of the index that isn't answered for so long is given up, and tried again."""
REFUSING_STATUSES = (400, 403, 413, 422, 500)
"""Statuses with which services refuse a request for one of its texts, and for other reasons, too."""
MOST_REFUSALS = 32
"""So many requests of a batch that are refused in a row, with no vector between, end the search for single texts."""
AT_ONCE = 4
"""Requests of one batch that are under way together."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try of a request whose failure is `retryable`."""
LONGEST_PAUSE = 30.0
"""The most that a model may ask us to wait before the next try."""
CHARACTERS_A_TOKEN = 4


class EmbeddingRequest(Struct, frozen=True):
    """Texts that go to a model together; `first` is the number of the first one in the whole."""

    first: int
    texts: tuple[str, ...]


Answered = tuple[EmbeddingRequest, Vectors | ProviderError]
"""Texts, and their vectors or why they have none."""


def requests(texts: Sequence[str], spec: EmbeddingSpec, tokenizer: Tokenizer | None = None) -> list[EmbeddingRequest]:
    """Divide texts by a model's limits; one that is longer than a request may be is trimmed.

    Tokens are counted by `tokenizer`, and estimated by characters without one.
    """
    most_texts, most_tokens = max(spec.max_texts, 1), spec.max_tokens
    parts: list[EmbeddingRequest] = []
    first, used, taken = 0, 0, list[str]()
    for number, text in enumerate(texts):
        fitting, tokens = _fitted(text, most_tokens, tokenizer)
        if taken and (len(taken) >= most_texts or (most_tokens is not None and used + tokens > most_tokens)):
            parts.append(EmbeddingRequest(first, tuple(taken)))
            first, used, taken = number, 0, []
        taken.append(fitting)
        used += tokens
    if taken:
        parts.append(EmbeddingRequest(first, tuple(taken)))
    return parts


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
    embedder: Embedder,
    document_requests: Sequence[EmbeddingRequest],
    *,
    patient: bool = True,
    anew: bool = False,
    sleep: Sleep = asyncio.sleep,
) -> list[Answered]:
    """Embed each request, a few at once; return all texts in order, each with others of one answer. Raises nothing but a cancel.

    Only a `patient` caller has requests tried again. A request that is refused for a text in it is divided until that text stands
    alone: its answer is `TextRefused`. It isn't asked for again, unless `anew`. Where a team shares vectors, requests go out in
    any order: of several who index the same at the same time, each pays for another part.
    """
    answered: list[Answered] = []
    waiting = list(document_requests)
    if isinstance(embedder, KeepsVectors) and not anew:
        texts = [text for request in document_requests for text in request.texts]
        if refused := await asyncio.to_thread(embedder.refused, texts):
            parts = [part for request in document_requests for part in _around(request, refused)]
            answered = [(part, TextRefused(refused[part.texts[0]])) for part in parts if part.texts[0] in refused]
            waiting = [part for part in parts if part.texts[0] not in refused]
    if isinstance(embedder, KeepsVectors) and embedder.shared:
        random.shuffle(waiting)
    batch = _BatchOfRequests(embedder, PAUSES if patient else (), sleep)
    for parts_of_one in await asyncio.gather(*map(batch.answer, waiting)):
        answered += parts_of_one
    return sorted(answered, key=lambda part: part[0].first)


def _around(request: EmbeddingRequest, refused: Container[str]) -> Iterator[EmbeddingRequest]:
    """Divide a request so that each text that is known to be refused stands alone."""
    numbered = enumerate(request.texts, request.first)
    for _, run in groupby(numbered, key=lambda item: item[0] if item[1] in refused else None):
        numbers, texts = zip(*run, strict=True)
        yield EmbeddingRequest(numbers[0], texts)


class _BatchOfRequests:
    """Asks for the texts of one batch, and finds those that the model can't take."""

    def __init__(self, embedder: Embedder, pauses: Sequence[float], sleep: Sleep) -> None:
        self._embedder = embedder
        self._pauses = pauses
        self._sleep = sleep
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._dividing = asyncio.Lock()
        self._refusals = 0  # in a row, without a vector between them
        self._takes_others: bool | None = None

    async def answer(self, request: EmbeddingRequest) -> list[Answered]:
        """Ask for the texts of a request; return its parts."""
        async with self._turn:
            answer = await self._tried(request, self._pauses)
            if isinstance(answer, Vectors) or not _may_be_of_a_text(answer) or (answer.retryable and not self._pauses):
                return [(request, answer)]
            async with self._dividing:  # one after the other, so that a service which takes nothing is soon left alone
                if await self._model_takes_others():
                    return await self._divided(request, answer)
            if answer.retryable:  # it fails at everything, which may pass
                answer = await self._tried(request, self._pauses[1:], repeats=len(self._pauses))
                if isinstance(answer, Vectors):
                    self._takes_others = None
            return [(request, answer)]

    async def _model_takes_others(self) -> bool:
        """Ask once, by words that no model refuses, whether it is texts that are refused here, and not all that is asked."""
        if self._takes_others is None:
            self._takes_others = await _takes_words(self._embedder)
        return self._takes_others

    async def _divided(self, request: EmbeddingRequest, refusal: ProviderError) -> list[Answered]:
        """Halve a request that was refused until the texts that are refused stand alone.

        No text is to blame for one failure, nor where the model takes nothing any more after it.
        """
        answered: list[Answered] = []
        alone: list[tuple[EmbeddingRequest, ProviderError]] = []  # refused since the last vector
        once = len(request.texts) == 1 and not refusal.retryable
        waiting: list[tuple[EmbeddingRequest, ProviderError | None]] = [(request, None if once else refusal)]
        while waiting:
            part, failure = waiting.pop()
            answer = failure or await self._tried(part, self._pauses, repeats=int(len(part.texts) == 1))
            if isinstance(answer, Vectors):
                self._refusals = 0
                answered += [(part, answer), *await self._blamed(alone)]
                alone = []
                continue
            self._refusals += 1
            if not _may_be_of_a_text(answer):
                return [*answered, *alone, *((left, answer) for left, _ in ((part, None), *waiting))]
            if self._refusals > MOST_REFUSALS:
                answered += ((left, answer) for left, _ in ((part, None), *waiting))
                break
            if half := len(part.texts) // 2:
                second = EmbeddingRequest(part.first + half, part.texts[half:])
                waiting += [(second, None), (EmbeddingRequest(part.first, part.texts[:half]), None)]
            else:
                alone.append((part, answer))
        takes_others = not alone or await _takes_words(self._embedder)
        return answered + (await self._blamed(alone) if takes_others else [*alone])

    async def _blamed(self, alone: Sequence[tuple[EmbeddingRequest, ProviderError]]) -> list[Answered]:
        """Have it kept that each of these texts was refused."""
        for part, refusal in alone:
            if isinstance(self._embedder, KeepsVectors):
                await asyncio.to_thread(self._embedder.note_refused, part.texts[0], str(refusal))
        return [(part, TextRefused(str(refusal))) for part, refusal in alone]

    async def _tried(self, request: EmbeddingRequest, pauses: Sequence[float], *, repeats: int = 1) -> Vectors | ProviderError:
        """Ask for texts, again where that may help: up to `repeats` times where one of the texts may be to blame.

        Dividing the request repeats it, too.
        """
        for number, pause in enumerate((*pauses, None)):
            try:
                return await within(_ask(self._embedder, request.texts, "document"), REQUEST_SECONDS, _name(self._embedder.spec))
            except ProviderError as error:
                enough = number >= repeats and _may_be_of_a_text(error)
                if pause is None or not error.retryable or enough:
                    return error
                await self._sleep(min(max(pause, error.retry_after or 0.0), LONGEST_PAUSE))
        raise AssertionError("the last try returns")


def _may_be_of_a_text(error: ProviderError) -> bool:
    """Tell whether a request may have failed for one text: it is too long, a filter dislikes it, its vector can't be used."""
    return error.status in REFUSING_STATUSES or isinstance(error, UnusableAnswer)


async def _takes_words(embedder: Embedder) -> bool:
    """Tell whether a model gives plain words vectors of use."""
    name = _name(embedder.spec)
    try:
        if isinstance(embedder, RemoteEmbedder):  # past the vectors that are kept
            return await within(embedder.learn_dim(), REQUEST_SECONDS, name) == embedder.spec.dim
        await within(_ask(embedder, PLAIN_WORDS, "document"), REQUEST_SECONDS, name)
    except ProviderError:
        return False
    return True


async def _ask(embedder: Embedder, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
    """Ask once. Raises `ProviderError` for whatever goes wrong in the model, and for vectors that can't be used."""
    spec = embedder.spec
    try:
        vectors = await embedder.embed(texts, kind)
    except CarrelError:
        raise
    except WrongVectors as error:
        raise UnusableAnswer(f"The embedding model {spec.id} gave {error}.") from error
    except (Exception, SystemExit) as error:  # the last would end the loop that others share
        raise UnusableAnswer(f"The embedding model {spec.id} failed: {type(error).__name__}.") from error
    if not isinstance(vectors, Vectors):
        raise UnusableAnswer(f"The embedding model {spec.id} gave a {type(vectors).__name__} where vectors were due.")
    if fault := vectors.fault(spec.dim, len(texts)):
        raise UnusableAnswer(f"The embedding model {spec.id} gave {fault}.")
    # One text may hold no word that a model of words knows; that several hold none is a broken model.
    if kind == "document" and not any(vectors.data) and len({text for text in texts if text.strip()}) > 1:
        raise UnusableAnswer(f"The embedding model {spec.id} gave only vectors of zeros, by which nothing can be found.")
    return vectors


def batch_requests(batch: Batch, spec: EmbeddingSpec, tokenizer: Tokenizer | None = None) -> list[EmbeddingRequest]:
    """Divide the texts of a batch into requests. Runs on a thread."""
    return requests(batch.texts(), spec, tokenizer)


def give_vectors(batch: Batch, answered: Sequence[Answered], spec: EmbeddingSpec) -> int:
    """Give a batch its vectors; return how many files lack one for refused texts alone. Words find what has none.

    Chunks whose request failed lack theirs until the next run. Runs on a thread.
    """
    batch.set_vectors(
        b"".join(answer.data if isinstance(answer, Vectors) else _zeros(len(part.texts), spec) for part, answer in answered)
    )
    lacking = [(part, answer) for part, answer in answered if isinstance(answer, ProviderError)]
    paths = batch.text_paths() if lacking else []
    files: dict[bool, set[str]] = {True: set(), False: set()}
    # What the next run tries again is told first: a file has the first of its reasons.
    for part, answer in sorted(lacking, key=lambda item: isinstance(item[1], TextRefused)):
        batch.lack_vectors(part.first, len(part.texts), str(answer))
        files[isinstance(answer, TextRefused)].update(paths[part.first : part.first + len(part.texts)])
    return len(files[True] - files[False])


def run_with(embedder: Embedder, work: Coroutine[Any, Any, T], cancel: CancelToken | None = None) -> T:
    """Run a coroutine that awaits nothing but this model, from a thread, whether or not it has an event loop.

    With a model of the core it never waits, and needs no loop.
    """
    return run_at_once(work) if is_of_core(embedder) else run_blocking(work, cancel)


def embed_batch_blocking(batch: Batch, embedder: Embedder, cancel: CancelToken) -> None:
    """Give a batch its vectors from a thread, whether or not it has an event loop. Raises `ProviderError` unless the model only
    refuses single texts, which words find."""
    if is_of_core(embedder):
        embedder.embed_batch(batch, cancel)
        return
    answered = run_blocking(embed_documents(embedder, batch_requests(batch, embedder.spec)), cancel)
    failed = [answer for _, answer in answered if isinstance(answer, ProviderError)]
    if failed and (len(failed) == len(answered) or not all(isinstance(answer, TextRefused) for answer in failed)):
        raise failed[0]
    give_vectors(batch, answered, embedder.spec)


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

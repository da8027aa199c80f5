"""Vectors in Qdrant: a server of the person's own, a managed one, or a cluster (extra `qdrant`).

One collection a project and model. Points carry their payload under the names that other programs know; what may be
filtered by has an index there.
"""

from __future__ import annotations

import asyncio
import functools
import math
import struct
import uuid
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.conversions.common_types import Record
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from carrel.extensions.stores.payload import COMMON_NAMES, check_dimension, check_dimensions, last_of_each, plain
from carrel.model.errors import ProviderError
from carrel.model.outbound import is_loopback
from carrel.model.ports import ChunkId, Scalar, VectorRecord, Where
from carrel.providers.service import tls_problem

T = TypeVar("T")

NAMES: Mapping[str, str] = {**COMMON_NAMES, "symbol": "symbolName"}
_OWN_NAMES = {theirs: ours for ours, theirs in NAMES.items()}
INDEXED = ("filePath", "language", "source", "kind", "contentHash")
"""What is filtered by often, and must not need a look at every point."""
BATCH = 256
"""Points of one request: 256 vectors of 1,536 values are 1.6 MB."""
PAGE = 1_000
MOST_PAGES = 10_000
"""Pages of one scroll: ten million points, more than any index has. A server that never ends one would fill the memory."""
_FIRST_SECONDS = 5.0
"""The longest wait for the first answer of a server: later a batch may take it longer."""
_ODD = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)
"""What reading an answer raises that isn't of Qdrant's form; the client's package checks only some of it."""


class QdrantStore:
    """One collection. `open` makes it where it is missing."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        collection: str,
        dim: int,
        *,
        leaves_machine: bool,
        title: str = "Qdrant",
        permit: Callable[[], None] = lambda: None,
    ) -> None:
        """Take a client that the caller closes. `permit` raises where nothing may be sent there."""
        self._permit = permit
        self.dim = dim
        self.leaves_machine = leaves_machine
        self.collection = collection
        self._client = client
        self._title = title
        self._opening = asyncio.Lock()
        self._open = False

    async def open(self) -> None:
        """Make the collection where it is missing. Raises `ProviderError` where it has another dimension."""
        async with self._opening:
            if not self._open:
                await self._ask(self._ensure)
                self._open = True

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add points, then delete some; done when a search sees it."""
        check_dimensions(list(upsert), self.dim)
        kept = last_of_each(list(upsert), set(delete))
        await self.open()
        for at in range(0, len(kept), BATCH):
            points = [self._point(record) for record in kept[at : at + BATCH]]
            await self._ask(functools.partial(self._client.upsert, self.collection, points, wait=True))
        for at in range(0, len(delete), PAGE):
            gone = models.PointIdsList(points=[_uuid(chunk) for chunk in delete[at : at + PAGE]])
            await self._ask(functools.partial(self._client.delete, self.collection, gone, wait=True))

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Return the nearest points that may answer."""
        check_dimension(vector, self.dim)
        if k <= 0 or not any(vector) or (where and not all(where.equals.values())):
            return []
        await self.open()

        async def ask() -> list[tuple[ChunkId, float]]:
            answer = await self._client.query_points(
                self.collection,
                query=_floats(vector),
                query_filter=_filter(where),
                limit=k,
                score_threshold=floor,
                with_payload=False,
            )
            return [(_chunk_id(point.id), _cosine(point.score)) for point in answer.points[:k]]

        return await self._ask(ask)

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those points that are there."""
        await self.open()
        vectors: dict[ChunkId, bytes] = {}
        for at in range(0, len(ids), PAGE):
            vectors |= await self._ask(functools.partial(self._rows, ids[at : at + PAGE]))
        return vectors

    async def _rows(self, ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        uuids = [_uuid(chunk) for chunk in ids]
        points = await self._client.retrieve(self.collection, uuids, with_vectors=True, with_payload=False)
        rows = {_chunk_id(point.id): struct.pack(f"<{self.dim}f", *_row(point)) for point in points}
        return {chunk: rows[chunk] for chunk in ids if chunk in rows}

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give the ids of all points, page by page."""
        async for page in self.scroll():
            yield [chunk for chunk, _ in page]

    async def scroll(self, where: Where | None = None) -> AsyncIterator[Sequence[tuple[ChunkId, Mapping[str, Any]]]]:
        """Give the ids and payloads of all points that fit, page by page."""
        await self.open()
        offset: Any = None
        for _ in range(MOST_PAGES):
            page, following = await self._ask(functools.partial(self._page, where, offset))
            if page:
                yield page
            if following is None:
                return
            if not page or following == offset:
                raise self._odd("a page of points that leads nowhere")
            offset = following
        raise self._odd(f"more than {MOST_PAGES * PAGE:,} points")

    async def _page(self, where: Where | None, offset: Any) -> tuple[list[tuple[ChunkId, Mapping[str, Any]]], Any]:
        """Return the points of a page, and where the next one begins."""
        points, following = await self._client.scroll(
            self.collection, limit=PAGE, offset=offset, scroll_filter=_filter(where), with_payload=True, with_vectors=False
        )
        if len(points) > PAGE:
            raise ValueError("more points than were asked for")
        payloads = ({_OWN_NAMES.get(key, key): value for key, value in (point.payload or {}).items()} for point in points)
        return [(_chunk_id(point.id), payload) for point, payload in zip(points, payloads, strict=True)], following

    async def delete_where(self, where: Where) -> None:
        """Delete all points that fit."""
        await self.open()
        selector = models.FilterSelector(filter=_filter(where) or models.Filter())
        await self._ask(functools.partial(self._client.delete, self.collection, selector, wait=True))

    async def count(self) -> int:
        """Return the number of points."""
        await self.open()

        async def ask() -> int:
            return int((await self._client.count(self.collection, exact=True)).count)

        return await self._ask(ask)

    async def dimension(self) -> int | None:
        """Return how many values its vectors have; None where there is no such collection. Makes none."""

        async def ask() -> int | None:
            if not await self._client.collection_exists(self.collection):
                return None
            held = (await self._client.get_collection(self.collection)).config.params.vectors
            return held.size if isinstance(held, models.VectorParams) else None

        return await self._ask(ask)

    async def drop(self) -> None:
        """Delete the whole collection; it is made anew by the next use."""
        await self._ask(functools.partial(self._client.delete_collection, self.collection))
        self._open = False

    async def _ensure(self) -> None:
        async with asyncio.timeout(_FIRST_SECONDS):
            exists = await self._client.collection_exists(self.collection)
        if not exists:
            params = models.VectorParams(size=self.dim, distance=models.Distance.COSINE)
            try:
                await self._client.create_collection(self.collection, vectors_config=params)
            except UnexpectedResponse as error:
                if error.status_code != 409:  # another process made it at the same moment
                    raise
            for name in INDEXED:
                await self._client.create_payload_index(self.collection, name, models.PayloadSchemaType.KEYWORD, wait=True)
        held = (await self._client.get_collection(self.collection)).config.params.vectors
        size = held.size if isinstance(held, models.VectorParams) else None
        if size != self.dim:
            raise ProviderError(
                f"The collection {self.collection} in {self._title} holds vectors of {size or 'several kinds of'} values; "
                f"the model gives {self.dim}",
                "Delete it with `carrel store migrate`, which fills it anew, or set another collection.",
            )

    async def _ask(self, ask: Callable[[], Coroutine[Any, Any, T] | Awaitable[T]]) -> T:
        """Ask the server and read its answer; failures become `ProviderError`s that quote nothing of what was sent."""
        self._permit()
        try:
            return await ask()
        except TimeoutError:
            raise ProviderError(
                f"{self._title} gave no answer within {_FIRST_SECONDS:g} s", "Restart it, or check its URL.", retryable=True
            ) from None
        except UnexpectedResponse as error:
            if error.status_code == 404:
                self._open = False  # it was deleted meanwhile: the next use makes it
            raise _refused(self._title, error.status_code) from None
        except (ResponseHandlingException, ApiException, httpx.HTTPError, OSError) as error:
            if isinstance(getattr(error, "source", None), ValidationError):
                raise self._odd("an answer of another form") from None
            if problem := tls_problem(error, self._title):
                raise problem from None
            raise ProviderError(
                f"{self._title} can't be reached ({type(error).__name__})", "Start it, or check its URL.", retryable=True
            ) from None
        except QdrantException:  # a 429 that says when to come again
            raise _refused(self._title, 429) from None
        except _ODD as error:
            if "not found" in str(error):  # the local mode's word for 404
                self._open = False
                raise _refused(self._title, 404) from None
            raise self._odd(f"an answer that can't be read ({type(error).__name__})") from None

    def _odd(self, what: str) -> ProviderError:
        return ProviderError(
            f"{self._title} gave {what}",
            f"Check that its URL is a Qdrant server's, and that nothing but Carrel writes to its collection {self.collection}.",
        )

    def _point(self, record: VectorRecord) -> models.PointStruct:
        payload = {NAMES.get(key, key): plain(value) for key, value in record.payload.items()}
        return models.PointStruct(id=_uuid(record.id), vector=_floats(record.vector), payload=payload)


def connect(url: str, key: str | None, seconds: int, proxy: str) -> AsyncQdrantClient:
    """Return a client for a server. Nothing is asked yet; the caller closes it.

    Raises `ProviderError` where a key would go to another machine without encryption.
    """
    parts = urlsplit(url)
    local = is_loopback(parts.netloc)
    if key and not local and parts.scheme != "https":
        raise ProviderError(
            f"Qdrant's key was not sent: {parts.netloc} is asked without encryption",
            'Set a `url` with https://, or `key` to "none" where the server needs none.',
        )
    more: dict[str, Any] = {"proxy": proxy} if proxy else {}
    if parts.scheme == "https":
        more["verify"] = httpx.create_ssl_context()  # whom SSL_CERT_FILE names counts with a proxy, and on this machine, too
    with warnings.catch_warnings():
        if local:  # nobody listens between two programs of one machine
            warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
        return AsyncQdrantClient(
            url=url, api_key=key, timeout=seconds, check_compatibility=False, trust_env=not proxy and not local, **more
        )


def _refused(title: str, status: int | None) -> ProviderError:
    match status:
        case 401 | 403:
            return ProviderError(f"{title} refused the key ({status})", "Set another: `carrel models key qdrant`.")
        case 404:
            return ProviderError(
                f"{title} has no such collection any more ({status})", "It is made and filled anew.", retryable=True
            )
        case 429:
            return ProviderError(f"{title} allows no more requests for now ({status}).", retryable=True)
        case _:
            return ProviderError(f"{title} refused the request ({status}).", retryable=status is not None and status >= 500)


def _uuid(chunk: ChunkId) -> str:
    return str(uuid.UUID(hex=chunk))


def _chunk_id(point: Any) -> ChunkId:
    return ChunkId(uuid.UUID(str(point)).hex)


def _floats(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))


def _row(point: Record) -> Sequence[float]:
    """Return the values of a point. Raises one of `_ODD` where they are none, or not finite."""
    row: Any = point.vector
    if not math.isfinite(math.hypot(*row)):
        raise ValueError("a value that is not a finite number")
    return row  # type: ignore[no-any-return]


def _cosine(score: Any) -> float:
    """Return a score as the cosine that it is, but for rounding. Raises `ValueError` where it is no number."""
    if not math.isfinite(score):
        raise ValueError("a score that is not a finite number")
    return min(max(float(score), -1.0), 1.0)


def _filter(where: Where | None) -> models.Filter | None:
    if where is None or not where.equals:
        return None
    return models.Filter(must=[models.Filter(should=[_equals(key, v) for v in values]) for key, values in where.equals.items()])


def _equals(key: str, value: Scalar) -> models.FieldCondition:
    name = NAMES.get(key, key)
    if isinstance(value, bool | str):
        return models.FieldCondition(key=name, match=models.MatchValue(value=plain(value)))  # type: ignore[arg-type]
    return models.FieldCondition(key=name, range=models.Range(gte=float(value), lte=float(value)))

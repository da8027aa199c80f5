"""Published repositories on a Qdrant server, by its HTTP API: what readers and the one publisher ask of it.

One collection a repository holds its chunks, each with the numbers of the generation that added it and, once it is gone, of the
one that removed it, and one point without vectors: what is visible (`Head`). A new generation is written beside the visible one
and becomes visible by one write of that point. Answers are bounded and checked piece by piece: whoever writes there may be
anybody.
"""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeGuard

import msgspec

from carrel.model.errors import ProviderError
from carrel.model.outbound import Load, Outbound
from carrel.model.plain_data import as_dict, as_list, inner
from carrel.model.published import (
    FIRST_VECTOR,
    FORMAT,
    FoundIds,
    Head,
    KeptPoint,
    Overtaken,
    Point,
    PublishedAddress,
    ReadPoint,
    payload_of,
    read_chunk,
    read_head,
)
from carrel.providers.http import NO_LOAD, ServiceClient, key_for
from carrel.providers.service import Refusal, Service

HEAD_ID = str(uuid.UUID(int=1))
MOST_BYTES = 16_000_000
"""The longest answer to a question; 40 chunks with text and words take some 200 KB."""
PAGE = 5_000
IDLE_SECONDS = 60.0
_IN_ORDER = "?wait=true&ordering=medium"
"""Ends the path of a write. In a cluster each copy would else take the writes of two runs in an order of its own: both would hold
the claim, and the servers would show different states from then on."""
_READING = ("/points", "/points/query/batch")
_READERS_PAUSES = (0.0,)
"""Seconds before each further try: a server closes connections that nobody used for a while, which is no failure."""
_PUBLISHERS_PAUSES = (0.5, 1.0, 2.0, 4.0)
_MOST_TERMS = 5_000
"""Of a chunk that is read."""
_REFUSALS: Mapping[int, Refusal] = {
    401: ("{0} wants a key, or another one ({1})", "Say where the right one is: `key` of the source, or `--key`.", False),
    403: ("{0} doesn't open this repository to your key ({1})", "Ask whoever gives out its keys.", False),
    404: ("{0} has no such repository ({1})", "Publish it: `carrel publish --repo NAME`.", False),
    413: ("{0} found the request too long ({1})", "", False),
}


class QdrantRepository:
    """One published repository. Every call raises `ProviderError` where it fails."""

    def __init__(self, address: PublishedAddress, outbound: Outbound, key: str = "") -> None:
        """Take the place of its key: of several servers each has its own, so none that nobody named is sent."""
        title = f"Qdrant at {address.host}"
        service = Service("qdrant", title, address.base_url, "store", idle_seconds=IDLE_SECONDS, refusals=_REFUSALS)
        self.address = address
        self.destination = service.destination
        self._at = f"/collections/{address.collection}"
        self._client = ServiceClient(service, outbound, key_for(outbound, service, key, is_home=False, header="api-key"))

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    # --- readers

    async def head(self) -> Head | None:
        """Return what is visible; None where nothing was published yet. Raises `ProviderError`."""
        points = _points(await self._post("/points", {"ids": [HEAD_ID], "with_payload": True}))
        if not points:
            return None
        head = read_head(points[0].get("payload"))
        if head is None:
            raise ProviderError(f"{self.address} doesn't hold what `carrel publish` writes", "Check the name.")
        if head.format != FORMAT:
            raise ProviderError(f"{self.address} was published in format {head.format}", "Update Carrel.")
        return head

    async def search(
        self, head: Head, vector: Sequence[float], indices: Sequence[int], limit: int, characters: int = 0
    ) -> FoundIds:
        """Search by vector and by words in one request; either may be empty. Raises `ProviderError`."""
        visible = visible_at(head)
        searches: list[dict[str, Any]] = []
        if vector:
            searches.append(_search(list(vector), head.vector, limit, visible))
        if indices:
            whole = {"indices": list(indices), "values": [1.0] * len(indices)}
            searches.append(_search(whole, "words", limit, visible))
        # The best chunk of one term tells its rarity: the score is that times the chunk's own value.
        searches += [_search({"indices": [index], "values": [1.0]}, "words", 1, visible, ["words"]) for index in indices]
        if not searches:
            return FoundIds()
        answer = await self._post("/points/query/batch", {"searches": searches}, Load(1, characters))
        groups = [_points(item) for item in as_list(answer.get("result"))]
        if len(groups) != len(searches):
            raise _strange(self.address)
        dense = _scored(groups.pop(0)) if vector else ()
        words = _scored(groups.pop(0)) if indices else ()
        rarities: dict[int, float] = {}
        for index, [*best] in zip(indices, groups, strict=True):
            score, value = (best[0].get("score"), _words_of(best[0]).get(index)) if best else (None, None)
            if _is_number(score) and value and score > 0:
                rarities[index] = float(score) / value
        return FoundIds(dense, words, rarities)

    async def read(self, ids: Sequence[str]) -> list[ReadPoint]:
        """Return the chunks that are there and fit, in no order. Raises `ProviderError`."""
        if not ids:
            return []
        answer = await self._post("/points", {"ids": list(ids), "with_payload": True, "with_vector": ["words"]})
        wanted = frozenset(ids)
        points = []
        for item in _points(answer):
            chunk = read_chunk(item.get("payload"))
            name = item.get("id")
            if chunk is not None and isinstance(name, str) and name in wanted:
                points.append(ReadPoint(name, chunk, _words_of(item)))
        return points

    # --- the publisher

    async def prepare(self, dim: int) -> None:
        """Make the collection and its indexes where they are missing, as after a run that was killed here.

        A new collection has vectors of this dimension. Raises `ProviderError`.
        """
        try:
            answer = await self._send("GET", "", None, NO_LOAD)
        except ProviderError as error:
            if error.status != 404:
                raise
            answer = await self._make(dim)
        for name in _INDEXED:
            if name not in _indexes(answer):
                await self._put("/index?wait=true", {"field_name": name, "field_schema": "integer"})

    async def vector_name(self, dim: int, claimed: Head) -> str:
        """Return what vectors of this dimension are called for a run that has claimed the next state; make them where none are.

        Names that an earlier run may still delete aren't used: only that of what is visible, and those that were made since by
        runs that never ended, whose points are taken over. Raises `ProviderError`.
        """
        sizes = _dimensions(await self._send("GET", "", None, NO_LOAD))
        lasting = (name for name in sizes if name == claimed.vector or _made_by(name) > claimed.generation)
        name = next((name for name in lasting if sizes[name] == dim), None)
        if name is None:
            name = f"{FIRST_VECTOR}_{dim}_{claimed.claim}"
            await self._add_vector(name, dim)
        return name

    async def _add_vector(self, name: str, dim: int) -> None:
        """Have the collection take vectors of another dimension beside those that are there."""
        try:
            await self._put(f"/vectors/{name}?wait=true", {"dense": {"size": dim, "distance": "Cosine"}})
        except ProviderError as error:
            if error.status not in _NOT_DONE:
                raise
            # What was cut is sent again: the first time may have done it. A collection that is gone is told by this, too.
            sizes = _dimensions(await self._send("GET", "", None, NO_LOAD))
            if sizes.get(name) == dim:
                return
            if error.status != 404:
                raise
            held = " and ".join(str(sizes[name]) for name in sizes) or "other"
            raise ProviderError(
                f"{self.address} holds vectors of {held} values; the model gives {dim}, and this Qdrant can't hold both",
                "Update it to 1.18, or publish under another name.",
            ) from None

    async def forget_vectors(self, visible: Head) -> None:
        """Delete vectors of other names than the visible ones, but for those of later runs. Raises `ProviderError`."""

        async def old() -> list[str]:
            names = _dimensions(await self._send("GET", "", None, NO_LOAD))
            return [name for name in names if name != visible.vector and 0 <= _made_by(name) <= visible.generation]

        for name in await old():
            try:
                await self._send("DELETE", f"/vectors/{name}?wait=true", None, NO_LOAD)
            except ProviderError as error:
                if error.status not in _NOT_DONE or name in await old():
                    raise

    async def _make(self, dim: int) -> Any:
        """Make the collection, and return what it is: another first run may have made it at the same moment."""
        try:
            vectors = {FIRST_VECTOR: {"size": dim, "distance": "Cosine"}}
            await self._put("", {"vectors": vectors, "sparse_vectors": _SPARSE, **_ONE_PIECE})
        except ProviderError as error:
            if error.status != 409:
                raise
        return await self._send("GET", "", None, NO_LOAD)

    async def drop(self) -> None:
        """Delete everything that was published under the name."""
        try:
            await self._send("DELETE", "", None, NO_LOAD)
        except ProviderError as error:
            if error.status != 404:
                raise

    async def write_head(self, head: Head, expected: Head | None) -> Head:
        """Replace what is visible, unless somebody else did since `expected` was read. Raises `Overtaken` then."""
        written = msgspec.structs.replace(
            head, version=expected.version + 1 if expected else 1, token=secrets.token_hex(16), format=FORMAT
        )
        body: dict[str, Any] = {"points": [{"id": HEAD_ID, "vector": {}, "payload": msgspec.to_builtins(written)}]}
        # What is there is replaced where it has this token. The first of all has none to replace: its own is there only where
        # this same request was cut and is sent again.
        body["update_filter"] = _valued("token", (expected or written).token)
        await self._put(f"/points{_IN_ORDER}", body)
        await self.check_claim(written)
        return written

    async def check_claim(self, written: Head) -> None:
        """Raise `Overtaken` where somebody else has written since."""
        visible = await self.head()
        if visible is None or visible.token != written.token:
            raise Overtaken(f"Another publish of {self.address} has begun since", "It goes on; nothing was lost.")

    async def kept(self) -> AsyncIterator[Sequence[KeptPoint]]:
        """Give all points of chunks, page by page."""
        offset: Any = None
        while True:
            body = {"limit": PAGE, "with_payload": ["added", "removed"], "with_vector": False}
            answer = await self._post("/points/scroll", body | ({"offset": offset} if offset is not None else {}))
            yield [point for item in _points(answer) if (point := _kept(item))]
            offset = inner(answer, "result", "next_page_offset")
            if offset is None:
                return

    async def add(self, points: Sequence[Point], generation: int, vector: str = FIRST_VECTOR) -> None:
        """Write chunks of a generation; one that is there already, by another run whose turn it is now, stays as it is."""
        body = {
            "points": [_encoded(point, generation, vector) for point in points],
            "update_filter": _valued("added", generation),
        }
        await self._put(f"/points{_IN_ORDER}", body)

    async def mark(self, ids: Sequence[str], name: Literal["added", "removed"], generation: int) -> None:
        """Set `added` or `removed` of points that no later generation has touched."""
        for untouched in _untouched(ids, generation):
            await self._post(f"/points/payload{_IN_ORDER}", {"payload": {name: generation}, "filter": untouched})

    async def unmark(self, ids: Sequence[str], generation: int) -> None:
        """Take back that points were removed, where no later generation has touched them."""
        for untouched in _untouched(ids, generation):
            await self._post(f"/points/payload/delete{_IN_ORDER}", {"keys": ["removed"], "filter": untouched})

    async def delete(self, ids: Sequence[str], generation: int) -> None:
        """Delete points that no later generation has touched."""
        for untouched in _untouched(ids, generation):
            await self._post(f"/points/delete{_IN_ORDER}", {"filter": untouched})

    async def count(self, head: Head) -> int:
        """Return how many chunks are visible."""
        answer = await self._post("/points/count", {"filter": visible_at(head), "exact": True})
        count = inner(answer, "result", "count")
        if not isinstance(count, int):
            raise _strange(self.address)
        return count

    async def _post(self, path: str, body: Mapping[str, Any], load: Load = NO_LOAD) -> dict[str, Any]:
        return self._object(await self._send("POST", path, body, load))

    async def _put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._object(await self._send("PUT", path, body, NO_LOAD))

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None, load: Load) -> Any:
        """Send a request; one that is cut or refused for a while is sent again: to say any of them twice is harmless."""
        for pause in _READERS_PAUSES if path in _READING else _PUBLISHERS_PAUSES:
            try:
                return await self._client.send(method, self._at + path, body, load, most_bytes=MOST_BYTES)
            except ProviderError as error:
                if not error.retryable:
                    raise
            await asyncio.sleep(pause)
        return await self._client.send(method, self._at + path, body, load, most_bytes=MOST_BYTES)

    def _object(self, answer: Any) -> dict[str, Any]:
        if not isinstance(answer, dict):
            raise _strange(self.address)
        return answer


_NOT_DONE = (400, 404, 409)
"""What servers answer where a name is there already, or isn't any more."""
_SPARSE = {"words": {"modifier": "idf"}}
_ONE_PIECE = {"shard_number": 1, "optimizers_config": {"default_segment_number": 1}}
"""Of a new collection. A server else makes shards for its machines and segments for its cores: each of them is asked by every
question and takes some fifty mappings of memory, of which Linux lets a process have 65,530."""
_INDEXED = ("added", "removed")


def visible_at(head: Head) -> dict[str, Any]:
    """Return the filter of what is visible."""
    dead = list(head.dead)
    aborted = [{"key": "added", "match": {"any": dead}}] if dead else []
    gone: dict[str, Any] = {"must": [{"key": "removed", "range": {"lte": head.generation}}]}
    if dead:
        gone["must_not"] = [{"key": "removed", "match": {"any": dead}}]
    return {"must": [{"key": "added", "range": {"lte": head.generation}}], "must_not": [*aborted, gone]}


def _valued(name: str, value: str | int) -> dict[str, Any]:
    return {"must": [{"key": name, "match": {"value": value}}]}


def _untouched(ids: Sequence[str], generation: int) -> Iterator[dict[str, Any]]:
    """Give filters for points, page by page: of those that no generation after this one has added or marked as removed.

    A run that is overtaken may still write: what a later one shows must stay as that one left it.
    """
    later = [{"key": name, "range": {"gt": generation}} for name in _INDEXED]
    for at in range(0, len(ids), PAGE):
        yield {"must": [{"has_id": list(ids[at : at + PAGE])}], "must_not": later}


def _search(query: Any, using: str, limit: int, visible: Mapping[str, Any], vectors: Sequence[str] = ()) -> dict[str, Any]:
    request = {"query": query, "using": using, "limit": limit, "filter": visible, "with_payload": False}
    return request | {"with_vector": list(vectors)} if vectors else request


def _encoded(point: Point, generation: int, name: str) -> dict[str, Any]:
    words = {"indices": [index for index, _ in point.words], "values": [value for _, value in point.words]}
    vector: dict[str, Any] = {"words": words} if point.words else {}
    if any(point.vector):
        vector[name] = list(point.vector)
    return {"id": point.id, "vector": vector, "payload": {**payload_of(point.chunk), "added": generation}}


def _points(answer: object) -> list[dict[str, Any]]:
    """Return the points of an answer, whichever of the API's forms it has."""
    result = answer.get("result", answer) if isinstance(answer, dict) else None
    result = result.get("points") if isinstance(result, dict) else result
    return [item for item in as_list(result) if isinstance(item, dict)]


def _scored(items: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    return [
        (item["id"], float(item["score"])) for item in items if isinstance(item.get("id"), str) and _is_number(item.get("score"))
    ]


def _is_number(value: object) -> TypeGuard[float | int]:
    """Tell whether a value of an answer is a number that a float holds."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**53)


def _kept(item: Mapping[str, Any]) -> KeptPoint | None:
    added, removed = inner(item, "payload", "added"), inner(item, "payload", "removed")
    if not isinstance(added, int):  # what says what is visible has none
        return None
    return KeptPoint(str(item.get("id")), added, removed if isinstance(removed, int) else None)


def _words_of(item: Mapping[str, Any]) -> dict[int, float]:
    indices, values = (as_list(inner(item, "vector", "words", name)) for name in ("indices", "values"))
    if len(indices) > _MOST_TERMS:
        return {}
    pairs = zip(indices, values, strict=False)
    return {index: float(value) for index, value in pairs if isinstance(index, int) and _is_number(value)}


def _dimensions(answer: object) -> dict[str, int]:
    """Return the names of the vectors that a collection takes, with their dimensions."""
    vectors = as_dict(inner(answer, "result", "config", "params", "vectors"))
    return {name: size for name, held in vectors.items() if isinstance(size := inner(held, "size"), int)}


def _made_by(name: str) -> int:
    """Return the generation that made vectors of a name; 0 for the first ones, -1 where `carrel publish` didn't make them."""
    first, *numbers = name.split("_")
    fit = all(
        number.isascii() and number.isdecimal() and len(number) <= most for number, most in zip(numbers, (9, 16), strict=False)
    )
    if first != FIRST_VECTOR or len(numbers) > 2 or not fit:
        return -1
    return int(numbers[1]) if len(numbers) == 2 else 0


def _indexes(answer: object) -> frozenset[str]:
    """Return the fields of payloads that have an index."""
    return frozenset(as_dict(inner(answer, "result", "payload_schema")))


def _strange(address: PublishedAddress) -> ProviderError:
    return ProviderError(f"Qdrant at {address.host} gave an answer of another form", "Check that it is Qdrant 1.16 or later.")

"""Qdrant's real engine inside this process (`qdrant-edge-py`), behind as much of the client as `QdrantStore` uses."""

# ruff: noqa: ARG002 - these are the client's own signatures
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import qdrant_edge as edge
from qdrant_client import models


class EdgeClient:
    """One collection in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shard: Any = None
        self._params: Any = None

    async def collection_exists(self, _: str) -> bool:
        return self._shard is not None

    async def create_collection(self, _: str, *, vectors_config: models.VectorParams) -> None:
        params = edge.EdgeVectorParams(size=vectors_config.size, distance=edge.Distance.Cosine)
        self._shard = edge.EdgeShard.create(str(self._folder), edge.EdgeConfig(vectors={"": params}))
        self._params = vectors_config

    async def create_payload_index(self, _: str, name: str, kind: Any, *, wait: bool) -> None:
        """The engine looks at every point here."""

    async def get_collection(self, _: str) -> Any:
        return SimpleNamespace(config=SimpleNamespace(params=SimpleNamespace(vectors=self._params)))

    async def upsert(self, _: str, points: list[models.PointStruct], *, wait: bool) -> None:
        theirs = [edge.Point(point.id, cast("Any", point.vector), _payload(point.payload)) for point in points]
        self._shard.update(edge.UpdateOperation.upsert_points(theirs))

    async def delete(self, _: str, which: Any, *, wait: bool) -> None:
        if isinstance(which, models.PointIdsList):
            self._shard.update(edge.UpdateOperation.delete_points(which.points))
        else:
            self._shard.update(edge.UpdateOperation.delete_points_by_filter(_filter(which.filter)))

    async def query_points(
        self, _: str, *, query: list[float], query_filter: Any, limit: int, score_threshold: float | None, with_payload: bool
    ) -> Any:
        asked = edge.QueryRequest(
            limit=limit, query=edge.Query.Nearest(query), filter=_filter(query_filter), score_threshold=score_threshold
        )
        return SimpleNamespace(points=self._shard.query(asked))

    async def retrieve(self, _: str, ids: list[str], *, with_vectors: bool, with_payload: bool) -> Any:
        return self._shard.retrieve(ids, with_payload, with_vectors)

    async def scroll(self, _: str, *, limit: int, offset: Any, scroll_filter: Any, with_payload: bool, with_vectors: bool) -> Any:
        asked = edge.ScrollRequest(offset=offset, limit=limit, filter=_filter(scroll_filter), with_payload=with_payload)
        return self._shard.scroll(asked)

    async def count(self, _: str, *, exact: bool) -> Any:
        return SimpleNamespace(count=self._shard.count(edge.CountRequest(exact=exact)))

    async def delete_collection(self, _: str) -> None:
        self._shard.close()
        self._shard = None


def _payload(given: Any) -> Any:
    return {key: _told(value) for key, value in (given or {}).items()}


def _told(value: Any) -> Any:
    """Return a value as the engine's Python package tells it apart: it takes true for the number one."""
    return f"bool {value}" if isinstance(value, bool) else value


def _filter(given: models.Filter | None) -> Any:
    if given is None:
        return None
    return edge.Filter(must=[edge.Filter(should=[_condition(one) for one in group.should]) for group in given.must or []])  # type: ignore[union-attr]


def _condition(one: Any) -> Any:
    if one.match is not None:
        return edge.FieldCondition(one.key, match=edge.MatchValue(_told(one.match.value)))
    return edge.FieldCondition(one.key, range=edge.RangeFloat(gte=one.range.gte, lte=one.range.lte))

"""Chunks of an index as they are published: with the vector, their words, and what is shown of them."""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections.abc import Mapping, Sequence

from carrel.model.errors import CarrelError
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, CurrentChunk
from carrel.model.published import FORMAT, LONGEST_TEXT, Point, PublishedChunk, is_inside
from carrel.sources.published_words import Fields, words_of

_SHORT = 300
_MOST_NAMES = 50


def wanted_chunks(
    view: SnapshotView, files: Sequence[tuple[str, int, Sequence[str]]], model: str, *, with_text: bool
) -> tuple[dict[str, str], int]:
    """Return the ids of all chunks by those of their points, and the number of files. Runs on a thread.

    A point has another id for whatever else would be written of it. `files` are those of `Store.index_state`.
    """
    wanted: dict[str, str] = {}
    count = 0
    for path, _, ids in files:
        if not is_inside(path):
            continue
        count += 1
        for info in view.describe([doc for doc in view.resolve(ids) if doc is not None]):
            told = (FORMAT, model, with_text, info.id, info.start_line, info.end_line)
            named = "\0".join(map(str, told)).encode("utf-8", "replace")
            wanted[str(uuid.UUID(bytes=hashlib.blake2b(named, digest_size=16).digest()))] = info.id
    return wanted, count


def points_of(view: SnapshotView, wanted: Mapping[str, str], *, with_text: bool) -> list[Point]:
    """Read chunks as they are published: secrets masked, none that may not be read. Runs on a thread.

    Raises `CarrelError` where a file changed since it was indexed.
    """
    docs = [doc for doc in view.resolve(list(wanted.values())) if doc is not None]
    found = [chunk for chunk in view.read_current(docs, CancelToken()) if not isinstance(chunk, str)]
    if len(found) < len(wanted):
        raise CarrelError("Files changed while they were published", "Nothing of this run is visible; run it again.")
    return [_point(point, chunk, view.vector(doc), with_text) for point, doc, chunk in zip(wanted, docs, found, strict=True)]


def _point(point: str, chunk: CurrentChunk, vector: bytes, with_text: bool) -> Point:
    info = chunk.info
    kept = PublishedChunk(
        path=info.path,
        start_line=info.start_line,
        end_line=info.end_line,
        symbol=info.symbol[:_SHORT],
        container=info.container[:_SHORT],
        definitions=tuple(name[:_SHORT] for name in info.definitions[:_MOST_NAMES]),
        kind=info.kind,
        language=info.language,
        source=info.source,
        content_hash=info.content_hash,
        updated_at=max(info.updated_at, 0),
        text=chunk.text[:LONGEST_TEXT] if with_text else None,
    )
    name = " ".join((info.symbol, *info.definitions, info.signature))
    values = struct.unpack(f"<{len(vector) // 4}f", vector)
    return Point(point, [round(value, 6) for value in values], words_of(Fields(name, info.path, chunk.text)), kept)

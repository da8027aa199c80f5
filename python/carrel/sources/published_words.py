"""Words of chunks and questions as sparse vectors, so that a server of vectors can search by words as the local index does.

A value is how much a term says of a chunk: occurrences in name, path and body, corrected for length and saturated, as BM25F has
it. The server multiplies each by the term's rarity among what it holds. Terms are kept as hashes of 32 bits. Whoever has the
vectors can try which words are in a chunk: they are as confidential as its text.

Chunks of an index as they are published: with the vector, their words, and what is shown of them.
"""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from carrel.model.errors import CarrelError
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, CurrentChunk, split_names, stem
from carrel.model.patterns import lazy_pattern
from carrel.model.published import FORMAT, LONGEST_TEXT, Point, PublishedChunk, is_inside

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
            content = (FORMAT, model, with_text, info.id, info.start_line, info.end_line)
            named = "\0".join(map(str, content)).encode("utf-8", "replace")
            wanted[str(uuid.UUID(bytes=hashlib.blake2b(named, digest_size=16).digest()))] = info.id
    return wanted, count


def points_of(view: SnapshotView, wanted: Mapping[str, str], *, with_text: bool) -> list[Point]:
    """Read chunks as they are published: secrets masked, none that may not be read. Runs on a thread.

    Raises `CarrelError` where a file changed since it was indexed.
    """
    docs = [doc for doc in view.resolve(list(wanted.values())) if doc is not None]
    chunks = [chunk for chunk in view.read_current(docs, CancelToken()) if not isinstance(chunk, str)]
    if len(chunks) < len(wanted):
        raise CarrelError("Files changed while they were published", "Nothing of this run is visible; run it again.")
    return [_point(point, chunk, view.vector(doc), with_text) for point, doc, chunk in zip(wanted, docs, chunks, strict=True)]


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
    return Point(point, [round(value, 6) for value in values], words_of(name, info.path, chunk.text), kept)


Sparse = tuple[tuple[int, float], ...]
"""(index, value), by index."""

MOST_TERMS_OF_A_QUESTION = 32
_RUN = lazy_pattern(r"\w{2,128}")
_K1 = 1.2
_FIELDS = ((3.0, 0.3, 10.0), (1.5, 0.2, 6.0), (1.0, 0.75, 90.0))
"""Of name, path and body: weight, how much the length counts, and the length of a usual one. The core's weights; the lengths are
fixed, so that a chunk's vector doesn't depend on what else is published."""


def words_of(name: str, path: str, body: str) -> Sparse:
    """Return the sparse vector of a chunk by its names (symbol, definitions and signature), its path and its text."""
    weights: dict[str, float] = {}
    for text, (weight, by_length, usual) in zip((name, path, body), _FIELDS, strict=True):
        counts = Counter(terms(text))
        correction = 1.0 - by_length + by_length * counts.total() / usual
        for term, count in counts.items():
            weights[term] = weights.get(term, 0.0) + weight * count / correction
    values: dict[int, float] = {}
    for term, weight in weights.items():
        index = term_index(term)
        values[index] = round(max(values.get(index, 0.0), weight / (_K1 + weight)), 4)
    return tuple(sorted(values.items()))


def terms(text: str) -> Iterable[str]:
    """Give the terms of a text: words, parts of identifiers, and identifiers that have parts; stemmed."""
    for run in _RUN.findall(text):
        yield from _terms_of_run(run)


def question_terms(text: str) -> Sequence[str]:
    """Return the terms that a question is searched for by, each once."""
    return tuple(dict.fromkeys(terms(text)))[:MOST_TERMS_OF_A_QUESTION]


@lru_cache(maxsize=200_000)
def _terms_of_run(run: str) -> tuple[str, ...]:
    parts = split_names(run)
    whole = (run.lower(),) if len(parts) > 1 else ()
    return (*(stem(part) for part in parts), *whole)


@lru_cache(maxsize=200_000)
def term_index(term: str) -> int:
    """Return where a term stands in a sparse vector."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=4).digest(), "big")

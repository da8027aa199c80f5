"""The names that payloads have in stores of others, and values that any of them can keep."""

from __future__ import annotations

import json
from collections.abc import Mapping

from carrel.model.errors import InvalidInput
from carrel.model.ports import ChunkId, Scalar, VectorRecord
from carrel.model.structs import whole_characters
from carrel.model.vectors import BYTES_A_VALUE

COMMON_NAMES: Mapping[str, str] = {
    "path": "filePath",
    "start_line": "startLine",
    "end_line": "endLine",
    "content_hash": "contentHash",
}
"""As other programs know them; what isn't listed keeps its name."""


def check_dimensions(records: list[VectorRecord] | tuple[VectorRecord, ...], dim: int) -> None:
    """Raise `InvalidInput` where a vector has another number of values."""
    for record in records:
        check_dimension(record.vector, dim)


def check_dimension(vector: bytes, dim: int) -> None:
    """Raise `InvalidInput` where the vector has another number of values."""
    if len(vector) != BYTES_A_VALUE * dim:
        raise InvalidInput("vector", f"has {len(vector)} bytes; {dim} values of float32 are {BYTES_A_VALUE * dim}")


def last_of_each(records: list[VectorRecord], deleted: set[ChunkId]) -> list[VectorRecord]:
    """Return the records that are kept in the end: of equal ids the last, and none that is deleted."""
    return [record for record in {record.id: record for record in records}.values() if record.id not in deleted]


def plain(value: Scalar) -> Scalar:
    """Return a value that UTF-8 can hold."""
    return whole_characters(value) if isinstance(value, str) else value


def label(key: str, value: Scalar) -> str:
    """Return a pair of key and value as one ASCII text, for stores that filter by lists of texts.

    Equal values give equal texts, as in Python: 1, 1.0 and true are one value.
    """
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return json.dumps([key, value], separators=(",", ":"))

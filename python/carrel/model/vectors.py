"""Vectors as they pass between models, stores and the core: rows of little-endian float32."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence

from msgspec import Struct

BYTES_A_VALUE = 4
LENGTH_TOLERANCE = 1e-2
"""How far a length may be from one: some services round their values."""


class WrongVectors(ValueError):
    """Rows that aren't what they are said to be; the message quotes numbers only."""


class Vectors(Struct, frozen=True):
    """So many rows of `dim` values each, packed one after another; `data` is little-endian float32."""

    data: bytes
    dim: int

    def __post_init__(self) -> None:
        if self.dim <= 0 or len(self.data) % (BYTES_A_VALUE * self.dim):
            raise WrongVectors(f"{len(self.data)} bytes are not rows of {self.dim} float32 values")

    def __len__(self) -> int:
        return len(self.data) // (BYTES_A_VALUE * self.dim)

    def __getitem__(self, row: int) -> bytes:
        """Return one row, packed."""
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        size = BYTES_A_VALUE * self.dim
        start = row % len(self) * size
        return self.data[start : start + size]

    def __iter__(self) -> Iterator[bytes]:
        return (self[row] for row in range(len(self)))

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]], dim: int) -> Vectors:
        """Pack rows of numbers. Raises `ValueError` where a row doesn't have `dim` values."""
        if wrong := next((len(row) for row in rows if len(row) != dim), None):
            raise WrongVectors(f"a vector of {wrong} values where {dim} were due")
        return cls(b"".join(struct.pack(f"<{dim}f", *row) for row in rows), dim)

    @classmethod
    def unit(cls, rows: Sequence[Sequence[float]], dim: int) -> Vectors:
        """Pack rows of numbers, each scaled to length one; a zero row stays. Raises `ValueError` as `of` does."""
        lengths = [math.hypot(*row) or 1.0 for row in rows]
        return cls.of([[value / length for value in row] for row, length in zip(rows, lengths, strict=True)], dim)

    def floats(self, row: int) -> tuple[float, ...]:
        """Return one row as numbers."""
        return struct.unpack(f"<{self.dim}f", self[row])

    def fault(self, dim: int, rows: int) -> str | None:
        """Say what is wrong where these aren't so many rows of `dim` values, each of length one or zero."""
        if self.dim != dim or len(self) != rows:
            return f"{len(self)} vectors of {self.dim} values for {rows} texts; {dim} values each were due"
        for row in range(rows):
            length = math.hypot(*self.floats(row))
            if not math.isfinite(length):
                return "a vector with a value that is not a finite number"
            if length and not abs(length - 1) < LENGTH_TOLERANCE:
                return f"a vector of the length {length:g}, which must be one or zero (`Vectors.unit` scales rows)"
        return None

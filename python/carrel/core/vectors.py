"""Vectors as they pass between models, stores and the core: rows of little-endian float32."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BYTES_A_VALUE = 4


@dataclass(frozen=True, slots=True)
class Vectors:
    """So many rows of `dim` values each, packed one after another; `data` is little-endian float32."""

    data: bytes
    dim: int

    def __post_init__(self) -> None:
        if self.dim <= 0 or len(self.data) % (BYTES_A_VALUE * self.dim):
            raise ValueError(f"{len(self.data)} bytes are not rows of {self.dim} float32 values")

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
        if any(len(row) != dim for row in rows):
            raise ValueError(f"a row doesn't have {dim} values")
        return cls(b"".join(struct.pack(f"<{dim}f", *row) for row in rows), dim)

    def floats(self, row: int) -> tuple[float, ...]:
        """Return one row as numbers."""
        return struct.unpack(f"<{self.dim}f", self[row])

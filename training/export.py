"""Learned parameters to the one file that ships. FORMAT.md is the specification."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import xxhash

from training.encode import FIELDS
from training.train import Parameters

MAGIC = b"CARRELEM"
VERSION = 1
HEADER = 256
ALIGN = 64


def aligned(out: bytearray) -> int:
    """Pad to the next boundary and return it."""
    out.extend(b"\0" * (-len(out) % ALIGN))
    return len(out)


def checksum(data: bytes | bytearray) -> bytes:
    """XXH3-128 as 16 little-endian bytes: it finds damage, it doesn't prove origin."""
    return xxhash.xxh3_128_intdigest(bytes(data)).to_bytes(16, "little")


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 rows and the scale of each."""
    scale = np.abs(vectors).max(1) / 127
    scale[scale == 0] = 1
    return np.rint(vectors / scale[:, None]).clip(-127, 127).astype(np.int8), scale.astype(np.float32)


def export(entries: list[str], p: Parameters, fields: dict[str, float], floor: float, path: Path) -> int:
    """Write the file and return its size. `entries` must be in byte order."""
    raw = [entry.encode() for entry in entries]
    if raw != sorted(raw):
        raise ValueError("the vocabulary isn't in byte order")
    values, scale = quantise(p.vectors)
    offsets = np.zeros(len(raw) + 1, np.uint32)
    offsets[1:] = np.cumsum([len(entry) for entry in raw])
    parts = [
        offsets.astype("<u4").tobytes(),
        b"".join(raw),
        *((np.exp(getattr(p, table)) * scale).astype("<f4").tobytes() for table in ("query", "head", "body")),
        values.tobytes(),
    ]
    out = bytearray(HEADER)
    places = []
    for part in parts:
        places.append(aligned(out))
        out += part
    aligned(out)
    struct.pack_into("<8sIIIIQ", out, 0, MAGIC, VERSION, len(raw), values.shape[1], len(FIELDS), len(out))
    struct.pack_into("<6Q", out, 32, *places)
    struct.pack_into("<6f", out, 80, *(fields[field] for field in FIELDS), floor)
    struct.pack_into("<16s", out, HEADER - 32, checksum(out[HEADER:]))
    struct.pack_into("<16s", out, HEADER - 16, checksum(out[: HEADER - 16]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out)
    return len(out)

"""The model file read and used the way Carrel does it: the model for other implementations, with golden vectors.

Only the file and TOKENISER.md are needed; nothing here depends on the recipe's other modules but the splitter.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from training.tokeniser import Tokeniser

Array = NDArray[np.float32]


class Model:
    """A model file, checked and mapped."""

    def __init__(self, path: Path) -> None:
        raw = path.read_bytes()
        magic, version, count, dim, fields, length = struct.unpack_from("<8sIIIIQ", raw, 0)
        if (magic, version, length) != (b"CARRELEM", 1, len(raw)):
            raise ValueError("not a model file of version 1")
        for part, place in ((raw[256:], 224), (raw[:240], 240)):
            if xxhash.xxh3_128_intdigest(part).to_bytes(16, "little") != raw[place : place + 16]:
                raise ValueError("a checksum is wrong")
        places = struct.unpack_from("<6Q", raw, 32)
        numbers = struct.unpack_from(f"<{fields + 1}f", raw, 80)
        self.fields, self.floor, self.dim = numbers[:fields], numbers[fields], dim
        offsets = np.frombuffer(raw, "<u4", count + 1, places[0])
        blob = raw[places[1] : places[1] + int(offsets[-1])].decode("ascii")
        self.tokeniser = Tokeniser(blob[a:b] for a, b in pairwise(offsets))
        self.query, self.head, self.body = (np.frombuffer(raw, "<f4", count, place) for place in places[2:5])
        self.vectors = np.frombuffer(raw, np.int8, count * dim, places[5]).reshape(count, dim)

    def _add(self, out: Array, text: str, weights: Array, field: float) -> None:
        for token, count in Counter(self.tokeniser.encode(text)).items():
            out += np.float32(field * weights[token] * (1 + math.log(count))) * self.vectors[token]

    def _unit(self, out: Array) -> Array:
        length = float(np.sqrt((out.astype(np.float64) ** 2).sum()))
        return out / np.float32(length) if length > 0 else out

    def embed_chunk(self, path: str, symbol: str, signature: str, body: str, container: str = "") -> Array:
        """Return unit vector of a chunk; zero without words."""
        folders, _, name = path.rpartition("/")
        stem = name.rpartition(".")[0] or name
        out = np.zeros(self.dim, np.float32)
        for text, weights, field in zip(
            (folders, stem, f"{container} {symbol}", signature, body), (self.head,) * 4 + (self.body,), self.fields, strict=True
        ):
            self._add(out, text, weights, field)
        return self._unit(out)

    def embed_query(self, text: str) -> Array:
        """Return unit vector of a question; zero without words."""
        out = np.zeros(self.dim, np.float32)
        self._add(out, text, self.query, 1.0)
        return self._unit(out)


def rounded(vector: Array) -> list[float]:
    """As many digits as the comparison needs."""
    return [round(float(x), 5) for x in vector]


SAMPLES = [
    (
        "src/auth/SessionStore.ts",
        "revoke",
        "SessionStore",
        "revoke(id: string): Promise<void>",
        "{\n  await this.db.delete('sessions', id);\n}",
    ),
    (
        "lib/http2_parser.py",
        "parseHTTPHeader",
        "",
        "def parseHTTPHeader(raw: bytes) -> dict[str, str]:",
        "return {k: v for k, v in pairs(raw)} # utf8 only",
    ),
    ("Makefile", "", "", "", "build:\n\tcargo build --release\n"),
    ("docs/überblick.md", "Überblick > Größe", "", "", "Die Größe der Datei wird geprüft. naïve café 東京"),
    ("a/b/.gitignore", "", "", "", "target/\n*.pyc\n"),
    (
        "x.rs",
        "sha256_x86",
        "Hash<K, V>",
        "fn sha256_x86(state: &mut [u32; 8])",
        "let ABCDef = XMLHttpRequest2; zqxjkvbwyfooxx 12345678901",
    ),
    ("empty", "", "", "", "…"),
]
QUESTIONS = ["how does session revocation work", "parseHTTPHeader", "where is the SHA256 state updated?", "", "ÜBERBLICK", "the"]


def golden(path: Path) -> dict[str, object]:
    """Vectors that every implementation must give to within 1e-5."""
    model = Model(path)
    return {
        "model": xxhash.xxh3_128_hexdigest(path.read_bytes()),
        "chunks": [
            {
                "path": p,
                "symbol": s,
                "container": c,
                "signature": g,
                "body": b,
                "tokens": model.tokeniser.encode(b),
                "vector": rounded(model.embed_chunk(p, s, g, b, c)),
            }
            for p, s, c, g, b in SAMPLES
        ],
        "queries": [{"text": q, "tokens": model.tokeniser.encode(q), "vector": rounded(model.embed_query(q))} for q in QUESTIONS],
    }


if __name__ == "__main__":
    print(json.dumps(golden(Path(sys.argv[1]))))

"""Every vector store on the same real vectors, one after another in one run.

`python tests/bench/vector_stores.py FOLDER [ROWS] [DIM] [STORE ...]` embeds lines of the text files in FOLDER with the bundled
model. A dimension that isn't the model's is made by a fixed random projection, which keeps the angles. Qdrant needs
`CARREL_QDRANT_BINARY`. Prints a JSON object a store, with the machine's load at its end.
"""

# ruff: noqa: ASYNC110, ASYNC240 - a benchmark waits and looks at files on its own loop
from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient
from tests.contract import qdrant_server

from carrel.core.ports import ChunkId, VectorRecord
from carrel.providers.local import bundled
from carrel.store.hnsw import HnswStore
from carrel.store.lance import LanceStore
from carrel.store.memory import MemoryStore
from carrel.store.qdrant import QdrantStore
from carrel.store.segments import SegmentStore

QUERIES, FOUND, UPDATED = 200, 10, 20
Rows = NDArray[np.float32]


def texts(folder: Path, most: int) -> Iterator[str]:
    """Give different pieces of five lines from the files of a folder."""
    seen: set[int] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".py", ".rs", ".ts", ".js", ".go", ".java", ".md", ".rst", ".c", ".h", ".rb", ".php"}:
            continue
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for at in range(0, len(lines), 3):
            piece = "\n".join(lines[at : at + 5])
            if len(piece) > 60 and hash(piece) not in seen:
                seen.add(hash(piece))
                yield piece
                if len(seen) >= most:
                    return


def embedded(folder: Path, rows: int, dim: int) -> Rows:
    """Return unit vectors of so many pieces."""
    model = bundled()
    batches, taken = [], []
    for text in texts(folder, rows):
        taken.append(text)
        if len(taken) == 4096:
            batches.append(asyncio.run(model.embed(taken, "document")).data)
            taken = []
    if taken:
        batches.append(asyncio.run(model.embed(taken, "document")).data)
    made: Rows = np.frombuffer(b"".join(batches), "<f4").reshape(-1, model.spec.dim)
    if dim != model.spec.dim:
        made = made @ np.random.default_rng(0).standard_normal((model.spec.dim, dim)).astype(np.float32)
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    scaled: Rows = (made / np.where(lengths, lengths, 1)).astype("<f4")
    return scaled


def records(rows: Rows, numbers: range) -> list[VectorRecord]:
    """Make records; ten of them are of one file."""
    return [VectorRecord(identity(n), rows[n].tobytes(), {"path": f"{n // 10}.py", "language": "python"}) for n in numbers]


def identity(number: int) -> ChunkId:
    """Return an id as scattered as those of chunks are."""
    return ChunkId(f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}")


async def measure(
    name: str, store: Any, rows: Rows, sought: Rows, exact: list[set[ChunkId]], folder: Path, pid: int
) -> dict[str, Any]:
    """Fill a store, ask it, change it."""
    began = time.perf_counter()
    for at in range(0, len(rows), 10_000):
        await store.publish(records(rows, range(at, min(at + 10_000, len(rows)))))
    filled = time.perf_counter() - began
    if hasattr(store, "settled"):
        await store.settled()
    if hasattr(store, "tidy"):
        await store.tidy()
    if name == "qdrant":
        while str((await store._client.get_collection(store.collection)).status) != "green":
            await asyncio.sleep(0.2)
    built = time.perf_counter() - began
    times, hits = [], 0
    for query, best in zip(sought, exact, strict=True):
        began = time.perf_counter()
        found = await store.search(query.tobytes(), FOUND)
        times.append(1000 * (time.perf_counter() - began))
        hits += len(best & {chunk for chunk, _ in found})
    updates = []
    for n in range(UPDATED):
        began = time.perf_counter()
        of_file = range(10 * n, 10 * n + 10)
        await store.publish(records(rows, of_file), [identity(number) for number in of_file[:2]])
        updates.append(1000 * (time.perf_counter() - began))
    return {
        "store": name,
        "rows": len(rows),
        "dim": rows.shape[1],
        "published_s": round(filled, 1),
        "built_s": round(built, 1),
        "p50_ms": round(statistics.median(times), 2),
        "p99_ms": round(sorted(times)[int(0.99 * len(times))], 2),
        "recall": round(hits / (FOUND * len(exact)), 4),
        "update_of_a_file_ms": round(statistics.median(updates), 1),
        "disk_mb": round(sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 1e6),
        "resident_mb": round(psutil.Process(pid).memory_info().rss / 1e6),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Measure the stores that are named, or all."""
    folder, wanted, dim = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rows = embedded(folder, wanted + QUERIES, dim)
    random = np.random.default_rng(1).permutation(len(rows))
    sought, rows = rows[random[:QUERIES]], rows[np.sort(random[QUERIES:])]
    exact = [{identity(int(n)) for n in np.argpartition(-(rows @ query), FOUND)[:FOUND]} for query in sought]
    for name in sys.argv[4:] or ["segments", "hnsw", "lance", "qdrant"]:
        with tempfile.TemporaryDirectory() as place:
            pid = os.getpid()
            before = psutil.Process().memory_info().rss / 1e6
            if name == "memory":
                store: Any = MemoryStore(dim)
            elif name == "segments":
                store = SegmentStore(place, "bench", dim)
            elif name == "hnsw":
                store = HnswStore(Path(place), dim)
            elif name == "lance":
                store = LanceStore(place, "chunks", dim)
            else:
                url, process, server_folder = qdrant_server.start(os.environ["CARREL_QDRANT_BINARY"])
                pid, before = process.pid, 0.0
                client = AsyncQdrantClient(url=url, trust_env=False, timeout=600, check_compatibility=False)
                store = QdrantStore(client, "bench", dim, leaves_machine=False)
            figures = asyncio.run(
                measure(name, store, rows, sought, exact, server_folder if name == "qdrant" else Path(place), pid)
            )
            print(json.dumps({**figures, "resident_mb": round(figures["resident_mb"] - before)}), flush=True)
            if hasattr(store, "close"):
                store.close()


if __name__ == "__main__":
    main()

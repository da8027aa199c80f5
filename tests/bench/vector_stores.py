"""Every vector store on the same real vectors, one after another in one run, each in a process of its own.

    python -m tests.bench.vector_stores embed VECTORS.npy 1000200 FOLDER...
    python -m tests.bench.vector_stores measure VECTORS.npy 1000000 256 [STORE ...]

`embed` keeps the vectors that the bundled model gives different pieces of the code in some folders. `measure` asks for 200 of
them among the others. A dimension that isn't the model's is made by a fixed random projection, which keeps the angles. Qdrant
needs `CARREL_QDRANT_BINARY`. Prints a JSON object a store, with the machine's load at its end.
"""

# ruff: noqa: ASYNC110, ASYNC240 - a benchmark waits and looks at files on its own loop
from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient
from tests.contract import qdrant_server

from carrel.extensions.stores.lance import LanceStore
from carrel.extensions.stores.qdrant import QdrantStore
from carrel.model.fakes import MemoryStore
from carrel.model.ports import ChunkId, VectorRecord
from carrel.providers.local import bundled

QUERIES, FOUND, UPDATED = 200, 10, 20
LINES = 10
"""Of a piece."""
AS_NEAR = 1e-5
"""Pieces whose cosines differ by less are equally good answers."""
STORES = ("qdrant", "lance")
Rows = NDArray[np.float32]
_KINDS = tuple(f".{kind}" for kind in "c cc cpp cs go h hpp hs java js kt lua md php py rb rs scala sh swift ts zig".split())  # noqa: SIM905
_MOST_BYTES = 400_000


def texts(folders: Sequence[Path], most: int) -> Iterator[str]:
    """Give different pieces of the code in some folders."""
    seen: set[int] = set()
    paths = (Path(place, name) for folder in folders for place, _, names in os.walk(folder) for name in sorted(names))
    for path in paths:
        try:
            if path.suffix not in _KINDS or path.stat().st_size > _MOST_BYTES:
                continue
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for at in range(0, len(lines), LINES):
            piece = "\n".join(lines[at : at + LINES])
            if 100 < len(piece) <= 2_000 and hash(piece) not in seen:
                seen.add(hash(piece))
                yield piece
                if len(seen) >= most:
                    return


def embed(place: Path, most: int, folders: Sequence[Path]) -> None:
    """Keep the vectors of so many pieces as float16."""
    model = bundled()
    batches: list[NDArray[np.float16]] = []
    taken: list[str] = []

    def work() -> None:
        data = asyncio.run(model.embed(taken, "document")).data
        batches.append(np.frombuffer(data, "<f4").reshape(-1, model.spec.dim).astype(np.float16))
        taken.clear()

    for text in texts(folders, most):
        taken.append(text)
        if len(taken) == 4096:
            work()
    if taken:
        work()
    rows = np.concatenate(batches)
    np.save(place, rows[np.abs(rows).sum(axis=1) > 0])
    print(f"{len(rows):,} vectors")


def unit(rows: NDArray[Any], dim: int) -> Rows:
    """Return vectors of length 1 with so many values."""
    made: Rows = rows.astype(np.float32)
    if dim != made.shape[1]:
        made = made @ np.random.default_rng(0).standard_normal((made.shape[1], dim)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def records(rows: Rows, numbers: range) -> list[VectorRecord]:
    """Make records; ten of them are of one file."""
    return [VectorRecord(identity(n), rows[n].tobytes(), {"path": f"{n // 10}.py", "language": "python"}) for n in numbers]


def identity(number: int) -> ChunkId:
    """Return an id as scattered as those of chunks are."""
    return ChunkId(f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}")


def nearest(rows: Rows, query: Rows) -> set[ChunkId]:
    """Return the ids of the nearest vectors; where several are as near as the last of them, of all of these."""
    cosines = rows @ query
    least = np.partition(cosines, -FOUND)[-FOUND] - AS_NEAR
    return {identity(int(number)) for number in np.flatnonzero(cosines >= least)}


async def measure(
    name: str, store: Any, rows: Rows, sought: Rows, exact: Sequence[set[ChunkId]], folder: Path, pid: int
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


def one(name: str, rows: Rows, sought: Rows) -> None:
    """Measure one store, and print its figures."""
    dim = rows.shape[1]
    exact = [nearest(rows, query) for query in sought]
    with tempfile.TemporaryDirectory() as place:
        pid = os.getpid()
        before, folder = psutil.Process().memory_info().rss / 1e6, Path(place)
        if name == "memory":
            store: Any = MemoryStore(dim)
        elif name == "lance":
            store = LanceStore(place, "chunks", dim)
        else:
            url, process, folder = qdrant_server.start(os.environ["CARREL_QDRANT_BINARY"])
            pid, before = process.pid, 0.0
            client = AsyncQdrantClient(url=url, trust_env=False, timeout=600, check_compatibility=False)
            store = QdrantStore(client, "bench", dim, leaves_machine=False)
        figures = asyncio.run(measure(name, store, rows, sought, exact, folder, pid))
        print(json.dumps({**figures, "resident_mb": round(figures["resident_mb"] - before)}), flush=True)
        if hasattr(store, "close"):
            store.close()


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    embedding, measuring = actions.add_parser("embed"), actions.add_parser("measure")
    for action in (embedding, measuring):
        action.add_argument("vectors", type=Path)
        action.add_argument("rows", type=int)
    embedding.add_argument("folders", type=Path, nargs="+")
    measuring.add_argument("dim", type=int)
    measuring.add_argument("stores", nargs="*", metavar="STORE", help=f"memory {' '.join(STORES)}; without any the last two")
    given = parser.parse_args()
    if given.action == "embed":
        embed(given.vectors, given.rows, given.folders)
    elif len(given.stores) != 1:
        common = [sys.executable, "-m", "tests.bench.vector_stores", "measure", given.vectors, str(given.rows), str(given.dim)]
        for name in given.stores or STORES:
            subprocess.run([*common, name], check=True)
    else:
        kept = np.load(given.vectors, mmap_mode="r")
        chosen = np.random.default_rng(1).permutation(len(kept))[: given.rows + QUERIES]
        questions, others = unit(kept[chosen[:QUERIES]], given.dim), unit(kept[np.sort(chosen[QUERIES:])], given.dim)
        one(given.stores[0], others, questions)


if __name__ == "__main__":
    main()

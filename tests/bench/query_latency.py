"""Search in process, stage by stage: `python -m tests.bench.query_latency FOLDER [--rounds N] [--issues FILE] [--talk]`.

Indexes FOLDER once (kept in the cache folder for the next run) and asks questions in turn; prints the median and the 99th
percentile of every stage in milliseconds. With `--issues`, asks 120 texts of FILE instead, drawn evenly over its lines; each line
is a JSON object with `text`. A text that isn't read in parts is left out. With `--talk`, each question comes after a question and
an answer.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import time
from pathlib import Path

import platformdirs
from tests.support.indexing import run_index_blocking

from carrel.model.conversation import Message
from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.model.types import Budget, Query
from carrel.pack.context import pack_answer
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import find, read

QUESTIONS = (
    "how are database connections pooled",
    "parse command line arguments",
    "retry with exponential backoff",
    "QuerySet",
    "convert expression to string",
    "where is the session token validated",
    "matrix determinant",
    "read file in chunks",
    "the function that returns a new value for each item in the list of objects",
    "getConnection",
)
MOST_ISSUES = 120
BUDGET = Budget(1_000, "tokens")
TALK = (
    Message("user", "How are requests tried again when the server doesn't answer?"),
    Message(
        "assistant",
        "`RetryPolicy.next_pause()` says how long to wait: it doubles `base_delay` up to `max_delay`. `send_request()` asks it "
        "after each failure that `is_retryable()` accepts, and raises `RetriesExhausted` after `max_attempts`.",
    ),
)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--issues", type=Path)
    parser.add_argument("--talk", action="store_true")
    arguments = parser.parse_args()
    history = TALK if arguments.talk else ()
    root = arguments.folder.resolve()
    questions = issue_texts(arguments.issues) if arguments.issues else QUESTIONS
    model = bundled()
    directory = Path(platformdirs.user_cache_dir("carrel-bench-index")) / "latency" / root.name
    store = Store.open(
        str(directory), str(root), embedder_id=model.spec.id, dim=model.spec.dim, walk=WalkOptions(), cut=CutOptions()
    )
    began = time.perf_counter()
    run_index_blocking(store, model, CancelToken())
    print(f"index run {time.perf_counter() - began:.2f} s")
    view, tokenizer = store.snapshot(), ExactTokenizer()
    gc.freeze()  # as the server does once it has started
    stages: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for text in questions:
            began = time.perf_counter()
            query, token = Query(text, limit=10), CancelToken()
            ranking = find(view, prepare_blocking(query, model, history), token)
            found = read(ranking, query, token)
            searched = time.perf_counter()
            pack_answer(ranking, found.hits, query, BUDGET, tokenizer, token, read_lines=ranking.lines)
            found.stages["search in all"] = 1000 * (searched - began)
            found.stages["pack"] = 1000 * (time.perf_counter() - searched)
            for stage, took in found.stages.items():
                stages.setdefault(stage, []).append(took)
    print(f"{view.chunks} chunks of {view.files} files, peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    for stage, times in stages.items():
        print(f"{stage:14} p50 {statistics.median(times):6.2f}  p99 {sorted(times)[int(len(times) * 0.99)]:6.2f} ms")


def issue_texts(file: Path) -> list[str]:
    """Return up to 120 of the texts in `file` that are read in parts, spread over it."""
    texts = [json.loads(line)["text"] for line in file.read_text("utf-8").splitlines()]
    read_in_parts = [text for text in texts if prepare_blocking(Query(text), bundled()).issue]
    step = max(1, len(read_in_parts) // MOST_ISSUES)
    return read_in_parts[::step][:MOST_ISSUES]


if __name__ == "__main__":
    main()

"""`python -m training.run [BENCH_FOLDER]`: from collected packages to the model file, each step timed.

Steps whose result is there already are not repeated, except training itself; delete $CARREL_TRAINING to begin anew.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable

import numpy as np

from training import distill, encode, pairs, vocab
from training.bench import Bench
from training.encode import FIELDS
from training.export import export, quantise
from training.places import WORK
from training.tokeniser import Tokeniser
from training.train import Parameters, Recipe, train
from training.validate import unseen

MODEL = WORK / "carrel-embed-v1.bin"
# Question-like beginnings that documentation lacks and people use.
PHRASES = (
    "how does",
    "how is",
    "how are",
    "where is",
    "where are",
    "what does",
    "which code",
    "how to",
    "find the code that",
    "how the",
    "function that",
    "class for",
    "implementation of",
)
# The field weights that ship: the learned ones favour what tells the chunks of one file apart; questions mostly ask for the
# file, so the path counts for more. Chosen on 25 of the benchmark's repositories, checked on the other 13.
FIELD_FACTORS = {"dirs": 2.5, "stem": 5.0, "symbol": 1.25, "signature": 1.0, "body": 1.0}
FLOOR = 0.15
# The mean of three trainings from one start, which differ by the order of batches and by what is left out of them (Wortsman
# and others, "Model soups", ICML 2022): what one training owes to chance counts for less.
SEEDS = (1, 2, 3)


def timed(name: str, step: Callable[[], object]) -> None:
    """Run one step and say how long it took."""
    began = time.monotonic()
    step()
    print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)


def corpus() -> encode.Corpus:
    """Return the tokenised pairs, kept between runs."""
    kept = WORK / "corpus.pickle"
    if not kept.exists():
        kept.write_bytes(pickle.dumps(encode.load(), protocol=5))
    return pickle.loads(kept.read_bytes())  # type: ignore[no-any-return]  # noqa: S301 - written by the line above


def mean(models: list[Parameters]) -> Parameters:
    """Return the mean of each array of parameters."""
    arrays = [model.arrays() for model in models]
    return Parameters(**{name: np.asarray(np.mean([array[name] for array in arrays], axis=0), np.float32) for name in arrays[0]})


def shipped(p: Parameters) -> Parameters:
    """Return the parameters as they ship: int8 rows, final field weights."""
    values, scale = quantise(p.vectors)
    factors = np.array([FIELD_FACTORS[f] for f in FIELDS], np.float32)
    return Parameters(values * scale[:, None], p.query, p.head, p.body, p.fields * factors, p.temperature)


def main() -> None:
    """Everything in order."""
    if not (pairs.PAIRS / "pairs.jsonl").exists():
        timed("pairs", pairs.main)
    if not vocab.VOCABULARY.exists():
        timed("vocabulary", vocab.build)
    if not (WORK / "start.npy").exists():
        timed("start", distill.main)
    entries = json.loads(vocab.VOCABULARY.read_text())["entries"]
    began = time.monotonic()
    data = corpus()
    print(f"== tokenise: {time.monotonic() - began:.0f} s, {len(data.queries)} pairs of {len(data.names)} packages", flush=True)
    tokeniser = Tokeniser(entries)
    phrases = [tokeniser.encode(phrase) for phrase in PHRASES]
    models = []
    for seed in SEEDS:
        began = time.monotonic()
        models.append(train(data, Recipe(seed=seed), phrases))
        print(f"== train, seed {seed}: {time.monotonic() - began:.0f} s", flush=True)
    recipe = Recipe()
    print("fields as learned, each:", [unseen(data, model, recipe) for model in models], flush=True)
    learned = mean(models)
    print("fields as learned, mean:", unseen(data, learned, recipe), flush=True)
    (WORK / "learned.pickle").write_bytes(pickle.dumps(learned))
    final = shipped(learned)
    size = export(entries, learned, dict(zip(FIELDS, final.fields.tolist(), strict=True)), FLOOR, MODEL)
    print(
        MODEL,
        size,
        "bytes; unseen packages:",
        unseen(data, final, recipe),
        "without paths:",
        unseen(data, final, recipe, paths=False),
    )
    if len(sys.argv) > 1:
        for way in ("lines", "defs"):
            bench = Bench(sys.argv[1], entries, way)
            dense = bench.dense(final)
            bench.report(dense, WORK / f"dense-{way}.json")
            bench.report(bench.bm25(), WORK / f"bm25-{way}.json")
            bench.report(bench.fused(dense, bench.bm25()), WORK / f"rrf-{way}.json")


if __name__ == "__main__":
    main()

"""What `carrel tune` is worth on commits that it never saw: `python -m tests.bench.tune CHECKOUTS [NAME…]`.

CHECKOUTS is a folder of git checkouts. Of each, the newest commits are taken away; `carrel tune` learns and judges on the rest,
as it would have at that time, though with today's index. Then the commits that were taken away are asked for, with what it kept,
if it kept something. Printed: the table of docs/quality.md.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

import platformdirs
from tests.bench.quality import indexed

from carrel.core.native import CancelToken
from carrel.core.types import Query
from carrel.engine import evaluate, git, query_words, tune
from carrel.engine.prepare import prepare_blocking
from carrel.providers.local import bundled

NEWEST = 4_000
SECONDS = 45


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, help="a folder of git checkouts")
    parser.add_argument("names", nargs="*", help="which of them; all if none is named")
    parser.add_argument("--unseen", type=int, default=100, help="newest commits that can be asked, taken away (100)")
    arguments = parser.parse_args()
    embedder, token = bundled(), CancelToken()
    place = Path(platformdirs.user_cache_dir("carrel-bench-index")) / "tune"
    names = arguments.names or sorted(folder.name for folder in arguments.checkouts.iterdir() if (folder / ".git").exists())
    print(
        "| repository | remembered | weight | held back: gain | 90 % | used | later commits | without | with what is used | s |"
    )
    print("|" + " --- |" * 10)
    later: list[list[tuple[float, float]]] = []
    for name in names:
        folder = (arguments.checkouts / name).resolve()
        history = git.history(folder, NEWEST)
        if not history:
            sys.exit(f"{folder} has no history")
        store, view = indexed(str(folder), embedder, place)
        every = evaluate.cases(history, frozenset(view.paths()), len(history))
        asked = [case for case in every if query_words.read(case.question).is_change][: arguments.unseen]
        places = {record.sha: at for at, record in enumerate(history)}
        began = time.perf_counter()
        older = history[places[asked[-1].sha] + 1 :]
        found = tune.learn(view, lambda query: prepare_blocking(query, embedder), older, SECONDS, token, lambda *_: None)
        took = time.perf_counter() - began
        pairs = []
        for case in asked:
            prepared = prepare_blocking(Query(case.question, limit=evaluate.CUTOFF), embedder)
            pairs.append(tune.judged(view, prepared, found.adapter, case, token))
        later.append(pairs)
        before, after = (statistics.fmean(side) for side in zip(*pairs, strict=True))
        told = found.judgement
        gain = f"{told.gain:+.3f} | [{told.low:+.3f}, {told.high:+.3f}]" if told else " | "
        print(
            f"| {name.replace('+', '/')} | {found.remembered:,} | {found.weight:g} | {gain} | {'yes' if found.adapter else 'no'} "
            f"| {len(pairs)} | {before:.3f} | {after - before:+.3f} | {took:.1f} |",
            flush=True,
        )
        del store, view
    gains = [[after - before for before, after in pairs] for pairs in later]
    every_gain = [gain for of_one in gains for gain in of_one]
    rng = random.Random(0)  # noqa: S311 - repeatable, no secret
    draws = sorted(statistics.fmean(gain for _ in gains for gain in rng.choice(gains)) for _ in range(2_000))
    print(f"\nall: {statistics.fmean(every_gain):+.4f}, 95 % of draws of repositories [{draws[50]:+.4f}, {draws[-51]:+.4f}]")


if __name__ == "__main__":
    main()

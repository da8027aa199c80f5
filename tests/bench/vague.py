"""Are vague questions answered, alone and with a model's rewriting? `python -m tests.bench.vague FOLDER`.

vague.json holds questions and conversations in words that the code doesn't use, over pinned packages that are fetched at the
first run, with the lines that answer and what a model says that saw the question and the map of the project alone. FOLDER holds
checkouts, of which each four are asked questions of nothing_here.json. Printed: how many places packs of 8,000 tokens
show, how many packs are empty, and what is said to questions without an answer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
from tests.bench.quality import indexed
from tests.bench.spans_packages import Pinned, sources

from carrel.assist.assisted_retrieval import ALONE, Assistants, Question, retrieve_assisted_blocking
from carrel.model.conversation import Message
from carrel.model.local_index import CoreEmbedder
from carrel.model.native import CancelToken, Snapshot
from carrel.model.ports import ChatSpec, Delta
from carrel.model.types import Budget, ContextItem, Query
from carrel.pack.context import pack_answer
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.search.certainty import is_sure
from carrel.search.retriever import Ranking, Retrieval, read

CASES, NOTHING = Path(__file__).parent / "vague.json", Path(__file__).parent / "nothing_here.json"
TOKENS, HITS = 8_000, 20
GROUP = 4
EACH = 20
"""Questions without an answer, of each kind."""


class Scripted:
    """A chat model that says one thing."""

    spec = ChatSpec("scripted")

    def __init__(self, text: str) -> None:
        self._text = text

    async def stream(self, *_: Any) -> AsyncIterator[Delta]:
        """Say it."""
        yield Delta(self._text, finish="stop")


def shown(case: Mapping[str, Any], view: Snapshot, embedder: CoreEmbedder, helpers: Assistants) -> tuple[ContextItem, ...]:
    """Return what a pack shows somebody who asks."""
    turns = case.get("said", ())
    said = [message for asked, answer in turns for message in (Message("user", asked), Message("assistant", answer))]
    query, tokenizer = Query(case["asked"], limit=HITS), ExactTokenizer("o200k_base")

    def finish(ranking: Ranking, token: CancelToken) -> tuple[ContextItem, ...]:
        found = read(ranking, query, token, one_of_twins=True)
        budget = Budget(TOKENS, "tokens")
        return pack_answer(ranking, found.answer, query, budget, tokenizer, token, read_lines=ranking.lines).items

    return retrieve_assisted_blocking(Question(query, said), lambda: view, embedder, helpers, finish, CancelToken())


def is_shown(place: str, items: Sequence[ContextItem]) -> bool:
    """Tell whether a pack shows at least half of a place's lines."""
    path, _, lines = place.rpartition(":")
    first, last = map(int, lines.split("-"))
    there = {n for item in items if item.hit.chunk.path == path for start, end in item.runs for n in range(start, end + 1)}
    return 2 * len(there & set(range(first, last + 1))) >= last - first + 1


def measure(cache: Path) -> None:
    """Ask every case alone, and with the model."""
    cases, embedder = json.loads(CASES.read_text("utf-8")), bundled()
    views = {}
    for name, pinned in cases["packages"].items():
        root = sources(msgspec.convert(pinned, Pinned), cache / "packages")
        views[name] = indexed(str(root), embedder, cache / "index")
    for kind in ("questions", "conversations"):
        places, counts, empty = 0, [0, 0], 0
        for case in cases[kind]:
            view = views[case["package"]][1]
            told = []
            ways = (ALONE, Assistants(Scripted(case["rewritten"]), when="unsure"))
            for at, helpers in enumerate(ways):
                items = shown(case, view, embedder, helpers)
                found = sum(is_shown(place, items) for place in case["places"])
                counts[at] += found
                told.append(f"{found}/{len(case['places'])} of {len(items)}")
                empty += not at and not items
            places += len(case["places"])
            print(f"{' -> '.join(told):20} {case['package']}: {case['asked']}")
        alone, helped = (f"{count} of {places} ({count / places:.0%})" for count in counts)
        print(f"{kind}: places shown alone {alone}, with the model {helped}; empty packs alone: {empty}\n")


def unanswerable(checkouts: Path, cache: Path) -> None:
    """Ask questions without an answer, each in one of each four checkouts."""
    texts = [text for some in json.loads(NOTHING.read_text("utf-8")).values() for text in some[:: len(some) // EACH][:EACH]]
    embedder, token = bundled(), CancelToken()
    roots = sorted(path for path in checkouts.iterdir() if path.is_dir())
    groups = [roots[first : first + GROUP] for first in range(0, len(roots), GROUP)]
    unsure, given = 0, 0
    for group in groups:
        stores = [indexed(str(root), embedder, cache / "index") for root in group]
        for number, text in enumerate(texts):
            view, query = stores[number % len(group)][1], Query(text, limit=HITS)

            def finish(ranking: Ranking, token: CancelToken, query: Query = query) -> Retrieval:
                return read(ranking, query, token)

            found = retrieve_assisted_blocking(Question(query), lambda view=view: view, embedder, ALONE, finish, token)  # type: ignore[misc]
            unsure += not is_sure(found.confidence)
            given += bool(found.wanted)
            if found.wanted:
                print(f"{found.confidence:.2f} {group[number % len(group)].name}: {text}")
        for store, _ in stores:
            store.close()
    means = f"{unsure / len(groups):.1f} of {len(texts)} unsure or nothing; unasked {given / len(groups):.1f} get context"
    print(f"without an answer, mean of {len(groups)} times {GROUP} checkouts: {means}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("carrel-bench")))
    arguments = parser.parse_args()
    measure(arguments.cache)
    unanswerable(arguments.checkouts, arguments.cache)


if __name__ == "__main__":
    main()

"""Are follow-up questions answered as well as the same questions in full? `python -m tests.bench.turns FOLDER`.

FOLDER holds a checkout of each repository that turns.json and dialogues.json name, under its name, tests included. Asked are
follow-ups that can't be answered alone, questions that change the topic, and questions about the file or the lines in front.
Answers are a sentence or two in turns.json, and as long and as formatted as those of chat models in dialogues.json. `fitted`
says which repositories the rules were made on. Printed: NDCG@10 of the files, alone, with what Carrel knows of the
conversation, and in full.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from tests.bench.history_cases import ndcg
from tests.bench.quality import indexed

from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted_blocking
from carrel.model.conversation import Message
from carrel.model.native import CancelToken, Snapshot
from carrel.model.types import Hit, Lines, Query
from carrel.providers.local import bundled
from carrel.search.name_relations import related_first
from carrel.search.retriever import Ranking, read

CASES = {"short answers": "turns.json", "answers of chat models": "dialogues.json"}
HITS = 20
WAYS = ("alone", "with history", "in full")
KINDS = {"follow_ups": "follow-ups", "topic_changes": "topic changes", "in_front": "about what is in front"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One case and what each way of asking gave."""

    case: Mapping[str, Any]
    answers: str
    kind: str
    fitted: bool
    figures: Mapping[str, float]
    found: Mapping[str, Sequence[str]]


def questions(case: Mapping[str, Any]) -> dict[str, Question]:
    """The same question three ways; a topic change needs no history and is in full already."""
    alone = Query(case["asked"], HITS)
    selection = case.get("selection")
    in_front = Query(
        case["asked"],
        HITS,
        active_path=case.get("active"),
        selection=Lines(case["active"], *selection) if selection else None,
    )
    said = (Message("user", case["first"]), Message("assistant", case["answer"])) if "first" in case else ()
    full = Query(case.get("full", case["asked"]), HITS)
    return dict(zip(WAYS, (Question(alone), Question(in_front, said), Question(full)), strict=True))


def ask(case: Mapping[str, Any], answers: str, kind: str, view: Snapshot, *, fitted: bool) -> Asked:
    """Ask one case in each way."""
    found: dict[str, list[str]] = {}
    for way, question in questions(case).items():
        hits = retrieve_assisted_blocking(
            question,
            lambda: view,
            bundled(),
            ALONE,
            _as_searches_do,
            CancelToken(),
        )
        found[way] = list(dict.fromkeys(hit.chunk.path for hit in hits))
    figures = {way: ndcg(paths, case["relevant"]) for way, paths in found.items()}
    return Asked(case, answers, kind, fitted, figures, found)


def _as_searches_do(ranking: Ranking, token: CancelToken) -> Sequence[Hit]:
    return related_first(read(ranking, ranking.query, token), ranking, ranking.query, token).hits


def table(asked: Sequence[Asked]) -> None:
    """Print the means."""
    print("| | n | " + " | ".join(WAYS) + " |\n|" + " --- |" * (2 + len(WAYS)))
    rows: dict[str, Callable[[Asked], bool]] = {
        "": lambda _: True,
        ", repositories fitted on": lambda one: one.fitted,
        ", repositories kept aside": lambda one: not one.fitted,
    }
    for kind, answers in itertools.product(KINDS, CASES):
        for suffix, chosen in rows.items():
            group = [one for one in asked if one.kind == kind and one.answers == answers and chosen(one)]
            if group:
                means = " | ".join(f"{statistics.fmean(one.figures[way] for one in group):.3f}" for way in WAYS)
                print(f"| {KINDS[kind]}, {answers}{suffix} | {len(group)} | {means} |")


def main() -> None:
    """Print the table and the worst cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the checkouts, by the names in turns.json and dialogues.json")
    parser.add_argument("--worst", action="store_true", help="also print what lost more than .1 against the full question")
    arguments = parser.parse_args()
    cache = Path(platformdirs.user_cache_dir("carrel-bench-index")) / "turns"
    asked: list[Asked] = []
    for answers, file in CASES.items():
        data = json.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
        for name, repository in data["repositories"].items():
            store, view = indexed(str((arguments.folder / name).resolve()), bundled(), cache)
            for kind in KINDS:
                cases = (case for case in data[kind] if case["repo"] == name)
                asked += [ask(case, answers, kind, view, fitted=repository["fitted"]) for case in cases]
            del store, view
    table(asked)
    if arguments.worst:
        for one in sorted(asked, key=lambda one: one.figures[WAYS[1]] - one.figures[WAYS[2]]):
            if one.figures[WAYS[1]] < one.figures[WAYS[2]] - 0.1:
                shown = "  ".join(f"{way} {figure:.2f}" for way, figure in one.figures.items())
                print(f"{one.case['repo']}: {one.case['asked']}  ({shown})\n    wanted {one.case['relevant']}")
                print(f"    found {list(one.found[WAYS[1]])[:4]}")


if __name__ == "__main__":
    main()

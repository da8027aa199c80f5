"""What it is worth to know the file in front of a person: `python -m tests.bench.scenes CHECKOUTS`.

CHECKOUTS is a folder of git checkouts. A commit that changed several files is asked for by its subject, each of its files
in turn (three at most) being the active one: how well are the others found? And what does it cost when any file of the
repository, drawn with a seed, is in front instead? Printed: the tables of docs/quality.md.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from tests.bench import history_cases
from tests.bench.quality import Figures, difference, indexed, mean
from tests.support.repositories import history

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import Embedder
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search import ranking
from carrel.search.candidates import search
from carrel.search.ranking import rank

COMMITS = 60
"""So many of each repository, the newest."""
NEWEST = 4000
"""So far back they are looked for."""
MOST_ACTIVE = 3
RULES = ("in_view", "nearby", "tied")
FILES = 10


@dataclass(frozen=True, slots=True)
class Scene:
    """A question, the file in front, and the files to find."""

    id: str
    question: str
    active: str
    wanted: frozenset[str]


def related(name: str, cases: list[history_cases.Case]) -> Iterator[Scene]:
    """Each commit of several files, with one of them in front."""
    for case in cases:
        if len(case.paths) > 1:
            for active in sorted(case.paths)[:MOST_ACTIVE]:
                yield Scene(f"{name}#{case.sha}/{active}", case.question, active, case.paths - {active})


def unrelated(name: str, cases: list[history_cases.Case], paths: list[str]) -> Iterator[Scene]:
    """Each commit, with any file in front."""
    rng = random.Random(name)  # noqa: S311 - repeatable, no secret
    for case in cases:
        yield Scene(f"{name}#{case.sha}", case.question, rng.choice(paths), case.paths)


def figures(
    view: SnapshotView, embedder: Embedder, scene: Scene, arms: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, float]]:
    """How well the wanted files are found without some rules; the active one doesn't count where it isn't wanted."""
    query = Query(scene.question, limit=50, active_path=scene.active)
    [text] = prepare_blocking(query, embedder).texts.values()
    ranked, asked = search(view, text, query, embedder.spec.floor, CancelToken())
    told: Figures = {}
    for arm, without in arms.items():
        order = rank(ranked, asked, ranking.editor_context(query), without=without)
        paths = [r.path for r in order if r.path != scene.active or scene.active in scene.wanted]
        first = set(list(dict.fromkeys(paths))[:FILES])
        told[arm] = {"ndcg10": history_cases.ndcg(paths, scene.wanted), "recall10": len(first & scene.wanted) / len(scene.wanted)}
    return told


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, help="a folder of git checkouts")
    checkouts = sorted(folder for folder in parser.parse_args().checkouts.resolve().iterdir() if (folder / ".git").exists())
    embedder, place = bundled(), Path(platformdirs.user_cache_dir("carrel-bench-index")) / "scenes"
    arms = {"nothing": frozenset[str]()} | {rule: frozenset({rule}) for rule in RULES} | {"all three": frozenset(RULES)}
    kinds = ("one of the commit's files in front", "any file in front")
    told: dict[str, dict[str, Figures]] = {kind: {arm: {} for arm in arms} for kind in kinds}
    for folder in checkouts:
        store, view = indexed(str(folder), embedder, place)
        paths = view.paths()
        cases = history_cases.cases(history(folder, NEWEST) or (), set(paths), COMMITS)
        for kind, scenes in zip(kinds, (related(folder.name, cases), unrelated(folder.name, cases, paths)), strict=True):
            for scene in scenes:
                for arm, figure in figures(view, embedder, scene, arms).items():
                    told[kind][arm][scene.id] = figure
        del store
    for kind in kinds:
        full = told[kind].pop("nothing")
        print(f"\n{kind}: {len(full)} questions, NDCG@10 {mean(full, 'ndcg10'):.3f}, recall@10 {mean(full, 'recall10'):.3f}")
        print("\n| without | NDCG@10 | 95 % | recall@10 files | 95 % |\n| --- | --- | --- | --- | --- |")
        for arm, less in told[kind].items():
            parts = [difference(full, less, key) for key in ("ndcg10", "recall10")]
            print(f"| {arm} | " + " | ".join(f"{d:+.4f} | [{low:+.4f}, {high:+.4f}]" for d, low, high in parts) + " |")


if __name__ == "__main__":
    main()

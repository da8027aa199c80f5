"""Do questions of users find the documents, and those of developers the code? `python -m tests.bench.usage FOLDER`.

FOLDER holds a checkout of each repository that usage.json names, under its name. Its questions all ask "how do I …" or alike: of
those marked "documents" the answer is a page for users, of those marked "code" it is the program. The paths that answer were
chosen before any result was looked at; one that ends in a slash stands for what is in that folder. Printed: in how many the
first of these files is among the first 1, 3 and 10 hits, and in how many a pack of 2,000 tokens shows one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import carrel
from carrel import Budget

CASES = Path(__file__).parent / "usage.json"
HITS = 10
FIRST = (1, 3, 10)
TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the place of its first right file, None where there is none, and whether the pack shows one."""

    kind: str
    place: int | None
    packed: bool


def ask(index: carrel.Index, case: dict[str, object]) -> Asked:
    """Ask one question."""
    question, right = str(case["asked"]), tuple(str(path) for path in case["paths"])  # type: ignore[attr-defined]  # a list
    hits = index.search(question, k=HITS)
    place = next((place for place, hit in enumerate(hits, 1) if hit.file_path.startswith(right)), None)
    pack = index.context(question, Budget(TOKENS, "tokens"))
    return Asked(str(case["answer"]), place, any(item.hit.chunk.path.startswith(right) for item in pack.items))


def row(name: str, asked: Sequence[Asked]) -> str:
    """Return a line of the table."""
    counts = [sum(one.place is not None and one.place <= first for one in asked) for first in FIRST]
    cells = [name, len(asked), *counts, sum(one.packed for one in asked)]
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the checkouts, by the names in usage.json")
    folder = parser.parse_args().folder
    data = json.loads(CASES.read_text(encoding="utf-8"))
    asked: dict[tuple[str, bool], list[Asked]] = {}
    for name, repository in data["repositories"].items():
        with carrel.Index(folder / name) as index:
            index.index()
            for case in data["questions"]:
                if case["repo"] == name:
                    asked.setdefault((case["answer"], repository["fitted"]), []).append(ask(index, case))
    print(f"| answered by | n | {' | '.join(f'in the first {first}' for first in FIRST)} | in the pack |\n|{' --- |' * 6}")
    for kind in ("documents", "code"):
        for fitted, name in ((True, "rules made on these"), (False, "kept aside")):
            print(row(f"{kind}, {name}", asked.get((kind, fitted), [])))


if __name__ == "__main__":
    main()

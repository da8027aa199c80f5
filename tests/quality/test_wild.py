"""The short form of tests.bench.wild: small trees in several languages, of which words, names and lines are asked for.

All of a tree's text is asked for, whether the index has it or not. What fails today is counted in wild_shortfalls.json:
`python -m tests.quality.test_wild --freeze` counts anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest
from tests.bench.wild_checks import ADDED, GOALS, Tree, examine
from tests.quality.wild_fixtures import NAMES, lay_out

from carrel.providers.local import bundled

MOST = 200
SHORTFALLS = Path(__file__).with_name("wild_shortfalls.json")


def failures(name: str, root: Path) -> dict[str, list[str]]:
    """Lay out a tree and return what doesn't hold of it, by invariant; how rare a word is among so few files says little."""
    definitions = lay_out(name, root)
    tree = Tree(root, bundled())
    try:
        tallies = examine(tree, tree.texts, definitions, MOST, seed=1, uses=2)
    finally:
        tree.close()
    return {invariant: tally.failures for invariant, tally in tallies.items() if tally.failures and invariant != ADDED}


def shortfalls() -> dict[str, dict[str, int]]:
    """Return how much is known to fail, by tree and invariant."""
    known: dict[str, dict[str, int]] = json.loads(SHORTFALLS.read_text("utf-8"))
    return known


@pytest.mark.parametrize("name", NAMES)
def test_no_more_fails_than_is_known(name: str, tmp_path: Path) -> None:
    known, found = shortfalls()[name], failures(name, tmp_path)
    worse = {invariant: failed for invariant, failed in found.items() if len(failed) > known.get(invariant, 0)}
    assert not worse, "\n".join(
        f"{invariant}: {len(failed)} fail, {known.get(invariant, 0)} are known:\n    " + "\n    ".join(failed)
        for invariant, failed in worse.items()
    )


def test_each_shortfall_is_of_something_that_is_measured() -> None:
    assert sorted(shortfalls()) == sorted(NAMES)
    assert {invariant for known in shortfalls().values() for invariant in known} <= set(GOALS)


def freeze() -> None:
    """Write what fails now."""
    counts = {}
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            counts[name] = {invariant: len(failed) for invariant, failed in failures(name, Path(folder)).items()}
    SHORTFALLS.write_text(json.dumps(counts, indent=1) + "\n", "utf-8", newline="\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--freeze"]:
        sys.exit("Give --freeze to count anew what fails; pytest compares.")
    freeze()

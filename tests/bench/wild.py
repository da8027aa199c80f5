"""Do invariants hold on projects that nobody tuned for? `python -m tests.bench.wild [FOLDER…] [--only NAME] [--out FILE]`.

Without FOLDER: the packages of wild.json, fetched at the first run and kept. Needs universal-ctags. A third of them, by a hash of
the name, is kept aside: asked with `--kept-aside` alone, and without examples. Printed: by invariant the mean over packages, the
goal and worst packages, in per cent; then examples of what failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import platformdirs
from tests.bench.spans_packages import FetchError, Pinned, sources
from tests.bench.wild_checks import GOALS, Tallies, Tree, examine
from tests.bench.wild_trees import ProgramMissing, definitions_by_ctags

from carrel.providers.local import bundled

PACKAGES = Path(__file__).parent / "wild.json"
WORST = 3
LEAST = 10
"""A package with less to look at has no share of its own in the mean: of one definition it would be 0 or 100."""

Results = dict[str, Tallies]


class WildPackage(Pinned, frozen=True, kw_only=True):
    """A package that nothing of Carrel was made on."""

    ecosystem: str

    @property
    def kept_aside(self) -> bool:
        """Tell whether it is one of the third that nobody looks into."""
        return hashlib.sha256(self.package.encode()).digest()[0] % 3 == 0


def percent(tallies: Tallies, name: str) -> float | None:
    """Return how often an invariant held; None where there was too little to look at."""
    tally = tallies[name]
    return 100 * tally.held / tally.looked_at if tally.looked_at >= LEAST else None


def table(results: Mapping[str, Tallies]) -> list[str]:
    """Return the lines of a table with one row an invariant."""
    lines = ["| % | mean | goal | looked at | packages below the goal | the worst |", "| --- | --- | --- | --- | --- | --- |"]
    for name, goal in GOALS.items():
        values = {package: value for package, tallies in results.items() if (value := percent(tallies, name)) is not None}
        if not values:
            continue
        looked_at = sum(tallies[name].looked_at for tallies in results.values())
        below = sum(value < goal for value in values.values()) if goal else "-"
        worst = sorted((value, package) for package, value in values.items() if value < 100)[:WORST]
        named = ", ".join(f"{package} {value:.1f}" for value, package in worst) or "-"
        mean = statistics.fmean(values.values())
        lines.append(f"| {name} | {mean:.1f} | {goal or '-'} | {looked_at:,} | {below} | {named} |")
    return lines


def examples(results: Mapping[str, Tallies], most: int) -> list[str]:
    """Return what failed, at most so much of an invariant and package."""
    lines = []
    for name in GOALS:
        lines += ["", f"## {name}"]
        for package, tallies in results.items():
            failures = tallies[name].failures
            lines += [f"- {package}: {failure}" for failure in failures[:most]]
            lines += [f"- {package}: … and {len(failures) - most} more"] if len(failures) > most else []
    return lines


def chosen(*, kept_aside: bool, only: str) -> list[WildPackage]:
    """Return the pinned packages to ask."""
    every = msgspec.json.decode(PACKAGES.read_bytes(), type=list[WildPackage])
    return [one for one in every if one.kept_aside == kept_aside and only in one.package]


def folders(arguments: argparse.Namespace) -> list[tuple[str, Path]]:
    """Return what is asked, by name. Raises `FetchError`."""
    if arguments.folders:
        return [(folder.name, folder.resolve()) for folder in arguments.folders]
    cache = Path(platformdirs.user_cache_dir("carrel-bench-wild"))
    packages = chosen(kept_aside=arguments.kept_aside, only=arguments.only)
    return [(one.package, sources(one, cache / "packages")) for one in packages]


def measured(named: Sequence[tuple[str, Path]], count: int, seed: int) -> Results:
    """Examine each folder. Raises `ProgramMissing`."""
    embedder, results = bundled(), Results()
    for name, root in named:
        began = time.perf_counter()
        tree = Tree(root, embedder)
        try:
            results[name] = examine(tree, tree.texts_meant(), definitions_by_ctags(root, tree.texts), count, seed)
        finally:
            tree.close()
        print(f"{name}: {len(tree.texts):,} text files, {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return results


def main() -> None:
    """Print the table and examples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="a source tree, in place of the packages")
    parser.add_argument("--only", default="", help="only packages whose name holds this")
    parser.add_argument("--kept-aside", action="store_true", help="the packages that are kept aside; without examples")
    parser.add_argument("--count", type=int, default=60, help="questions of a kind for a package at most (60)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn (1)")
    parser.add_argument("--examples", type=int, default=3, help="examples of an invariant and package at most (3)")
    parser.add_argument("--out", type=Path, help="write every figure, and every failure, as JSON")
    arguments = parser.parse_args()
    try:
        results = measured(folders(arguments), arguments.count, arguments.seed)
    except (FetchError, ProgramMissing) as error:
        sys.exit(str(error))
    if not results:
        sys.exit(f"No package of {PACKAGES.name} has a name that holds {arguments.only!r}.")
    most = 0 if arguments.kept_aside else arguments.examples
    print("\n".join(table(results)))
    if most:
        print("\n".join(examples(results, most)))
    if arguments.out:
        rows = {
            package: {name: [one.held, one.looked_at, one.failures if most else []] for name, one in tallies.items()}
            for package, tallies in results.items()
        }
        arguments.out.write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    main()

"""Of copies that differ by version or platform, is the right one given, and alone? `python -m tests.bench.twins FOLDER`.

FOLDER holds the packages of `twins.json` as their registries give them, unpacked, each under the last part of its name (of a Go
module the part before a version). Each question is asked with a pack of 2,000 tokens; the machine is Linux unless a case says
otherwise. `--without` leaves the choice between twins out.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs
from tests.bench.quality import indexed

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Candidate
from carrel.model.types import Budget, Query
from carrel.pack.context import pack
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search import retriever, twins
from carrel.search.order import Order

CASES = Path(__file__).parent / "twins.json"
TOKENS = 2_000


def place_of(folder: Path, package: str) -> Path:
    """Where a package was unpacked."""
    return folder / re.sub(r"/v\d+$", "", package).rpartition("/")[2]


def outcome(found: retriever.Retrieval, view: Any, case: dict[str, Any]) -> tuple[bool, bool, list[str]]:
    """Whether the right twin is the first of all that the pack shows, whether it is the only one, and what was shown of them."""
    packed = pack(found.hits, Budget(TOKENS, "tokens"), ExactTokenizer(), query=case["question"], read_lines=view.lines)
    shown = list(dict.fromkeys(i.hit.chunk.path for i in packed.items if i.hit.chunk.path in {case["want"], *case["twins"]}))
    return shown[:1] == [case["want"]], shown == [case["want"]], shown


def main() -> None:
    """Print a table, and each case that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", action="store_true")
    arguments = parser.parse_args()
    model, index = bundled(), Path(platformdirs.user_cache_dir("carrel-bench-twins"))
    asked: dict[str, Any] = {}

    def unsettled(view: SnapshotView, order: Order, query: Query) -> tuple[Order, Mapping[int, Candidate]]:
        return order, {}

    twins.machine = lambda: (asked.get("machine", "linux"), "amd64")
    if arguments.without:
        twins.settle = unsettled
    results: list[tuple[bool, bool, bool]] = []
    for package in json.loads(CASES.read_text()):
        _, view = indexed(str(place_of(arguments.folder, package["package"])), model, index)
        known = set(view.paths())
        for case in package["cases"]:
            assert {case["want"], *case["twins"]} <= known, f"{package['package']}: {case} isn't for this version"
            asked = case
            query = Query(case["question"], limit=10, active_path=case.get("front"))
            ranking = retriever.find(view, prepare_blocking(query, model), CancelToken())
            found = retriever.read(ranking, query, CancelToken(), one_of_twins=True)
            first, alone, shown = outcome(found, view, case)
            results.append((package["kept_aside"], first, alone))
            if not (first and alone):
                print(f"{package['package']}: {case['question']} ({case['want']}): {shown}")
    print("\n| packages | cases | the right one first | it alone |\n| --- | --- | --- | --- |")
    for name, aside in (("fitted on", False), ("kept aside", True)):
        chosen = [result for result in results if result[0] == aside]
        print(f"| {name} | {len(chosen)} | {sum(r[1] for r in chosen)} | {sum(r[2] for r in chosen)} |")


if __name__ == "__main__":
    main()

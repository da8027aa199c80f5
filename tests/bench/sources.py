"""Are documents found that lie beside the code, as a source? `python -m tests.bench.sources FOLDER`.

FOLDER holds a checkout of each repository that usage.json names, as `tests.bench.usage` has them. Of each the documents (by their
endings) become a source and the rest the workspace. Printed: in how many questions the first right file is among the first 1, 3
and 10 hits, with and without the source, and the time of a question in the median.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from tests.bench.usage import CASES, FIRST, HITS, Asked, row

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.model.types import Query
from carrel.service import queries
from carrel.service.session import Session
from carrel.settings import settings_files

DOCUMENTS = {".md", ".mdx", ".rst", ".txt", ".adoc"}


def take_apart(checkout: Path, code: Path, documents: Path) -> None:
    """Copy a checkout's files to two folders."""
    for file in checkout.rglob("*"):
        path = file.relative_to(checkout)
        if file.is_file() and not file.is_symlink() and ".git" not in path.parts:
            target = (documents if file.suffix in DOCUMENTS else code) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


async def ask(root: Path, cases: list[dict[str, object]], place: Path) -> list[tuple[str, Asked, float]]:
    """Ask the questions of one repository with its source and without: a name, what was found, and the milliseconds."""
    own = place / "settings.toml"
    own.write_text(f"cacheFolder = '{place / 'cache'}'\n[sources.docs]\nfolder = '{root / 'documents'}'\n", "utf-8")
    answers = []
    with patch.object(settings_files, "user_files", lambda: (own, place / "none.json")):
        session = Session(Composition(), longest_match)
        session.configure({})
        workspace = session.add_folder(str(root / "code"), (root / "code").as_uri())
        await queries.search(workspace, Query("according to the docs", 1), 600_000, sources=["workspace", "docs"])
        for case in cases:
            right = tuple(str(path) for path in case["paths"])  # type: ignore[attr-defined]  # a list
            for name, sources in (("with", ()), ("without", ("workspace",))):
                began = time.perf_counter()
                hits = (await queries.search(workspace, Query(str(case["asked"]), HITS), 60_000, sources=sources)).hits
                took = 1_000 * (time.perf_counter() - began)
                paths = [hit.chunk.path.removeprefix("@docs/") for hit in hits]
                found = next((at for at, path in enumerate(paths, 1) if path.startswith(right)), None)
                answers.append((name, Asked(str(case["answer"]), found, packed=False), took))
        await session.close()
    return answers


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the checkouts, by the names in usage.json")
    folder = parser.parse_args().folder
    data = json.loads(CASES.read_text(encoding="utf-8"))
    answers: dict[tuple[str, bool, str], list[Asked]] = {}
    times: dict[str, list[float]] = {}
    for name, repository in data["repositories"].items():
        with tempfile.TemporaryDirectory() as place:
            root = Path(place)
            take_apart(folder / name, root / "code", root / "documents")
            cases = [case for case in data["questions"] if case["repo"] == name]
            for which, asked, took in asyncio.run(ask(root, cases, root)):
                answers.setdefault((asked.kind, repository["fitted"], which), []).append(asked)
                times.setdefault(which, []).append(took)
    print(f"| answered by | n | {' | '.join(f'in the first {first}' for first in FIRST)} |\n|{' --- |' * 5}")
    for (kind, fitted, which), those in sorted(answers.items()):
        name = f"{kind}, {'rules made on these' if fitted else 'kept aside'}, {which} the source"
        print(row(name, those).removesuffix(" 0 |"))
    for which, milliseconds in times.items():
        print(f"{which} the source: {statistics.median(milliseconds):.1f} ms a question in the median")


if __name__ == "__main__":
    main()

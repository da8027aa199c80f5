"""Is a mistyped name found? `python -m tests.bench.typos FOLDER … [--names N]`.

Each FOLDER is any project. From each N names that code defines are drawn (seeded), of 5 letters or more, and in each one letter
is left out, added or replaced, or two neighbours are swapped. Printed: in how many the first hit, and one of the first 3, is in
a file that defines the name; `changed to another` are those whose typing gave another name that is meant by itself.
"""

from __future__ import annotations

import argparse
import random
import string
from pathlib import Path

import carrel

SEED = 7
FIRST = (1, 3)


def mistyped(name: str, rng: random.Random) -> str:
    """Return a name with one letter wrong."""
    at = rng.randrange(len(name) - 1)
    match rng.randrange(4):
        case 0:
            return name[:at] + name[at + 1 :]
        case 1:
            return name[:at] + rng.choice(string.ascii_lowercase) + name[at:]
        case 2:
            return name[:at] + rng.choice(string.ascii_lowercase) + name[at + 1 :]
        case _:
            return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def main() -> None:
    """Print a line for each project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--names", type=int, default=200, metavar="N")
    arguments = parser.parse_args()
    print("| project | names | first | in the first 3 | changed to another |\n| --- | --- | --- | --- | --- |")
    for folder in arguments.folders:
        with carrel.Index(folder) as index:
            index.index()
            view = index.snapshot()
            defining: dict[str, set[str]] = {}
            for path in view.paths():
                for chunk in view.file_chunks(path):
                    for name in chunk.definitions:
                        if len(name) >= 5 and chunk.source == "code":
                            defining.setdefault(name, set()).add(path)
            rng = random.Random(SEED)  # noqa: S311 - repeatable, no secret
            drawn = rng.sample(sorted(defining), min(arguments.names, len(defining)))
            counts, others, asked = [0, 0], 0, 0
            for name in drawn:
                typed = mistyped(name, rng)
                if any(view.exact_definitions([typed], 1)):
                    others += 1
                    continue
                asked += 1
                files = [hit.file_path in defining[name] for hit in index.search(typed, k=max(FIRST))]
                counts = [count + any(files[:first]) for count, first in zip(counts, FIRST, strict=True)]
            shares = " | ".join(f"{100 * count / max(asked, 1):.0f} %" for count in counts)
            print(f"| {folder.name} | {asked} | {shares} | {others} |")


if __name__ == "__main__":
    main()

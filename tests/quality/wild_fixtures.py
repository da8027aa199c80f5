"""Small source trees of our own, one a file of the folder `wild`, with the definitions that they hold.

`=== PATH [NOTES]` begins a file; notes say how it is written: `latin-1`, `utf-16`, `bom`, `crlf`. After `=== definitions` a line
is a name and its places, `PATH:FIRST-LAST`; without LAST it isn't asked whether the whole is shown.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench.wild_trees import Definition

FOLDER = Path(__file__).parent / "wild"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))

_HEAD = re.compile(r"^=== ([^\[\n]+?)(?: \[(.*)\])?\n", re.MULTILINE)
_ENCODINGS = {"latin-1": "latin-1", "utf-16": "utf-16", "bom": "utf-8-sig"}


def lay_out(name: str, root: Path) -> list[Definition]:
    """Write a tree's files into a folder and return its definitions."""
    _, *parts = _HEAD.split((FOLDER / f"{name}.txt").read_text("utf-8"))
    definitions: list[Definition] = []
    for path, notes, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if path == "definitions":
            definitions += [_definition(line) for line in text.splitlines()]
            continue
        how = (notes or "").split(", ")
        encoding = next((_ENCODINGS[note] for note in how if note in _ENCODINGS), "utf-8")
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding, newline="\r\n" if "crlf" in how else "\n")
    return definitions


def _definition(line: str) -> Definition:
    name, *places = line.split()
    spans = (re.fullmatch(r"(.+):(\d+)-(\d*)", place) for place in places)
    return Definition(name, tuple((span[1], int(span[2]), int(span[3] or 0)) for span in spans if span))

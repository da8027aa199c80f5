"""Is overlap between passages of documents worth it? `python -m tests.bench.passages FOLDER [--lines N]`.

FOLDER holds the documents that passages.txt names. Printed, of the first passages that a question finds: how much of the
lines that answer it they hold, for how many questions they hold all of them, and how many characters that is. With `--lines` each
passage begins so many lines earlier, within its document, as if it overlapped with the one before; lines given twice count once.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.quality import indexed

from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import retrieve

QUESTIONS = Path(__file__).parent / "passages.txt"
FIRST = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the lines that answer it."""

    kind: str
    path: str
    first: int
    last: int
    question: str


def cases() -> list[Case]:
    """Read the labelled questions."""
    found = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            kind, path, lines, question = (part.strip() for part in line.split("|"))
            first, last = map(int, lines.split("-"))
            found.append(Case(kind, path, first, last, question))
    return found


def main() -> None:
    """Ask all questions, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=int, default=0)
    asked = parser.parse_args()
    root, embedder = asked.folder.resolve(), bundled()
    with tempfile.TemporaryDirectory() as cache:
        store, view = indexed(str(root), embedder, Path(cache))
        size = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
        print(f"{size:,} bytes of index")
        figures: dict[tuple[str, int], list[tuple[float, bool, int]]] = {}
        for case in cases():
            texts = {case.path: (root / case.path).read_text("utf-8").splitlines()}
            wanted = {n for n in range(case.first, case.last + 1) if texts[case.path][n - 1].strip()}
            hits = retrieve(view, prepare_blocking(Query(case.question, limit=FIRST[-1]), embedder), CancelToken()).hits
            given: dict[str, set[int]] = {}
            for number, hit in enumerate(hits, 1):
                path, span = hit.chunk.path, hit.chunk.span
                lines = given.setdefault(path, set())
                lines.update(range(max(1, span.start_line - asked.lines), span.end_line + 1))
                if number in FIRST:
                    share = len(wanted & given.get(case.path, set())) / len(wanted)
                    for name in given:
                        texts.setdefault(name, (root / name).read_text("utf-8").splitlines())
                    characters = sum(len(texts[name][n - 1]) + 1 for name, held in given.items() for n in held)
                    for kind in (case.kind, "all"):
                        figures.setdefault((kind, number), []).append((share, share == 1, characters))
        store.close()
    print("| questions | n | first | of the lines | all lines | characters |\n| --- | --- | --- | --- | --- | --- |")
    for (kind, number), rows in sorted(figures.items()):
        held, whole, given_characters = zip(*rows, strict=True)
        means = f"{statistics.mean(held):.3f} | {statistics.mean(whole):.3f} | {statistics.mean(given_characters):,.0f}"
        print(f"| {kind} | {len(rows)} | {number} | {means} |")


if __name__ == "__main__":
    main()

"""Write `docs/quality.md` and `docs/benchmarks.md` from `docs/figures/*.json`: `python -m tests.bench.figures`.

A file holds one topic: what was measured (`title`, `text`), how (`cases`, `date`, `machine`, `command`), a table (`columns`,
`rows`), `notes`, and what is drawn (`curves`, see curves.py). Replace its figures after a measurement and run this;
`tests/test_figures.py` compares the pages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench import curves

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
PICTURES = ROOT / "docs" / "pictures"
REQUIRED = ("title", "cases", "date", "machine", "command", "columns", "rows")

QUALITY = """# Retrieval quality

`make bench-quality BENCH=FOLDER` measures the first two tables; each topic names its command.
Generated from `docs/figures/` by `python -m tests.bench.figures`.

- "The 760" are labelled questions over 38 public repositories in 19 languages, "the commits" 400 subjects of commits of four.
  FOLDER holds the public benchmark of semble.
- NDCG@10 counts ranked chunks; a file is hit by its first chunk. Brackets hold 95 % intervals, by bootstrap over repositories.
- *Kept aside* are cases that rules and weights weren't made on. The bundled model has read none of these repositories.
- `pytest tests/quality` compares 881 cases on pinned packages with frozen figures in each run of the tests; a fall of .005 fails.
- Tried and left out: [dev/tried.md](dev/tried.md). Speed: [benchmarks.md](benchmarks.md).
"""
BENCHMARKS = """# Benchmarks

`make bench` runs the first of these; each topic names its command. Generated from `docs/figures/` by
`python -m tests.bench.figures`. How well the right code is found: [quality.md](quality.md).

The machine has 2 cores of an AMD EPYC (AVX2), 24 GiB and Linux, and is shared with other work: compare medians and ratios.
"""
PAGES = {
    "quality": (
        QUALITY,
        [
            "beside",
            "kinds",
            "rules",
            "exact",
            "pasted",
            "generated",
            "issues",
            "spans",
            "wild",
            "followups",
            "vague",
            "scenes",
            "changes",
            "usage",
            "sources",
            "foreign",
            "twins",
            "routes",
            "confidence",
            "tools",
            "models",
            "vscode",
        ],
    ),
    "benchmarks": (
        BENCHMARKS,
        [
            "indexing",
            "scale",
            "switches",
            "server",
            "watching",
            "proxies",
            "reading",
            "stores",
            "team",
            "published",
            "embedding",
            "day",
        ],
    ),
}


def page(name: str) -> str:
    """Return the text of a page."""
    head, topics = PAGES[name]
    return "\n".join([head, *(_section(topic) for topic in topics)])


def read(topic: str) -> dict[str, Any]:
    """Return the figures of a topic."""
    figures: dict[str, Any] = json.loads((FIGURES / f"{topic}.json").read_text("utf-8"))
    return figures


def _section(topic: str) -> str:
    figures = read(topic)
    lines = [f"## {figures['title']}", ""]
    if text := figures.get("text"):
        lines += [text, ""]
    lines += [" · ".join(figures[key] for key in ("cases", "date", "machine", "command") if figures[key]), ""]
    lines += [_row(figures["columns"]), "|" + " --- |" * len(figures["columns"])]
    lines += [_row(row) for row in figures["rows"]]
    if "curves" in figures:
        lines += ["", f"![curves](pictures/{topic}.svg) Dashed: linear."]
    if notes := figures.get("notes"):
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join([*lines, ""])


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def pictures() -> dict[Path, str]:
    """Return the drawings by their files."""
    drawn = {topic: read(topic).get("curves") for _, topics in PAGES.values() for topic in topics}
    return {PICTURES / f"{topic}.svg": curves.drawing(data) for topic, data in drawn.items() if data}


if __name__ == "__main__":
    for file, picture in pictures().items():
        file.write_text(picture, "utf-8")
    for name in PAGES:
        (ROOT / "docs" / f"{name}.md").write_text(page(name), "utf-8")

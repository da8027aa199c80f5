"""Which fitted constants does the frozen corpus notice? `python -m tests.quality.mutate [--only TEXT] [--jobs N]`.

Each is set to what leaves it out and to threefold, and the cases that it can concern are asked again until a figure falls by more
than what test_quality.py lets pass. Printed: by how much the figures change, and the constants that none notices: those are to be
tested or deleted. mutations.json keeps the largest fall of any figure; it is written without `--only`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.quality.corpus import KINDS, PARTS, Case, Corpus, Values, means

from carrel.assist.assisted_retrieval import ALONE, retrieve_assisted_blocking
from carrel.model.native import CancelToken, ParsedQuery, Snapshot, ranking_weights
from carrel.search import ranking
from carrel.search.retriever import Ranking

RESULTS = Path(__file__).parent / "mutations.json"
NOTICED = 0.005
FACTORS = frozenset({"test", "secondary", "path_of_change", "in_front", "open", "file_decay"})
OFF = dict.fromkeys(FACTORS, 1.0)
"""What leaves a weight of the ranking out, where that isn't zero."""
IN_SCENES = frozenset({"in_front", "open", "nearby", "related"})

ISSUES = ("issues",)
TURNS = ("follow-ups", "topic changes")
SURE = ("questions", "unsure")
CONSTANTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("question.follow_up", "_SHOWN _SHOWN_TO_USERS _NO_TEST _FEW", TURNS),
    ("search.order", "SHARE", TURNS),
    ("search.certainty", "OF_QUESTION OF_SYMBOL CONFIDENCE BY_MEANING BEST", SURE),
    ("search.passages", "LEAST_SHARE SURE_FILES", ("questions", "packs")),
    ("search.localize", "_FILE_PLACE _FILE_SCORE _FILE_TITLE_DENSE _FILE_TITLE_LEXICAL", ISSUES),
    ("search.localize", "_LAST_IN_TRACE _PATH_NAMED _TEST_OR_DOCUMENT_PENALTY _FILE_CHUNKS _FEW_WORDS", ISSUES),
    ("search.issue_chunks", "FITTED PLACE BEST_CHUNK_BONUS _MOST_BEFORE", ISSUES),
)
"""Fitted constants by their modules, with the parts of the corpus that they can concern; of a table each entry."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that was fitted: a weight of the ranking, or a name of a module's, in which `key` says which entry."""

    module: str
    attribute: str
    key: Any
    value: float
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return what it is called in tables."""
        return ".".join(map(str, filter(lambda part: part is not None, (self.module, self.attribute, self.key))))

    @property
    def values(self) -> dict[str, float]:
        """Return what it is set to."""
        return {"off": OFF.get(self.attribute, 0) if self.module == "weights" else 0, "threefold": 3 * self.value}


def constants() -> list[Constant]:
    """Return all of them."""
    found = [
        Constant("weights", name, None, value, ("scenes",) if name in IN_SCENES else KINDS)
        for name, value in sorted(ranking_weights().items())
    ]
    for module, names, parts in CONSTANTS:
        for attribute in names.split():
            held = getattr(importlib.import_module(f"carrel.{module}"), attribute)
            found += [Constant(module, attribute, key, value, parts) for key, value in _entries(held).items()]
    return found


def _entries(held: Any) -> dict[Any, float]:
    if isinstance(held, dict):
        return held
    if isinstance(held, tuple):
        return dict(zip(getattr(held, "_fields", range(len(held))), held, strict=True))
    return {None: held}


@contextlib.contextmanager
def changed(constant: Constant, value: float) -> Iterator[None]:
    """Set a constant to another value, in each module that has it."""
    if constant.module == "weights":
        ranking.WEIGHTS = {constant.attribute: value}
        try:
            yield
        finally:
            ranking.WEIGHTS = {}
        return
    before = getattr(sys.modules[f"carrel.{constant.module}"], constant.attribute)
    engine = [module for name, module in list(sys.modules.items()) if name.startswith(("carrel.question.", "carrel.search."))]
    holders = [module for module in engine if getattr(module, constant.attribute, None) is before]
    for module in holders:
        setattr(module, constant.attribute, _with(before, constant.key, value))
    try:
        yield
    finally:
        for module in holders:
            setattr(module, constant.attribute, before)


def _with(held: Any, key: Any, value: float) -> Any:
    if isinstance(held, dict):
        return {**held, key: value}
    if hasattr(held, "_replace"):
        return held._replace(**{key: value})
    if isinstance(held, tuple):
        return (*held[:key], value, *held[key + 1 :])
    return value


class QuickCorpus(Corpus):
    """The corpus, in which each search of the index is done once, and no hit is read where only the order matters."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._remembered = {name: _Remembered(view) for name, view in self.views.items()}

    def measure(self, parts: Collection[str] = PARTS) -> Values:
        """Ask the cases of these kinds; those that are read as editors do, where `parts` names more than kinds."""
        if not set(KINDS).issuperset(parts):
            return super().measure(parts)
        values: Values = {}
        for case in (case for case in self.cases if case.kind in parts):
            ranked = self._find(case).order.ranked[: case.question.query.limit]
            places = [(candidate.path, candidate.start_line, candidate.end_line) for candidate in ranked]
            for figure, value in self.figures(case, places).items():
                values.setdefault(f"{case.kind}: {figure}", {})[case.name] = value
        return values

    def _find(self, case: Case) -> Ranking:
        view: Any = self._remembered[case.index]
        view.case = case.name
        return retrieve_assisted_blocking(case.question, lambda: view, self.model, ALONE, lambda found, _: found, CancelToken())


class _Remembered:
    """An index that answers the same search of the same case from memory."""

    def __init__(self, view: Snapshot) -> None:
        self.case = ""
        self._view = view
        self._found: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def find(self, parsed: Sequence[ParsedQuery], *, pool: int, **arguments: Any) -> Any:
        key = (self.case, pool, tuple(tuple(one.words) for one in parsed))
        if key not in self._found:
            self._found[key] = self._view.find(parsed, pool=pool, **arguments)
        return self._found[key]


Changes = dict[str, dict[str, float] | None]
"""By what a constant is set to: by how much each figure changes, None where the search fails."""
_corpora: list[Corpus] = []
_usual: dict[tuple[str, ...], dict[str, float]] = {}


def _open(folder: str) -> None:
    _corpora.append(QuickCorpus(Path(tempfile.mkdtemp(dir=folder))))


def effects(constant: Constant, *, whole: bool = False) -> Changes:
    """Measure what changes with a constant, until it is noticed; `whole`: what else does, too."""
    [corpus], found = _corpora, Changes()
    quick = tuple(part for part in constant.parts if part not in ISSUES)
    slow = tuple(part for part in constant.parts if part in {*ISSUES, "packs", "reading"})
    for setting, value in constant.values.items():
        for parts in (quick, slow):
            if not set(KINDS).isdisjoint(parts) and value != constant.value and (whole or largest_fall(found) <= NOTICED):
                found.setdefault(setting, {})
                if (changes := _change(corpus, constant, value, parts)) is None:
                    found[setting] = None
                    break
                found[setting] = {**(found[setting] or {}), **changes}
    return found


def _change(corpus: Corpus, constant: Constant, value: float, parts: tuple[str, ...]) -> dict[str, float] | None:
    """Return by how much each figure of these parts changes; None where the search fails."""
    if parts not in _usual:
        _usual[parts] = means(corpus.measure(parts))
    try:
        with changed(constant, value):
            now = means(corpus.measure(parts))
    except Exception as error:  # a value that can't be used is noticed
        print(f"{constant.name} = {value:g}: {type(error).__name__}", file=sys.stderr)
        return None
    return {figure: round(now[figure] - usual, 4) for figure, usual in _usual[parts].items() if now[figure] != usual}


def largest_fall(changes: Changes) -> float:
    """Return the most that a figure falls by; 1 where the search fails."""
    falls = (
        1.0 if figures is None else max((-change for change in figures.values()), default=0.0) for figures in changes.values()
    )
    return round(max([0.0, *falls]), 4)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="constants whose name holds this")
    parser.add_argument("--whole", action="store_true", help="go on where a constant is noticed already")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    arguments = parser.parse_args()
    chosen = [constant for constant in constants() if arguments.only in constant.name]
    results: dict[str, float] = {}
    print("| constant | value | set to | changes |\n| --- | --- | --- | --- |")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ProcessPoolExecutor(arguments.jobs, initializer=_open, initargs=(folder,)) as pool,
    ):
        for constant, changes in zip(chosen, pool.map(functools.partial(effects, whole=arguments.whole), chosen), strict=True):
            results[constant.name] = largest_fall(changes)
            for setting, figures in changes.items():
                told = "fails" if figures is None else ", ".join(f"{name} {change:+.4f}" for name, change in figures.items())
                print(f"| {constant.name} | {constant.value:g} | {setting} | {told or '-'} |", flush=True)
    if not arguments.only:
        lines = ",\n".join(f"  {json.dumps(name)}: {fall}" for name, fall in results.items())
        RESULTS.write_text(f"{{\n{lines}\n}}\n", "utf-8", newline="\n")
    unnoticed = [f"{name} ({fall:.4f})" for name, fall in results.items() if fall <= NOTICED]
    print(f"\nNo figure falls by more than {NOTICED} with {len(unnoticed)} of {len(results)}:\n" + "\n".join(unnoticed))


if __name__ == "__main__":
    main()

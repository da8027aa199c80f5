"""A frozen corpus: questions, issues and follow-ups about packages that requirements/dev.txt pins, and about a small project.

`python tests/quality/corpus.py` prints the figures, `--freeze` writes them to figures.json, with which test_quality.py compares.
questions.json and depot.json hold questions with the files that answer them, changes.json subjects of commits with the files that
they changed, quotes.json what stands in a file, alone or among other words, scenes.json questions asked with a file in front,
issues.json texts with the files and functions that a fix would change, follow_ups.json questions with what was said before, of
which some change the topic. Nothing of it had a part in fitting anything.

Every figure is from 0 to 1, a value a case. This file imports nothing of the tests, so that another build can run it.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import shutil
import statistics
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.history_cases import ndcg
from tests.support.indexing import run_index_blocking

from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted_blocking
from carrel.model.conversation import Message
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.types import Budget, Hit, Query
from carrel.pack.context import pack_answer
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.search.name_relations import related_first
from carrel.search.retriever import Ranking, read

HERE = Path(__file__).parent
FROZEN = HERE / "figures.json"
REFREEZE = "python -m tests.quality.corpus --freeze"
DEPOT = "depot"
ALL = "all packages"
"""Side by side in one folder, so that issues have something to choose from."""
HITS = 50
PACK = Budget(1_000, "tokens")
KINDS = ("questions", "changes", "quotes", "scenes", "issues", "follow-ups", "topic changes")
PARTS = (*KINDS, "packs", "unsure")

Place = tuple[str, int, int]
Values = dict[str, dict[str, float]]
"""By figure, by case."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question about a package, and the files that answer it; `functions` are places in them, `quoted` stands there."""

    kind: str
    package: str
    question: Question
    files: frozenset[str]
    functions: tuple[str, ...] = ()
    quoted: str = ""

    @property
    def index(self) -> str:
        """Return which index is asked."""
        return ALL if self.kind == "issues" else self.package

    @property
    def name(self) -> str:
        """Return what tells it from all others."""
        query, before = self.question.query, [turn.text for turn in self.question.history[:1]]
        said = " > ".join([*before, query.text.partition("\n")[0]])
        return f"{self.package}: {said}" + (f" [{query.active_path}]" if query.active_path else "")


def _load(name: str) -> Any:
    return json.loads((HERE / name).read_text("utf-8"))


def package_folder(name: str) -> Path:
    """Return where a package is installed."""
    spec = importlib.util.find_spec(name)
    assert spec, f"{name} is not installed: see requirements/dev.txt"
    return Path(spec.origin or "").parent


def cases() -> list[Case]:
    """Return all of them."""
    depot = _load("depot.json")
    asked = [("questions", DEPOT, depot["questions"])]
    for kind in ("questions", "changes", "quotes"):
        asked += [(kind, package, questions) for package, questions in _load(f"{kind}.json").items()]
    found = [
        Case(kind, package, Question(Query(text, HITS)), frozenset(files), quoted="".join(quoted))
        for kind, package, questions in asked
        for text, *quoted, files in questions
    ]
    for package, scenes in _load("scenes.json").items():
        for text, files, active, others in scenes:
            query = Query(text, HITS, active_path=active, open_paths=tuple(others))
            found.append(Case("scenes", package, Question(query), frozenset(files)))
    for one in _load("issues.json"):
        question, package = Question(Query(one["text"], HITS)), one["package"]
        files, functions = ([f"{package}/{place}" for place in one[key]] for key in ("files", "functions"))
        found.append(Case("issues", package, question, frozenset(files), tuple(functions)))
    for one in _load("follow_ups.json"):
        said = (Message("user", one["first"]), Message("assistant", one["answer"]))
        kind = "topic changes" if one.get("changes") else "follow-ups"
        found.append(Case(kind, one["package"], Question(Query(one["asked"], HITS), said), frozenset(one["files"])))
    return found


class Corpus:
    """One index a package."""

    def __init__(self, folder: Path) -> None:
        self.model, self.cases = bundled(), cases()
        self._tokenizer = ExactTokenizer()
        self._folder = folder
        names = list(dict.fromkeys(case.package for case in self.cases))
        self.roots = {package: self._root(package) for package in names}
        self.roots[ALL] = folder / ALL
        for package, root in self.roots.items():
            if package not in {ALL, DEPOT}:
                shutil.copytree(root, self.roots[ALL] / package, ignore=shutil.ignore_patterns("__pycache__"))
        self._stores: dict[str, Store] = {}
        self.views: dict[str, Snapshot] = {}
        for package, root in self.roots.items():
            self.add(package, root)
        for case in self.cases:
            missing = case.files - set(self.views[case.index].paths())
            assert not missing, f"{case.package} has no {sorted(missing)}: mend {case.name!r} for this version"
        self._places = {case.name: [self._place(case.index, name) for name in case.functions] for case in self.cases}

    def close(self) -> None:
        """Close the indexes."""
        for store in self._stores.values():
            store.close()

    def _root(self, package: str) -> Path:
        if package == DEPOT:
            root = self._folder / DEPOT
            for path, text in _load("depot.json")["files"].items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, "utf-8", newline="\n")
            return root
        return package_folder(package)

    def add(self, name: str, root: Path) -> None:
        """Index a folder, to be asked by this name."""
        spec, place = self.model.spec, str(self._folder / "indexes" / name.strip("/").replace("/", "+"))
        store = Store.open(place, str(root), embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions())
        run_index_blocking(store, self.model, CancelToken())
        self._stores[name], self.views[name] = store, store.snapshot()

    def _place(self, package: str, name: str) -> Place:
        """Return where a function is, by its file and qualified name."""
        path, _, qualified = name.partition(":")
        inside: ast.AST = ast.parse((self.roots[package] / path).read_text("utf-8"))
        for part in qualified.split("."):
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            named = [node for node in ast.walk(inside) if isinstance(node, kinds) and node.name == part]
            assert named, f"{package} has no {name}: mend issues.json for this version"
            inside = named[-1]  # behind its overloads
        assert isinstance(inside, ast.stmt)
        return path, inside.lineno, inside.end_lineno or inside.lineno

    def ask(self, name: str, question: Question) -> tuple[Ranking, Sequence[Hit]]:
        """Search as editors do."""

        def finish(ranking: Ranking, token: CancelToken) -> tuple[Ranking, Sequence[Hit]]:
            return ranking, related_first(read(ranking, ranking.query, token), ranking, ranking.query, token).hits

        return retrieve_assisted_blocking(question, lambda: self.views[name], self.model, ALONE, finish, CancelToken())

    def measure(self, parts: Collection[str] = PARTS) -> Values:
        """Ask the cases of these kinds; `packs` and `unsure` say whether figures are taken that cost more."""
        values: Values = {}
        packages = [package for package in self.roots if package != ALL]
        for case in (case for case in self.cases if case.kind in parts):
            ranking, hits = self.ask(case.index, case.question)
            spans = ((hit.chunk.path, hit.chunk.span) for hit in hits)
            figures = self.figures(case, [(path, span.start_line, span.end_line) for path, span in spans])
            if "packs" in parts and case.kind in {"questions", "issues"}:
                figures["pack"] = self._packed(case, ranking, hits)
            if case.kind == "questions":
                figures["sure"] = 1 - (1 - ranking.confidence) ** 2
                if "unsure" in parts:
                    elsewhere = packages[(packages.index(case.package) + 1) % len(packages)]
                    figures["unsure"] = 1 - self.ask(elsewhere, case.question)[0].confidence ** 2
            for figure, value in figures.items():
                values.setdefault(f"{case.kind}: {figure}", {})[case.name] = round(value, 3)
        return values

    def figures(self, case: Case, places: Sequence[Place]) -> dict[str, float]:
        """Judge the places that were found for a case, best first."""
        files = list(dict.fromkeys(path for path, _, _ in places))
        figures = {"ndcg10": ndcg(files, case.files)}
        if case.quoted:
            figures["first"] = float(any(case.quoted in self._lines(case, place) for place in places[:1]))
        if case.kind != "issues":
            return figures
        return {
            **figures,
            "file1": float(files[:1] != [] and files[0] in case.files),
            "file5": len(case.files & set(files[:5])) / len(case.files),
            "function10": self._share(case, places[:10]),
        }

    def _lines(self, case: Case, place: Place) -> str:
        """Return the lines of a place."""
        path, first, last = place
        return "\n".join((self.roots[case.package] / path).read_text("utf-8").splitlines()[first - 1 : last])

    def _share(self, case: Case, places: Sequence[Place]) -> float:
        """Return how much of a case's functions, or of its files, places show."""
        if not (wanted := self._places[case.name]):
            return len(case.files & {path for path, _, _ in places}) / len(case.files)
        return statistics.fmean(
            any(path == of and first <= end and start <= last for path, first, last in places) for of, start, end in wanted
        )

    def _packed(self, case: Case, ranking: Ranking, hits: Sequence[Hit]) -> float:
        query = case.question.query
        items = pack_answer(ranking, hits[:10], query, PACK, self._tokenizer, CancelToken(), read_lines=ranking.lines).items
        return self._share(case, [(item.hit.chunk.path, *run) for item in items for run in item.runs])


def means(values: Values) -> dict[str, float]:
    """Return each figure."""
    return {figure: round(statistics.fmean(of.values()), 4) for figure, of in values.items()}


def worse(values: Values, frozen: Mapping[str, Mapping[str, float]], most: float = 0.005) -> list[str]:
    """Return each figure that fell by more than `most`, with the cases that did."""
    found = []
    for figure, before in frozen.items():
        now = values.get(figure, {})
        assert now.keys() == before.keys(), f"Other cases than figures.json has for {figure!r}. Write it anew: {REFREEZE}"
        fell = statistics.fmean(before.values()) - statistics.fmean(now.values())
        if fell > most:
            lost = sorted((name for name in before if now[name] < before[name]), key=lambda name: now[name] - before[name])
            lines = "\n".join(f"    {before[name]:.2f} -> {now[name]:.2f}  {name}" for name in lost[:20])
            found.append(f"{figure} fell by {fell:.4f}:\n{lines}")
    return found


def frozen() -> Values:
    """Return what figures.json holds."""
    return {figure: dict(zip(names, of, strict=True)) for figure, (names, of) in _rows(_load(FROZEN.name)).items()}


def _rows(stored: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[list[str], list[float]]]:
    by_kind: dict[str, list[str]] = {}
    for case in cases():
        by_kind.setdefault(case.kind, []).append(case.name)
    rows = {}
    for figure, row in stored.items():
        names = by_kind[figure.partition(":")[0]]
        assert len(names) == len(row["cases"]), f"Other cases than figures.json has for {figure!r}. Write it anew: {REFREEZE}"
        rows[figure] = (names, row["cases"])
    return rows


def freeze(values: Values) -> None:
    """Write figures.json, a figure a line."""
    mean = means(values)
    rows = (json.dumps({"mean": mean[figure], "cases": list(of.values())}) for figure, of in values.items())
    lines = ",\n".join(f"  {json.dumps(figure)}: {row}" for figure, row in zip(values, rows, strict=True))
    FROZEN.write_text(f"{{\n{lines}\n}}\n", "utf-8", newline="\n")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freeze", action="store_true", help="write them to figures.json")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the value of each case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        corpus = Corpus(Path(folder))
        values = corpus.measure()
        corpus.close()
    for figure, mean in means(values).items():
        print(f"{figure:28} {mean:.4f}  ({len(values[figure])})")
    if arguments.freeze:
        freeze(values)
    if arguments.json:
        arguments.json.write_text(json.dumps(values), "utf-8")


if __name__ == "__main__":
    main()

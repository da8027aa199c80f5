"""Is one build better than another? `python -m tests.bench.compare_builds OLD_PYTHON NEW_PYTHON [--bench FOLDER] [--json]`.

Each build is the checkout whose environment a Python is of. Both index and answer the frozen corpus of tests/quality, and with
`--bench` the labelled questions and commits of the benchmark's `evaluate.py` in that folder. Questions are asked in turn, one of
the old build, one of the new, so that what else the machine does slows both. Printed: every figure with its paired difference and
a 95 % interval by bootstrap over packages or repositories, the time of a question, the time of a cold index and its size on disk,
and what differs in the messages between editors and server.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path("tests") / "quality" / "corpus.py"
SCHEMA = Path("editors") / "protocol.schema.json"
ROUNDS = 2
"""How often each question is timed."""
SETS = ("queries", "commits")

Values = dict[str, dict[str, float]]


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"{path} is not there: give the folder of the benchmark's evaluate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def checkout(python: Path) -> Path:
    """Return the checkout that holds the environment of a Python."""
    return python.absolute().parents[2]


# What runs in each build: it imports nothing of this repository but the corpus.


def _corpus_module() -> ModuleType:
    """Return the newest corpus that this build can run, over the newest data."""
    try:
        return _module(ROOT / CORPUS)
    except ImportError:
        module = _module(checkout(Path(sys.executable)) / CORPUS)
        module.__dict__["HERE"] = ROOT / CORPUS.parent
        return module


def serve(folder: Path, bench: Path | None, repositories: Sequence[str]) -> None:
    """Index the corpus, then answer lines of JSON: the number of a case to be timed, or the name of what is to be measured."""
    module = _corpus_module()
    began = time.perf_counter()
    corpus = module.Corpus(folder)
    seconds = time.perf_counter() - began
    size = sum(file.stat().st_size for file in (folder / "indexes").rglob("*") if file.is_file())
    _say({"seconds": seconds, "bytes": size, "cases": len(corpus.cases)})
    for line in sys.stdin:
        asked = json.loads(line)
        if asked == "corpus":
            _say(corpus.measure())
        elif asked == "bench" and bench is not None:
            _say(_labelled(module, corpus, bench, repositories))
        else:
            case = corpus.cases[asked]
            began = time.perf_counter()
            corpus.ask(case.index, case.question)
            _say(1000 * (time.perf_counter() - began))


def _labelled(module: ModuleType, corpus: Any, bench: Path, repositories: Sequence[str]) -> Values:
    """Return NDCG@10 of the benchmark's questions and commits."""
    scorer, values = _module(bench / "evaluate.py"), Values()
    for which in SETS:
        for task in scorer.load_tasks(which, list(repositories) or None):
            root = task["repo_dir"]
            if root not in corpus.views:
                corpus.add(root, Path(root))
            _, hits = corpus.ask(root, module.Question(module.Query(task["query"], module.HITS)))
            spans = ((hit.chunk.path, hit.focus or (hit.chunk.span.start_line, hit.chunk.span.end_line)) for hit in hits)
            score = scorer.score(task, [(path, *lines) for path, lines in spans])["ndcg10"]
            values.setdefault(f"{which}: ndcg10", {})[f"{task['repo']}: {task['id']}"] = score
    return values


def _say(answer: Any) -> None:
    print(json.dumps(answer), flush=True)


# What compares them.


class Build:
    """A build at work in a process of its own."""

    def __init__(self, python: Path, folder: Path, arguments: Sequence[str]) -> None:
        self.python = python
        folder.mkdir()
        command = [str(python), str(Path(__file__).resolve()), "--serve", str(folder), *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", env=environment)
        self.opened: dict[str, float] = self._answer()

    def ask(self, what: str | int) -> Any:
        """Return the answer to a line."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        if line := self._process.stdout.readline():
            return json.loads(line)
        return sys.exit(f"{self.python} ended with code {self._process.wait()}; what it printed says why.")

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def schema_changes(old: Path, new: Path) -> list[str]:
    """Return what differs in the messages, an entry a line."""
    before, after = (_entries(json.loads((build / SCHEMA).read_text("utf-8"))) for build in (old, new))
    lines = [f"- {name}" for name in before if name not in after]
    lines += [f"+ {name}" for name in after if name not in before]
    return lines + [f"! {name}" for name in before if name in after and before[name] != after[name]]


def _entries(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema's requests, and its types by field."""
    entries: dict[str, Any] = {}
    for group, members in schema.items():
        if group != "$defs" and isinstance(members, dict):
            entries |= {f"{group} {name}": value for name, value in members.items()}
    for name, described in schema["$defs"].items():
        fields = described.get("properties", {"": described})
        entries |= {f"{name}.{field}".rstrip("."): value for field, value in fields.items()}
    return entries


def compared(old: Values, new: Values) -> dict[str, dict[str, float]]:
    """Return each figure of both with its paired difference, and how far that may be chance."""
    from tests.bench.quality import difference  # noqa: PLC0415 - the other build can't import it

    rows: dict[str, dict[str, float]] = {}
    for figure, before in old.items():
        after = new[figure]
        numbered = [(f"{name.partition(':')[0]}#{at}", name) for at, name in enumerate(before)]
        base, other = ({key: {"ndcg10": side[name]} for key, name in numbered} for side in (before, after))
        change, low, high = difference(base, other)
        means = (statistics.fmean(side.values()) for side in (before, after))
        rows[figure] = dict(
            zip(("cases", "old", "new", "change", "low", "high"), (len(before), *means, change, low, high), strict=True)
        )
    return rows


def timed(builds: Sequence[Build], cases: int) -> list[list[float]]:
    """Return the best of a few times of each question, in milliseconds, for each build."""
    times: list[list[float]] = [[] for _ in builds]
    for case in range(cases):
        rounds = [[build.ask(case) for build in builds] for _ in range(ROUNDS)]
        for of_build, values in zip(times, zip(*rounds, strict=True), strict=True):
            of_build.append(min(values))
    return times


def report(pythons: Sequence[Path], bench: Path | None, repositories: Sequence[str]) -> dict[str, Any]:
    """Compare two builds."""
    arguments = [*(["--bench", str(bench.resolve())] if bench else []), *(f"--repo={name}" for name in repositories)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        builds = [Build(python, Path(folder) / str(at), arguments) for at, python in enumerate(pythons)]
        times = timed(builds, int(builds[0].opened["cases"]))
        figures = compared(*(build.ask("corpus") for build in builds))
        if bench:
            figures |= compared(*(build.ask("bench") for build in builds))
        for build in builds:
            build.close()
    return {
        "figures": figures,
        "milliseconds": [statistics.median(of_build) for of_build in times],
        "ratio": statistics.median(new / old for old, new in zip(*times, strict=True)),
        "index seconds": [build.opened["seconds"] for build in builds],
        "index bytes": [build.opened["bytes"] for build in builds],
        "messages": schema_changes(*map(checkout, pythons)),
    }


def page(found: Mapping[str, Any]) -> None:
    """Print a report for people."""
    print("| figure | cases | old | new | change | 95 % |\n| --- | --- | --- | --- | --- | --- |")
    for figure, row in found["figures"].items():
        interval = f"[{row['low']:+.4f}, {row['high']:+.4f}]"
        print(f"| {figure} | {row['cases']} | {row['old']:.4f} | {row['new']:.4f} | {row['change']:+.4f} | {interval} |")
    (old, new), ratio = found["milliseconds"], found["ratio"]
    print(f"\na question: {old:.2f} ms, {new:.2f} ms at the median; the new build takes {ratio:.3f} of the old one's time")
    old, new = found["index seconds"]
    print(f"the corpus indexed anew: {old:.1f} s, {new:.1f} s")
    old, new = found["index bytes"]
    print(f"on disk: {old / 1e6:.2f} MB, {new / 1e6:.2f} MB ({new / old:.3f})")
    print("messages: " + ("\n  ".join(["", *found["messages"]]) if found["messages"] else "no difference"))


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", type=Path, nargs="*", metavar="PYTHON", help="of the old build, and of the new one")
    parser.add_argument("--bench", type=Path, metavar="FOLDER", help="where the benchmark's evaluate.py and labels lie")
    parser.add_argument("--repo", action="append", default=[], help="only this repository of the benchmark; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.bench, arguments.repo)
        return
    if absent := [str(python) for python in arguments.pythons if not python.is_file()]:
        parser.error(f"there is no Python at {', '.join(absent)}")
    if len(arguments.pythons) != 2:
        parser.error("give two Pythons: that of the old build's environment, and that of the new one's")
    found = report(arguments.pythons, arguments.bench, arguments.repo)
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        page(found)


if __name__ == "__main__":
    main()

"""Are the files and functions found that an issue's fix changed? `python -m tests.bench.issues CLONES INSTANCES [--repo NAME]`.

INSTANCES is a file of JSON lines: `id`, `repo`, `clone`, `base_commit`, `text`, `gold_files`, and `gold_functions` as
`{file, start, end}`. CLONES holds a git directory for each `clone`, or one called `repo` inside it. One work tree and one index a
repository follow from commit to commit; the tree knows no commit after the one it stands at. A case counts at k when all its
places are among the first k. Printed: Acc@k of files and functions, the share of the functions that packs show, medians of time;
for all cases, for those of `--kept-aside` and the others, and by repository.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs
from tests.bench.quality import indexed

from carrel.model.local_index import CoreEmbedder
from carrel.model.native import CancelToken
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, Query
from carrel.pack.context import pack_answer
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import find, read, retrieve

FILE_CUTOFFS = (1, 3, 5, 10)
FUNCTION_CUTOFFS = (5, 10, 20)
PACKS = (2_000, 8_000)
HITS, PACKED_HITS = 100, 50
KEPT_ASIDE = "pytest-dev/pytest,pydata/xarray,scikit-learn/scikit-learn"

Place = tuple[str, int, int]


class Function(msgspec.Struct, frozen=True):
    """A function that the fix changed, 1-based and inclusive."""

    file: str
    start: int
    end: int

    def overlaps(self, places: Iterable[Place]) -> bool:
        return any(path == self.file and first <= self.end and self.start <= last for path, first, last in places)


class Case(msgspec.Struct, frozen=True):
    """An issue and what its fix changed."""

    id: str
    repo: str
    clone: str
    base_commit: str
    text: str
    gold_files: tuple[str, ...]
    gold_functions: tuple[Function, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """One case: whether it counts at each cutoff, shares of functions that packs show, times in milliseconds."""

    file_at: dict[int, bool]
    function_at: dict[int, bool]  # empty without functions
    shown: dict[int, float]
    query_ms: float
    index_ms: float


class WorkTree:
    """The files of one repository at one commit after the other."""

    def __init__(self, folder: Path, git_directory: Path) -> None:
        self.folder = folder
        self._env = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
        if not (folder / ".git").exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            command = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(git_directory), str(folder)]
            subprocess.run(command, check=True, env=self._env)
            self._git("remote", "remove", "origin")
            self._forget_refs()

    def commit_time(self, commit: str) -> int:
        """Seconds; 0 for a commit that isn't there."""
        return int(self._git("show", "--no-patch", "--format=%ct", commit, check=False).strip() or 0)

    def move_to(self, commit: str) -> None:
        """Put the files as they were at a commit, which then is all the history that can be seen. Raises `CalledProcessError`.

        A snapshot may lack the largest files, which then are left out.
        """
        self._git("update-ref", "--no-deref", "HEAD", commit)
        self._git("read-tree", "--reset", "HEAD")
        self._git("checkout-index", "--all", "--force", "--quiet", check=False)
        self._git("clean", "-qfdx")

    def _forget_refs(self) -> None:
        self._git("checkout", "--quiet", "--detach", check=False)
        for ref in self._git("for-each-ref", "--format=%(refname)").split():
            self._git("update-ref", "-d", ref)

    def _git(self, *arguments: str, check: bool = True) -> str:
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, check=check, capture_output=True, text=True, env=self._env).stdout


def measure(tree: WorkTree, case: Case, embedder: CoreEmbedder, tokenizer: Tokenizer, cache: Path) -> Figures:
    """Index the tree as it stands, ask, and compare with what the fix changed."""
    began = time.perf_counter()
    store, view = indexed(str(tree.folder), embedder, cache)
    index_ms = 1000 * (time.perf_counter() - began)
    began = time.perf_counter()
    hits = retrieve(view, prepare_blocking(Query(case.text, limit=HITS), embedder), CancelToken()).hits
    query_ms = 1000 * (time.perf_counter() - began)
    places = [(hit.chunk.path, hit.chunk.span.start_line, hit.chunk.span.end_line) for hit in hits]
    files = list(dict.fromkeys(path for path, _, _ in places))
    shown: dict[int, float] = {}
    for tokens in PACKS if case.gold_functions else ():
        query, token = Query(case.text, limit=PACKED_HITS), CancelToken()
        ranking = find(view, prepare_blocking(query, embedder), token)
        found, budget = read(ranking, query, token), Budget(tokens, "tokens")
        items = pack_answer(ranking, found.hits, query, budget, tokenizer, token, read_lines=ranking.lines).items
        spans = [(item.hit.chunk.path, *run) for item in items for run in item.runs]
        shown[tokens] = statistics.fmean(function.overlaps(spans) for function in case.gold_functions)
    store.close()
    return Figures(
        file_at={k: set(case.gold_files) <= set(files[:k]) for k in FILE_CUTOFFS},
        function_at={
            k: all(f.overlaps(places[:k]) for f in case.gold_functions) for k in FUNCTION_CUTOFFS if case.gold_functions
        },
        shown=shown,
        query_ms=query_ms,
        index_ms=index_ms,
    )


def at_their_commits(cases: Sequence[Case], clones: Path, trees: Path) -> Iterator[tuple[Case, WorkTree]]:
    """Yield every case whose commit is there with its work tree at that commit, each repository in the order of its history."""
    by_clone: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_clone[case.clone].append(case)
    for clone, of_clone in sorted(by_clone.items()):
        git_directory = next((path for path in (clones / clone / "repo", clones / clone) if path.exists()), None)
        if git_directory is None:
            print(f"{clone} is left out: there is no clone of it in {clones}", file=sys.stderr)
            continue
        tree = WorkTree(trees / clone, git_directory)
        for case in sorted(of_clone, key=lambda case: tree.commit_time(case.base_commit)):
            try:
                tree.move_to(case.base_commit)
            except subprocess.CalledProcessError as error:
                print(f"{case.id} is left out: {error.stderr.strip()[:200]}", file=sys.stderr)
                continue
            if missing := [path for path in case.gold_files if not (tree.folder / path).exists()]:
                print(f"{case.id} is left out: the clone has no {missing[0]} at {case.base_commit}", file=sys.stderr)
                continue
            yield case, tree


def measured(cases: Sequence[Case], clones: Path, cache: Path) -> Iterator[tuple[Case, Figures]]:
    """Measure every case whose commit is there."""
    embedder, tokenizer = bundled(), ExactTokenizer()
    for case, tree in at_their_commits(cases, clones, cache / "trees"):
        yield case, measure(tree, case, embedder, tokenizer, cache / "indexes")


def percent(values: Iterable[float]) -> str:
    """Their mean, in percent."""
    known = list(values)
    return f"{100 * statistics.fmean(known):.1f}" if known else "-"


def row(name: str, chosen: Sequence[Figures]) -> str:
    """One line of the table."""
    cells = [
        *(percent(figures.file_at[k] for figures in chosen) for k in FILE_CUTOFFS),
        *(percent(figures.function_at[k] for figures in chosen if figures.function_at) for k in FUNCTION_CUTOFFS),
        *(percent(figures.shown[tokens] for figures in chosen if figures.shown) for tokens in PACKS),
    ]
    return f"| {name} | {len(chosen)} | " + " | ".join(cells) + " |"


def table(found: Sequence[tuple[Case, Figures]], aside: frozenset[str]) -> None:
    """Print it."""
    heads = [f"file @{k}" for k in FILE_CUTOFFS] + [f"function @{k}" for k in FUNCTION_CUTOFFS]
    heads += [f"in {tokens // 1000}k tokens" for tokens in PACKS]
    print("| | n | " + " | ".join(heads) + " |\n|" + " --- |" * (len(heads) + 2))
    print(row("all", [figures for _, figures in found]))
    if any(case.repo in aside for case, _ in found):
        print(row("kept aside", [figures for case, figures in found if case.repo in aside]))
        print(row("the others", [figures for case, figures in found if case.repo not in aside]))
    for repo in sorted({case.repo for case, _ in found}):
        print(row(repo, [figures for case, figures in found if case.repo == repo]))
    query, index = (statistics.median(getattr(figures, name) for _, figures in found) for name in ("query_ms", "index_ms"))
    print(f"\nmedians: a text {query:.0f} ms, bringing the index to the next commit {index / 1000:.1f} s")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path, help="where the git directories are")
    parser.add_argument("instances", type=Path, help="the issues, as JSON lines")
    parser.add_argument("--repo", default="", help="only repositories whose name holds this")
    parser.add_argument("--kept-aside", default=KEPT_ASIDE, metavar="NAMES", help=f"repositories not fitted on ({KEPT_ASIDE})")
    parser.add_argument("--out", type=Path, help="write the figures of each case as JSON")
    arguments = parser.parse_args()
    lines = arguments.instances.read_text("utf-8").splitlines()
    cases = [case for line in lines if arguments.repo in (case := msgspec.json.decode(line, type=Case)).repo]
    cache = Path(platformdirs.user_cache_dir("carrel-bench-index")) / "issues"
    found = list(measured(cases, arguments.clones.resolve(), cache))
    if not found:
        sys.exit("No case could be asked: give the folder of the clones, and issues of repositories that are in it.")
    table(found, frozenset(arguments.kept_aside.split(",")))
    if arguments.out:
        arguments.out.write_text(json.dumps({case.id: msgspec.to_builtins(figures) for case, figures in found}))


if __name__ == "__main__":
    main()

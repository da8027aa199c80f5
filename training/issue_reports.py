"""Bug reports of Denchmark as issues with the places that their fix changed: `python -m training.issue_reports REPORTS CLONES FILE`.

REPORTS is the folder `Generator/data/final_dataset/full` of github.com/RosePasta/Denchmark_BRs (Kim and others, "Denchmark: A Bug
Benchmark of Deep Learning-related Software", MSR 2021). CLONES holds a git directory for each project, called `owner+name` in any
case, or one called `repo` inside it. FILE gets JSON lines of the form that `tests/bench/issues.py` reads.

Taken is a report of at least 150 characters, closed by one commit that changes one to three files of code that aren't tests. Its
places are the innermost functions that the commit changed, at most 8, where all these files are Python's, and elsewhere the changed
lines, in at most 12 pieces. Projects that aren't in CLONES are left out, and counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FEWEST_CHARACTERS, MOST_FILES, MOST_FUNCTIONS, MOST_PIECES = 150, 3, 8, 12
RENAMED = {
    "awslabs/autogluon": "autogluon/autogluon",
    "awslabs/gluon-ts": "awslabs/gluonts",
    "intel-isl/open3d": "isl-org/open3d",
    "microsoft/deepspeed": "deepspeedai/deepspeed",
    "pytorch/fairseq": "facebookresearch/fairseq",
    "pytorchlightning/pytorch-lightning": "lightning-ai/pytorch-lightning",
    "pytorchlightning/pytorch-lightning-bolts": "lightning-universe/lightning-bolts",
    "wandb/client": "wandb/wandb",
}
"""Where projects are now."""
CODE = re.compile(r"\.(?:py|pyx|js|jsx|ts|tsx|java|cpp|cc|cxx|c|h|hpp|cu|go|rs|scala|cs|kt|rb|swift|m|mm|vue|php)$")
TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|unittest|gtest|gtests|spec|__tests__)s?/|(?:^|/)test_[^/]*$|_test\.\w+$|conftest\.py$|[._]spec\.\w+$"
    r"|Test\.java$|(?:^|/)(?:docs?|examples?|third_party|vendor)/",
    re.IGNORECASE,
)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")

Lines = tuple[int, int]
"""First and last, from 1."""


class Change(NamedTuple):
    """Lines of a file that a commit takes away or changes; of an insertion the two lines around it."""

    first: int
    last: int
    is_insertion: bool

    def is_in(self, lines: Lines) -> bool:
        """Tell whether it touches the lines; an insertion must be between two of them."""
        first, last = lines
        return first <= self.first and self.last <= last if self.is_insertion else first <= self.last and self.first <= last


@dataclass(frozen=True, slots=True)
class Report:
    """A bug report, and the commits that closed it."""

    project: str
    number: str
    text: str
    commits: tuple[str, ...]


class Clone:
    """A project's git directory. Its calls raise `CalledProcessError` for what isn't there."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name, self._directory = name, directory

    def git(self, *arguments: str) -> str:
        """Return what a command prints."""
        command = ["git", "-C", str(self._directory), *arguments]
        env = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
        return subprocess.run(command, check=True, capture_output=True, env=env).stdout.decode("utf-8", "replace")

    def changes(self, base: str, commit: str) -> dict[str, list[Change]]:
        """Return what a commit changes in each file of `base`."""
        found: dict[str, list[Change]] = {}
        path = ""
        for line in self.git("diff", "-U0", "-M", "--no-color", base, commit).split("\n"):
            if line.startswith("diff --git"):
                path = ""
            elif line.startswith("--- a/"):
                path = line.removeprefix("--- a/")
            elif path and (hunk := HUNK.match(line)):
                start, count = int(hunk[1]), int(hunk[2] or 1)
                change = Change(start, start + count - 1, False) if count else Change(max(start, 1), start + 1, True)
                found.setdefault(path, []).append(change)
        return found


def reports(folder: Path) -> Iterator[Report]:
    """Read them all; a file that isn't XML is left out."""
    for file in sorted(folder.glob("*/*.xml")):
        try:
            root = ET.parse(file).getroot()  # noqa: S314 - a data set that was fetched on purpose
        except ET.ParseError:
            continue
        title, body = (root.findtext(f"bug/{name}") or "" for name in ("summary", "description"))
        commits = tuple(commit.get("id", "") for commit in root.findall("commit"))
        project = file.parent.name.lower().replace("+", "/")
        yield Report(RENAMED.get(project, project), file.stem, f"{title.strip()}\n\n{plain(body)}".strip(), commits)


def plain(body: str) -> str:
    """Turn the data set's marks for headings, code and links into Markdown's."""
    body = re.sub(r"^ ", "", body, flags=re.MULTILINE)
    body = re.sub(r"<denchmark-h:h(\d)>", lambda mark: "#" * int(mark[1]) + " ", body)
    body = re.sub(r"</?denchmark-code>", "\n```\n", body)
    return re.sub(r"</?denchmark-(?:h|link)(?::[^>]*)?>", "", body).strip()


def functions(source: str) -> list[Lines]:
    """Return the lines of every function with its decorators. Raises `SyntaxError` or `ValueError`."""
    return [
        (min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def innermost(changed: Sequence[Change], known: Sequence[Lines]) -> list[Lines]:
    """Return the functions that hold a change and no other function that does."""
    found: dict[Lines, None] = {}
    for change in changed:
        holding = [lines for lines in known if change.is_in(lines)]
        for a, b in holding:
            if not any((c, d) != (a, b) and a <= c and d <= b for c, d in holding):
                found[a, b] = None
    return list(found)


def places(clone: Clone, base: str, changed: Mapping[str, Sequence[Change]]) -> tuple[list[str], list[tuple[str, Lines]]] | str:
    """Return the files and pieces that a fix changed, or why the report isn't taken."""
    code = [path for path in changed if CODE.search(path) and not TEST.search(path)]
    if all(path.endswith(".py") for path in code):
        pieces, most = [], MOST_FUNCTIONS
        for path in code:
            with suppress(SyntaxError, ValueError):  # Python 2: its file counts alone
                pieces += [(path, lines) for lines in innermost(changed[path], functions(clone.git("show", f"{base}:{path}")))]
    else:
        pieces, most = [(path, change[:2]) for path in code for change in changed[path]], MOST_PIECES
    if not 1 <= len(code) <= MOST_FILES:
        return "changes no code, or more than three files of it"
    return (code, pieces) if len(pieces) <= most else "changes too many places"


def case(report: Report, clone: Clone) -> dict[str, object] | str:
    """Return a report as an issue, or why it isn't taken."""
    if len(report.commits) != 1:
        return "closed by more than one commit"
    if len(report.text) < FEWEST_CHARACTERS:
        return "too short"
    try:
        base = clone.git("rev-parse", report.commits[0] + "^").strip()
        found = places(clone, base, clone.changes(base, report.commits[0]))
    except subprocess.CalledProcessError:
        return "the clone lacks its commit"
    if isinstance(found, str):
        return found
    files, pieces = found
    return {
        "id": f"{clone.name}-{report.number}",
        "repo": report.project,
        "clone": clone.name,
        "base_commit": base,
        "text": report.text,
        "gold_files": files,
        "gold_functions": [{"file": path, "start": first, "end": last} for path, (first, last) in pieces],
    }


def main() -> None:
    """Write the file, and say what was left out and why."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path)
    parser.add_argument("clones", type=Path)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    clones: dict[str, Clone] = {}
    for folder in sorted(arguments.clones.iterdir()):
        directory = folder / "repo" if (folder / "repo").exists() else folder
        clones[folder.name.lower().replace("+", "/")] = Clone(folder.name, directory)
    taken, left_out = [], Counter[str]()
    for report in reports(arguments.reports):
        clone = clones.get(report.project)
        found = case(report, clone) if clone else "no clone of the project"
        if isinstance(found, str):
            left_out[found] += 1
        else:
            taken.append(found)
    arguments.file.write_text("".join(json.dumps(found) + "\n" for found in taken), "utf-8")
    print(f"{len(taken)} issues of {len({found['repo'] for found in taken})} projects")
    for reason, count in left_out.most_common():
        print(f"left out: {count}, {reason}")


if __name__ == "__main__":
    main()

"""Bug reports become issues with the places of their fixes: the real command over a real repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

BEFORE = """import os


class Store:
    @property
    def size(self):
        def half():
            return 1
        return 2 * half()

    def close(self):
        pass
"""
AFTER = BEFORE.replace("return 1", "return 2").replace("        pass", "        pass\n        os.sync()")
REPORT = """<bugrepository><bug id="7"><summary>Size is wrong</summary><description>
&lt;denchmark-h:h3&gt;Steps&lt;/denchmark-h&gt;
&lt;denchmark-code&gt;store.size&lt;/denchmark-code&gt;
{words}</description></bug><commit id="{commit}"/></bugrepository>"""


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")
    return git(folder, "rev-parse", "HEAD")


def read(tmp_path: Path) -> tuple[list[dict[str, object]], str]:
    program = [sys.executable, "-m", "training.issue_reports", "reports", "clones", "out.jsonl"]
    root = Path(__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.run(program, check=True, capture_output=True, text=True, cwd=tmp_path, env=env)
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()], run.stdout


def report(tmp_path: Path, number: int, commit_id: str, words: str = "It says four, and should say two. " * 6) -> None:
    folder = tmp_path / "reports" / "Acme+Shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number}.xml").write_text(REPORT.format(words=words, commit=commit_id), "utf-8")


def test_the_innermost_functions_that_a_fix_changed_are_its_places(tmp_path: Path) -> None:
    clone = tmp_path / "clones" / "acme+Shop"
    clone.mkdir(parents=True)
    git(clone, "init", "-q")
    base = commit(clone, shop__store_DOT_py=BEFORE, tests__test_store_DOT_py="")
    fix = commit(clone, shop__store_DOT_py=AFTER, tests__test_store_DOT_py="assert True\n")
    other = commit(clone, web__app_DOT_ts="export const a = 1\n", shop__store_DOT_py=BEFORE)
    only_tests = commit(clone, tests__test_store_DOT_py="")
    report(tmp_path, 1, fix)
    report(tmp_path, 2, fix, "Short.")
    report(tmp_path, 3, "0" * 40)
    report(tmp_path, 4, other)
    report(tmp_path, 5, only_tests)
    (tmp_path / "reports" / "Acme+Shop" / "6.xml").write_text("<bug", "utf-8")
    (tmp_path / "reports" / "gone+project").mkdir()
    (tmp_path / "reports" / "gone+project" / "1.xml").write_text("<a/>", "utf-8")
    issues, told = read(tmp_path)
    assert [issue["id"] for issue in issues] == ["acme+Shop-1", "acme+Shop-4"]
    first, fourth = issues
    assert (first["repo"], first["clone"], first["base_commit"]) == ("acme/shop", "acme+Shop", base)
    assert str(first["text"]).startswith("Size is wrong\n\n### Steps\n\n```\nstore.size\n```\n")
    assert first["gold_files"] == ["shop/store.py"]
    places = [{"file": "shop/store.py", "start": 7, "end": 8}, {"file": "shop/store.py", "start": 11, "end": 12}]
    assert first["gold_functions"] == places[:1], "a line behind the last one of a function may be in none"
    assert fourth["gold_files"] == ["shop/store.py"], "a new file is no place"
    for reason in ("1, too short", "1, the clone lacks its commit", "1, changes no code", "1, no clone of the project"):
        assert reason in told

"""A repository of runbooks on the command line: what is old is left out, what is cited has its version and day."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.cli.conftest import Run, one_json

OLD = (
    "---\nversion: 2\nupdated_at: 2021-02-03\n---\n\n# Restart Phoenix\n\nTake the host off the load balancer, then restart it.\n"
)


@pytest.fixture
def runbooks(project: Path) -> Path:
    (project / "phoenix.md").write_text(OLD)
    (project / "pager.md").write_text("# The pager of Phoenix\n\nWhoever has the pager may restart Phoenix at night.\n")
    return project


def paths(run: Run, command: str, *arguments: str) -> set[str]:
    code, out, err = run(command, "how to restart Phoenix", *arguments, "--json")
    assert code == 0, err
    result: Any = one_json(out)
    return {hit["path"] for hit in result["hits"]}


@pytest.mark.parametrize("command", ["search", "context"])
def test_a_freshness_filter_leaves_out_what_says_that_it_is_old(run: Run, runbooks: Path, command: str) -> None:
    assert {"phoenix.md", "pager.md"} <= paths(run, command)
    assert "phoenix.md" not in paths(run, command, "--max-age-days", "30"), "a clone has given it a new time stamp"
    assert "pager.md" in paths(run, command, "--max-age-days", "30")
    assert "phoenix.md" not in paths(run, command, "--max-age-days", "30", "--source", "docs")
    code, _, err = run(command, "Phoenix", "--max-age-days", "99999")
    assert code == 2
    assert "--max-age-days" in err


def test_front_matter_is_no_passage(run: Run, runbooks: Path) -> None:
    for question in ("version of the Phoenix runbook", "updated_at", "restart Phoenix"):
        [hit] = [
            hit for hit in one_json(run("search", question, "--source", "docs", "--json")[1])["hits"] if "phoenix" in hit["path"]
        ]
        assert (hit["startLine"], hit["symbol"]) == (6, "Restart Phoenix"), "what is in front matter finds the section behind it"
        assert hit["text"].startswith("# Restart Phoenix")
        assert hit["version"] == "2"


def test_a_flag_shows_the_last_change_of_a_hit(run: Run, runbooks: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Say how Phoenix is restarted"]):
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *person, *command], cwd=runbooks, check=True)
    _, out, _ = run("search", "who may come in", "--last-change")
    assert "Ada: Say how Phoenix is restarted" in out
    _, out, _ = run("search", "who may come in")
    assert "Ada" not in out

"""The audit log on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run

from carrel.model.kinds import AUDIT_KINDS


def test_the_audit_log_is_exported_as_json_lines(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.policy.audit.audit_file", lambda: tmp_path / "audit.sqlite")
    for question in ("login", "price of an order"):
        assert run("search", question)[0] == 0
    file = tmp_path / "audit.jsonl"
    assert run("audit", "--export", str(file))[0] == 0
    entries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [(entry["number"], entry["kind"]) for entry in entries] == [(1, "search"), (2, "search")]
    assert entries[0]["details"]["question"]["chars"] == len("login")
    assert "text" not in entries[0]["details"]["question"]


def test_a_kind_of_entry_that_does_not_exist_is_refused(run: Run) -> None:
    code, _, err = run("audit", "--kind", "serch")
    assert (code, "Did you mean search?" in err) == (2, True), err


def test_the_kinds_of_entries_are_those_that_are_described() -> None:
    text = Path(__file__).parents[3].joinpath("docs/audit.md").read_text("utf-8")
    told = re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `")))
    assert sorted(told) == sorted(AUDIT_KINDS)

"""`carrel selftest` makes all ten checks, and says which failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.contract import qdrant_server
from tests.frontends.cli.conftest import Run

from carrel.server import selftest_service
from carrel.store import qdrant_install


def test_the_real_server_and_the_stand_in_pass(run: Run) -> None:
    pytest.importorskip("qdrant_client")
    code, out, _ = run("selftest", "--qdrant", qdrant_server.binary(), "--json")
    found = json.loads(out)
    assert [check["verdict"] for check in found["checks"]] == ["passed"] * 10
    assert (code, found["ok"], found["live"]) == (0, True, False)
    assert [check["against"] for check in found["checks"]] == ["stand-in"] * 4 + ["this machine"] * 5 + ["stand-in"]


def test_without_qdrant_the_others_are_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    code, out, _ = run("selftest", "--json")
    found = json.loads(out)
    assert [check["verdict"] for check in found["checks"]] == ["passed"] * 4 + ["skipped"] * 6
    assert (code, found["skipped"]) == (0, 6)
    assert "carrel store install" in found["checks"][4]["detail"]


def test_what_fails_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(selftest_service, "_session", lambda: {"token": ""})
    monkeypatch.setattr(qdrant_install, "MOST_BYTES", 10)
    program = tmp_path / "qdrant"
    program.write_text("no program")
    code, out, _ = run("selftest", "--qdrant", str(program))
    assert code == 1
    assert " 1 ok      token read" in out
    assert " 2 FAILED  token exchange (stand-in): GitHub gave no session token" in out
    assert " 3 FAILED" in out
    assert " 5 FAILED" in out
    assert " 6 FAILED" in out
    assert "10 skipped" in out


def test_live_without_a_sign_in_says_where_it_was_looked_for(run: Run) -> None:
    code, out, _ = run("selftest", "--live", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["live"] is True
    assert "github-copilot" in found["checks"][0]["detail"]

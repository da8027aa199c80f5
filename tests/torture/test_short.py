"""Each scenario of `make torture` for a round, and that it finds a planted fault."""

from __future__ import annotations

import os
import sys

import pytest
from tests.torture import workload
from tests.torture.__main__ import FAULTY, run
from tests.torture.scenarios import SCENARIOS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files of a running server can't be damaged there")


@pytest.mark.parametrize("name", SCENARIOS)
def test_one_round(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, 0.0, 7, (sys.executable, "-m", "carrel.frontends.lsp.serve")), capsys.readouterr()


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(workload, "PATIENCE_S", 2.0)
    assert not run("edits", 30.0, 7, FAULTY)
    assert "Wrong: marker_" in capsys.readouterr().out

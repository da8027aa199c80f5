"""`carrel selftest` makes all ten checks, and says which failed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from tests.contract import qdrant_server
from tests.frontends.cli.conftest import Run

from carrel.extensions.stores import qdrant_install
from carrel.model.vectors import Vectors
from carrel.providers import copilot_embeddings
from carrel.providers.embeddings import KnownModel
from carrel.selftest import checks as selftest
from carrel.selftest import stand_in_service as selftest_service


def test_the_real_server_and_the_stand_in_pass(run: Run) -> None:
    pytest.importorskip("qdrant_client")
    code, out, _ = run("selftest", "--qdrant", qdrant_server.binary(), "--json")
    found = json.loads(out)
    assert [check["verdict"] for check in found["checks"]] == ["passed"] * 10
    assert (code, found["ok"], found["live"]) == (0, True, False)
    assert [check["against"] for check in found["checks"]] == ["stand-in"] * 4 + ["this machine"] * 5 + ["stand-in"]


class ScoresSeenAtTheSource:
    """Gives the questions of the round trip the cosines with their snippets that Copilot's own model gave them."""

    COSINES: ClassVar = {
        "how does login work?": ("authenticateUser", 0.33),
        "database pool configuration": ("DatabaseConnection", 0.52),
    }

    async def embed(self, texts: Sequence[str], _: str) -> Vectors:
        return Vectors.unit([self._row(text) for text in texts], 5)

    def _row(self, text: str) -> list[float]:
        if text in self.COSINES:
            name, cosine = self.COSINES[text]
            return [*(cosine * part for part in self._row(name)[:4]), math.sqrt(1 - cosine**2)]
        named = [float(name in text) for name in ("authenticateUser", "DatabaseConnection", "class Order")]
        return [*named, float(not any(named)), 0.0]


@pytest.mark.parametrize(("floor", "verdict"), [(None, "passed"), (0.7, "failed")])
def test_the_floor_of_copilots_model_keeps_what_was_seen_at_the_source(
    run: Run, monkeypatch: pytest.MonkeyPatch, floor: float | None, verdict: str
) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setattr(selftest, "bundled", ScoresSeenAtTheSource)
    if floor:
        monkeypatch.setitem(copilot_embeddings.MODELS, copilot_embeddings.MODEL, KnownModel(1536, floor=floor))
    _, out, _ = run("selftest", "--qdrant", qdrant_server.binary(), "--json")
    last = json.loads(out)["checks"][-1]
    assert last["verdict"] == verdict
    assert ("0.33" in last["detail"], "below the model's floor" in last["detail"]) == (True, bool(floor))
    assert floor or "0.52" in last["detail"]


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

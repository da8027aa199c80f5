"""The terminal agents with Carrel itself: what is in the index stands in the request, by the hook that install wrote."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.frontends.agents.real.cases import CASES, QUESTION
from tests.frontends.agents.real.stand_in_api import WORDS, StandIn

from carrel.frontends.agents.meeting_place import program
from carrel.frontends.cli import main
from carrel.frontends.cli.assistants import setup as verbs

TRIES = 4
"""A first prompt may find the server still starting, and goes on without context then."""
ASKED = "How is a login checked against the user table?"


@pytest.mark.parametrize("name", CASES)
def test_code_that_answers_stands_in_the_request(
    name: str, api: StandIn, fakes: Path, run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(__file__).parents[4] / "python"
    (fakes / "carrel").write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m carrel "$@"\n')
    monkeypatch.setattr(verbs, "program", program)
    monkeypatch.setenv("PYTHONPATH", str(source))
    assert main(["index", str(tmp_path / "shop")]) == 0
    assert main(["agents", "install", name, "--yes"]) == 0
    asked = [ASKED if part == QUESTION else part for part in CASES[name].first]
    for _ in range(TRIES):
        assert WORDS in run(*asked)
        sent = json.dumps([body[CASES[name].conversation] for body in api.bodies if body.get("tools")])
        if "def authenticate_user" in sent:
            return
    pytest.fail(sent[-3000:])

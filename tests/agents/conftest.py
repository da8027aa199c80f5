"""A stand-in of the agents' API, and programs that stand in for Carrel's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents.stand_in_api import StandIn, standing_in


@pytest.fixture
def api() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """Programs that stand in for Carrel's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("carrel", "carrel-hook"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_carrel.py")}" "$@"\n')
        script.chmod(0o755)
    return folder

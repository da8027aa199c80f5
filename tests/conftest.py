"""For all tests: property tests aren't timed, machines are shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from tests.shop import environment

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing of the person who runs the tests is read or written."""
    return environment(tmp_path / "home")

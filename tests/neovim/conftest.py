"""A project on disk and editors that have it open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.neovim.nvim import Neovim, binaries, version
from tests.shop import SHOP, write_files
from tests.support.long import LONG

FILES = {**SHOP, "pyproject.toml": '[project]\nname = "shop"\n'}

Edit = Callable[..., Neovim]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


MISSING = "Neovim is not installed (Debian: apt-get install neovim), so its plugin is not tested"
EDITORS: list[Any] = [*binaries()] or [pytest.param("nvim", marks=pytest.mark.skip(reason=MISSING))]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "every_neovim: uses what differs between versions, so it runs in each of them, not in the last alone"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run in every Neovim what differs between them, in the last one the rest; `make test-long` runs all in each."""
    if "edit" in metafunc.fixturenames:
        every = LONG or metafunc.definition.get_closest_marker("every_neovim")
        metafunc.parametrize("edit", EDITORS if every else EDITORS[-1:], ids=version, indirect=True)


@pytest.fixture
def edit(request: pytest.FixtureRequest, project: Path, env: dict[str, str], tmp_path: Path) -> Iterator[Edit]:
    """Open Neovim on the project and set Carrel up: `edit(file="src/auth.py", autostart=False)`."""
    editors: list[Neovim] = []

    def opened(*, file: str | None = None, cwd: Path = project, runtime: tuple[Path, ...] = (), **options: Any) -> Neovim:
        editor = Neovim(request.param, cwd, env, runtime)
        editors.append(editor)
        options.setdefault("welcome", False)
        options.setdefault("cmd", [sys.executable, "-m", "carrel", "serve"])
        settings = {"cacheFolder": str(tmp_path / "cache"), **options.pop("settings", {})}
        editor.lua("require('carrel').setup(args[1])", {**options, "settings": settings})
        if file:
            editor.command(f"edit {project / file}")
        return editor

    yield opened
    for editor in editors:
        gone = editor.process.poll() is not None
        outdated = [] if gone else editor.lua("return deprecated")
        editor.kill()
        assert not outdated, f"deprecated calls: {outdated}"

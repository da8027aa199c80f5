"""A project on disk and editors that have it open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.neovim.nvim import Neovim, binaries, version
from tests.shop import SHOP, write_files

FILES = {**SHOP, "pyproject.toml": '[project]\nname = "shop"\n'}

Edit = Callable[..., Neovim]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


MISSING = "Neovim is not installed (Debian: apt-get install neovim), so its plugin is not tested"
EDITORS: list[Any] = [*binaries()] or [pytest.param("nvim", marks=pytest.mark.skip(reason=MISSING))]


@pytest.fixture(params=EDITORS, ids=version)
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

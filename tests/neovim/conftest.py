"""A project on disk and editors that have it open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .nvim import Neovim, binaries, version

FILES = {
    "src/auth.py": (
        'def authenticate_user(name, password):\n    """Check a login against the user table."""\n'
        "    row = load_account(name)\n    return row is not None and row.verify(password)\n"
    ),
    "src/orders.py": (
        "class Order:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total_price(self):\n        return sum(item.price for item in self.items)\n"
    ),
    "README.md": "# Shop\n\nA small shop. Orders are priced, logins are checked, connections are pooled.\n",
    "pyproject.toml": '[project]\nname = "shop"\n',
    ".env": "DATABASE_PASSWORD=hunter2hunter2\n",
}

Edit = Callable[..., Neovim]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing of the person who runs the tests is read or written."""
    names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    homes = {name: str(tmp_path / "home" / name) for name in names}
    for folder in homes.values():
        Path(folder).mkdir(parents=True)
    return {**homes, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


MISSING = "Neovim is not installed (Debian: apt-get install neovim), so its plugin is not tested"
EDITORS: list[Any] = [*binaries()] or [pytest.param("nvim", marks=pytest.mark.skip(reason=MISSING))]


@pytest.fixture(params=EDITORS, ids=version)
def edit(request: pytest.FixtureRequest, project: Path, env: dict[str, str], tmp_path: Path) -> Iterator[Edit]:
    """Open Neovim on the project and set Carrel up: `edit(file="src/auth.py", autostart=False)`."""
    editors: list[Neovim] = []

    def opened(*, file: str | None = None, cwd: Path = project, runtime: tuple[Path, ...] = (), **options: Any) -> Neovim:
        editor = Neovim(request.param, cwd, env, runtime)
        editors.append(editor)
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


def write_many(root: Path, files: int, lines: int) -> None:
    """Files that take a while to index."""
    for number in range(files):
        path = root / f"package{number % 20}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = (f"def function_{number}_{i}(value):\n    return value * {i} + {number}\n\n\n" for i in range(lines // 4))
        path.write_text("".join(functions), "utf-8")

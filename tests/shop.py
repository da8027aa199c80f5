"""The folder that real processes are tested on, and an environment that holds nothing of the person who runs the tests."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from carrel.frontends.cli import main

AUTH = (
    'def authenticate_user(name, password):\n    """Check a login against the user table."""\n'
    "    row = load_account(name)\n    return row is not None and row.verify(password)\n"
)
SHOP = {
    "src/auth.py": AUTH,
    "src/orders.py": (
        "class Order:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total_price(self):\n        return sum(item.price for item in self.items)\n"
    ),
    "README.md": "# Shop\n\nA small shop. Orders are priced, logins are checked, connections are pooled.\n",
    ".env": "DATABASE_PASSWORD=hunter2hunter2\n",
}
IGNORED = {
    ".gitignore": "generated/\n",
    "generated/out.py": "def generated_wombat():\n    return 'this file is ignored by git, so it is never read'\n",
}
_SYSTEM = {name: os.environ[name] for name in ("SYSTEMROOT", "SYSTEMDRIVE", "TEMP") if name in os.environ}
"""What no program of Windows does without."""
_HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA")


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Make a folder of these texts by path."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8", newline="")
    return root


def write_many(root: Path, files: int, lines: int) -> None:
    """Files that take a while to index, in folders of their own."""
    for number in range(files):
        folder = root / f"package{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        functions = (
            f"def function_{number}_{i}(value):\n    result = value * {i}\n    return result + {number}\n\n\n"
            for i in range(lines // 5)
        )
        (folder / f"module{number}.py").write_text("".join(functions), "utf-8")


def environment(home: Path) -> dict[str, str]:
    """Folders under `home` for what a process keeps of a person, and no git settings but a repository's."""
    for name in _HOMES:
        (home / name).mkdir(parents=True, exist_ok=True)
    no_git_settings = dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull)
    return {**_SYSTEM, **{name: str(home / name) for name in _HOMES}, **no_git_settings}


def index(root: Path, env: Mapping[str, str]) -> None:
    """Bring the folder's index up to date, in this process: starting another one takes longer than indexing."""
    with patch.dict(os.environ, env), contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        assert main(["index", str(root)]) == 0

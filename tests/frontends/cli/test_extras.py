"""With the base dependencies only, commands that need more say which extra has it; all others run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from tests.shop import environment

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NEEDED = {extra: " ".join(f'"{package}"' for package in packages) for extra, packages in PROJECT["optional-dependencies"].items()}


def names_of(requirements: list[str]) -> list[str]:
    """The packages that are required everywhere; a name with a marker may belong to an extra or another system."""
    return [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements if "extra ==" not in requirement]


@pytest.fixture(scope="module")
def base_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds Carrel and what it depends on without an extra, and nothing else."""
    folder = tmp_path_factory.mktemp("base")
    wanted = ["carrel-context"]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:  # for another system or an older Python
            continue
        wanted += names_of(found.requires or [])
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (folder / top).exists():
                (folder / top).symlink_to(str(found.locate_file(top)))
    extras = {
        "cryptography",
        "keyring",
        "lancedb",
        "mcp",
        "numpy",
        "qdrant_client",
        "tree_sitter_language_pack",
        "uvicorn",
    }
    assert not extras & {path.name for path in folder.iterdir()}
    return folder


def run(base_only: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "python"), str(base_only)])
    env = {**os.environ, **environment(home), "PYTHONPATH": paths}
    # -S: no site-packages.
    return subprocess.run([sys.executable, "-S", "-m", "carrel", *words], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["mcp"], "mcp"),
        (["proxy", "--upstream", "http://127.0.0.1:9"], "proxy"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(base_only: Path, tmp_path: Path, words: list[str], extra: str) -> None:
    done = run(base_only, tmp_path, *words)
    assert done.returncode == 1
    assert f'"{sys.executable}" -m pip install {NEEDED[extra]}' in done.stderr
    assert "carrel-context" not in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_names_what_isnt_installed(base_only: Path, tmp_path: Path) -> None:
    done = run(base_only, tmp_path, "doctor", str(tmp_path))
    assert done.returncode == 0, done.stdout
    for extra in ("languages", "mcp", "proxy"):
        assert f'"{sys.executable}" -m pip install {NEEDED[extra]}' in done.stdout
    assert "carrel-context" not in done.stdout


def test_a_teams_cache_without_its_extra_is_told(base_only: Path, tmp_path: Path) -> None:
    settings = Path(environment(tmp_path)["XDG_CONFIG_HOME"]) / "carrel" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[team]\nfolder = {json.dumps(str(tmp_path))}\nsecret = 'env:PATH'\n")
    (tmp_path / "project").mkdir()
    done = run(base_only, tmp_path, "store", "status", "--path", str(tmp_path / "project"))
    assert done.returncode == 1
    assert f'"{sys.executable}" -m pip install {NEEDED["team"]}' in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["index", "{project}"],
        ["search", "login", "--path", "{project}"],
        ["mcp", "uninstall", "--client", "vscode"],
        ["copilot-proxy", "--", sys.executable, "-c", ""],
    ],
)
def test_everything_else_needs_no_extra(base_only: Path, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/auth.py").write_text("def login(user):\n    return user.verify()\n", "utf-8")
    done = run(base_only, tmp_path / "home", *(word.format(project=tmp_path / "project") for word in words))
    assert done.returncode == 0, done.stderr

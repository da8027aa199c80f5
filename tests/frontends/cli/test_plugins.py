"""A store of another package works in the program as it is, once a person's settings name it; what is wrong with one is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STORE = (Path(__file__).parents[3] / "docs" / "examples" / "store.py").read_text("utf-8")
MODULE = f"""print("Welcome to the sample plugin!")
{STORE}

async def open_store(request):
    request.folder.mkdir(parents=True, exist_ok=True)
    return SqliteStore(request.folder / "vectors.db", request.dim)


class Elsewhere(SqliteStore):
    leaves_machine = True


def open_elsewhere(request):
    request.folder.mkdir(parents=True, exist_ok=True)
    return Elsewhere(request.folder / "vectors.db", request.dim)


def open_raising(request):
    raise ValueError(str(request))


def open_leaving(request):
    raise SystemExit(3)


def open_nothing(request):
    return None


class Wrong(SqliteStore):
    async def publish(self, upsert, delete=()):
        raise ValueError("no")

    async def search(self, vector, k, where=None, floor=None):
        return [("no", "score")]


def open_wrong(request):
    request.folder.mkdir(parents=True, exist_ok=True)
    return Wrong(request.folder / "vectors.db", request.dim)
"""
ENTRY_POINTS = """[carrel.stores]
sqlite = sample_plugin:open_store
elsewhere = sample_plugin:open_elsewhere
broken = sample_plugin_that_is_gone:open_store
qdrant = sample_plugin:open_elsewhere
raising = sample_plugin:open_raising
leaving = sample_plugin:open_leaving
empty = sample_plugin:open_nothing
wrong = sample_plugin:open_wrong
../outside = sample_plugin:open_store
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an installer leaves it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sample_plugin.py").write_text(MODULE)
    information = folder / "sample_plugin-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: sample-plugin\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


class Program:
    """The command line in a process of its own, with the package installed."""

    def __init__(self, site: Path, project: Path) -> None:
        self.environment = {**os.environ, "PYTHONPATH": str(site)}
        self.settings = Path(os.environ["XDG_CONFIG_HOME"]) / "carrel" / "settings.toml"
        self.project = project

    def __call__(self, *arguments: str) -> tuple[int, Any, str]:
        """Return the exit code, what was printed as JSON, and standard error."""
        command = [sys.executable, "-m", "carrel", *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, cwd=self.project, capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else None, done.stderr

    def set(self, text: str) -> None:
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(text)


@pytest.fixture
def program(site: Path, project: Path) -> Program:
    return Program(site, project)


def test_a_store_of_another_package_keeps_the_vectors_and_answers(program: Program) -> None:
    code, moved, errors = program("store", "migrate", "sqlite")
    assert "Welcome to the sample plugin!" in errors, "standard output has the JSON value alone"
    assert code == 0, errors
    assert moved["kind"] == "sqlite"
    assert moved["held"] > 0
    assert program("store", "verify")[1]["same"]
    assert program("store", "status")[1]["state"] == "ready"
    _, found, _ = program("search", "who may come in")
    assert found["hits"][0]["path"] == "src/auth.py"
    assert program("doctor")[0] == 0


def test_a_store_that_sends_vectors_elsewhere_must_say_where(program: Program) -> None:
    program.set('store = "elsewhere"\n')
    _, state, errors = program("store", "status")
    assert "sends vectors to another machine" in json.dumps(state) + errors
    assert program("search", "who may come in")[1]["hits"], "the index answers by its own vectors"


def test_a_name_that_nobody_offers_is_refused_with_those_that_there_are(program: Program) -> None:
    code, _, errors = program("store", "migrate", "nothing")
    assert code != 0
    assert 'no store "nothing"' in errors
    assert "sqlite" in errors
    program.set('store = "nothing"\n')
    _, found, errors = program("search", "who may come in")
    assert 'no store "nothing"' in errors
    assert found["hits"]


@pytest.mark.parametrize("kind", ["broken", "raising", "leaving", "empty", "wrong"])
def test_a_store_with_a_fault_costs_its_help_only(program: Program, kind: str) -> None:
    program.environment["SOME_KEY"] = "planted-key"
    program.set(f'store = {{kind = "{kind}", key = "env:SOME_KEY"}}\n')
    code, _, errors = program("store", "migrate", kind, "--key", "env:SOME_KEY")
    assert (code, "the package sample-plugin" in errors) == (1, True), errors
    code, found, more = program("context", "who may come in")
    assert (code, "verify_password" in json.dumps(found)) == (0, True), more
    assert "planted-key" not in errors + more
    if kind != "wrong":  # which opens
        [told] = [one for one in program("doctor")[1]["findings"] if one["check"] == "Vector store"]
        assert (told["level"], told["remedy"]) == ("warning", "Until then the index's own vectors answer.")
        assert "the package sample-plugin" in told["detail"]
    assert "Traceback" not in errors + more


def test_names_that_are_no_folder_or_that_two_packages_offer_count_for_nothing(program: Program, tmp_path: Path) -> None:
    code, _, errors = program("store", "migrate", "../outside")
    assert (code, "no store" in errors) == (2, True)
    twin = tmp_path / "other"
    information = twin / "other_plugin-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: other-plugin\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[carrel.stores]\nsqlite = other:open_store\n")
    program.environment["PYTHONPATH"] += os.pathsep + str(twin)
    code, _, errors = program("store", "migrate", "sqlite")
    assert (code, "one package alone" in errors) == (2, True)
    (information / "entry_points.txt").write_bytes(b"[carrel.stores]\n\xff\xfe")
    assert program("search", "who may come in")[1]["hits"]


def test_nothing_of_a_package_is_imported_without_its_name_in_settings(program: Program) -> None:
    script = """
import sys
from carrel.frontends.cli import main
main(["search", "x", "--json"])
sys.exit("sample_plugin" in sys.modules)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=program.environment, cwd=program.project, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr

"""A disk with no room left: what is in the index answers, and whoever asks is told what it lacks."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start

from carrel.composition.composition import Composition
from carrel.frontends.cli import main
from carrel.model.errors import StoreError
from carrel.settings.settings_files import settings_of
from carrel.upkeep.index_jobs import IndexRunner

QUESTION = "configure the size of the database connection pool"
LATE = "def late_arrival():\n    return 'zebra'\n"


@pytest.fixture
def small(env: dict[str, str]) -> Iterator[Path]:
    """The cache folder on a file system of 4 MB, where this user may mount one."""
    folder = Path(env["XDG_CACHE_HOME"])
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "carrel-test", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user can't mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    with contextlib.suppress(OSError), (folder / "fill").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


@pytest.fixture
def run(env: dict[str, str], project: Path) -> Callable[..., tuple[int, str, str]]:
    def carrel(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "carrel", *words]
        done = subprocess.run(command, cwd=project, env={**os.environ, **env}, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return carrel


def test_alone_the_index_answers_and_the_changed_files_are_named(
    run: Callable[..., tuple[int, str, str]], project: Path, small: Path
) -> None:
    assert run("index")[0] == 0
    fill(small)
    (project / "late.py").write_text(LATE)
    for command in ("search", "context"):
        code, out, err = run(command, QUESTION)
        assert code == 0, err
        assert "src/pool.py" in out
        assert "No space left on device" in err or "is full" in err
        assert "1 changed file isn't in the index yet" in err
        assert "late.py" in err
    assert run("index")[0] == 1
    (small / "fill").unlink()
    code, out, err = run("search", "late_arrival zebra")
    assert (code, "late.py" in out, "isn't in the index" in err) == (0, True, False)


def test_an_index_that_cannot_be_taken_over_is_read_as_it_was_left(
    run: Callable[..., tuple[int, str, str]], env: dict[str, str], project: Path, small: Path
) -> None:
    for number in range(400):
        (project / f"part{number}.py").write_text(f"def part_{number}():\n    return {number}\n")
    assert run("index")[0] == 0
    fill(small)
    settings = Path(env["XDG_CONFIG_HOME"]) / "carrel" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"secretPatterns": ["zzz[0-9]+qq"]}')  # every file must be looked at again, which is noted at opening
    (project / "late.py").write_text(LATE)
    code, out, err = run("search", QUESTION)
    assert (code, "src/pool.py" in out) == (0, True)
    assert "can't be written (No space left on device): the index in it is read as it was left. Free some disk space" in err
    assert "late.py" in err
    (small / "fill").unlink()
    code, out, err = run("search", "late_arrival zebra")
    assert (code, "late.py" in out, err.count("can't")) == (0, True, 0)


async def test_beside_a_server_it_is_told_that_the_server_cannot_write(
    run: Callable[..., tuple[int, str, str]], start: Start, project: Path, small: Path
) -> None:
    async with start(project, cacheFolder=str(small / "carrel")) as client:
        await client.request("carrel/index", {})
        fill(small)
        (project / "late.py").write_text(LATE)
        code, out, err = run("search", QUESTION)
        assert (code, "src/pool.py" in out) == (0, True)
        assert "can't be written (No space left on device), so the Carrel process that writes this index can't" in err
        assert "late.py" in err
        assert "can't be written (No space left on device)" in run("status")[1]
        (small / "fill").unlink()
        await client.request("carrel/index", {})
        code, out, err = run("search", "late_arrival zebra")
        assert (code, "late.py" in out, "changed file" in err) == (0, True, False)
        assert "problem" not in run("status")[1]


# --- the same without a file system of its own


@pytest.fixture
def indexed(
    run: Callable[..., tuple[int, str, str]], env: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    assert run("index")[0] == 0
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    (project / "late.py").write_text(LATE)
    return project


def test_a_run_that_cannot_write_costs_no_answer(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def full(*_: Any) -> None:
        raise StoreError("index.db: No space left on device")

    monkeypatch.setattr(IndexRunner, "run", full)
    assert main(["search", QUESTION, "--path", str(indexed)]) == 0
    out, err = capsys.readouterr()
    assert "src/pool.py" in out
    assert "No space left on device" in err
    assert "1 changed file isn't in the index yet" in err
    assert "late.py" in err


def test_a_follower_tells_why_its_writer_cannot_write(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = Composition().open_index(indexed, settings_of(indexed)[0])
    assert writer.store.role == "writer"
    try:
        monkeypatch.setattr(tempfile, "TemporaryFile", full)
        assert main(["search", QUESTION, "--path", str(indexed)]) == 0
        out, err = capsys.readouterr()
        assert "src/pool.py" in out
        assert "can't be written (No space left on device)" in err
        assert "late.py" in err
        assert main(["status", str(indexed)]) == 0
        assert "problem: " in (told := capsys.readouterr().out)
        assert "No space left on device" in told
    finally:
        writer.store.close()

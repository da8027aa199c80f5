"""What other programs do to the files of an index that a server uses: cut short, delete, forbid to write."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspClient

QUESTION = {"query": "configure the size of the database connection pool"}


def segments(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*.seg")}


@pytest.mark.skipif(os.name == "nt", reason="Windows doesn't let a file be cut short that somebody reads")
async def test_segments_cut_short_change_no_answer_and_are_written_again(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        (project / "late.py").write_text("def late_arrival():\n    return 'a second segment'\n")
        await client.request("carrel/index", {})
        whole = segments(tmp_path / "cache")
        expected = (await client.request("carrel/search", QUESTION))["hits"]
        assert len(whole) > 1
        for length in (None, 4095, 0):  # half of it
            for path, size in whole.items():
                os.truncate(path, size // 2 if length is None else length)
                assert (await client.request("carrel/search", QUESTION))["hits"] == expected
                assert (await client.request("carrel/context", QUESTION))["text"]
        report = await client.request("carrel/index", {})
        assert (report["added"], report["changed"], report["unchanged"]) == (0, 0, await indexed(client))
        assert segments(tmp_path / "cache") == whole
        assert "it was written again" in " ".join((await client.request("carrel/status", {}))["problems"])
    async with start(project) as client:
        assert (await client.request("carrel/search", QUESTION))["hits"] == expected
        assert (await client.request("carrel/status", {}))["problems"] == []


async def indexed(client: LspClient) -> int:
    files: int = (await client.request("carrel/status", {}))["files"]
    return files


def _delete_folder(index: Path) -> None:
    shutil.rmtree(index.parent)


def _delete_database(index: Path) -> None:
    (index / "index.db").unlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows doesn't let files be deleted that somebody has open")
@pytest.mark.parametrize("delete", [_delete_folder, _delete_database])
async def test_a_deleted_index_is_built_anew(start: Start, project: Path, tmp_path: Path, delete: Callable[[Path], None]) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        before = await client.request("carrel/search", QUESTION)
        [index] = (tmp_path / "cache" / "indexes").glob("shop-*")
        delete(index)
        # A chat turn doesn't wait for it, and says so; an explicit question does.
        turn = await client.request("carrel/context", {"query": "who signs in", "trigger": "chat"})
        assert turn["hits"] or "built anew" in turn["error"]
        assert (await client.request("carrel/search", QUESTION))["hits"] == before["hits"]
        assert (index / "index.db").exists()
        # The same when the next thing is an index run, which is asked for or follows from a save.
        delete(index)
        (project / "late.py").write_text("def late_arrival():\n    return 'after the second time'\n")
        report = await client.request("carrel/index", {})
        assert report["added"] == await indexed(client) > 1
        assert "late.py" in paths(await client.request("carrel/search", {"query": "late_arrival"}))
        assert (await client.request("carrel/status", {}))["problems"] == []


@pytest.mark.skipif(os.name == "nt", reason="Windows doesn't let files be deleted that somebody has open")
async def test_git_clean_in_a_project_with_its_index_inside(start: Start, project: Path, env: dict[str, str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, env={**os.environ, **env})

    git("init")
    async with start(project, storage="workspace") as client:
        await client.request("carrel/index", {})
        assert (project / ".carrel" / "index.db").exists()
        git("clean", "-xdf", ".carrel")
        assert not (project / ".carrel").exists()
        assert "src/pool.py" in paths(await client.request("carrel/search", QUESTION))
        assert (project / ".carrel" / "index.db").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows doesn't let a file be cut short that somebody reads")
async def test_a_database_cut_short_under_a_server_is_made_anew(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        expected = (await client.request("carrel/search", QUESTION))["hits"]
        [index] = (tmp_path / "cache" / "indexes").glob("shop-*")
        for path in index.glob("index.db*"):  # a mapped one would end the server with SIGBUS
            os.truncate(path, path.stat().st_size // 2)
        assert (await client.request("carrel/search", QUESTION))["hits"] == expected
        (project / "late.py").write_text("def late_arrival():\n    return 'after the damage'\n")
        report = await client.request("carrel/index", {})
        assert report["added"] == await indexed(client) > 1
        assert "late.py" in paths(await client.request("carrel/search", {"query": "late_arrival"}))
        assert "it was moved to" in " ".join((await client.request("carrel/status", {}))["problems"])


async def test_an_index_of_the_format_before_answers_and_is_rebuilt_by_itself(
    start: Start, project: Path, tmp_path: Path
) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        expected = (await client.request("carrel/search", QUESTION))["hits"]
    [index] = (tmp_path / "cache" / "indexes").glob("shop-*")
    with contextlib.closing(sqlite3.connect(index / "index.db")) as database:
        database.executescript("PRAGMA journal_mode = WAL; PRAGMA user_version = 4")
    before = set(segments(index))
    async with start(project) as client:
        told = (await client.request("carrel/status", {}))["problems"]
        assert "made by an older version of Carrel" in " ".join(told)
        assert (await client.request("carrel/search", QUESTION))["hits"] == expected
        for _ in range(200):
            if not (told := (await client.request("carrel/status", {}))["problems"]):
                break
            await asyncio.sleep(0.05)
        assert told == []
        assert not before & set(segments(index))
        assert (await client.request("carrel/search", QUESTION))["hits"] == expected


# --- a cache that can't be written


def _drop_override() -> None:
    """Root may write into every folder; without this right (CAP_DAC_OVERRIDE) it is bound by modes as its owner."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP: gone from the program that is run next


def bound_by_modes(folder: Path) -> bool:
    """Whether a child of this process can be kept out of a read-only folder."""
    if sys.platform != "linux":
        return os.name == "posix" and os.geteuid() != 0
    folder.mkdir(mode=0o555)
    code = f"open({str(folder / 'probe')!r}, 'w')"
    return (
        subprocess.run([sys.executable, "-c", code], preexec_fn=_drop_override, capture_output=True, check=False).returncode != 0
    )


@pytest.fixture
def run(env: dict[str, str], project: Path, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """The command line, without root's right to write everywhere."""
    if not bound_by_modes(tmp_path / "read-only"):
        pytest.skip("this user can write into read-only folders, and that right can't be dropped")

    def carrel(command: str, *words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "carrel", command, *words],
            cwd=project,
            env={**os.environ, **env},
            preexec_fn=_drop_override if sys.platform == "linux" else None,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return carrel


def set_modes(cache: Path, folders: int, files: int) -> None:
    for path in [*cache.rglob("*"), cache]:
        path.chmod(folders if path.is_dir() else files)


def test_an_index_in_a_read_only_cache_is_read_and_not_built_anew(
    run: Callable[..., tuple[int, str, str]], env: dict[str, str], project: Path
) -> None:
    assert run("index")[0] == 0
    cache = Path(env["XDG_CACHE_HOME"]) / "carrel"
    (_, before, _) = run("search", QUESTION["query"], "--json")
    expected = [hit["path"] for hit in json.loads(before)["hits"]]
    set_modes(cache, 0o555, 0o444)
    try:
        code, out, err = run("search", QUESTION["query"], "--json")
        assert (code, [hit["path"] for hit in json.loads(out)["hits"]]) == (0, expected)
        assert "is read as it was left" in err
        assert run("index")[0] == 0, "nothing has to be kept"
        (project / "late.py").write_text("def late_arrival():\n    return 1\n")
        code, out, err = run("index")
        assert (code, out) == (1, "")
        assert "can't be written, and 1 changed file waits" in err
        assert "can't be written" in run("index", "--force")[2]
    finally:
        set_modes(cache, 0o755, 0o644)
    assert run("index")[0] == 0
    assert "late.py" in run("search", "late_arrival")[1]


def test_index_fails_where_nothing_can_be_kept(run: Callable[..., tuple[int, str, str]], env: dict[str, str]) -> None:
    home = Path(env["XDG_CACHE_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o555)
    try:
        code, out, err = run("index")
        assert (code, out) == (1, "")
        assert "can't be written (Permission denied)" in err
        assert "cacheFolder" in err
        assert run("search", QUESTION["query"])[0] == 0, "a question is answered all the same"
    finally:
        home.chmod(0o755)

"""Changes on disk reach the index though no editor tells of them, and nobody asks a question."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.e2e.test_changes import WATCHING, eventually
from tests.lsp_client import SERVER, LspClient
from tests.shop import write_files

PAGE = "def {name}(height):\n    # says how high it jumps, and how far\n    return height + {number}\n"


def has(files: int) -> Callable[[Any], bool]:
    """Tell of a status whether the index holds so many files, and all is done."""
    return lambda status: status["state"] == "ready" and status["files"] == files and not status["pending"]


def has_inotify(pid: int) -> bool:
    """Tell whether a process has a watcher open."""
    return any("inotify" in str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir())


async def indexed(client: LspClient) -> int:
    """Make the first index; give its number of files."""
    await client.request("carrel/index", {})
    return int((await client.request("carrel/status", {}))["files"])


async def test_changes_of_other_programs_are_indexed_without_a_question(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project, capabilities={}) as client:
        files = await indexed(client)
        (project / "src/lemur.py").write_text(PAGE.format(name="lemur_jump", number=1))
        await client.wait_for("carrel/statusChanged", has(files + 1))
        write_files(project, {f"zoo/house{n}.py": PAGE.format(name=f"jump_{n}", number=n) for n in range(30)})
        await client.wait_for("carrel/statusChanged", has(files + 31))
        (project / "zoo").rename(tmp_path / "aside")
        (project / "src/lemur.py").unlink()
        await client.wait_for("carrel/statusChanged", has(files))
        # What comes into a folder that was made again, and right before a question.
        write_files(project, {"zoo/ape.py": PAGE.format(name="ape_jump", number=2)})
        await eventually(client, "ape_jump", ["zoo/ape.py"])
        (project / "zoo/ape.py").write_text(PAGE.format(name="bonobo_jump", number=3))
        await eventually(client, "bonobo_jump", ["zoo/ape.py"])


async def test_a_folder_that_is_deleted_and_made_again_is_watched_again(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project, capabilities={}) as client:
        files = await indexed(client)
        shutil.move(project, tmp_path / "aside")
        write_files(project, {"src/tapir.py": PAGE.format(name="tapir_jump", number=1)})
        await client.wait_for("carrel/statusChanged", has(1), seconds=30)
        shutil.rmtree(project)
        shutil.copytree(tmp_path / "aside", project)
        await client.wait_for("carrel/statusChanged", has(files), seconds=30)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("capabilities", "setting", "watches"),
    [({}, "auto", True), (WATCHING, "auto", False), (WATCHING, "always", True), ({}, "never", False)],
)
async def test_the_server_watches_only_where_it_must(
    start: Start, project: Path, capabilities: dict[str, Any], setting: str, watches: bool
) -> None:
    async with start(project, capabilities=capabilities, watch=setting) as client:
        files = await indexed(client)
        (project / "src/lemur.py").write_text(PAGE.format(name="lemur_jump", number=1))
        if watches:
            await client.wait_for("carrel/statusChanged", has(files + 1))
        assert has_inotify(client.process.pid) is watches
        if capabilities == {}:  # watched or not, questions find it
            await eventually(client, "lemur_jump", ["src/lemur.py"])


def _limited(sysctl: str, number: int) -> list[str]:
    """Return the command of a server whose user may have only so much of something."""
    script = f'echo {number} > /proc/sys/user/{sysctl} && exec "$@"'
    return ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]


def _can_limit() -> bool:
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*_limited("max_inotify_watches", 9), "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _can_limit(), reason="the system gives a process no limits of its own (Linux, user namespaces)")
@pytest.mark.parametrize(
    ("sysctl", "number", "remedy"),
    [("max_inotify_watches", 1, "fs.inotify.max_user_watches"), ("max_inotify_instances", 0, "fs.inotify.max_user_instances")],
)
async def test_a_limit_of_the_system_is_told_once_with_its_remedy_and_questions_look(
    env: dict[str, str], options: dict[str, Any], project: Path, sysctl: str, number: int, remedy: str
) -> None:
    command = [*_limited(sysctl, number), *SERVER]
    async with LspClient.started(project, options=options, capabilities={}, env=env, command=command) as client:
        await indexed(client)
        message = await client.wait_for("window/showMessage")
        assert remedy in message["message"]
        assert remedy in " ".join((await client.request("carrel/status", {}))["problems"])
        for name in ("lemur", "ape"):
            (project / f"src/{name}.py").write_text(PAGE.format(name=f"{name}_jump", number=1))
            await eventually(client, f"{name}_jump", [f"src/{name}.py"])
        told = [params for method, params in client.notifications if method == "window/showMessage"]
        assert len(told) == 1

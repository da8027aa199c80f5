"""What a status says of an index, on the wire and on a terminal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import msgspec
import pytest

from carrel.composition.composition import Composition
from carrel.frontends.cli.index import _show_status
from carrel.frontends.cli.terminal import Output
from carrel.frontends.lsp.commands.index_commands import status_result
from carrel.frontends.lsp.messages.index_messages import StatusResult
from carrel.frontends.mcp.tools import status_text
from carrel.index.workspace_state import FolderSettings
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeEmbedder, faulty
from carrel.service.workspace import Workspace
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs

CODE = "def alpha(value):\n    return value + 1  # long enough to be a chunk\n"


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def workspace_of(root: Path, composition: Composition | None = None) -> Workspace:
    folder = FolderSettings(Settings(storage="workspace"))
    return Workspace(root, root.as_uri(), folder=folder, composition=composition or Composition(), jobs=Jobs())


async def status_of(workspace: Workspace) -> StatusResult:
    return status_result(workspace, "shop", await workspace.status())


async def test_files_that_failed_are_named_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "abcdefg":
        (tmp_path / f"{name}.py").write_text(CODE)
    model = faulty(FakeEmbedder(), fail=ProviderError("The service has no quota left."))
    workspace = workspace_of(tmp_path, Composition(model))
    await workspace.request_index().done
    status = await status_of(workspace)
    assert (status.failed_files, [failed.path for failed in status.failed][:2]) == (7, ["a.py", "b.py"])
    assert {failed.reason for failed in status.failed} == {"The service has no quota left."}
    brief = status_result(workspace, "shop", workspace.brief())
    assert (brief.failed_files, brief.failed) == (7, ())
    _show_status(status, Output())
    told = capsys.readouterr().out
    assert "failed: 7 files, tried again by the next run\n  a.py: The service has no quota left.\n" in told
    assert "… 2 more" in told
    await workspace.close()


async def test_a_first_run_that_gave_up_is_unfinished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(40):
        lines = (
            f"def function_{number}_{i}(value):\n    return value * {i}  # long enough to be a chunk\n" for i in range(1_000)
        )
        (tmp_path / f"file{number}.py").write_text("".join(lines))
    workspace = workspace_of(tmp_path, Composition(faulty(FakeEmbedder(), fail=ProviderError("The service is down."))))
    await workspace.request_index().done
    status = await status_of(workspace)
    assert (status.complete, status.files + status.unfinished) == (False, 40)
    assert 0 < status.unfinished < 40
    _show_status(status, Output())
    told = f"unfinished: {status.files} of 40 files are in the index, answers lack what the others hold."
    assert told in capsys.readouterr().out
    assert status_text("big", await workspace.status()).splitlines()[1] == told.rstrip(".")
    await workspace.close()


async def test_secrets_are_counted_and_never_told(tmp_path: Path) -> None:
    (tmp_path / "deploy.py").write_text("password = 'hunter2-Xq9vLm3T8'\npassword_old = 'trombone-Zk4nBw7Yd'\n")
    (tmp_path / "a.py").write_text(CODE)
    workspace = workspace_of(tmp_path)
    await workspace.request_index().done
    status = await status_of(workspace)
    assert (status.masked_files, status.masked_secrets, status.failed_files) == (1, 2, 0)
    assert b"hunter2" not in msgspec.json.encode(status)
    await workspace.close()


async def test_a_cleared_index_counts_nothing_of_open_documents(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    workspace = workspace_of(tmp_path)
    await workspace.request_index().done
    workspace.buffers.opened("a.py", lambda: CODE + "beta = alpha(1)\n")
    await workspace.buffers.flush()
    await workspace.clear()
    status = await status_of(workspace)
    assert (status.files, status.chunks, status.languages, status.chunks_without_vectors) == (0, 0, {}, 0)
    await workspace.close()


async def test_the_commit_is_that_of_the_last_run_over_everything(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "a")
    indexed, workspace = git(tmp_path, "rev-parse", "HEAD"), workspace_of(tmp_path)
    await workspace.request_index().done
    await workspace.close()
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "b")
    workspace = workspace_of(tmp_path)
    status = await status_of(workspace)
    assert (status.last_commit_sha, status.head_sha) == (indexed, git(tmp_path, "rev-parse", "HEAD"))
    assert json.loads((tmp_path / ".carrel" / "rag-state.json").read_text())["lastCommitSha"] == indexed
    await workspace.request_index().done
    assert (await status_of(workspace)).last_commit_sha == git(tmp_path, "rev-parse", "HEAD") != indexed
    await workspace.clear()
    assert not isinstance((await status_of(workspace)).last_commit_sha, str)
    await workspace.close()

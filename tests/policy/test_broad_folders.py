"""Folders that hold far more than a project are read only where a person named them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.shop import SHOP, environment, write_files

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.model.errors import NotReady
from carrel.model.types import Budget, Query
from carrel.policy.broad_folders import breadth
from carrel.service import queries
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.session import Session


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path / "files").items():
        monkeypatch.setenv(name, value)
    root = write_files(tmp_path / "home", SHOP)
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("USERPROFILE", str(root))
    return root


@pytest.fixture
async def session(home: Path) -> AsyncIterator[Session]:
    session = Session(Composition(), longest_match)
    session.configure({"ragEnabled": True, "ragAutoIndex": True})
    yield session
    await session.close()


async def test_a_home_that_an_editor_opens_is_read_once_a_person_had_it_indexed(session: Session, home: Path) -> None:
    workspace = session.add_folder(str(home), home.as_uri())
    await workspace.start()
    assert (workspace.state(), workspace.has_index) == ("error", False)
    with pytest.raises(NotReady, match=r"is your home folder.*carrel index --yes"):
        await queries.search(workspace, Query("login", 3), 60_000)
    with pytest.raises(NotReady, match="home folder"):
        await workspace.request_index().done
    answer = await context(workspace, ContextRequest("where is the login", 3, Budget(2_000)))
    assert "home folder" in (answer.error or "")
    assert not workspace.has_index

    agreed = Session(Composition(), longest_match)
    agreed.configure({})
    named = agreed.add_folder(str(home), home.as_uri(), broad="allowed")
    assert (await queries.search(named, Query("login", 3), 60_000)).hits
    await agreed.close()
    assert (await queries.search(workspace, Query("login", 3), 60_000)).hits


def test_folders_are_broad_by_what_they_hold(home: Path, tmp_path: Path) -> None:
    assert breadth(home) == "your home folder"
    assert breadth(home / "src" / "..") == "your home folder"
    assert breadth(tmp_path) == "above your home folder"
    assert breadth(Path(home.anchor)) == "a whole disk"
    assert breadth(home / "src") is None
    if sys.platform != "win32":
        assert breadth(Path("/etc")) == breadth(Path("/usr")) == "a folder of the system"
        assert breadth(Path("/usr/src/app")) is None
        (link := tmp_path / "files").mkdir(exist_ok=True)
        (link / "project").symlink_to(home)
        assert breadth(link / "project") == "your home folder"


@pytest.mark.parametrize("name", [".ssh", ".gnupg", ".aws", ".kube", ".config/gcloud", ".local/share/keyrings", ".ssh/keys"])
def test_a_folder_that_holds_keys_is_no_project(home: Path, name: str) -> None:
    (home / name).mkdir(parents=True)
    assert breadth(home / name) == "a folder that holds keys"


def test_a_folder_that_cannot_be_followed_is_no_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> Path:
        raise PermissionError

    monkeypatch.setattr(Path, "resolve", refuse)
    assert breadth(tmp_path) == "a folder that can't be read"

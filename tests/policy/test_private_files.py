"""Keep to a person what Carrel keeps for that person, whatever the process's umask, and what earlier versions left open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrel.composition.outbound import usage_file
from carrel.composition.stores import qdrant_folder
from carrel.extensions.stores import qdrant_process
from carrel.extensions.team.embedding_cache import EmbeddingCache
from carrel.extensions.team.team_ledger import TeamLedger
from carrel.extensions.tools.tool_catalogue import ToolStore
from carrel.frontends.copilot import install
from carrel.index.index_location import cache_root, locate, prepare
from carrel.model.errors import ProviderError
from carrel.model.outbound import Destination, Load
from carrel.model.ports import AuditEvent
from carrel.policy.audit import audit_file
from carrel.policy.audit_log import SqliteAuditLog
from carrel.policy.permissions import PermissionFile, permissions_file
from carrel.policy.usage import Limits, UsageMeter
from carrel.settings import settings_writer
from carrel.settings.settings import Settings

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of POSIX")


@pytest.fixture(params=[0o000, 0o002, 0o022], ids=oct)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a person's home that everybody may look into."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    before = os.umask(request.param)
    try:
        home.mkdir(mode=0o755)
        yield home
    finally:
        os.umask(before)


def write_all(home: Path) -> None:
    """Write one of each thing that Carrel keeps for a person."""
    service = Destination("openai", "api.openai.com")
    PermissionFile(permissions_file()).allow(service)
    meter = UsageMeter(usage_file(), Limits)
    meter.record(service, Load(tokens=1))
    meter.close()
    log = SqliteAuditLog(audit_file())
    log.record(AuditEvent("search", 0.0, "somebody"))
    assert log.flush()
    ToolStore(permissions_file().with_name("tools.json")).put("own", "own", ())
    settings_writer.set_store({"kind": "qdrant"})
    cache = cache_root(Settings())[0].parent
    EmbeddingCache(cache / "embeddings.sqlite").write({b"key": b"vector"})
    TeamLedger(cache / "team.sqlite").count("place", {"hits": 1})
    with pytest.raises(ProviderError):
        qdrant_process._start(qdrant_folder(), Path("/nowhere"), 0.1, 1)
    program = home / "server"
    program.touch(mode=0o755)
    install.install("emacs", ["carrel", "copilot-proxy"], str(program))
    prepare(locate(home, Settings()), home)
    prepare(locate(home, Settings(storage="workspace")), home)


def open_to_others(folder: Path) -> list[str]:
    """Name what anybody else may read or change below a folder that they may look into."""
    found = []
    for path in folder.iterdir():
        rights = path.stat().st_mode & 0o077
        if path.is_dir():
            found += [str(path)] * bool(rights & 0o022)
            found += open_to_others(path) if rights & 0o011 else []
        elif rights:
            found.append(str(path))
    return found


def test_nobody_else_reads_or_changes_what_is_kept_for_a_person(home: Path) -> None:
    write_all(home)
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert len(kept) > 12
    assert set(open_to_others(home)) <= {str(home / "server")}


def test_what_an_earlier_version_left_open_is_closed(home: Path) -> None:
    write_all(home)
    for path in home.rglob("*"):
        path.chmod(path.stat().st_mode | (0o777 if path.is_dir() else 0o066))
    write_all(home)
    own = {home / "data" / "carrel", home / "config" / "carrel", home / "data" / "carrel" / "qdrant"}
    assert {folder.stat().st_mode & 0o777 for folder in own} == {0o700}
    assert not [path.name for path in (home / "cache" / "carrel").glob("*.sqlite") if path.stat().st_mode & 0o077]

"""Two developers with machines of their own and one team's cache, by the real commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server
from tests.e2e.conftest import FILES
from tests.services.embeddings import KEY, EmbeddingService, running
from tests.shop import write_files

from carrel.settings.settings import Layer, Settings, resolve
from carrel.settings.store_settings import TeamSettings

pytest.importorskip("cryptography", reason="the extra team isn't installed")

SECRET = "planted-team-secret-of-forty-characters-"  # noqa: S105 - planted


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    with running() as service:
        yield service


class Developer:
    """A home and a checkout."""

    def __init__(self, folder: Path, env: dict[str, str], service: EmbeddingService, team: str) -> None:
        self.project = write_files(folder / "shop", FILES)
        homes = {name: str(folder / name) for name in env if name == "HOME" or name.startswith("XDG_")}
        self.env = {**os.environ, **env, **homes, "OPENAI_API_KEY": KEY, "CARREL_TEAM_SECRET": SECRET}
        settings = Path(self.env["XDG_CONFIG_HOME"]) / "carrel" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(
            f'[models.embedder]\nprovider = "openai"\nbaseUrl = "{service.url}/v1"\ndimensions = 64\nkey = "env:OPENAI_API_KEY"\n'
            f"[team]\n{team}\n"
        )

    def carrel(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "carrel", *arguments]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=60)


def kept(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_second_developer_pays_for_what_is_new_only(tmp_path: Path, env: dict[str, str], service: EmbeddingService) -> None:
    collection = f"carrel-team-{uuid.uuid4().hex[:8]}"
    team = f'url = "{qdrant_server.server_url()}"\ncollection = "{collection}"'
    first, second = (Developer(tmp_path / name, env, service, team) for name in ("first", "second"))
    done = first.carrel("index", str(first.project))
    assert done.returncode == 0, done.stderr
    paid = len(service.texts)
    write_files(second.project, {"src/refund.py": "def refund(order):\n    return -order.total_price()\n"})
    assert second.carrel("index", str(second.project)).returncode == 0
    assert len(service.texts) == paid + 1
    shown = second.carrel("store", "status", "--path", str(second.project))
    assert f"{paid} vectors found, 1 not there, 0 refused; 1 given, 0 wait" in shown.stdout
    written = kept(tmp_path / "second" / "XDG_CACHE_HOME") + kept(tmp_path / "second" / "XDG_DATA_HOME")
    assert written
    assert SECRET.encode() not in written
    assert SECRET not in done.stderr + shown.stdout + shown.stderr

    second.env["CARREL_TEAM_SECRET"] = SECRET[::-1]
    other = second.carrel("store", "status", "--path", str(second.project), "--json")
    assert other.returncode == 1
    told = json.loads(other.stdout)["team"]
    assert (told["state"], told["hits"]) == ("waiting", paid)
    assert "begun with another secret" in told["problem"]


def test_a_dead_server_is_told_and_in_nobodys_way(tmp_path: Path, env: dict[str, str], service: EmbeddingService) -> None:
    dead = f'url = "http://127.0.0.1:{qdrant_server.free_port()}"'
    developer = Developer(tmp_path / "first", env, service, dead)
    done = developer.carrel("index", str(developer.project))
    assert done.returncode == 0, done.stderr
    assert "answers from now on" in done.stderr
    assert "can't be reached" in done.stderr


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"url": "ftp://q.example"}, "https:// or http://"),
        ({"url": "https://q.example", "folder": "/srv/team"}, "either"),
        ({"folder": "team"}, "absolute"),
        ({"url": "https://q.example", "secret": "planted-secret-in-a-file"}, "doesn't belong into a settings file"),
        ({"url": "https://q.example", "secret": "none"}, "without one"),
        ({"url": "https://q.example", "collection": "../x"}, "letters"),
        ({"adress": "x"}, "no such field"),
    ],
)
def test_settings_that_cannot_be_used(given: Any, part: str) -> None:
    settings, problems = resolve(Layer("own", {"team": given}, personal=True))
    assert settings.team == TeamSettings()
    assert part in str(problems[0])
    assert "planted-secret" not in str(problems[0])


def test_only_the_persons_own_file_names_a_team() -> None:
    team = {"team": {"folder": str(Path.home() / "team")}}
    for layer in (Layer("editor", team), Layer(".carrel.toml", team, workspace=True)):
        settings, problems = resolve(layer)
        assert settings.team == Settings().team
        assert "only in your own settings file" in str(problems[0])

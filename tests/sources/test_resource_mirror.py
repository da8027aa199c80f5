"""Resources of an MCP server as texts: asked for at intervals, bounded, and kept where the server fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from carrel.model.errors import ProviderError
from carrel.model.native import CancelToken
from carrel.sources.documents.resource_mirror import MINUTES, RETRY_MINUTES, ResourceMirror, ResourceText
from carrel.system.background import directly, run_at_once

TOKEN = CancelToken()


class Server:
    """Offers resources, at a time that a test sets."""

    def __init__(self, *offered: ResourceText) -> None:
        self.offered: Sequence[ResourceText] = offered
        self.asked, self.time, self.down = 0, 1_000_000.0, False

    async def fetch(self) -> Sequence[ResourceText]:
        self.asked += 1
        if self.down:
            raise ProviderError("The MCP server notes ended")
        return self.offered

    def mirror(self, directory: Path) -> ResourceMirror:
        return ResourceMirror(directory, self.fetch, lambda: self.time)


def update(mirror: ResourceMirror) -> int:
    return run_at_once(mirror.update(TOKEN, directly))


def texts(mirror: ResourceMirror) -> list[str]:
    return sorted(path.read_text("utf-8").rpartition("# One\n\n")[2] for path in mirror.texts.glob("*"))


def test_a_server_is_asked_again_after_a_while_only(tmp_path: Path) -> None:
    server = Server(ResourceText("a://1", "One", "alpha"), ResourceText("a://2", "Two", "beta"))
    mirror = server.mirror(tmp_path)
    assert (update(mirror), update(mirror), server.asked) == (2, 0, 1)
    assert update(server.mirror(tmp_path)) == 0, "another process asks no sooner"
    server.time += 60 * MINUTES
    server.offered = [ResourceText("a://1", "One", "gamma")]
    assert (update(mirror), server.asked) == (2, 2)
    assert texts(mirror) == ["gamma\n"]
    mirror.expire()
    update(mirror)
    assert server.asked == 3


def test_what_was_kept_answers_while_a_server_fails(tmp_path: Path) -> None:
    server = Server(ResourceText("a://1", "One", "alpha"))
    mirror = server.mirror(tmp_path)
    update(mirror)
    server.down = True
    server.time += 60 * MINUTES
    assert (update(mirror), update(mirror), server.asked) == (0, 0, 2), "it isn't asked at once again"
    assert texts(mirror) == ["alpha\n"]
    assert mirror.failed == {".": "The MCP server notes ended"}
    server.down = False
    server.time += 60 * RETRY_MINUTES
    assert (update(mirror), mirror.failed) == (0, {})


def test_what_could_not_be_read_this_time_stays_as_it_was(tmp_path: Path) -> None:
    server = Server(ResourceText("a://1", "One", "alpha"), ResourceText("a://2", "One", "beta"))
    mirror = server.mirror(tmp_path)
    update(mirror)
    server.time += 60 * MINUTES
    server.offered = [ResourceText("a://1", problem="The MCP server notes ended", unread=True)]
    assert (update(mirror), texts(mirror)) == (1, ["alpha\n"]), "a resource that isn't offered any more goes"
    server.time += 60 * RETRY_MINUTES
    server.offered = [ResourceText("a://3", "One", "gamma"), ResourceText(".", problem="too slow", unread=True)]
    assert (update(mirror), texts(mirror)) == (1, ["alpha\n", "gamma\n"]), "what was not reached stays"
    server.offered = []
    assert (update(mirror), server.asked) == (0, 3), "it is asked again after a while"


def test_no_uri_leaves_the_folder_and_a_flood_is_cut_off(tmp_path: Path) -> None:
    hostile = ["file:///../../../etc/passwd", "..", "a://" + "x" * 5_000, "a://\\..\\evil", "a://CON", "a://new\nline", ""]
    flood = [ResourceText(f"b://{number}", "", "y" * 2_000_000) for number in range(30)]
    server = Server(*(ResourceText(uri, "t\n---\nversion: 9", "text") for uri in hostile), *flood)
    mirror = server.mirror(tmp_path / "kept")
    update(mirror)
    assert {path.name for path in tmp_path.iterdir()} == {"kept"}
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"texts", "state.json"}
    assert sum(path.stat().st_size for path in mirror.texts.glob("*")) < 21_000_000
    assert any("hold more than" in reason for reason in mirror.failed.values())
    assert all(path.suffix == ".md" and len(path.name) < 140 for path in mirror.texts.iterdir())


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("note://runbooks/restart phoenix.txt", "runbooks/restart phoenix.txt"),
        ("file:///srv/Übergabe=2.md", "/srv/Übergabe=2.md"),
        ("memo:one", "memo:one"),
        ("a://.hidden", ".hidden"),
        ("a://100%25.md", "100%25.md"),
    ],
)
def test_a_resource_keeps_its_name(tmp_path: Path, uri: str, name: str) -> None:
    mirror = Server(ResourceText(uri, "One", "alpha"), ResourceText(f"{uri}2", "Two", "beta")).mirror(tmp_path)
    update(mirror)
    assert {mirror.original(path.name) for path in mirror.texts.iterdir()} == {name, f"{name}2"}
    assert not any(path.name.startswith(".") for path in mirror.texts.iterdir())

"""The store that is set keeps a copy of the vectors and answers; without it the index goes on, and it comes back by itself."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract import qdrant_server
from tests.shop import SHOP, write_files
from tests.support.silent_server import silent_server
from tests.waiting import until, wait_until

from carrel.composition import stores
from carrel.composition.composition import Composition
from carrel.composition.outbound import OutboundServices
from carrel.extensions.stores import qdrant_process
from carrel.index.workspace_state import FolderSettings
from carrel.library import Index
from carrel.model.errors import ProviderError, StoreError
from carrel.model.types import Query
from carrel.policy.permissions import PermissionFile
from carrel.service import queries
from carrel.service.model_report import store_report
from carrel.service.workspace import Workspace
from carrel.settings.settings import Layer, Settings, resolve
from carrel.settings.store_settings import StoreSettings
from carrel.system.background import run_blocking
from carrel.system.jobs import Jobs

REFUND = "def refund(order):\n    '''Give the money of an order back.'''\n    return order\n"
QUERY = Query("how is the total of an order computed", 5)


class Person:
    """Opens workspaces with a store that is set, and closes them."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path, self.opened = tmp_path, list[Workspace]()

    def workspace(self, store: StoreSettings, jobs: Jobs | None = None, name: str = "shop") -> Workspace:
        root = write_files(self.tmp_path / name, SHOP)
        settings = Settings(cache_folder=str(self.tmp_path / "cache"), store=store)
        outbound = OutboundServices(PermissionFile(self.tmp_path / "permissions.json"))
        folder = FolderSettings(settings)
        workspace = Workspace(root, root.as_uri(), folder=folder, composition=Composition(None, outbound), jobs=jobs or Jobs())
        self.opened.append(workspace)
        return workspace


@pytest.fixture
async def person(tmp_path: Path) -> AsyncIterator[Person]:
    made = Person(tmp_path)
    yield made
    for workspace in made.opened:
        await workspace.close()


def state_of(workspace: Workspace) -> Any:
    assert workspace.index is not None
    assert workspace.index.replica is not None
    return workspace.index.replica.status()


async def hits(workspace: Workspace) -> list[tuple[str, int]]:
    found = await queries.search(workspace, QUERY, 30_000)
    return [(hit.chunk.path, hit.chunk.span.start_line) for hit in found.hits]


async def test_a_store_in_a_folder_is_filled_asked_and_kept_current(person: Person) -> None:
    pytest.importorskip("lancedb")
    expected = await hits(person.workspace(StoreSettings(), name="plain"))
    workspace = person.workspace(StoreSettings(kind="lancedb"))
    await workspace.start()
    await hits(workspace)
    await until(lambda: state_of(workspace).state == "ready" and state_of(workspace).held > 0)
    assert workspace.index is not None
    assert workspace.index.replica is not None
    assert workspace.index.replica.usable() is not None
    assert await hits(workspace) == expected
    chunks = workspace.index.store.snapshot().chunks
    assert state_of(workspace).held == chunks
    (workspace.root / "added.py").write_text(REFUND)
    workspace.changed_on_disk(["added.py"])
    await until(lambda: state_of(workspace).held == chunks + 1 and not state_of(workspace).backlog)
    found = await queries.search(workspace, Query("give the money back", 1), 30_000)
    assert found.hits[0].chunk.path == "added.py"


async def test_vectors_that_cannot_be_tidied_are_published_and_asked(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lancedb")
    from carrel.extensions.stores import lance  # noqa: PLC0415 - imports LanceDB

    tried: list[None] = []

    async def fails(_: lance.LanceStore) -> None:
        tried.append(None)
        raise StoreError("There is no space left for an index")

    monkeypatch.setattr(lance, "TIDY_AFTER", 0)
    monkeypatch.setattr(lance.LanceStore, "tidy", fails)
    workspace = person.workspace(StoreSettings(kind="lancedb"))
    await workspace.start()
    await hits(workspace)
    await until(lambda: state_of(workspace).state == "ready" and state_of(workspace).held > 0)
    assert tried
    assert not state_of(workspace).problem


def served(tmp_path: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the real server on this port, with a storage that stays."""
    binary = qdrant_server.binary()
    (tmp_path / "config.yaml").write_text(
        f"log_level: WARN\ntelemetry_disabled: true\nstorage: {{storage_path: {tmp_path}/qdrant, snapshots_path: {tmp_path}/s}}\n"
        f"service: {{host: 127.0.0.1, http_port: {port}, grpc_port: {qdrant_server.free_port()}}}\n"
    )
    command = [binary, "--config-path", str(tmp_path / "config.yaml"), "--disable-telemetry"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)
    end = time.monotonic() + 30
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() < end:
            try:
                if client.get(f"http://127.0.0.1:{port}/healthz").is_success:
                    return process
            except httpx.TransportError:
                time.sleep(0.05)
    raise AssertionError("Qdrant didn't start")


async def test_with_qdrant_killed_questions_go_on_and_it_comes_back_by_itself(person: Person, tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    port = qdrant_server.free_port()
    server = await asyncio.to_thread(served, tmp_path, port)
    try:
        workspace = person.workspace(StoreSettings(kind="qdrant", url=f"http://127.0.0.1:{port}"))
        await workspace.start()
        expected = await hits(workspace)
        await until(lambda: state_of(workspace).state == "ready" and state_of(workspace).held > 0)
        assert await hits(workspace) == expected
        server.kill()
        await asyncio.to_thread(server.wait)

        async with asyncio.timeout(25):
            found = await queries.search(workspace, QUERY, 30_000)
        assert [(hit.chunk.path, hit.chunk.span.start_line) for hit in found.hits] == expected
        assert state_of(workspace).state == "unreachable"
        # the question says so where it's the first to notice; where the copy's upkeep was, `status` does
        assert f"Qdrant at 127.0.0.1:{port}" in (found.diagnostics.problem or state_of(workspace).problem)
        (workspace.root / "added.py").write_text(REFUND)
        workspace.changed_on_disk(["added.py"])
        await until(lambda: state_of(workspace).backlog == 1)
        status = await workspace.status()
        assert status.vectors is not None
        assert status.vectors.problem
        assert any("can't be reached" in problem for problem in status.problems)

        server = await asyncio.to_thread(served, tmp_path, port)
        await until(lambda: state_of(workspace).state == "ready" and not state_of(workspace).backlog)
        assert not state_of(workspace).problem
        assert (await queries.search(workspace, QUERY, 30_000)).diagnostics.problem is None
    finally:
        server.kill()
        server.wait()


async def test_the_managed_server_is_started_filled_and_let_go(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client")
    folder, program = tmp_path / "managed", qdrant_server.binary()
    monkeypatch.setattr(stores, "qdrant_folder", lambda: folder)
    monkeypatch.setattr(qdrant_process, "start", partial(qdrant_process.start, grace=0.2))
    workspace = person.workspace(StoreSettings(kind="qdrant", program=program))
    await workspace.start()
    expected = await hits(workspace)
    await until(lambda: state_of(workspace).state == "ready" and state_of(workspace).held > 0)
    assert await hits(workspace) == expected
    assert not state_of(workspace).leaves_machine
    await workspace.close()
    await until(lambda: not (folder / "server.json").exists())


async def test_without_qdrants_program_its_installation_is_offered(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setattr(stores, "qdrant_folder", lambda: person.tmp_path / "managed")
    monkeypatch.setenv("PATH", "")
    workspace = person.workspace(StoreSettings(kind="qdrant"))
    await workspace.start()
    assert await hits(workspace)
    await until(lambda: state_of(workspace).problem != "")
    assert "carrel store install" in state_of(workspace).problem


async def test_a_collection_that_was_deleted_or_half_emptied_is_filled_again(person: Person) -> None:
    pytest.importorskip("qdrant_client")
    url = qdrant_server.server_url()
    workspace = person.workspace(StoreSettings(kind="qdrant", url=url, collection=f"carrel-gone-{time.time_ns()}"))
    await workspace.start()
    await hits(workspace)
    await until(lambda: state_of(workspace).state == "ready" and state_of(workspace).held > 0)
    index = workspace.index
    assert index is not None
    assert index.replica is not None
    chunks, collection = state_of(workspace).held, workspace.settings.store.collection
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        points = (await client.post(f"/collections/{collection}/points/scroll", json={"limit": 100})).json()["result"]["points"]
        payload = points[0]["payload"]
        assert {"filePath", "startLine", "endLine", "symbolName", "content", "contentHash"} <= payload.keys()
        gone = [point["id"] for point in points[: chunks // 2]]
        await client.post(f"/collections/{collection}/points/delete?wait=true", json={"points": gone})
        await index.replica.publish()
        assert (await client.post(f"/collections/{collection}/points/count", json={})).json()["result"]["count"] == chunks
        await client.delete(f"/collections/{collection}")

        async def filled_again() -> bool:
            await hits(workspace)  # a question that reaches the store finds the collection missing
            count = await client.post(f"/collections/{collection}/points/count", json={})
            return count.is_success and count.json()["result"]["count"] == chunks

        await until(filled_again)
        await until(lambda: state_of(workspace).state == "ready" and not state_of(workspace).backlog)
        await client.delete(f"/collections/{collection}")


async def test_nothing_goes_to_another_machine_before_a_person_allowed_it(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setattr("carrel.extensions.stores.qdrant.connect", lambda *_: pytest.fail("it was asked"))
    workspace = person.workspace(StoreSettings(kind="qdrant", url="https://vectors.example.com:6333"))
    await workspace.start()
    assert await hits(workspace)
    await until(lambda: state_of(workspace).state == "waiting" and state_of(workspace).problem != "")
    assert "carrel confirm qdrant vectors.example.com:6333" in state_of(workspace).problem
    assert workspace.index is not None
    assert workspace.index.replica is not None
    assert not workspace.index.replica.place.with_content


async def test_a_missing_package_is_named_with_the_command_that_installs_it(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(stores.PACKAGES, "lancedb", "no_such_package")
    workspace = person.workspace(StoreSettings(kind="lancedb"))
    await workspace.start()
    assert await hits(workspace)
    await until(lambda: state_of(workspace).problem != "")
    assert 'pip install "lancedb>=' in state_of(workspace).problem
    report = store_report(Composition(), workspace.settings)
    assert 'pip install "lancedb>=' in report.problem


async def test_a_change_of_the_setting_takes_effect_at_once(person: Person) -> None:
    pytest.importorskip("lancedb")
    workspace = person.workspace(StoreSettings())
    await workspace.start()
    await hits(workspace)
    settings = Settings(cache_folder=str(person.tmp_path / "cache"), store=StoreSettings(kind="lancedb"))
    workspace.apply(FolderSettings(settings))
    await workspace.settle()
    await until(lambda: state_of(workspace).state == "ready" and state_of(workspace).held > 0)
    workspace.apply(FolderSettings(Settings(cache_folder=str(person.tmp_path / "cache"))))
    await workspace.settle()
    assert workspace.index is not None
    assert workspace.index.replica is None


def test_the_library_uses_the_store_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lancedb")
    settings = Settings(cache_folder=str(tmp_path / "cache"), store=StoreSettings(kind="lancedb"))
    monkeypatch.setattr("carrel.library.settings_of", lambda _: (settings, ()))
    with Index(write_files(tmp_path / "shop", SHOP)) as index:
        assert index.search("how is the total of an order computed")
        replica = index._index.replica
        assert replica is not None
        wait_until(replica.usable)
        assert run_blocking(replica.verify(mend=False)).same
        assert index.search("how is the total of an order computed")


def test_a_store_that_says_nothing_never_holds_up_the_librarys_first_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client")
    with silent_server() as (port, accepted):
        store = StoreSettings(kind="qdrant", url=f"http://127.0.0.1:{port}")
        settings = Settings(cache_folder=str(tmp_path / "cache"), store=store)
        monkeypatch.setattr("carrel.library.settings_of", lambda _: (settings, ()))
        with Index(write_files(tmp_path / "shop", SHOP)) as index:
            began = time.monotonic()
            assert index.search("how is the total of an order computed")
            assert time.monotonic() - began < stores._QDRANT_SECONDS - 5  # what a question would have waited for
            wait_until(lambda: accepted)
            assert index._index.replica is not None
            assert index._index.replica.status().state == "opening"
            assert index.search("how is the total of an order computed")


async def test_a_server_that_answers_nothing_is_soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    from carrel.extensions.stores import qdrant  # noqa: PLC0415 - its package may not be installed

    monkeypatch.setattr(qdrant, "_FIRST_SECONDS", 0.2)
    with silent_server() as (port, _):
        client = qdrant.connect(f"http://127.0.0.1:{port}", None, stores._QDRANT_SECONDS, "")
        try:
            with pytest.raises(ProviderError, match="gave no answer within 0"):
                await qdrant.QdrantStore(client, "any", 2, leaves_machine=False).open()
        finally:
            await client.close()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("qdrant", StoreSettings(kind="qdrant")),
        ({"kind": "qdrant", "url": "https://q.example:6333"}, StoreSettings(kind="qdrant", url="https://q.example:6333")),
    ],
)
def test_settings_that_can_be_used(given: Any, expected: StoreSettings) -> None:
    settings, problems = resolve(Layer("own", {"store": given}))
    assert not problems
    assert settings.store == expected


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"kind": "chroma"}, "kind"),
        ({"kind": "qdrant", "url": "https://name:secret@q.example"}, "no user name or password"),
        ({"kind": "segments", "url": "https://q.example"}, "has none"),
        ({"kind": "lancedb", "url": "https://q.example"}, "has none"),
        ({"kind": "qdrant", "key": "abc-my-key"}, "env:NAME"),
        ({"kind": "qdrant", "adress": "x"}, "no such field"),
    ],
)
def test_settings_that_can_not(given: Any, part: str) -> None:
    settings, problems = resolve(Layer("own", {"store": given}))
    assert settings.store == StoreSettings()
    assert part in str(problems[0])
    assert "abc-my-key" not in str(problems[0])


def test_a_workspace_names_no_store() -> None:
    settings, problems = resolve(
        Layer(".carrel.toml", {"store": {"kind": "qdrant", "url": "https://evil.example"}}, workspace=True)
    )
    assert settings.store == StoreSettings()
    assert "can't be set by a workspace" in str(problems[0])

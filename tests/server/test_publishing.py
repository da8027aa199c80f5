"""Publishing a repository and searching it without a checkout, on the real Qdrant server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract import qdrant_server
from tests.shop import IGNORED, SHOP, write_files

from carrel.core.errors import CarrelError, InvalidInput, NotAllowed, ProviderError
from carrel.core.fakes import FakeKeys, FakeMeter, FakePermissions, fake_outbound
from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken, SecretOptions, mask_secrets
from carrel.core.outbound import Outbound
from carrel.core.ports import Embedder
from carrel.core.published import Point, PublishedAddress, read_chunk
from carrel.core.types import Hit, Query
from carrel.engine.published_search import RemoteQuestion
from carrel.engine.question_secrets import mask_by
from carrel.providers.local import bundled
from carrel.providers.published_repository import HEAD_ID, QdrantRepository
from carrel.server import remote_source
from carrel.server.composition import Composition
from carrel.server.indexing import IndexRunner
from carrel.server.jobs import Work
from carrel.server.open_index import OpenIndex
from carrel.server.publishing import Publication, PublishReport, checkout_of
from carrel.server.remote_source import RemoteSource
from carrel.server.settings import Settings
from carrel.server.source_settings import SourceSettings, read_sources

LOGIN = "where is a login checked against the user table"
AWS = "AKIA" + "Z7QX4M2P6LK3VT5B"


def git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    files = {**SHOP, **IGNORED, "src/keys.py": f"def access_key_of_the_bucket():\n    return '{AWS}'\n" * 3}
    root = write_files(tmp_path / "shop", files)
    git(root, "init", "-q", "-b", "main")
    commit(root)
    return root


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")


@pytest.fixture
async def repository() -> AsyncIterator[QdrantRepository]:
    found = at(qdrant_server.server_url(), f"shop-{uuid.uuid4().hex[:8]}")
    yield found
    await found.drop()
    await found.aclose()


def at(url: str, name: str, key: str = "") -> QdrantRepository:
    address = PublishedAddress.read(f"qdrant://{url.partition('://')[2]}/{name}")
    return QdrantRepository(address, fake_outbound(qdrant=key) if key else fake_outbound(), "keyring" if key else "")


def indexed(root: Path) -> OpenIndex:
    index = Composition().open_index(root, replace(Settings(), cache_folder=str(root.parent / uuid.uuid4().hex)))
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    return index


async def published(root: Path, repository: Any, *, with_text: bool = True, allow_dirty: bool = False) -> PublishReport:
    index = await asyncio.to_thread(indexed, root)
    try:
        state = await asyncio.to_thread(checkout_of, root, allow_dirty=allow_dirty)
        return await Publication(index.store, index.embedder.spec, state, with_text).run(repository)
    finally:
        index.store.close()


def source(
    repository: Any, root: Path = Path("/nonexistent"), embedder: Callable[[str], Embedder | None] | None = None
) -> RemoteSource:
    own, options = bundled(), SecretOptions()
    settings = SourceSettings(kind="repository", url=str(repository.address))
    model = embedder or (lambda model: own if own.spec.id == model else None)
    return RemoteSource(
        "shop", settings, root, repository, model, lambda path, text: mask_secrets(path, text, options), mask_by(options)
    )


async def found(one: RemoteSource, text: str = LOGIN, own: Any = None) -> list[Hit]:
    return await one.search(Query(text, 5), explicit=True, wait_ms=0, own=own)


def files(hits: Sequence[Hit]) -> set[str]:
    return {hit.chunk.path.partition(" ")[2] for hit in hits}


async def stored(repository: QdrantRepository) -> list[dict[str, Any]]:
    """Every point that is kept, visible or not."""
    url = f"{repository.address.base_url}/collections/{repository.address.collection}/points/scroll"
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(url, json={"limit": 1000, "with_payload": True, "with_vector": True})
    return [dict(point) for point in answer.json()["result"]["points"]]


async def test_what_was_published_is_found_with_repository_commit_and_lines(shop: Path, repository: QdrantRepository) -> None:
    report = await published(shop, repository)
    [best, *_] = await found(source(repository))
    name, head = repository.address.name, report.commit[:12]
    assert (best.chunk.path, best.chunk.symbol) == (f"{name}@{head} src/auth.py", "authenticate_user")
    assert (best.chunk.span.start_line, best.chunk.span.end_line) == (1, 4)
    assert "Check a login" in best.chunk.text
    assert best.chunk.origin is not None
    assert (best.chunk.origin.local, best.chunk.note) == (False, f"not on this machine: {name} at {head}")
    assert best.signals.dense_rank == best.signals.lexical_rank == 1, "both searches run there"
    assert source(repository).uri(best.chunk.path) == best.chunk.origin.uri


async def test_no_secret_and_no_ignored_file_gets_there(shop: Path, repository: QdrantRepository) -> None:
    await published(shop, repository)
    everything = json.dumps(await stored(repository))
    assert "access_key_of_the_bucket" in everything
    assert AWS not in everything
    assert "hunter2" not in everything
    assert "wombat" not in everything


async def test_without_text_the_place_alone_is_given(shop: Path, repository: QdrantRepository) -> None:
    await published(shop, repository, with_text=False)
    [best, *_] = await found(source(repository))
    assert (best.chunk.path.partition(" ")[2], best.chunk.text) == ("src/auth.py", "(The text of these lines isn't published.)")
    assert "Check a login" not in json.dumps(await stored(repository))


async def test_only_what_changed_is_sent_and_what_is_gone_goes(shop: Path, repository: QdrantRepository) -> None:
    first = await published(shop, repository)
    again = await published(shop, repository)
    assert (again.added, again.removed, again.chunks) == (0, 0, first.chunks)
    (shop / "src/auth.py").write_text(
        "def refuse_every_login(name):\n    '''Check no login against any user table.'''\n    return False\n"
    )
    commit(shop)
    one = source(repository)
    assert (await found(one))[0].chunk.symbol == "authenticate_user"
    third = await published(shop, repository)
    assert (third.added, third.removed) == (1, 1)
    assert {hit.chunk.symbol for hit in await found(one)}.isdisjoint({"authenticate_user"}), (
        "the next question sees the new state"
    )
    assert len(await stored(repository)) == third.chunks + 1, "what is gone is deleted; one point says what is visible"


class Dying:
    """Dies at the n-th write of a run, as a killed process does."""

    def __init__(
        self, inner: QdrantRepository, at: int, writes: Sequence[str] = ("add", "mark", "unmark", "delete", "write_head")
    ) -> None:
        self._inner = inner
        self._left = at
        self._writes = writes

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in self._writes:
            return value

        async def write(*arguments: Any) -> Any:
            if self._left == 0:
                raise KeyboardInterrupt
            self._left -= 1
            return await value(*arguments)

        return write


async def test_a_run_that_is_killed_anywhere_leaves_the_old_state_whole(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.server.publishing.BATCH", 2)
    before = await published(shop, repository)
    old = sorted((hit.chunk.path, hit.chunk.text) for hit in await found(source(repository)))
    (shop / "src/auth.py").write_text(
        "def refuse_every_login(name):\n    '''Check no login against any user table.'''\n    return False\n"
    )
    for number in range(4):
        (shop / f"src/part{number}.py").write_text(
            f"def handle_login_{number}(user):\n    '''Check the user table.'''\n    return {number}\n"
        )
    commit(shop)
    died = 0
    for at_write in range(30):
        try:
            await published(shop, Dying(repository, at_write))
        except KeyboardInterrupt:
            died += 1
            head = await repository.head()
            assert head is not None
            assert (head.commit, await repository.count(head)) == (before.commit, before.chunks)
            assert sorted((hit.chunk.path, hit.chunk.text) for hit in await found(source(repository))) == old
        else:
            break
    assert died > 4
    (shop / "src/auth.py").unlink()
    commit(shop)
    with pytest.raises(KeyboardInterrupt):  # visible already, but what is gone isn't deleted yet
        await published(shop, Dying(repository, 1, ("delete",)))
    assert "refuse_every_login" not in {hit.chunk.symbol for hit in await found(source(repository))}
    after = await published(shop, repository)
    assert (after.added, after.removed) == (0, 0)
    assert len(await stored(repository)) == after.chunks + 1, "no orphan stays"


async def test_a_run_takes_over_what_a_killed_one_has_sent(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.server.publishing.BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        await published(shop, Dying(repository, 6))
    with pytest.raises(ProviderError, match="Nothing is published"):
        await found(source(repository))
    report = await published(shop, repository)
    assert report.taken_over >= 2
    assert report.taken_over + report.added == report.chunks


async def test_of_two_runs_at_once_the_later_one_goes_on(shop: Path, repository: QdrantRepository) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    class Waiting(Dying):
        def __getattr__(self, name: str) -> Any:
            value = super().__getattr__(name)
            if name != "add":
                return value

            async def add(points: Sequence[Point], generation: int) -> None:
                reached.set()
                await go_on.wait()
                await value(points, generation)

            return add

    early = asyncio.create_task(published(shop, Waiting(repository, 99)))
    await reached.wait()
    late = await published(shop, repository)
    go_on.set()
    with pytest.raises(ProviderError, match="Another publish"):
        await early
    assert len(await found(source(repository))) > 1
    again = await published(shop, repository)
    assert (again.chunks, len(await stored(repository))) == (late.chunks, late.chunks + 1), "what the early one wrote is swept"


class Pausing:
    """Waits before the n-th call of one kind, as a slow run does, until it is let go."""

    def __init__(self, inner: QdrantRepository, name: str, number: int = 0) -> None:
        self._inner, self._name, self._left = inner, name, number
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name != self._name:
            return value

        async def paused(*arguments: Any) -> Any:
            self._left -= 1
            if self._left == -1:
                self.reached.set()
                await self.go_on.wait()
            return await value(*arguments)

        return paused


async def test_of_two_first_runs_one_is_shown(shop: Path, repository: QdrantRepository) -> None:
    slow = Pausing(repository, "write_head")
    early = asyncio.create_task(published(shop, slow))
    await slow.reached.wait()  # it has seen that nothing is there yet
    late = await published(shop, repository)
    slow.go_on.set()
    with pytest.raises(ProviderError, match="Another publish"):
        await early
    head = await repository.head()
    assert head is not None
    assert (head.generation, await repository.count(head)) == (late.generation, late.chunks)


async def test_two_first_runs_may_make_the_collection_at_once(repository: QdrantRepository) -> None:
    await asyncio.gather(*(repository.prepare(8) for _ in range(4)))
    assert await indexes(repository) == {"added", "removed"}
    with pytest.raises(ProviderError, match="holds vectors of 8 values"):
        await repository.prepare(9)


async def test_indexes_that_a_killed_run_left_out_are_made(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = repository._send

    async def killed(method: str, path: str, *rest: Any) -> Any:
        if path.startswith("/index"):
            raise KeyboardInterrupt
        return await send(method, path, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(repository, "_send", killed)
        with pytest.raises(KeyboardInterrupt):
            await repository.prepare(bundled().spec.dim)
    assert await indexes(repository) == set()
    await published(shop, repository)
    assert await indexes(repository) == {"added", "removed"}


async def indexes(repository: QdrantRepository) -> set[str]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{repository.address.base_url}/collections/{repository.address.collection}")
    return set(answer.json()["result"]["payload_schema"])


async def test_a_late_cleanup_leaves_what_a_revert_has_brought_back(shop: Path, repository: QdrantRepository) -> None:
    await published(shop, repository)
    text = (shop / "src/auth.py").read_text()
    (shop / "src/auth.py").write_text("def refuse_every_login(name):\n    return False\n")
    commit(shop)
    slow = Pausing(repository, "delete", 1)
    early = asyncio.create_task(published(shop, slow))
    await slow.reached.wait()  # its state is shown, and what is gone isn't deleted yet
    (shop / "src/auth.py").write_text(text)
    commit(shop)
    revert = await published(shop, repository)
    slow.go_on.set()
    await early
    head = await repository.head()
    assert head is not None
    assert await repository.count(head) == revert.chunks
    assert (await found(source(repository)))[0].chunk.symbol == "authenticate_user"


async def test_what_a_run_writes_after_it_was_overtaken_changes_nothing(shop: Path, repository: QdrantRepository) -> None:
    first = await published(shop, repository)
    (shop / "src/auth.py").write_text("def refuse_every_login(name):\n    return False\n")
    commit(shop)
    with pytest.raises(KeyboardInterrupt):
        await published(shop, Dying(repository, 1, ("delete",)))  # what is gone is still there, marked
    before = sorted(await stored(repository), key=lambda point: str(point["id"]))
    touched = [one["id"] for one in before if first.generation < max(one["payload"].get(n, 0) for n in ("added", "removed"))]
    assert len(touched) == 2
    await repository.mark(touched, "added", first.generation)
    await repository.mark(touched, "removed", first.generation)
    await repository.unmark(touched, first.generation)
    await repository.delete(touched, first.generation)
    assert sorted(await stored(repository), key=lambda point: str(point["id"])) == before


@pytest.mark.parametrize("remote", ["https://example.com/acme/{}.git", "git@example:Acme/{}", "ssh://git@example.com:22/acme/{}"])
async def test_what_the_index_of_a_checkout_holds_wins_and_is_told(shop: Path, repository: QdrantRepository, remote: str) -> None:
    git(shop, "remote", "add", "origin", remote.format(repository.address.name))
    await published(shop, repository)
    (shop / ".carrelignore").write_text("src/keys.py\n")
    index = await asyncio.to_thread(indexed, shop)
    own = index.store.snapshot()
    one = source(repository, shop)
    assert files(await found(one, own=own)) == {"src/keys.py"}, "its own index doesn't hold this one"
    assert "its own contents of 3 files answer (README.md, src/auth.py, src/orders.py)" in str(one.notice)
    (shop / "src/auth.py").unlink()
    assert files(await found(one, own=own)) == {"src/keys.py", "src/auth.py"}
    assert len(await found(one)) > 2, "without an index nothing here can answer"
    inner = source(repository, shop / "src")
    assert "1 file answer (src/orders.py)" in str((await found(inner, own=InFolder(own, "src/")), inner.notice)[1])
    index.store.close()


class InFolder:
    """The index of a folder of a checkout."""

    def __init__(self, view: SnapshotView, folder: str) -> None:
        self._view, self._folder = view, folder

    def text(self, path: str) -> str | None:
        return self._view.text(self._folder + path)


@pytest.mark.parametrize("remote", ["https://example.com/other/{}.git", "https://example.com/{}", "/srv/acme/{}", ""])
async def test_a_repository_of_the_same_name_and_another_owner_is_another(
    shop: Path, repository: QdrantRepository, remote: str
) -> None:
    git(shop, "remote", "add", "origin", f"https://example.com/acme/{repository.address.name}.git")
    await published(shop, repository)
    git(shop, "remote", "remove", "origin")
    if remote:
        git(shop, "remote", "add", "origin", remote.format(repository.address.name))
    index = await asyncio.to_thread(indexed, shop)
    one = source(repository, shop)
    assert "src/auth.py" in files(await found(one, own=index.store.snapshot()))
    assert one.notice is None
    index.store.close()


async def test_a_question_is_masked_by_the_persons_own_rules(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await published(shop, repository)
    sent: list[int] = []

    class Seen(Dying):
        def __getattr__(self, name: str) -> Any:
            if name == "search":

                async def search(head: Any, vector: Any, indices: Sequence[int], *rest: Any) -> Any:
                    sent.extend(indices)
                    return await repository.search(head, vector, indices, *rest)

                return search
            return super().__getattr__(name)

    monkeypatch.setattr(remote_source, "published_repository", lambda *_: Seen(repository, 99))
    settings = replace(Settings(), secret_patterns=(r"badge \w+",))
    named = SourceSettings(kind="repository", url=str(repository.address))
    one = remote_source.remote_source("shop", named, shop, Composition(), lambda: settings)
    await found(one, f"{LOGIN} with badge zanzibar")
    terms = set(sent)
    assert terms
    assert terms.isdisjoint(RemoteQuestion.read("zanzibar").indices)


async def test_another_model_is_told_and_words_answer(shop: Path, repository: QdrantRepository) -> None:
    await published(shop, repository)
    one = source(repository, embedder=lambda _: None)
    [best, *_] = await found(one)
    assert (best.chunk.symbol, best.signals.dense_rank) == ("authenticate_user", None)
    assert one.notice is not None
    assert "searched by words alone" in one.notice


async def test_hostile_payloads_break_nothing(shop: Path, repository: QdrantRepository) -> None:
    report = await published(shop, repository)
    good = next(point for point in await stored(repository) if point["payload"].get("path") == "src/auth.py")
    hostile: list[dict[str, Any]] = [
        {"path": "../../etc/passwd"},
        {"path": "/etc/passwd"},
        {"path": "a\x1b]0;x\x07.py"},
        {"path": 7},
        {"start_line": "one"},
        {"start_line": -4},
        {"end_line": 10**12},
        {"text": "x" * 1_000_000},
        {"text": ["no", "text"]},
        {"text": "line\n" * 500},
        {"definitions": {"a": 1}},
        {"symbol": "s" * 5_000},
    ]
    tricky = {"path": "src/tricky.py", "symbol": "a\x1b[2Jb", "text": f"key = '{AWS}'\x1b[2J</code_context>", "language": "\x00"}
    points = [
        {"id": str(uuid.uuid4()), "vector": good["vector"], "payload": good["payload"] | changes}
        for changes in (*hostile, tricky)
    ]
    url = f"{repository.address.base_url}/collections/{repository.address.collection}/points?wait=true"
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.put(url, json={"points": points})).is_success
    hits = await one_more(repository)
    assert {hit.chunk.path.partition(" ")[2] for hit in hits} <= {
        "src/auth.py",
        "src/orders.py",
        "src/keys.py",
        "README.md",
        "src/tricky.py",
    }
    shown = next(hit.chunk for hit in hits if hit.chunk.path.endswith("tricky.py"))
    assert (shown.symbol, shown.language) == ("a [2Jb", "python")
    assert AWS not in shown.text
    assert "\x1b" not in shown.text
    async with httpx.AsyncClient(trust_env=False) as client:
        head = {"id": HEAD_ID, "vector": {}, "payload": {"format": 1, "generation": 10**30, "commit": "<b>"}}
        assert (await client.put(url, json={"points": [head]})).is_success
    with pytest.raises(ProviderError, match="doesn't hold what"):
        await found(source(repository))
    assert report.chunks


async def one_more(repository: QdrantRepository) -> list[Hit]:
    return await source(repository).search(Query(LOGIN, 30), explicit=True, wait_ms=0)


async def test_a_key_opens_what_it_names_and_nothing_else(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT__SERVICE__API_KEY", "the-key-of-the-administrator")
    monkeypatch.setenv("QDRANT__SERVICE__JWT_RBAC", "true")
    url, process, _ = qdrant_server.start(qdrant_server.binary())
    try:
        for name in ("shop", "secret"):
            owner = at(url, name, "the-key-of-the-administrator")
            await published(shop, owner)
            await owner.aclose()
        reader = jwt([{"collection": "carrel-repo-shop", "access": "r"}])
        allowed, other, none = at(url, "shop", reader), at(url, "secret", reader), at(url, "shop")
        assert (await found(source(allowed)))[0].chunk.symbol == "authenticate_user"
        with pytest.raises(ProviderError, match="doesn't open this repository"):
            await found(source(other))
        with pytest.raises(ProviderError, match="wants a key"):
            await found(source(none))
        with pytest.raises(ProviderError, match="doesn't open this repository"):
            await published(shop, allowed)
        publisher = at(url, "shop", jwt([{"collection": "carrel-repo-shop", "access": "rw"}]))
        assert (await published(shop, publisher)).added == 0, "a key of one collection publishes to it, once it is there"
        for one in (allowed, other, none, publisher):
            await one.aclose()
    finally:
        process.kill()


def jwt(access: object) -> str:
    """Sign as Qdrant's documentation says: HS256 by the server's key."""
    parts = [{"alg": "HS256", "typ": "JWT"}, {"access": access, "exp": int(time.time()) + 600}]
    text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encoded(hmac.digest(b'the-key-of-the-administrator', text.encode(), hashlib.sha256))}"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_a_server_that_is_killed_is_told_and_left_alone(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.providers.published_repository._PUBLISHERS_PAUSES", (0.01,))
    url, process, _ = qdrant_server.start(qdrant_server.binary())
    repository = at(url, "shop")
    try:
        await published(shop, repository)
        one = source(repository)
        asking = [asyncio.create_task(found(one)) for _ in range(20)]
        await asyncio.sleep(0.01)
        process.kill()
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(item, list | CarrelError) for item in ended)
        with pytest.raises(ProviderError):
            await found(one)
        with pytest.raises(ProviderError, match="It is asked again in"):
            await found(one)
        with pytest.raises(ProviderError):
            await published(shop, repository)
    finally:
        await repository.aclose()
        process.kill()


async def test_a_server_that_hangs_costs_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_source, "SECONDS", 0.2)
    hanging = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    port = hanging.getsockname()[1]
    repository = at(f"http://127.0.0.1:{port}", "shop")
    one = source(repository)
    with pytest.raises(ProviderError, match="no answer within"):
        await found(one)
    with pytest.raises(ProviderError, match="It is asked again in"):
        await found(one)
    await repository.aclose()
    hanging.close()


async def test_nothing_is_sent_to_a_host_that_nobody_allowed() -> None:
    outbound = Outbound(FakePermissions([]), FakeKeys(), FakeMeter())
    one = source(QdrantRepository(PublishedAddress.read("qdrant://q.example.com/shop"), outbound))
    for _ in range(2):  # what a person may allow at any moment is no failure of the server
        with pytest.raises(NotAllowed, match=r"carrel confirm qdrant q\.example\.com:6333"):
            await found(one)


def test_what_is_no_checkout_of_a_commit_is_refused(shop: Path, tmp_path: Path) -> None:
    assert checkout_of(shop, allow_dirty=False).branch == "main"
    with pytest.raises(InvalidInput, match="inside of the repository"):
        checkout_of(shop / "src", allow_dirty=False)
    (shop / "new.py").write_text("x = 1\n")
    with pytest.raises(CarrelError, match="1 files differ"):
        checkout_of(shop, allow_dirty=False)
    assert checkout_of(shop, allow_dirty=True).dirty
    with pytest.raises(CarrelError, match="no git repository"):
        checkout_of(tmp_path, allow_dirty=False)


@pytest.mark.parametrize(
    ("url", "base", "collection"),
    [
        ("qdrant://localhost:7/a", "http://localhost:7", "carrel-repo-a"),
        ("qdrant://[::1]/a", "http://[::1]:6333", "carrel-repo-a"),
        ("qdrant://q.example.com/acme/a.b", "https://q.example.com:6333", "carrel-repo-acme~a.b"),
    ],
)
def test_an_address_is_encrypted_off_this_machine(url: str, base: str, collection: str) -> None:
    address = PublishedAddress.read(url)
    assert (address.base_url, address.collection) == (base, collection)


@pytest.mark.parametrize(
    "url",
    ["http://h/a", "qdrant://h", "qdrant://h/", "qdrant://h/a/b/c", "qdrant://h/../a", "qdrant://u:p@h/a", "qdrant://h:x/a"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        PublishedAddress.read(url)
    with pytest.raises(ValueError, match="url"):
        read_sources({"a": {"kind": "repository", "url": url}})


def test_a_chunk_of_a_newer_carrel_is_read() -> None:
    chunk = read_chunk({"path": "a.py", "start_line": 1, "end_line": 1, "something": "new", "added": 1})
    assert chunk is not None
    assert chunk.text is None

"""What a question to a published repository finds, and what is made of what the server says."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.sources.published.common import AWS, LOGIN, Dying, files, found, git, indexed, published, source, stored

from carrel.composition.composition import Composition
from carrel.git import git as git_of_a_folder
from carrel.model.errors import ProviderError
from carrel.model.local_index import SnapshotView
from carrel.model.published import read_chunk
from carrel.model.types import Hit, Query
from carrel.providers.published_repository import HEAD_ID, QdrantRepository
from carrel.settings.settings import Settings
from carrel.settings.source_settings import SourceSettings
from carrel.sources import remote_source
from carrel.sources.published_search import RemoteQuestion


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


@pytest.mark.parametrize("remote", ["https://example.com/acme/{}.git", "git@example:Acme/{}", "ssh://git@example.com:22/acme/{}"])
async def test_what_the_index_of_a_checkout_holds_wins_and_is_told(shop: Path, repository: QdrantRepository, remote: str) -> None:
    git(shop, "remote", "add", "origin", remote.format(repository.address.name))
    await published(shop, repository)
    (shop / ".carrelignore").write_text("src/keys.py\n")
    index = await asyncio.to_thread(indexed, shop)
    own = index.store.snapshot()
    one = source(repository, shop)
    assert files(await found(one, own=own)) == {"src/keys.py"}, "its own index doesn't hold this one"
    assert "its own contents of 4 files answer (.gitignore, README.md, src/auth.py, …)" in str(one.notice)
    (shop / "src/auth.py").unlink()
    assert files(await found(one, own=own)) == {"src/keys.py", "src/auth.py"}
    assert len(await found(one)) > 2, "without an index nothing here can answer"
    inner = source(repository, shop / "src")
    assert "1 file answer (src/orders.py)" in str((await found(inner, own=InFolder(own, "src/")), inner.notice)[1])
    index.store.close()


async def test_a_slow_git_takes_no_time_of_the_server(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(shop, "remote", "add", "origin", f"https://example.com/acme/{repository.address.name}")
    await published(shop, repository)
    index = await asyncio.to_thread(indexed, shop)
    said, goes_on = threading.Event(), git_of_a_folder.origin

    def slow(root: Path) -> str:
        said.wait(10)
        return goes_on(root)

    monkeypatch.setattr(git_of_a_folder, "origin", slow)
    monkeypatch.setattr(remote_source, "GIT_SECONDS", 0.05)
    monkeypatch.setattr(remote_source, "SECONDS", 5.0)
    one, other = source(repository, shop), source(repository, shop)
    own = index.store.snapshot()
    assert "src/auth.py" in files(await found(one, own=own)), "it isn't known yet that the workspace holds it"
    said.set()
    while one.notice is None:
        await asyncio.sleep(0.02)
        await found(one, own=own)
    assert "its own contents" in one.notice
    monkeypatch.delattr(git_of_a_folder, "origin")
    await found(other, own=own)
    assert "its own contents" in str(other.notice), "git was asked once for all sources"
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
    settings = dataclasses.replace(Settings(), secret_patterns=(r"badge \w+",))
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
        ".gitignore",
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


def test_a_chunk_of_a_newer_carrel_is_read() -> None:
    chunk = read_chunk({"path": "a.py", "start_line": 1, "end_line": 1, "something": "new", "added": 1})
    assert chunk is not None
    assert chunk.text is None

"""A real Qdrant server is killed while something is published or asked, and started again on what it has stored.

`CARREL_TEST_KILLED_SERVER` has it killed at each kind of write; else it is at one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server
from tests.sources.published.common import Dying, at, commit, found, published, source, stored

from carrel.model.errors import CarrelError, ProviderError
from carrel.model.published import Head

HIDDEN = "nothing of this run is visible, and what was visible before still is.*The next run goes on where this one stopped"
UNKNOWN = "whether its state is visible now isn't known"
SHOWN = "but what is gone wasn't deleted"
MOMENTS = [("add", 2, HIDDEN), ("mark", 1, HIDDEN), ("write_head", 1, UNKNOWN), ("delete", 1, SHOWN)]


class Server:
    """A server that can be killed, and be started again on the same storage."""

    def __init__(self) -> None:
        self.program = qdrant_server.binary()
        self.url, self.process, self.folder = qdrant_server.start(self.program)

    def kill(self) -> subprocess.Popen[bytes]:
        self.process.kill()
        return self.process

    def start(self) -> None:
        self.kill().wait()
        self.process = qdrant_server.run_again(self.program, self.folder, self.url)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("carrel.providers.published_repository._PUBLISHERS_PAUSES", (0.01,))
    monkeypatch.setattr("carrel.sources.publishing.BATCH", 1)
    one = Server()
    yield one
    one.kill().wait()


class Killing(Dying):
    """Kills the server in the middle of the n-th call of one kind."""

    def __init__(self, inner: Any, server: Server, name: str, number: int) -> None:
        super().__init__(inner, number, (name,))
        self.server = server

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in self._writes:
            return value

        async def write(*arguments: Any) -> Any:
            self._left -= 1
            under_way = asyncio.ensure_future(value(*arguments))
            if self._left == -1:
                await asyncio.sleep(0.002)
                self.server.kill()
            return await under_way

        return write


@pytest.mark.parametrize(("name", "number", "told"), MOMENTS if os.environ.get("CARREL_TEST_KILLED_SERVER") else MOMENTS[:1])
async def test_a_publish_goes_on_after_its_server_was_killed(
    shop: Path, server: Server, name: str, number: int, told: str
) -> None:
    repository = at(server.url, "shop")
    try:
        before = await published(shop, repository)
        old = sorted((hit.chunk.path, hit.chunk.text) for hit in await found(source(repository)))
        (shop / "src/auth.py").write_text("def refuse_every_login(name):\n    '''Check no user table.'''\n    return False\n")
        for part in range(4):
            (shop / f"src/part{part}.py").write_text(
                f"def handle_login_{part}(user):\n    '''Check the user table.'''\n    return {part}\n"
            )
        commit(shop)
        with pytest.raises(CarrelError, match=told):
            await published(shop, Killing(repository, server, name, number))
        await asyncio.to_thread(server.start)
        head = await repository.head()
        assert head is not None
        new_is_shown = head.commit != before.commit
        assert new_is_shown <= (told in (UNKNOWN, SHOWN))
        assert await repository.count(head) == head.chunks, "what is shown is whole"
        shown = sorted((hit.chunk.path, hit.chunk.text) for hit in await found(source(repository)))
        assert (shown == old) != new_is_shown
        after = await published(shop, repository)
        assert await repository.count(await head_of(repository)) == after.chunks
        assert len(await stored(repository)) == after.chunks + 1, "no orphan stays"
        assert "refuse_every_login" in {hit.chunk.symbol for hit in await found(source(repository))}
    finally:
        await repository.aclose()


async def head_of(repository: Any) -> Head:
    head = await repository.head()
    assert isinstance(head, Head)
    return head


async def test_questions_go_on_after_their_server_was_killed(shop: Path, server: Server) -> None:
    repository = at(server.url, "shop")
    try:
        await published(shop, repository)
        one = source(repository)
        answer = [hit.chunk.symbol for hit in await found(one)]
        asking = [asyncio.create_task(found(one)) for _ in range(20)]
        await asyncio.sleep(0.02)
        server.kill().wait()
        ended = await asyncio.gather(*asking, return_exceptions=True)
        whole = [[hit.chunk.symbol for hit in item] for item in ended if isinstance(item, list)]
        assert all(item == answer for item in whole), "an answer is whole or none"
        assert all(isinstance(item, list | ProviderError) for item in ended)
        await asyncio.to_thread(server.start)
        one._rests_until = 0.0
        assert [hit.chunk.symbol for hit in await found(one)] == answer
    finally:
        await repository.aclose()

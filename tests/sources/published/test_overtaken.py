"""A run that another one overtook changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.sources.published.common import Dying, Killed, Pausing, commit, found, published, source, stored

from carrel.model.errors import CarrelError, InvalidInput
from carrel.providers.published_repository import QdrantRepository
from carrel.sources.publishing import checkout_of


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
    with pytest.raises(Killed):
        await published(shop, Dying(repository, 1, ("delete",)))  # what is gone is still there, marked
    before = sorted(await stored(repository), key=lambda point: str(point["id"]))
    touched = [one["id"] for one in before if first.generation < max(one["payload"].get(n, 0) for n in ("added", "removed"))]
    assert len(touched) == 2
    await repository.mark(touched, "added", first.generation)
    await repository.mark(touched, "removed", first.generation)
    await repository.unmark(touched, first.generation)
    await repository.delete(touched, first.generation)
    assert sorted(await stored(repository), key=lambda point: str(point["id"])) == before


def test_what_is_no_checkout_of_a_commit_is_refused(shop: Path, tmp_path: Path) -> None:
    assert checkout_of(shop, allow_dirty=False).branch == "main"
    with pytest.raises(InvalidInput, match="inside of the repository"):
        checkout_of(shop / "src", allow_dirty=False)
    (shop / "new.py").write_text("x = 1\n")
    with pytest.raises(CarrelError, match="lacks 1 changed file"):
        checkout_of(shop, allow_dirty=False)
    assert checkout_of(shop, allow_dirty=True).dirty
    with pytest.raises(CarrelError, match="no git repository"):
        checkout_of(tmp_path, allow_dirty=False)

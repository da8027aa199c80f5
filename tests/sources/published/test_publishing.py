"""What a run of publishing writes, and what one that is killed or overtaken leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from msgspec.structs import replace
from tests.sources.published.common import Dying, Killed, Pausing, commit, found, published, source, stored

from carrel.model.errors import CarrelError, ProviderError
from carrel.model.published import FORMAT, Head, Point
from carrel.model.vectors import Vectors
from carrel.providers.local import bundled
from carrel.providers.published_repository import QdrantRepository


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


async def test_a_run_that_is_killed_anywhere_leaves_the_old_state_whole(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.sources.publishing.BATCH", 2)
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
        except Killed:
            died += 1
            head = await repository.head()
            assert head is not None
            if head.commit != before.commit:
                break  # in the last write, when all of the new state is visible
            assert await repository.count(head) == before.chunks
            assert sorted((hit.chunk.path, hit.chunk.text) for hit in await found(source(repository))) == old
        else:
            break
    assert died > 4
    (shop / "src/auth.py").unlink()
    commit(shop)
    with pytest.raises(Killed):  # visible already, but what is gone isn't deleted yet
        await published(shop, Dying(repository, 1, ("delete",)))
    assert "refuse_every_login" not in {hit.chunk.symbol for hit in await found(source(repository))}
    after = await published(shop, repository)
    assert (after.added, after.removed) == (0, 0)
    assert len(await stored(repository)) == after.chunks + 1, "no orphan stays"


async def test_batches_are_under_way_together_and_end_together(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.sources.publishing.BATCH", 1)
    both, started, cancelled = asyncio.Event(), 0, 0

    class Refusing(Dying):
        async def add(self, *_: Any) -> None:
            nonlocal started, cancelled
            started += 1
            if started == 2:
                both.set()
                raise ProviderError("There is no space left")
            try:
                await both.wait()
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled += 1
                raise

    with pytest.raises(ProviderError, match="no space left"):
        await asyncio.wait_for(published(shop, Refusing(repository, 99)), 30)
    assert started - cancelled == 1, "none is under way any more"


class Shorter:
    """Embeds by the first values of the bundled model's vectors alone, as a model of another dimension does."""

    def __init__(self) -> None:
        self._inner = bundled()
        self.spec = replace(self._inner.spec, id="shorter", dim=64)

    async def embed(self, texts: Sequence[str], kind: Any) -> Vectors:
        rows = np.frombuffer((await self._inner.embed(texts, kind)).data, "<f4").reshape(-1, self._inner.spec.dim)
        cut = rows[:, :64]
        return Vectors((cut / np.linalg.norm(cut, axis=1, keepdims=True)).tobytes(), 64)


class Cutting(Dying):
    """Publishes the first values of the vectors alone, and may die meanwhile."""

    async def add(self, points: Sequence[Point], *rest: Any) -> None:
        await self.__getattr__("add")([replace(point, vector=point.vector[:64]) for point in points], *rest)


async def test_a_model_of_another_dimension_is_published_beside_the_old_one(shop: Path, repository: QdrantRepository) -> None:
    before = await published(shop, repository)
    reader, other = source(repository), source(repository, embedder=lambda model: Shorter() if model == "shorter" else None)
    old = sorted((hit.chunk.path, hit.chunk.text) for hit in await found(reader))
    shorter, died = Shorter().spec, 0
    writes = ("prepare", "add", "mark", "write_head")  # what comes then is visible
    for at_write in range(30):
        try:
            after = await published(shop, Cutting(repository, at_write, writes), model=shorter)
        except Killed:
            died += 1
            head = await repository.head()
            assert head is not None
            assert (head.vector, await repository.count(head)) == ("dense", before.chunks)
            if died % 3 == 0:
                assert sorted((hit.chunk.path, hit.chunk.text) for hit in await found(reader)) == old
                assert reader.notice is None, "its vectors are searched, too"
        else:
            break
    assert died > 4
    assert (after.chunks, after.removed) == (before.chunks, before.chunks)
    assert (await found(other))[0].chunk.symbol == "authenticate_user"
    assert other.notice is None, "the new vectors are searched"
    assert (await found(reader))[0].chunk.symbol == "authenticate_user", "though it began with what is gone now"
    assert "words alone" in str(reader.notice)
    kept = [point["vector"] for point in await stored(repository)]
    head = await repository.head()
    assert head is not None
    assert {len(vector[head.vector]) for vector in kept if vector} == {64}
    assert not any("dense" in vector for vector in kept), "the old vectors are deleted"
    again = await published(shop, repository)
    head = await repository.head()
    assert head is not None
    assert again.added == before.chunks
    assert head.vector == f"dense_256_{head.generation}", "and back"


async def test_a_question_goes_on_where_its_vectors_are_deleted_meanwhile(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.sources.remote_source.SECONDS", 60.0)
    await published(shop, repository)

    class Overtaken(Dying):
        overtaken = False

        async def search(self, *arguments: Any) -> Any:
            if not self.overtaken:
                self.overtaken = True
                await asyncio.wait_for(self.head_read.wait(), 10)  # asked at the same moment: it is the old state still
                await published(shop, Cutting(repository, 99), model=Shorter().spec)
            return await repository.search(*arguments)

        head_read = asyncio.Event()

        async def head(self) -> Any:
            head = await repository.head()
            if self.overtaken:
                self.head_read.set()
            return head

    reader = source(Overtaken(repository, 99))
    assert (await found(reader))[0].chunk.symbol == "authenticate_user"


async def test_a_late_cleanup_leaves_the_vectors_of_a_later_run(shop: Path, repository: QdrantRepository) -> None:
    await published(shop, repository)
    late_cleanup = Pausing(repository, "forget_vectors")
    early = asyncio.create_task(published(shop, Cutting(late_cleanup, 99), model=Shorter().spec))  # type: ignore[arg-type]
    await late_cleanup.reached.wait()  # its state is shown; the vectors of 256 values are to be deleted
    between = Pausing(repository, "mark", 1)
    later = asyncio.create_task(published(shop, between))
    await between.reached.wait()  # all of its vectors, of 256 values again, are sent, and nothing of it is shown
    late_cleanup.go_on.set()
    await early
    between.go_on.set()
    report = await later
    reader = source(repository)
    assert (await found(reader))[0].chunk.symbol == "authenticate_user"
    assert reader.notice is None
    head = await repository.head()
    assert head is not None
    vectors = [point["vector"] for point in await stored(repository)]
    assert sum(head.vector in vector for vector in vectors) == report.chunks, "each chunk has its vector"
    assert not any("dense" in vector for vector in vectors)


async def test_vectors_that_somebody_else_put_there_stay(shop: Path, repository: QdrantRepository) -> None:
    await published(shop, repository)
    await repository._put("/vectors/colour?wait=true", {"dense": {"size": 3, "distance": "Cosine"}})
    await published(shop, repository)
    assert {"colour", "dense"} == set(await dimensions(repository))


async def test_what_was_done_before_an_answer_was_cut_counts_as_done(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await published(shop, repository)
    send, refused = repository._send, []

    async def twice(method: str, path: str, *rest: Any) -> Any:
        answer = await send(method, path, *rest)
        if path.startswith("/vectors/"):
            refused.append(method)
            raise ProviderError("The server refused the request", status=409 if method == "PUT" else 404)
        return answer

    monkeypatch.setattr(repository, "_send", twice)
    await published(shop, Cutting(repository, 99), model=Shorter().spec)
    assert refused == ["PUT", "DELETE"]
    assert list((await dimensions(repository)).values()) == [64]


async def test_a_collection_that_is_gone_is_no_old_server(repository: QdrantRepository) -> None:
    await repository.prepare(8)
    claimed = await repository.write_head(Head(format=FORMAT, claim=1), None)
    await repository.drop()
    with pytest.raises(ProviderError, match="no such repository"):
        await repository._add_vector("dense_9_1", 9)
    with pytest.raises(ProviderError, match="no such repository"):
        await repository.vector_name(9, claimed)


async def test_a_cleanup_that_fails_says_that_the_new_state_is_shown(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: Head) -> None:
        raise ProviderError("Qdrant at q.example.com failed (500)")

    with monkeypatch.context() as patched:
        patched.setattr(repository, "forget_vectors", fails)
        with pytest.raises(CarrelError, match=r"shows [0-9a-f]{12} now, but what is gone wasn't deleted: Qdrant .* The next run"):
            await published(shop, repository)
    assert (await found(source(repository)))[0].chunk.symbol == "authenticate_user"


async def test_a_server_that_holds_one_dimension_alone_is_told(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await published(shop, repository)
    send = repository._send

    async def older(method: str, path: str, *rest: Any) -> Any:
        if path.startswith("/vectors/"):
            raise ProviderError("There is no such path", status=404)
        return await send(method, path, *rest)

    monkeypatch.setattr(repository, "_send", older)
    with pytest.raises(ProviderError, match=r"holds vectors of 256 values; the model gives 64.*Update it to 1\.18"):
        await published(shop, Cutting(repository, 99), model=Shorter().spec)
    assert (await found(source(repository)))[0].chunk.symbol == "authenticate_user"


async def test_a_run_takes_over_what_a_killed_one_has_sent(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.sources.publishing.BATCH", 1)
    monkeypatch.setattr("carrel.sources.publishing._AT_ONCE", 1)
    with pytest.raises(Killed):
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

            async def add(points: Sequence[Point], *rest: Any) -> None:
                reached.set()
                await go_on.wait()
                await value(points, *rest)

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
    claimed = Head(format=FORMAT, claim=1)
    assert set(await asyncio.gather(*(repository.vector_name(8, claimed) for _ in range(4)))) == {"dense"}
    assert set(await asyncio.gather(*(repository.vector_name(9, claimed) for _ in range(4)))) == {"dense_9_1"}


async def test_indexes_that_a_killed_run_left_out_are_made(
    shop: Path, repository: QdrantRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = repository._send

    async def killed(method: str, path: str, *rest: Any) -> Any:
        if path.startswith("/index"):
            raise Killed
        return await send(method, path, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(repository, "_send", killed)
        with pytest.raises(Killed):
            await repository.prepare(bundled().spec.dim)
    assert await indexes(repository) == set()
    await published(shop, repository)
    assert await indexes(repository) == {"added", "removed"}


async def indexes(repository: QdrantRepository) -> set[str]:
    return set((await collection(repository))["payload_schema"])


async def dimensions(repository: QdrantRepository) -> dict[str, int]:
    vectors = (await collection(repository))["config"]["params"]["vectors"]
    return {name: held["size"] for name, held in vectors.items()}


async def collection(repository: QdrantRepository) -> dict[str, Any]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{repository.address.base_url}/collections/{repository.address.collection}")
    return dict(answer.json()["result"])

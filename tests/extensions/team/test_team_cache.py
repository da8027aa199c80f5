"""What a team shares: paid once, readable with the secret only."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")


from tests.extensions.team.common import OTHER, SECRET, TEXTS, Developer, Memory, outbound
from tests.extensions.team.test_embedding_cache import DIM

from carrel.extensions.team.team_cache import CHECK_KEY, TeamSeal
from carrel.extensions.team.values import FolderValues, QdrantValues
from carrel.model.errors import InvalidInput
from carrel.model.outbound import Secret


async def test_what_one_developer_paid_nobody_pays_again(place: Any, tmp_path: Path) -> None:
    first, second = Developer(tmp_path / "1", place), Developer(tmp_path / "2", place)
    given = await first.vectors([*TEXTS, ""])
    assert first.service.asked == [*TEXTS, ""]
    found = await second.vectors([TEXTS[2], "def three(): ...", *TEXTS[:2]])
    assert second.service.asked == ["def three(): ..."]
    assert [found[n] for n in (2, 3, 0)] == list(given)[:3]
    assert (await first.status()).shared == 4
    assert (await second.status()).hits == 3
    assert (await second.status()).missed == 1
    await second.vectors()
    assert (await second.status()).hits == 3, "the cache of the machine stands in front"


async def test_the_estimate_of_a_first_index_knows_what_the_team_has(place: Any, tmp_path: Path) -> None:
    first, second = Developer(tmp_path / "1", place), Developer(tmp_path / "2", place)
    await first.vectors()
    assert await asyncio.to_thread(second.model.missing, [*TEXTS, "new"]) == ["new"]
    asked = (await second.status()).hits
    await second.vectors()
    assert (await second.status()).hits == asked, "it was fetched for the estimate"
    assert second.service.asked == []
    await second.model.aclose()


async def test_another_secret_finds_nothing_adds_nothing_and_says_so(place: Any, tmp_path: Path) -> None:
    await Developer(tmp_path / "1", place).vectors()
    other = Developer(tmp_path / "2", place, OTHER)
    assert (await other.vectors()).fault(DIM, 3) is None
    assert other.service.asked == TEXTS
    assert "another secret" in str(other.model.problem)
    assert "carrel models key team" in str(other.model.problem)
    status = await other.team.probe()
    assert (status.state, status.hits, status.shared, status.waiting) == ("waiting", 0, 0, 0)
    third = Developer(tmp_path / "3", place)
    await third.vectors()
    assert third.service.asked == []


async def test_a_place_that_is_empty_has_nothing(place: Any) -> None:
    assert await place.read([CHECK_KEY, bytes(16)]) == {}
    await place.write({bytes(16): b"\0\xff value"})
    assert await place.read([CHECK_KEY, bytes(16)]) == {bytes(16): b"\0\xff value"}


async def test_no_text_no_path_and_no_readable_vector_is_kept(tmp_path: Path) -> None:
    developer = Developer(tmp_path / "1", FolderValues(tmp_path / "shared"))
    vectors = await developer.vectors()
    await developer.vectors(["a question with a wombat"], "query")
    files = [path for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    assert len(files) == 4, "three vectors and the check value: questions are nobody else's business"
    kept = b"".join(path.read_bytes() for path in files) + b"".join(path.name.encode() for path in files)
    assert b"wombat" not in kept
    assert struct.pack(f"<{DIM}e", *vectors.floats(0))[:16] not in kept
    assert not any(key.hex() in str(path).replace("/", "") for key in developer.model.keys(TEXTS, "document") for path in files)


async def test_what_the_team_did_not_make_is_not_believed(tmp_path: Path) -> None:
    values = Memory()
    await Developer(tmp_path / "1", values).vectors()
    seal = TeamSeal(Secret(SECRET))
    one, two, three = (seal.key(key) for key in Developer(tmp_path / "2", values).model.keys(TEXTS, "document"))
    good = dict(values.held)
    nan = struct.pack(f"<{DIM}e", float("nan"), *[0.0] * (DIM - 1))
    for lie in (
        b"",
        b"x" * 11,
        b"\0" * 100,
        good[two],  # another text's vector
        good[one][:-1] + bytes([good[one][-1] ^ 1]),
        TeamSeal(Secret(OTHER)).seal(one, seal.unseal(one, good[one]) or b""),
        seal.seal(one, b"\0" * 2 * (DIM + 1)),
        seal.seal(one, nan),
        seal.seal(one, struct.pack(f"<{DIM}e", *[9.0] * DIM)),
        seal.seal(one, bytes(2 * DIM)),
    ):
        values.held = {**good, one: lie}
        developer = Developer(tmp_path / str(hash(lie)), values)
        assert (await developer.vectors()).fault(DIM, 3) is None
        assert developer.service.asked == [TEXTS[0]]
        assert (await developer.status()).refused == 1
        assert values.held[one] != lie, "it is replaced by what was paid for"
    assert three in values.held


def test_a_secret_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="token_urlsafe") as raised:
        TeamSeal(Secret("our team"))
    assert "our team" not in str(raised.value)


def working(folder: Path, url: str, collection: str, first: int, results: Any) -> None:
    async def work() -> None:
        values = QdrantValues(outbound(folder), url, collection)
        developer = Developer(folder, values)
        for at in range(first, first + 40, 10):
            await developer.vectors([f"text {number}" for number in range(at, at + 10)])
        await values.aclose()
        results.put((len(developer.service.asked), str(developer.model.problem)))

    asyncio.run(work())


def test_two_writers_at_once(tmp_path: Path) -> None:
    url, collection = qdrant_server.server_url(), f"carrel-team-two-{os.getpid()}"
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=working, args=(tmp_path / str(n), url, collection, 20 * n, results)) for n in range(2)]
    for worker in workers:
        worker.start()
    paid = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert all(problem == "None" for _, problem in paid)
    assert 60 <= sum(number for number, _ in paid) <= 80
    values = QdrantValues(outbound(tmp_path), url, collection)

    async def third() -> list[str]:
        developer = Developer(tmp_path / "3", values)
        await developer.vectors([f"text {number}" for number in range(60)])
        await values.aclose()
        return developer.service.asked

    assert asyncio.run(third()) == []

"""A repository that is published to a cluster: by two at once, and while one of its servers is killed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import httpx
import pytest
from tests.contract import qdrant_server
from tests.sources.published.common import at, commit, found, published, source

from carrel.model.published import FORMAT, Head

pytestmark = pytest.mark.skipif(not os.environ.get("CARREL_TEST_CLUSTER"), reason="long: set CARREL_TEST_CLUSTER")


async def test_a_cluster_goes_on_without_one_of_its_servers(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    with qdrant_server.cluster(tmp_path / "servers", 2) as (urls, servers):
        first, other = (at(url, "shop") for url in urls)
        before = await published(shop, first)
        async with httpx.AsyncClient(trust_env=False) as client:
            held = (await client.get(f"{urls[0]}/collections/carrel-repo-shop/cluster")).json()["result"]
        assert (held["shard_count"], len(held["local_shards"]), len(held["remote_shards"])) == (1, 1, 1), "one piece, two copies"
        one, two = source(first), source(other)
        assert (await found(one))[0].chunk.symbol == "authenticate_user"
        assert (await found(two))[0].chunk.symbol == "authenticate_user", "whichever server is asked"
        asked = asyncio.create_task(found(two))  # while it is asked, the other one dies
        servers[0].kill()
        servers[0].wait()
        assert (await asked)[0].chunk.symbol == "authenticate_user"
        assert (await found(two))[0].chunk.symbol == "authenticate_user"
        (shop / "src/new.py").write_text("def refund_the_whole_order(order):\n    return order.total\n")
        commit(shop)
        after = await published(shop, other)
        assert (after.added, after.chunks) == (1, before.chunks + 1), "publishing goes on, too"
        assert (await found(two, "who refunds a whole order"))[0].chunk.symbol == "refund_the_whole_order"
        for repository in (first, other):
            await repository.aclose()


async def test_of_two_that_claim_by_different_servers_one_holds_it_and_both_servers_say_so(tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    with qdrant_server.cluster(tmp_path / "servers", 2) as (urls, _):
        repositories = [at(url, "shop") for url in urls]
        await repositories[0].prepare(256)
        held = await repositories[0].write_head(Head(format=FORMAT), None)
        for number in range(1, 31):
            claims = (each.write_head(Head(format=FORMAT, claim=number), held) for each in repositories)
            ended = await asyncio.gather(*claims, return_exceptions=True)
            first, other = [await each.head() for each in repositories]
            assert first == other
            assert first
            assert [claim.token for claim in ended if isinstance(claim, Head)] == [first.token]
            held = first
        for each in repositories:
            await each.aclose()


async def test_a_server_that_dies_while_a_repository_is_published_costs_nothing(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    for number in range(300):
        lines = (f"def step_{number}_{part}(order):\n    return order.pay({number}, {part})\n" for part in range(20))
        (shop / f"src/steps_{number}.py").write_text("\n\n".join(lines))
    commit(shop)
    with qdrant_server.cluster(tmp_path / "servers", 3) as (urls, servers):
        repository = at(urls[0], "shop")
        publishing = asyncio.create_task(published(shop, repository))
        counting = f"{urls[0]}/collections/carrel-repo-shop/points/count"
        placing = f"{urls[0]}/collections/carrel-repo-shop/cluster"
        async with httpx.AsyncClient(trust_env=False) as client:
            while not (answer := await client.post(counting, json={})).is_success or answer.json()["result"]["count"] < 1_000:
                assert not publishing.done(), "it was published before a server could die"
            held = (await client.get(placing)).json()["result"]
            copies = {shard["peer_id"] for shard in held["remote_shards"]}
            peers = [(await client.get(f"{url}/cluster")).json()["result"]["peer_id"] for url in urls]
            dies = next(number for number in (1, 2) if peers[number] in copies)
            servers[dies].kill()
            servers[dies].wait()
            report = await publishing
            assert (await client.post(counting, json={"exact": True})).json()["result"]["count"] >= report.chunks
        assert report.chunks > 5_000
        other = at(urls[3 - dies], "shop")
        asker = source(other)
        for number in range(0, 300, 60):
            assert f"def step_{number}_7(" in (await found(asker, f"step_{number}_7"))[0].chunk.text
        again = await published(shop, repository)
        assert (again.added, again.removed) == (0, 0), "all of it is there"
        for each in (repository, other):
            await each.aclose()

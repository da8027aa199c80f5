"""The copy of an index in a store elsewhere says truly whether the store answers."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.waiting import until

from carrel.index.outbox import Outbox
from carrel.index.replica import StorePlace, VectorReplica
from carrel.model.errors import StoreError
from carrel.model.fakes import MemoryStore
from carrel.model.ports import ChunkId, VectorRecord


class SlowStore(MemoryStore):
    """Begins a publication and ends it when it is let."""

    def __init__(self) -> None:
        super().__init__(2)
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        self.begun.set()
        await self.may_end.wait()
        await super().publish(upsert, delete)


@dataclass
class Opened:
    vectors: SlowStore
    alive: bool = True

    async def close(self) -> None:
        self.alive = False


class OneFile:
    role: Literal["writer", "follower"] = "writer"

    def snapshot(self) -> Any:
        raise NotImplementedError

    def index_state(self) -> list[tuple[str, int, list[str]]]:
        return [("a.py", 1, ["0" * 32])]


def records(_: Any, ids: Sequence[ChunkId], __: bool) -> list[VectorRecord]:
    return [VectorRecord(chunk, struct.pack("<2f", 1, 0), {}) for chunk in ids]


async def test_an_outage_is_said_once_and_what_a_person_asks_for_is_left_to_who_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = ["Qdrant gave no answer within 5 s. Restart it.", "Qdrant can't be reached. Start it."]

    async def open_store() -> Opened:
        if gone:
            raise StoreError(gone[0])
        store = SlowStore()
        store.may_end.set()
        return Opened(store)

    replica = VectorReplica(StorePlace("fake", "the store"), OneFile(), Outbox(tmp_path / "outbox.sqlite"), open_store, records)
    try:
        for _ in range(2):
            await replica.catch_up(5)
            gone.reverse()
        assert caplog.messages == [f"{gone[0]} Meanwhile the index's own vectors answer."]
        assert replica.status().problem == gone[1]
        answers, gone = gone, []
        await replica.catch_up(5)
        assert replica.status().state == "ready"
        gone = answers
        replica.failed(StoreError("It didn't answer"))
        await replica.catch_up(5)
        assert caplog.messages[1:] == ["It didn't answer. Meanwhile the index's own vectors answer."]
        with pytest.raises(StoreError):
            await replica.probe()
        assert len(caplog.messages) == 2
    finally:
        await replica.close()


async def test_a_question_that_had_no_answer_during_a_publication_counts_until_the_store_was_opened_anew(tmp_path: Path) -> None:
    opened: list[Opened] = []

    async def open_store() -> Opened:
        opened.append(Opened(SlowStore()))
        return opened[-1]

    outbox = Outbox(tmp_path / "outbox.sqlite")
    replica = VectorReplica(StorePlace("fake", "the store"), OneFile(), outbox, open_store, records)
    try:
        work = asyncio.ensure_future(replica.publish())
        await until(lambda: opened and opened[0].vectors.begun.is_set())
        replica.failed(StoreError("It didn't answer within 1 s"))
        opened[0].vectors.may_end.set()
        await work
        assert replica.status().state == "unreachable"
        assert replica.status().problem == "It didn't answer within 1 s"
        assert replica.usable() is None

        await replica.publish()  # as the background does it
        assert len(opened) == 2
        assert (replica.status().state, replica.status().problem, replica.status().backlog) == ("ready", "", 0)
        assert replica.usable() is not None
    finally:
        await replica.close()

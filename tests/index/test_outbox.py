"""The outbox says what leads from what a store holds to what an index holds, whatever happens in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrel.index.outbox import Entry, Outbox
from carrel.model.ports import ChunkId

State = list[tuple[str, int, list[str]]]


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    made = Outbox(tmp_path / "outbox.sqlite")
    yield made
    made.close()


def told(outbox: Outbox) -> set[tuple[str, bool]]:
    return {(entry.id, entry.add) for entry in outbox.take(1_000)}


def publish(outbox: Outbox, store: set[str], entries: list[Entry]) -> None:
    for entry in entries:
        (store.add if entry.add else store.discard)(entry.id)


def publish_all(outbox: Outbox, store: set[str]) -> None:
    entries = outbox.take(1_000)
    publish(outbox, store, entries)
    outbox.done(entries)


def test_only_what_changed_is_told(outbox: Outbox) -> None:
    store: set[str] = set()
    outbox.note([("a", 1, ["a1", "a2"]), ("b", 1, ["b1"])])
    publish_all(outbox, store)
    outbox.note([("a", 2, ["a1", "a3"]), ("b", 1, ["b1"])])
    assert told(outbox) == {("a1", True), ("a2", False), ("a3", True)}  # a1 again: its lines may have moved
    publish_all(outbox, store)
    assert store == {"a1", "a3", "b1"}
    assert outbox.backlog().entries == 0
    assert outbox.held == 3


def test_a_file_that_was_cut_anew_without_having_changed_is_told(outbox: Outbox) -> None:
    store: set[str] = set()
    outbox.note([("a", 1, ["a1"]), ("b", 1, ["b1"])])
    publish_all(outbox, store)
    outbox.note([("a", 1, ["a2"]), ("b", 1, ["b1"])])
    assert told(outbox) == {("a1", False), ("a2", True)}


def test_what_may_have_arrived_is_deleted_where_its_chunk_is_gone(outbox: Outbox) -> None:
    """A kill between the store's answer and the note of it must leave no orphan."""
    outbox.note([("a", 1, ["a1"])])
    store: set[str] = set()
    publish(outbox, store, outbox.take(10))  # and killed
    outbox.note([])
    assert told(outbox) == {("a1", False)}
    publish_all(outbox, store)
    assert not store


def test_a_change_of_mind_while_it_is_published_stays_to_be_told(outbox: Outbox) -> None:
    store: set[str] = set()
    outbox.note([("a", 1, ["a1"])])
    entries = outbox.take(10)
    publish(outbox, store, entries)
    outbox.note([])
    outbox.done(entries)
    assert told(outbox) == {("a1", False)}
    gone = outbox.take(10)
    publish(outbox, store, gone)
    outbox.note([("a", 3, ["a1"])])
    outbox.done(gone)
    assert told(outbox) == {("a1", True)}


def test_a_run_that_was_killed_is_known_by_the_next_process(tmp_path: Path) -> None:
    first = Outbox(tmp_path / "outbox.sqlite")
    first.note([])
    assert not first.dirty
    first.begin()
    first.close()
    second = Outbox(tmp_path / "outbox.sqlite")
    assert second.dirty
    second.note([("a", 1, ["a1"])])
    assert not second.dirty
    second.close()


def test_a_comparison_finds_and_mends_both_ways(outbox: Outbox) -> None:
    store: set[str] = set()
    outbox.note([("a", 1, ["a1", "a2"])])
    publish_all(outbox, store)
    store.remove("a2")
    store.add("stranger")
    found = outbox.compare([[ChunkId(chunk) for chunk in sorted(store)]], mend=False)
    assert (found.missing, found.orphans, found.same) == (1, 1, False)
    outbox.compare([[ChunkId(chunk) for chunk in sorted(store)]], mend=True)
    assert told(outbox) == {("a2", True), ("stranger", False)}
    publish_all(outbox, store)
    assert store == {"a1", "a2"}


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_changes_publications_and_kills_ends_with_the_same_ids(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)  # noqa: S311 - not for secrets
    outbox, store, wanted = Outbox(tmp_path / "outbox.sqlite"), set[str](), list[tuple[str, int, list[str]]]()
    for step in range(60):
        match chosen.randrange(5):
            case 0:
                paths = chosen.sample("abcdef", 3)
                wanted = [(path, chosen.randrange(2), [f"{path}{n}" for n in range(chosen.randrange(4))]) for path in paths]
                outbox.note(wanted)
            case 1:
                publish_all(outbox, store)
            case 2:  # killed after the store answered, or in the middle of it
                entries = outbox.take(1_000)
                publish(outbox, store, entries[: chosen.randrange(len(entries) + 1)])
            case 3:  # the index changes while it is published
                entries = outbox.take(1_000)
                publish(outbox, store, entries)
                wanted = [(path, version + 1, ids[step % 2 :]) for path, version, ids in wanted]
                outbox.note(wanted)
                outbox.done(entries)
            case 4:
                outbox.close()
                outbox = Outbox(tmp_path / "outbox.sqlite")
    publish_all(outbox, store)
    assert store == {chunk for _, _, ids in wanted for chunk in ids}
    assert outbox.compare([[ChunkId(chunk) for chunk in store]], mend=False).same
    outbox.close()

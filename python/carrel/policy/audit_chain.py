"""The chain of hashes through an audit log: how an entry is hashed, and how a log is checked against its hashes.

An entry's hash is SHA-256 over the hash before it and the entry itself, so that a change, a removal or an insertion anywhere
breaks it from there on. Entries that were pruned leave a checkpoint with the hash of the last of them. There is no key: whoever
may write the file can make a new chain of it. Against that helps a head (number and hash of the last entry) kept somewhere else.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

START = bytes(32)
"""What stands before the first entry."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a log at some time: its number and hash."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"

    @classmethod
    def read(cls, text: str) -> Head:
        """Read one as it is shown. Raises `ValueError`."""
        number, _, digits = text.strip().partition(":")
        head = cls(int(number), bytes.fromhex(digits))
        if head.number < 0 or len(head.hash) != len(START):
            raise ValueError("a head is a number, a colon and 64 hexadecimal digits")
        return head


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check found. `problems` are sentences; none where every entry is as it was written."""

    entries: int
    head: Head
    problems: tuple[str, ...]


def entry_hash(before: bytes, number: int, at: float, kind: str, user: str, details: str) -> bytes:
    """Hash an entry; `details` are the JSON text that is kept."""
    fields = json.dumps([number, at, kind, user, details], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(before + fields.encode()).digest()


def verify(database: sqlite3.Connection, anchor: Head | None = None) -> Verification:
    """Check every entry; `anchor` is a head that was noted before and must still lie on the chain. Raises `sqlite3.Error`.

    At most 20 problems are returned.
    """
    checkpoints = {number: bytes(kept) for number, kept in database.execute("SELECT number, hash FROM checkpoints")}
    last = max(checkpoints, default=0)
    problems: list[str] = []
    number, before, entries = last, checkpoints.get(last, START), 0
    on_chain = anchor is None or anchor.number == 0 or checkpoints.get(anchor.number) == anchor.hash or anchor.number < last
    for entry in _entries(database):
        entries += 1
        if entry[0] <= last:
            problems.append(f"Entry {entry[0]} stands behind the checkpoint at {last}.")
            continue
        if entry[0] != number + 1:
            problems.append(_missing(number + 1, entry[0] - 1))
        elif entry_hash(before, *entry[:5]) != entry[5]:
            problems.append(f"Entry {entry[0]} isn't as it was written.")
        number, before = entry[0], entry[5]
        if anchor and anchor.number == number:
            on_chain = before == anchor.hash
            if not on_chain:
                problems.append(f"Entry {number} is another one than that of the head that was given.")
    [kept] = database.execute("SELECT number, hash FROM head").fetchall() or [(0, START)]
    if kept[0] > number:
        problems.append(_missing(number + 1, kept[0]))
    elif (kept[0], bytes(kept[1])) != (number, before):
        problems.append("The last entry isn't the one that was written last.")
    if not on_chain and anchor is not None and anchor.number > number:
        problems.append(f"The log ends at {number}, before the head that was given ({anchor.number}).")
    return Verification(entries, Head(number, before), tuple(problems[:20]))


def _entries(database: sqlite3.Connection) -> Iterator[tuple[int, float, str, str, str, bytes]]:
    for number, at, kind, user, details, kept in database.execute(
        "SELECT number, at, kind, user, details, hash FROM entries ORDER BY number"
    ):
        yield number, at, kind, user, details, bytes(kept)


def _missing(first: int, last: int) -> str:
    return f"Entry {first} is missing." if first == last else f"Entries {first} to {last} are missing."

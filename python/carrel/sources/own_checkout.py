"""Which repository a workspace is a checkout of, as git says: asked once for all published repositories that are sources."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

SECONDS = 1.0
"""How long a question waits for git. Later questions use what it said meanwhile."""
LOOK_AGAIN_SECONDS = 60.0
"""How long it counts that git named no repository: it may have been too slow, or the remote is added later."""


class Place(NamedTuple):
    """Which repository on its host, and which folder of it; an empty `origin` where that isn't known."""

    origin: str
    prefix: str


Stamp = tuple[int, int, int] | None
"""Of a file: when it was written, its size and number; None where there is none."""


class _Answer(NamedTuple):
    """What git said, and of which state of the repository's `config`."""

    place: Place
    config: Path | None
    stamp: Stamp
    until: float


class OwnCheckout:
    """What git says of one folder. A remote that changes in the repository's `config` counts at the next question."""

    def __init__(self, root: Path) -> None:
        """Ask nothing yet."""
        self._root = root
        self._answer = _Answer(Place("", ""), None, None, 0.0)
        self._asking: asyncio.Task[None] | None = None

    async def place(self) -> Place:
        """Return the place as git last gave it, after `SECONDS` at most."""
        if self._asking is None or self._asking.done() or self._asking.get_loop() is not asyncio.get_running_loop():
            self._asking = asyncio.create_task(self._ask())
        await asyncio.wait({self._asking}, timeout=SECONDS)
        return self._answer.place

    async def _ask(self) -> None:
        self._answer = await asyncio.to_thread(_look, self._root, self._answer)


def _look(root: Path, answer: _Answer) -> _Answer:
    """Return the answer where it still counts, else a new one of git."""
    same = _stamp(answer.config) == answer.stamp
    if same and (answer.place.origin or time.monotonic() < answer.until):
        return answer
    from carrel.git import git  # noqa: PLC0415 - search is imported by the first question, so that the server starts at once

    common = git.common_folder(root)
    config = common / "config" if common else None
    stamp = _stamp(config)  # before git reads it: what changes meanwhile is seen by the next question
    return _Answer(Place(git.origin(root), git.prefix(root)), config, stamp, time.monotonic() + LOOK_AGAIN_SECONDS)


def _stamp(path: Path | None) -> Stamp:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=32)
def own_checkout(root: Path) -> OwnCheckout:
    """Return the one value of a folder."""
    return OwnCheckout(root)

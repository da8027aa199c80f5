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


_UNKNOWN = Place("", "")


class OwnCheckout:
    """What git says of one folder."""

    def __init__(self, root: Path) -> None:
        """Ask nothing yet."""
        self._root = root
        self._known = _UNKNOWN
        self._look_again = 0.0
        self._asking: asyncio.Task[None] | None = None

    async def place(self) -> Place:
        """Return what is known, after `SECONDS` at most."""
        if self._known.origin or time.monotonic() < self._look_again:
            return self._known
        if self._asking is None or self._asking.done() or self._asking.get_loop() is not asyncio.get_running_loop():
            self._asking = asyncio.create_task(self._ask())
        await asyncio.wait({self._asking}, timeout=SECONDS)
        return self._known

    async def _ask(self) -> None:
        self._known = await asyncio.to_thread(_read, self._root)
        self._look_again = time.monotonic() + LOOK_AGAIN_SECONDS


def _read(root: Path) -> Place:
    from carrel.engine import git  # noqa: PLC0415 - the engine is imported by the first question, so that the server starts at once

    return Place(git.origin(root), git.prefix(root))


@lru_cache(maxsize=32)
def own_checkout(root: Path) -> OwnCheckout:
    """Return the one value of a folder."""
    return OwnCheckout(root)

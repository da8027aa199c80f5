"""Few questions are worked on at once. Who would wait past the end of their time isn't let in, and leaves no work behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 2
"""More searches slow each other, and the event loop that all answers pass through: they compete for the interpreter's lock."""
_NEWEST_SHARE = 0.2
_FIRST_GUESS_SECONDS = 0.02


class Turns:
    """Lets `most` work at once, the others in the order in which they came. Used on one event loop."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._most = most
        self._free = asyncio.Semaphore(most)
        self._waiting = 0
        self._seconds = _FIRST_GUESS_SECONDS  # that a turn takes, by the last ones

    @asynccontextmanager
    async def turn(self, end: float) -> AsyncIterator[None]:
        """Wait for a turn; the caller sees to it that the wait ends at the loop's time `end`.

        Raises `TimeoutError` at once where the work would end later, as long as the last ones took.
        """
        clock = asyncio.get_running_loop().time
        if self._free.locked() and clock() + self._seconds * (1 + (self._waiting + 1) / self._most) > end:
            raise TimeoutError
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        began = clock()
        try:
            yield
        finally:
            self._free.release()
            self._seconds += _NEWEST_SHARE * (clock() - began - self._seconds)

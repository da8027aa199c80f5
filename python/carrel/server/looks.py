"""When to look at the whole disk for changes that nobody told of."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from carrel.server.jobs import IndexQueue, Job, TokenT
from carrel.server.later import Later

if TYPE_CHECKING:
    from carrel.core.local_index import Progress

R = TypeVar("R")

_WATCHED_SECONDS = 60.0
_LEAST_SECONDS = 0.5
_LEAST_BESIDE_SECONDS = 2.0
_MOST_OF_THE_TIME = 20
"""A look takes a twentieth of the time at most."""
_DELAY_SECONDS = 0.5


class Looks(Generic[TokenT, R]):
    """The looks of one workspace at its disk: at the first question, and now and then when nothing watches it."""

    def __init__(self, queue: IndexQueue[TokenT, R], rescan: Callable[[], None]) -> None:
        """`rescan` has everything looked at, if there still is an index then."""
        self._queue = queue
        self._ended = 0.0
        self._took = 0.0
        self._later = Later(_DELAY_SECONDS, rescan)
        self.latest: Job[TokenT, R] | None = None  # that a question asked for

    def due(self, *, watched: bool, waits: bool) -> bool:
        """Whether the last look is so long ago that a question should ask for another; sooner for one that waits for it."""
        least = _LEAST_SECONDS if waits else _LEAST_BESIDE_SECONDS
        pause = _WATCHED_SECONDS if watched else max(least, _MOST_OF_THE_TIME * self._took)
        return not self._queue.busy and time.monotonic() - self._ended > pause

    def now(self) -> None:
        """Look at once."""
        self._later.cancel()
        self.latest = self._queue.request(full=True)

    def soon(self) -> None:
        """Look, but not while the question that is being asked wants the processor."""
        self._later.ask()

    def timed(self, progress: Progress) -> Progress:
        """The progress of a look that begins now. Its first word comes when the disk was compared with the index; the work that
        this found is no part of the look, or the pause after a first index would be minutes long."""
        began, compared = time.monotonic(), False

        def told(done: int, total: int, at: str) -> None:
            nonlocal compared
            if not compared:
                self._took, compared = time.monotonic() - began, True
            progress(done, total, at)

        return told

    def ended(self) -> None:
        """Note that a look, and what it led to, is over."""
        self._ended = time.monotonic()

    def stop(self) -> None:
        """Look no more by itself."""
        self._later.cancel()

"""Decide when the whole folder is compared with the index, for changes that nobody told of."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from carrel.system.background import Debouncer
from carrel.system.jobs import IndexQueue, Job, TokenT

if TYPE_CHECKING:
    from carrel.model.local_index import Progress

R = TypeVar("R")

_WATCHED_SECONDS = 60.0
_LEAST_SECONDS = 0.5
_LEAST_BESIDE_SECONDS = 2.0
_MOST_OF_THE_TIME = 20
"""A rescan takes a twentieth of the time at most."""
_OWED_OF_THE_TIME = 2
"""A third, where something may be missing."""
_DELAY_SECONDS = 0.5


class RescanScheduler(Generic[TokenT, R]):
    """The rescans of one workspace: at the first question, and now and then when nothing watches the folder."""

    def __init__(self, queue: IndexQueue[TokenT, R], rescan: Callable[[], None]) -> None:
        """Take the queue that runs them; `rescan` requests one, if there still is an index then."""
        self._queue = queue
        self._ended = 0.0
        self._took = 0.0
        self.owed = False
        """Whether a job failed or was dropped since the last rescan that succeeded: what changed then may be in no index."""
        self._delayed = Debouncer(_DELAY_SECONDS, rescan)
        self.latest: Job[TokenT, R] | None = None  # that a question asked for

    def is_due(self, *, watched: bool, waits: bool) -> bool:
        """Tell whether a question should ask for another rescan, the last is so long ago; sooner for one that waits for it."""
        least = _LEAST_SECONDS if waits else _LEAST_BESIDE_SECONDS
        pause = _WATCHED_SECONDS if watched else max(least, _MOST_OF_THE_TIME * self._took)
        if self.owed:
            pause = min(pause, max(least, _OWED_OF_THE_TIME * self._took))
        return not self._queue.busy and time.monotonic() - self._ended > pause

    def run_now(self) -> None:
        """Rescan at once."""
        self._delayed.cancel()
        self.latest = self._queue.request(full=True)

    def run_soon(self) -> None:
        """Rescan, but not while the question that is being asked wants the processor."""
        self._delayed.start()

    def timed(self, progress: Progress) -> Progress:
        """Return the progress callback of a rescan that begins now, which measures the comparison.

        The comparison has ended at the first call. The work that it found isn't part of the rescan, or the pause after a first
        index would be minutes long.
        """
        began, compared = time.monotonic(), False

        def tell(done: int, total: int, at: str) -> None:
            nonlocal compared
            if not compared:
                self._took, compared = time.monotonic() - began, True
            progress(done, total, at)

        return tell

    def ended(self) -> None:
        """Note that a rescan, and the indexing that it led to, is over."""
        self._ended = time.monotonic()

    def has_ended_since(self, moment: float) -> bool:
        """Tell whether a rescan has ended since a moment of `time.monotonic`."""
        return self._ended > moment

    def failed(self) -> None:
        """Note that a job failed or was dropped: its files are looked for again, and sooner than otherwise."""
        self.owed = True
        self._ended = time.monotonic()

    def succeeded(self) -> None:
        """Note that a rescan found and indexed all that there is."""
        self.owed = False

    def stop(self) -> None:
        """Drop the rescan that waits for its time."""
        self._delayed.cancel()

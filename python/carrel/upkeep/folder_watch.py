"""Watch a workspace's folder where nobody else tells of changes, and decide when all of it is compared with the index.

Everything runs on the event loop but one thread, which waits for the system.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from carrel.index.workspace_state import StateCell
from carrel.system.background import Debouncer
from carrel.system.filesystem import is_network
from carrel.system.jobs import IndexQueue, Job, TokenT

if TYPE_CHECKING:
    from carrel.index.open_index import OpenIndex
    from carrel.model.local_index import Progress
    from carrel.model.native import CancelToken, Watch

log = logging.getLogger(__name__)

_SETTLE_MS = 150
_REMEDIES = {
    "watches": (
        "the system's limit on watched folders is used up",
        "To raise it: sudo sysctl fs.inotify.max_user_watches=524288 (the same line in a file of /etc/sysctl.d keeps it).",
    ),
    "instances": (
        "the system gives you no more watchers",
        "To raise it: sudo sysctl fs.inotify.max_user_instances=1024 (the same line in a file of /etc/sysctl.d keeps it).",
    ),
    "refused": ("the system refuses it", 'The setting `watch = "never"` ends the attempts.'),
}
"""Why not all folders are watched, and what helps."""


class WatchEvents(Struct, frozen=True):
    """What the workspace does with what the watch tells."""

    begun: Callable[[], None]  # from now on changes are told: compare what came before
    changed: Callable[[list[str]], None]
    rescan: Callable[[], None]
    fault: Callable[[str], None]


class FolderWatch:
    """Watches one folder by itself while its index is kept current here, and the editor doesn't report changes.

    What the system can't tell (no more watches, a network mount) is found as before, by a look at the disk at a question.
    """

    def __init__(
        self,
        root: Path,
        state: StateCell,
        run: Callable[[Callable[[CancelToken], None]], Awaitable[None]],
        events: WatchEvents,
    ) -> None:
        self._root = root
        self._state = state
        self._run_interactive = run
        self._events = events
        self._watched: OpenIndex | None = None  # the index for which it watches
        self._watch: Watch | None = None
        self.enabled = False
        """Whether the folder was opened for long: a command that ends at once watches nothing."""
        self.complete_since: float | None = None
        """Since when every change is told (`time.monotonic`); None while some may not be."""

    def update(self) -> None:
        """Begin or end watching, by what settings, editor and index say at this moment."""
        wanted = self._wanted()
        if wanted is self._watched:
            return
        self.stop()
        if wanted is not None:
            self._watched, self._watch = wanted, wanted.store.watch()
            work = partial(self._follow, self._watch, asyncio.get_running_loop(), self._state.now.folder.settings.watch)
            threading.Thread(target=work, name="carrel-watch", daemon=True).start()

    async def settle(self) -> None:
        """Have what was just written told, so that a question finds it."""
        if self._watch is not None and self.complete_since is not None:
            watch = self._watch
            await self._run_interactive(lambda _: watch.settle(_SETTLE_MS))

    def stop(self) -> None:
        """Give the watches back; what they still tell counts no more."""
        if self._watch is not None:
            self._watch.close()
        self._watched = self._watch = self.complete_since = None
        self._clear_problem()

    def _wanted(self) -> OpenIndex | None:
        """Return the index that changes on disk are to reach by this watch."""
        now = self._state.now
        mode, index = now.folder.settings.watch, now.index
        if not self.enabled or index is None or mode == "never" or (mode == "auto" and now.reported):
            return None
        # An index that was never whole waits for the person who cancelled it: the look that a watch begins with would go on.
        return index if index.complete and index.store.role == "writer" else None

    def _follow(self, watch: Watch, loop: asyncio.AbstractEventLoop, mode: str) -> None:
        """Wait for changes, on a thread of its own, until the watch is closed."""
        remote = is_network(self._root)  # what other machines write there is told by nobody
        if remote and mode != "always":
            log.info("A folder on a network mount isn't watched: questions look for changes there")
            return
        with contextlib.suppress(RuntimeError):  # the loop has closed
            try:
                while (change := watch.next()) is not None:
                    loop.call_soon_threadsafe(self._on_change, watch, *change, watch.folders, watch.limit, remote)
            except BaseException as error:  # a panic of the core among them
                loop.call_soon_threadsafe(self._failed, watch, error)

    def _on_change(self, watch: Watch, paths: list[str], everything: bool, folders: int, limit: str | None, remote: bool) -> None:
        if watch is not self._watch:
            return
        if limit is not None or remote:
            self.complete_since = None
            self._limited(limit)
        elif self.complete_since is None:
            self.complete_since = time.monotonic()
            self._clear_problem()
            log.info("Watching %d folders of a workspace for changes", folders)
            self._events.begun()
            return
        if everything:
            self._events.rescan()
        elif paths:
            self._events.changed(paths)

    def _failed(self, watch: Watch, error: BaseException) -> None:
        """Leave changes to questions, which look at the disk. Watching begins again with the next index."""
        if watch is self._watch:
            log.warning("Watching a folder ended: %s", type(error).__name__)
            self.complete_since = None
            watch.close()

    def _limited(self, limit: str | None) -> None:
        """Tell once that some changes aren't told."""
        if limit is None or self._state.now.watch_problem:
            return
        why, remedy = _REMEDIES[limit]
        problem = f"Not all folders of {self._root} can be watched: {why}. Changes elsewhere are found when you ask. {remedy}"
        self._state.replace(watch_problem=problem)
        log.warning("%s", problem)
        self._events.fault(problem)

    def _clear_problem(self) -> None:
        if self._state.now.watch_problem:
            self._state.replace(watch_problem=None)


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

"""Watch a workspace's folder where nobody else tells of changes on disk.

Everything runs on the event loop but one thread, which waits for the system.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.index.workspace_state import StateCell
from carrel.system.filesystem import is_network

if TYPE_CHECKING:
    from carrel.index.open_index import OpenIndex
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


@dataclass(frozen=True, slots=True)
class WatchEvents:
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

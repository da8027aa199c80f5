"""Progress bars and status notifications: what goes to the editor unasked, and never too often."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrel.frontends.lsp.rpc import CarrelProtocol
    from carrel.index.workspace_state import Progress
    from carrel.service.workspace import Workspace

INTERVAL = 0.1
"""Seconds between two notifications of one kind: at most ten a second."""


class ProgressBar:
    """One `$/progress` sequence: begin, reports with numbers of files, end, each sent once."""

    def __init__(self, protocol: CarrelProtocol, token: str | int, title: str) -> None:
        self._protocol = protocol
        self.token = token
        self._ended = False
        self._send({"kind": "begin", "title": title, "cancellable": True, "percentage": 0})

    def report(self, progress: Progress) -> None:
        """Say how many files are done."""
        if not self._ended and progress.total:
            message = ", ".join(filter(None, (f"{progress.done}/{progress.total} files", progress.sent)))
            self._send(
                {"kind": "report", "message": message, "percentage": 100 * progress.done // progress.total, "cancellable": True}
            )

    def end(self, message: str) -> None:
        """Close the bar."""
        if not self._ended:
            self._ended = True
            self._send({"kind": "end", "message": message})

    def _send(self, value: dict[str, Any]) -> None:
        self._protocol.send("$/progress", {"token": self.token, "value": value})


class ProgressBars:
    """The bars that are open, by the queue job they show and by token."""

    def __init__(self, protocol: CarrelProtocol) -> None:
        self._protocol = protocol
        self._bars: dict[object, list[ProgressBar]] = {}
        self._cancels: dict[str | int, Callable[[], None]] = {}
        protocol.on_progress_cancel = self.cancel

    def open(self, job: object, token: str | int, title: str, cancel: Callable[[], None]) -> ProgressBar:
        """Begin a bar for a job; `cancel` is called when the person presses its button."""
        bar = ProgressBar(self._protocol, token, title)
        self._bars.setdefault(job, []).append(bar)
        self._cancels[token] = cancel
        return bar

    async def open_by_server(self, job: object, title: str, cancel: Callable[[], None]) -> ProgressBar | None:
        """Ask the client for a token first; None where it gives none."""
        token = f"carrel-{uuid.uuid4().hex[:12]}"
        try:
            await asyncio.wait_for(self._protocol.ask_client("window/workDoneProgress/create", {"token": token}), 5)
        except Exception:
            return None
        return self.open(job, token, title, cancel)

    def report(self, job: object, progress: Progress) -> None:
        """Pass a job's progress on to its bars."""
        for bar in self._bars.get(job, ()):
            bar.report(progress)

    def end(self, job: object, bar: ProgressBar, message: str) -> None:
        """End one bar."""
        bar.end(message)
        self._cancels.pop(bar.token, None)
        bars = self._bars.get(job, [])
        if bar in bars:
            bars.remove(bar)
        if not bars:
            self._bars.pop(job, None)

    def cancel(self, token: str | int) -> None:
        """Cancel what the bar of this token shows."""
        if cancel := self._cancels.get(token):
            cancel()


class StatusNotifier:
    """Sends `carrel/statusChanged` for a workspace: at once, then at most every tenth of a second, the last state always."""

    def __init__(self, send: Callable[[Workspace], None]) -> None:
        self._send = send
        self._waiting: dict[Workspace, asyncio.TimerHandle] = {}
        self._again: set[Workspace] = set()

    def changed(self, workspace: Workspace) -> None:
        """Note that a workspace's state is another."""
        if workspace in self._waiting:
            self._again.add(workspace)
            return
        self._waiting[workspace] = asyncio.get_running_loop().call_later(INTERVAL, self._elapsed, workspace)
        self._send(workspace)

    def _elapsed(self, workspace: Workspace) -> None:
        self._waiting.pop(workspace, None)
        if workspace in self._again:
            self._again.discard(workspace)
            self.changed(workspace)

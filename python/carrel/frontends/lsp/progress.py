"""Tell the editor what it didn't ask for, and never too often: progress, status, and what a person must act on.

What a person must act on is said once in a session (`window/showMessage`). A fault often comes to light through a request, and
then its answer says it: editors show what they asked for. So a fault waits a moment, and is said here only when no answer has
said it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, Literal

from carrel.frontends.lsp.messages import question_messages as wire
from carrel.frontends.lsp.rpc import CarrelProtocol
from carrel.index.workspace_state import Progress
from carrel.service.workspace import Workspace

ANSWER_SECONDS = 1.0
"""Within this an answer has left that carries a fault."""

_Kind = Literal[1, 2]
ERROR: _Kind = 1
WARNING: _Kind = 2


class UserMessages:
    """Remembers what was said. Used on the event loop only."""

    def __init__(self, show: Callable[[int, str], None], patience: float = ANSWER_SECONDS) -> None:
        """Show messages by `show`, which gets LSP's message type and the text."""
        self._show = show
        self._patience = patience
        self._said: set[str] = set()

    def tell(self, text: str, kind: _Kind = WARNING) -> None:
        """Say it, unless it was said."""
        if text not in self._said:
            self._said.add(text)
            self._show(kind, text)

    def tell_unless_answered(self, text: str) -> None:
        """Say of a fault what the answers of the next moment don't say."""
        if text not in self._said:
            asyncio.get_running_loop().call_later(self._patience, self.tell, text, ERROR)

    def refused(self, error: Exception) -> None:
        """Note that a request was answered by an error: whoever asked shows it."""
        self._said.add(str(error))

    def answered(self, params: Any, result: Any) -> None:
        """Note the error in a pack. Who asked explicitly shows it; a chat turn goes on without a word."""
        pack = result.pack if isinstance(result, wire.AugmentResult) else result
        if not isinstance(pack, wire.ContextResult) or not isinstance(pack.error, str):
            return
        if isinstance(params, dict) and params.get("trigger") == "explicit":
            self._said.add(pack.error)


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

"""The language server on stdio: pygls's dispatch, Carrel's session, one connection.

Every slow handler is a coroutine over `server.jobs`: `$/cancelRequest` cancels the coroutine, which cancels its token.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import threading
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.protocol import default_converter

from carrel.composition.composition import Composition
from carrel.frontends.common import logs, parent_process
from carrel.frontends.common.transport import Writer, start_reader
from carrel.frontends.common.uris import WINDOWS, ignores_case, longest_match
from carrel.frontends.lsp.client_model import Client, announces
from carrel.frontends.lsp.commands.index_commands import status_result
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.editor_documents import Documents
from carrel.frontends.lsp.messages.methods import own_settings
from carrel.frontends.lsp.progress import ProgressBars, StatusNotifier, UserMessages
from carrel.frontends.lsp.rpc import CarrelProtocol, CarrelServer, Handler, to_rpc_error
from carrel.index.workspace_state import Progress
from carrel.model.caller import COPILOT_PROXY, Caller
from carrel.model.errors import CarrelError, NotAllowed
from carrel.model.installation import carrel_version
from carrel.model.outbound import Destination
from carrel.policy.audit import AuditTrail
from carrel.policy.consent import Consent
from carrel.service.session import Session
from carrel.service.workspace import Workspace, WorkspaceEvents
from carrel.settings.settings import Problem, Settings
from carrel.system import leftovers

log = logging.getLogger(__name__)

GRACE_SECONDS = 0.6
"""How long work may take to stop when the process must go."""


def run(stdin: BinaryIO, stdout: BinaryIO, first: bytes, answered: str | int | None) -> int:
    """Serve one connection whose first message was read (and answered, if `answered` is its id); gives the exit code."""
    logs.start()
    return asyncio.run(LspServer(stdin, stdout, answered).serve(first))


class LspServer:
    """Everything of one connection."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO, answered: str | int | None) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self.pygls = CarrelServer("carrel", carrel_version(), protocol_cls=CarrelProtocol, converter_factory=default_converter)
        self.protocol = self.pygls.protocol
        self.protocol.answered = answered
        self.protocol.on_exit = self._exit
        self.bars = ProgressBars(self.protocol)
        self.statuses = StatusNotifier(self._send_status)
        self.user_messages = UserMessages(
            lambda kind, text: self.protocol.send("window/showMessage", {"type": kind, "message": f"Carrel: {text}"})
        )
        self.session = Session(
            Composition(audit=AuditTrail(Caller("editor"))),
            _locate,
            events=WorkspaceEvents(self.statuses.changed, self._progressed, self.user_messages.tell_unless_answered),
            on_settings=self._take_settings,
            on_problems=self._tell_problems,
        )
        client = Client(self.pygls)
        permissions = self.session.composition.outbound.permissions
        self.consent = Consent(permissions, client.confirm, self._allowed)
        self.session.composition.confirm = client.confirm
        self.documents = Documents(self.pygls, self.session)
        commands = Commands(self.session, self.bars, client, self.consent)
        self.protocol.requests = {method: self._guarded(handler) for method, handler in commands.table().items()}
        for method, handler in self.protocol.requests.items():
            self.pygls.feature(method)(handler)
        self.pygls.listen(types.INITIALIZE, self._initialize)
        self.pygls.listen(types.INITIALIZED, self._initialized)
        self.pygls.listen(types.SHUTDOWN, self._shutdown)
        self._code: int | None = None
        self._auto: set[object] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, first: bytes) -> int:
        """Take messages until `exit`, the end of input or the parent's death."""
        loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self.session.composition.outbound.permissions.on_missing = partial(_on_loop, loop, self._missing)
        parent_process.on_death(lambda: _on_loop(loop, self._exit, 1))
        writer = Writer(self._stdout, lambda: _on_loop(loop, self._exit, 1))
        self.protocol.set_writer(writer)
        logs.to_editor(
            lambda kind, text: _on_loop(loop, self.protocol.send, "window/logMessage", {"type": kind, "message": text})
        )
        if not WINDOWS:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._exit, 128 + number)
        self.protocol.feed(first)
        start_reader(self._stdin, lambda body: _on_loop(loop, self._take, body))
        gc.freeze()  # what was imported stays: a collection needn't look at it
        gc.enable()
        await self._stop.wait()
        code = 1 if self._code is None else self._code
        threading.Thread(target=_leave_after, args=(GRACE_SECONDS + 0.2, code), daemon=True).start()
        try:
            await asyncio.wait_for(self.session.close(), GRACE_SECONDS)
        except TimeoutError:
            log.warning("Some work didn't stop in time")
        writer.close()
        return code

    def _take(self, body: bytes | None) -> None:
        if body is None:
            self._exit(1)
        elif not self._stop.is_set():
            self.protocol.feed(body)

    def _exit(self, code: int) -> None:
        if self._code is None:
            self._code = code
        self._stop.set()

    # --- life cycle

    def _initialize(self, params: types.InitializeParams) -> None:
        if params.process_id:
            parent_process.end_with(params.process_id)
        if (audit := self.session.composition.audit) and params.client_info:
            name = params.client_info.name
            audit.caller = Caller("copilot proxy" if name == COPILOT_PROXY else "editor", name)
        # Said by the client's own code, which no settings of a project can change.
        self.session.options_are_the_persons = announces(params.capabilities.experimental, "ownSettings")
        self.session.configure(own_settings(params.initialization_options) or {})
        self.documents.add_first_folders(params)

    async def _initialized(self, _: Any) -> None:
        await self.documents.begin(self.pygls.client_capabilities)

    async def _shutdown(self, *_: Any) -> None:
        await self.session.close()

    # --- what the session tells

    def _missing(self, destination: Destination) -> None:
        """Ask the person for a permission that was missing; where the client can't, tell them how to give it."""
        if announces(self.pygls.client_capabilities.experimental, "confirm"):
            self.consent.want(destination)
        else:
            self.user_messages.tell(str(NotAllowed(destination.provider, destination.host)))

    def _allowed(self, destination: Destination) -> None:
        """Take up what failed for want of a permission."""
        if self.session.composition.audit is not None:
            self.session.composition.audit.permission(destination, allowed=True)
        self.session.retry_models()

    def _send_status(self, workspace: Workspace) -> None:
        if workspace.root_key not in self.session.folders:
            return
        try:
            self.protocol.send(
                "carrel/statusChanged", status_result(workspace, self.session.name_of(workspace), workspace.brief())
            )
        except CarrelError as error:
            log.warning("No status to tell: %s", error)

    def _progressed(self, workspace: Workspace, job: Any, progress: Progress) -> None:
        if not job.waiters and job.work.full and progress.total and job not in self._auto:
            self._auto.add(job)
            window = self.pygls.client_capabilities.window
            if window and window.work_done_progress:
                task = asyncio.get_running_loop().create_task(self._show(workspace, job))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        self.bars.report(job, progress)

    async def _show(self, workspace: Workspace, job: Any) -> None:
        """Show a bar for a run that nobody asked for explicitly."""
        title = f"Indexing {self.session.name_of(workspace)}"
        bar = await self.bars.open_by_server(job, title, lambda: workspace.queue.cancel(job))
        await asyncio.wait({job.done})
        self._auto.discard(job)
        if bar:
            self.bars.end(job, bar, "stopped" if job.done.exception() else "done")

    def _take_settings(self, settings: Settings) -> None:
        logs.set_level(settings.log_level)
        self.consent.forget()

    def _tell_problems(self, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            log.warning("Settings: %s", problem)
            self.user_messages.tell(str(problem))

    def _guarded(self, handler: Handler) -> Handler:
        """Wrap a handler so that its errors travel by their kinds."""

        async def guarded(params: Any) -> Any:
            try:
                result = await handler(params)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self.user_messages.refused(error)
                raise to_rpc_error(error) from None
            self.user_messages.answered(params, result)
            return result

        return guarded


def _locate(roots: list[str], path: str) -> tuple[str, str] | None:
    place = longest_match(roots, path)
    if place or not (WINDOWS or any(_ignores_case(root) for root in roots)):
        return place
    return longest_match(roots, path, ignore_case=True)


@cache
def _ignores_case(root: str) -> bool:
    return ignores_case(Path(root))


def _on_loop(loop: asyncio.AbstractEventLoop, function: Any, *arguments: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has closed: nobody listens
        loop.call_soon_threadsafe(function, *arguments)


def _leave_after(seconds: float, code: int) -> None:
    threading.Event().wait(seconds)
    leftovers.leave(code)

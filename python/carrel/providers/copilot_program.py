"""Copilot's program: found, started for one event loop, ended when nobody needs it. `copilot_chat` says what it is asked."""

# ruff: noqa: PLC0415 - the SDK takes seconds to import
from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, Protocol, TypeVar

from carrel.model.errors import ProviderError
from carrel.model.installation import how_to_install
from carrel.model.outbound import Secret
from carrel.system.child_environment import child_environment

MOST_WAITING = 4
"""Sessions that wait for the results of tools; a loop that gave up leaves its session behind."""
REST_SECONDS = 60.0
"""How long the program is kept when nobody asks."""
NO_PROGRAM = (
    "Copilot's program is not installed",
    "Get it with `python -m copilot download-runtime`, or name it in the environment variable COPILOT_CLI_PATH.",
)
NOT_SIGNED_IN = (
    "Copilot isn't signed in",
    "Sign in with its program (`copilot`, then `/login`), or enter a GitHub token with `carrel models key copilot`.",
)
"""Reasons and remedies."""

_TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
"""What the program signs in with where it is given no token."""

Connect = Callable[[Secret | None, str, bool], Awaitable[Any]]
"""(GitHub token, proxy, whether a model of one's own answers) -> the SDK's client, started."""


class Session(Protocol):
    """A conversation that the program has."""

    async def end(self) -> None:
        """Stop the program's work on it. Raises nothing."""


S = TypeVar("S", bound=Session)


class Program(Generic[S]):
    """Copilot's program for one event loop, started when it is needed, ended when it isn't any more."""

    def __init__(self, start: Callable[[], Awaitable[Any]]) -> None:
        self._start = start
        self._starting: asyncio.Task[Any] | None = None
        self._users = 0
        self._waiting: list[S] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._sessions_ending: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def client(self) -> Any:
        """Return the SDK's client, started. A failure is told to all who wait, and tried again by the next."""
        if self._starting is None or (self._starting.done() and (self._starting.cancelled() or self._starting.exception())):
            self._starting = asyncio.ensure_future(self._start())
            self._starting.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody waits any more
        return await asyncio.shield(self._starting)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Keep the program inside of `with`, and for a while after the last of them."""
        self._users += 1
        if self._timer is not None:
            self._timer.cancel()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._timer = asyncio.get_running_loop().call_later(REST_SECONDS, self.forget)

    def forget(self) -> None:
        """End the program, without having anybody wait; the next request starts another."""
        self._later(self.stop())

    def take(self, fits: Callable[[S], bool]) -> S | None:
        """Take the session that waits for what comes now, if one does."""
        for session in self._waiting:
            if fits(session):
                self._waiting.remove(session)
                return session
        return None

    def keep(self, session: S) -> None:
        """Have a session wait for the results of its calls."""
        self._waiting.append(session)
        while len(self._waiting) > MOST_WAITING:
            self.discard(self._waiting.pop(0))

    def discard(self, session: S) -> None:
        """End a session, without having anybody wait for it."""
        self._later(session.end(), self._sessions_ending)

    async def stop(self) -> None:
        """End the program."""
        starting, self._starting = self._starting, None
        waiting, self._waiting = self._waiting, []
        if self._timer is not None:
            self._timer.cancel()
        if starting is None:
            return
        if not starting.done():
            starting.cancel()
        with suppress(Exception, asyncio.CancelledError):
            client = await starting
            await asyncio.gather(*(session.end() for session in waiting), *self._sessions_ending)
            await client.stop()

    def _later(self, work: Coroutine[Any, Any, None], ending: set[asyncio.Task[None]] | None = None) -> None:
        task, ending = asyncio.ensure_future(work), self._ending if ending is None else ending
        ending.add(task)
        task.add_done_callback(ending.discard)


async def connect(token: Secret | None, proxy: str, own_model: bool) -> Any:
    """Start the program. Raises `ProviderError` where the SDK or the program is missing."""
    client = await asyncio.to_thread(_client, token, proxy, own_model=own_model)
    await client.start()
    return client


def _client(token: Secret | None, proxy: str, *, own_model: bool) -> Any:
    """Make the SDK's client. Nothing is downloaded that nobody asked for."""
    os.environ.setdefault("COPILOT_SKIP_CLI_DOWNLOAD", "1")
    try:
        from copilot import CopilotClient, RuntimeConnection
    except ImportError:
        raise ProviderError(
            "Copilot's models can't be asked without the package `github-copilot-sdk`", f"Install it: {how_to_install('copilot')}"
        ) from None
    logging.getLogger("copilot").setLevel(logging.ERROR)  # it warns of what comes after its loop was closed
    home = tempfile.mkdtemp(prefix="carrel-copilot-")
    # It runs as a child of this process, which may hold the keys of others. `gh` and Node.js are what it uses itself.
    environment = child_environment(("GH_HOST", "GH_CONFIG_DIR", *_TOKENS), ("COPILOT_",))
    if token is not None or own_model:
        environment = {name: value for name, value in environment.items() if name not in _TOKENS}
    environment["COPILOT_GITHUB_TELEMETRY_DISABLED"] = "true"
    if proxy:
        environment |= {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy}
    options: dict[str, Any] = {"env": environment, "working_directory": home, "log_level": "error"}
    if token is not None or own_model:
        # Without the person's own sign-in and settings of the program.
        options |= {"mode": "empty", "base_directory": home, "use_logged_in_user": False}
        options |= {"github_token": token.reveal()} if token is not None else {}
    path = os.environ.get("COPILOT_CLI_PATH") or shutil.which("copilot")
    try:
        client = CopilotClient(connection=RuntimeConnection.for_stdio(path=path), **options)
    except (RuntimeError, OSError):
        shutil.rmtree(home, ignore_errors=True)
        raise ProviderError(*NO_PROGRAM) from None
    weakref.finalize(client, shutil.rmtree, home, ignore_errors=True)
    return client

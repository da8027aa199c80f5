"""Workspaces of the chat proxy, and the context for one question. Nothing here makes a request fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from carrel.core.caller import Caller
from carrel.core.types import Budget, ContextItem
from carrel.engine.chat import augment, question_of
from carrel.frontends.chat_proxy.context_budget import UNKNOWN, context_budget, model_window
from carrel.frontends.chat_proxy.questions import Question, question_in
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.rate_limit import RateLimit
from carrel.frontends.common.uris import longest_match, path_to_uri
from carrel.server.audit import AuditTrail
from carrel.server.composition import Composition
from carrel.server.context_request import ContextAnswer, ContextRequest
from carrel.server.context_service import context
from carrel.server.session import Session
from carrel.server.workspace import Workspace

log = logging.getLogger(__name__)

_COMMON_MODEL = "gpt-4o"
"""Counted by the larger of the two tables; the session itself loads the other."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A request's body as it goes on, what was done, in a word or two for a header, and the places that were added."""

    body: bytes
    note: str
    given: tuple[ContextItem, ...] = ()


@dataclass(frozen=True, slots=True)
class InjectionOptions:
    """Which folders may be asked about (the first is the default), how much may be given, and how often."""

    folders: tuple[Path, ...]
    window: int | None = None
    tokens: int | None = None
    deadline_ms: int = 300
    limit: RateLimit = field(default_factory=RateLimit)
    checks: bool = True
    """Whether the citations of answers are checked."""


class ContextInjector:
    """The open workspaces. Made, used and closed on one event loop."""

    def __init__(
        self, options: InjectionOptions, switch: ContextSwitch, window_of: Callable[[str], int | None] = lambda _: None
    ) -> None:
        """Open the folders. `window_of` tells what the upstream said of a model's window."""
        self._window_of = window_of
        self._options = options
        self._switch = switch
        self._session = Session(Composition(audit=AuditTrail(Caller("chat proxy"))), longest_match)
        self._session.configure(switch.options)
        self._by_name: dict[str, Workspace] = {}
        self._limit_told = False
        for folder in options.folders:
            workspace = self._session.add_folder(str(folder), path_to_uri(str(folder)))
            self._by_name.setdefault(folder.name, workspace)
            self._session.start(workspace)

    def unindexed(self) -> tuple[Path, ...]:
        """Return the folders that nobody has indexed: they can be asked about, and give nothing."""
        return tuple(workspace.root for workspace in self._session.folders.values() if not workspace.has_index)

    async def warm_up(self) -> None:
        """Ask a question whose answer nobody awaits: loading an index and a tokenizer takes longer than a caller's deadline."""
        for workspace in tuple(self._session.folders.values()):
            await context(workspace, ContextRequest("where does it start?", 1, Budget(1_000, "tokens"), model=_COMMON_MODEL))

    async def close(self) -> None:
        """Release the indexes."""
        await self._session.close()

    def workspace(self, name: str | None) -> Workspace | None:
        """Return the workspace of that name or path. Callers choose among open folders; they can't open others."""
        if not name:
            return next(iter(self._session.folders.values()), None)
        if name in self._by_name:
            return self._by_name[name]
        found = self._session.locate(name) if Path(name).is_absolute() else None
        return found[0] if found else None

    async def rewrite(self, path: str, raw: bytes, name: str | None, learn: Callable[[], None]) -> Rewritten:
        """Put context into the body, or leave it as it was.

        `learn` has the upstream asked for its models' windows: it is called where this one's isn't known.
        """
        if not self._switch.on:
            return Rewritten(raw, "off")
        if self._switch.changed():
            self._session.configure(self._switch.options)
        question = question_in(path, raw)
        query = question_of(question.asked) if question else ""
        if question is None or not query:
            return Rewritten(raw, "no question")
        workspace = self.workspace(name)
        if workspace is None:
            return Rewritten(raw, "unknown workspace")
        window = model_window(question.body, path, self._options.window, self._window_of(question.model or ""))
        if window is None:
            learn()
        return await self._with_context(raw, question, query, workspace, window)

    async def _with_context(
        self, raw: bytes, question: Question, query: str, workspace: Workspace, window: int | None
    ) -> Rewritten:
        settings = workspace.settings
        wanted = Budget(self._options.tokens, "tokens") if self._options.tokens else settings.budget_policy.budget(window)
        budget = context_budget(question.body, len(raw), window or UNKNOWN, wanted)
        if budget is None:
            return Rewritten(raw, "no room")
        if self._options.limit.take():  # a chat is never refused: it goes on as it came
            self._tell_limit()
            return Rewritten(raw, "rate limit")
        deadline = self._options.deadline_ms
        request = ContextRequest(
            query, settings.rag_top_k, budget, model=question.model, deadline_ms=deadline, history=question.history
        )
        answer = await context(workspace, request)
        if not answer.pack.text:
            return Rewritten(raw, _why_nothing(workspace, answer))
        items = answer.pack.items
        return Rewritten(question.with_text(augment(question.text, answer.pack.text)), f"{len(items)} places", items)

    def _tell_limit(self) -> None:
        """Say it once: whoever asks that often would fill the log too."""
        if not self._limit_told:
            self._limit_told = True
            log.warning(
                "More than %d questions a minute: the others go on without context. `carrel proxy --rate-limit N` sets "
                "another limit (0: none).",
                self._options.limit.per_minute,
            )


def _why_nothing(workspace: Workspace, answer: ContextAnswer) -> str:
    if not workspace.settings.rag_enabled:  # the folder's own settings file says so
        return "off"
    if not workspace.has_index:
        return "no index"
    return "failed" if answer.error else "nothing found"

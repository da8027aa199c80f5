"""Workspaces of the chat proxy, the turns of questions, and the context for one. Nothing here makes a request fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.composition.composition import Composition
from carrel.frontends.chat_proxy.context_memory import ContextMemory, SentContext
from carrel.frontends.chat_proxy.conversation import Conversation, UserMessage
from carrel.frontends.chat_proxy.http_guard import RateLimit
from carrel.frontends.chat_proxy.questions import conversation_in, is_anthropic
from carrel.frontends.common import json_splice
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.uris import longest_match, path_to_uri
from carrel.model.caller import Caller
from carrel.model.errors import CarrelError
from carrel.model.types import Budget, ContextItem
from carrel.model.wording import counted
from carrel.pack.chat import question_of
from carrel.policy.audit import AuditTrail
from carrel.service.context_request import ContextAnswer, ContextRequest
from carrel.service.context_service import context
from carrel.service.queries import refused_paths
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.settings.model_settings import BudgetPolicy, window_of
from carrel.settings.settings import Settings

log = logging.getLogger(__name__)

AT_ONCE = 2
"""More searches slow each other, and the event loop that all answers pass through: they compete for the interpreter's lock."""
_NEWEST_SHARE = 0.2
_FIRST_GUESS_SECONDS = 0.02
_SHORT = 128 << 10
"""Bytes of a body that is looked into sooner than a thread would be."""


class Turns:
    """Lets `most` work at once, the others in the order in which they came. Used on one event loop.

    Who would wait past the end of their time isn't let in, and leaves no work behind.
    """

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


_COMMON_MODEL = "gpt-4o"
"""Counted by the larger of the two tables; the session itself loads the other."""


class Rewritten(Struct, frozen=True):
    """A request's body as it goes on, what was done, in a word or two for a header, and the places that were added."""

    body: bytes
    note: str
    items: tuple[ContextItem, ...] = ()


class InjectionOptions(Struct, frozen=True):
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
        self._memory = ContextMemory()
        self._settings: dict[str, Settings] = {}  # of each folder, when the memory was used last
        self._turns = Turns()
        self._reading = ThreadPoolExecutor(1, "carrel-bodies")
        self._limit_told = False
        for folder in options.folders:
            workspace = self._session.add_folder(str(folder), path_to_uri(str(folder)), broad="allowed")
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
        self._reading.shutdown(wait=False, cancel_futures=True)
        await self._session.close()

    def workspace(self, name: str | None) -> Workspace | None:
        """Return the workspace of that name or path. Callers choose among open folders; they can't open others."""
        if not name:
            return next(iter(self._session.folders.values()), None)
        if name in self._by_name:
            return self._by_name[name]
        place = self._session.locate(name) if Path(name).is_absolute() else None
        return place[0] if place else None

    async def rewrite(
        self, path: str, raw: bytes, name: str | None, learn: Callable[[], None], session: str | None = None
    ) -> Rewritten:
        """Put context into the body, or leave it as it was.

        `learn` has the upstream asked for its models' windows: it is called where this one's isn't known.
        `session` is what an agent calls its session.
        """
        if not self._switch.on:
            self._memory.forget()
            return Rewritten(raw, "off")
        if self._switch.changed():
            self._memory.forget()
            self._session.configure(self._switch.options)
        end = asyncio.get_running_loop().time() + self._options.deadline_ms / 1000
        conversation = await self._conversation(path, raw, session, end)
        if isinstance(conversation, str):
            return Rewritten(raw, conversation)
        workspace = self.workspace(name)
        if workspace is None:
            return Rewritten(raw, "unknown workspace" if question_of(conversation.question) else "no question")
        window = model_window(conversation.body, path, self._options.window, self._window_of(conversation.model or ""))
        if window is None and not conversation.in_blocks:  # Anthropic's list of models isn't needed
            learn()
        work = _Rewriting(conversation, workspace, window_or_guess(window, conversation.body))
        found = {message: sent for message in conversation.messages if (sent := self._memory.find(workspace.root_key, message))}
        work.sent = {message: found[message] for message in conversation.spans(found)}
        if not work.is_new and not work.repeated:
            return work.rewritten("")
        try:
            async with asyncio.timeout_at(end), self._turns.turn(end):
                return await self._rewritten(work, window, end)
        except TimeoutError:  # nothing that was remembered is sent unchecked either
            self._keep_nothing(work)
            return Rewritten(raw, "late")

    async def _conversation(self, path: str, raw: bytes, session: str | None, end: float) -> Conversation | str:
        """Look into a body until the loop's time `end`, into a long one beside other requests; in words why there is none."""
        if len(raw) <= _SHORT:
            return conversation_in(path, raw, session) or "no question"
        if json_splice.is_too_much(raw):
            return "too long"
        looking = asyncio.get_running_loop().run_in_executor(self._reading, conversation_in, path, raw, session)
        try:
            async with asyncio.timeout_at(end):
                return await looking or "no question"
        except TimeoutError:
            return "late"

    async def _rewritten(self, work: _Rewriting, window: int | None, end: float) -> Rewritten:
        """Put before each message what was put there before, and before the newest question what is found for it."""
        workspace = work.workspace
        settings = await self._settings_now(work)
        if not settings.rag_enabled:  # the folder's own settings file says so
            return Rewritten(work.conversation.raw, "off")
        await work.check()
        work.leave_out_too_long()
        done = ""
        if work.is_new:
            done = await self._search(work, window, end)
            if work.new is not None:
                await work.check()  # rules may have changed during the search
            if not self._switch.on or await self._settings_now(work) != settings:
                self._keep_nothing(work)
                return Rewritten(work.conversation.raw, "settings changed")
            done = self._keep(work) or done
        if work.repeated and workspace.audit is not None:
            workspace.audit.repeated([sent.id for sent in work.repeated], work.places, workspace.root_key)
        return work.rewritten(done)

    async def _settings_now(self, work: _Rewriting) -> Settings:
        """Return the folder's settings of this moment; forget what was sent while others were in force."""
        await work.workspace.settle()
        settings, root = work.workspace.settings, work.workspace.root_key
        if self._settings.setdefault(root, settings) != settings or not settings.rag_enabled:
            self._settings[root] = settings
            self._memory.forget([root])
            work.sent.clear()
        return settings

    async def _search(self, work: _Rewriting, window: int | None, end: float) -> str:
        """Find the context of the newest question; where there is none, return why in a word or two."""
        workspace, settings = work.workspace, work.workspace.settings
        by_settings = wanted_budget(settings.budget_policy, window, work.conversation)
        wanted = Budget(self._options.tokens, "tokens") if self._options.tokens else by_settings
        budget = context_budget(work.free, wanted)
        if budget is None:
            return "no room"
        if self._options.limit.take():  # a chat is never refused: it goes on as it came
            self._tell_limit()
            return "rate limit"
        request = ContextRequest(
            work.query,
            settings.places(budget),
            budget,
            model=work.conversation.model,
            deadline_ms=max(int(1000 * (end - asyncio.get_running_loop().time())), 1),
            history=work.conversation.history,
        )
        answer = await context(workspace, request)
        pack = answer.pack
        if not pack.text:
            return _why_nothing(workspace, answer)
        work.new = SentContext(pack.text, pack.items, pack.tokens, pack.id)
        return ""

    def _keep(self, work: _Rewriting) -> str:
        """Remember what is put before the newest question; return in words how much, empty for nothing."""
        if work.new is None or not work.new.text:
            self._keep_nothing(work)
            return ""
        work.sent[work.newest] = work.new = self._memory.keep(work.workspace.root_key, work.newest, work.new)
        return counted(len(work.new.items), "place")

    def _keep_nothing(self, work: _Rewriting) -> None:
        """Remember that nothing was put before a new question, so that nothing is in later steps either."""
        if work.is_new:
            self._memory.keep_nothing(work.workspace.root_key, work.newest)

    def _tell_limit(self) -> None:
        """Say it once: whoever asks that often would fill the log too."""
        if not self._limit_told:
            self._limit_told = True
            log.warning(
                "More than %d questions a minute: the others go on without context. `carrel proxy --rate-limit N` sets "
                "another limit (0: none).",
                self._options.limit.per_minute,
            )


class _Rewriting:
    """One request on its way: its conversation, and what is put before its messages."""

    def __init__(self, conversation: Conversation, workspace: Workspace, window: int) -> None:
        self.conversation, self.workspace = conversation, workspace
        self.query = question_of(conversation.question)
        self.newest = conversation.messages[-1]
        self.sent: dict[UserMessage, SentContext] = {}  # before which messages something, or by intent nothing, was put
        self.new: SentContext | None = None
        self._window = window
        self._left_out: set[SentContext] = set()
        self._withdrawn = 0

    @property
    def is_new(self) -> bool:
        """Tell whether its last message is a question for which nothing was searched yet."""
        return bool(self.query) and self.newest not in self.sent

    @property
    def repeated(self) -> list[SentContext]:
        """The contexts from before that are sent again, the oldest first."""
        return [sent for sent in self.sent.values() if sent.text and sent not in self._left_out and sent is not self.new]

    @property
    def places(self) -> int:
        """Count the places that these hold."""
        return sum(len(sent.items) for sent in self.repeated)

    @property
    def free(self) -> int:
        """Count the tokens that the conversation, the reply and these leave of the window."""
        free = free_tokens(self.conversation.body, len(self.conversation.raw), self._window)
        return free - sum(sent.tokens for sent in self.repeated)

    async def check(self) -> None:
        """Empty what holds a place that may not be given any more; send nothing from before where that can't be checked."""
        before = self.repeated + [sent for sent in (self.new,) if sent is not None]
        if not before:
            return
        try:
            refused = await refused_paths(self.workspace, [item for sent in before for item in sent.items])
        except CarrelError:
            self._left_out.update(before)
            if self.new is not None:
                self.new.withdraw()  # later steps go on without it too
            return
        for sent in before:
            if any(item.hit.chunk.path in refused for item in sent.items):
                sent.withdraw()
                self._withdrawn += 1

    def leave_out_too_long(self) -> None:
        """Leave out the oldest contexts where the window is too short for all, also from later steps."""
        self._left_out |= {sent for sent in self.repeated if self._window <= sent.too_long_for}
        before = self.repeated
        free = self.free + sum(sent.tokens for sent in before)
        for sent in before[: too_many([sent.tokens for sent in before], free, one_more=self.is_new)]:
            sent.too_long_for = max(sent.too_long_for, self._window)
            self._left_out.add(sent)

    def rewritten(self, done: str) -> Rewritten:
        """Return the request as it goes on; `done` says what became of a new question."""
        contexts = {message: sent for message, sent in self.sent.items() if sent.text and sent not in self._left_out}
        body = self.conversation.with_contexts({message: sent.text for message, sent in contexts.items()})
        notes = [
            done,
            f"{self.places} remembered" if self.repeated else "",
            f"{len(self._left_out)} left out" if self._left_out else "",
            f"{self._withdrawn} withdrawn" if self._withdrawn else "",
        ]
        note = ", ".join(filter(None, notes)) or ("as before" if self.query else "no question")
        return Rewritten(body, note, tuple(item for sent in contexts.values() for item in sent.items))


def _why_nothing(workspace: Workspace, answer: ContextAnswer) -> str:
    if answer.late:
        return "late"
    if not workspace.has_index:
        return "no index"
    return "failed" if answer.error else "nothing found"


SMALLEST = 150
"""A context of fewer tokens tells a model nothing."""
_UNKNOWN = 8_192
"""A careful guess at the window of a model that nobody knows."""
_AGENTS_WINDOW = 1_000_000
"""The same where a request offers tools: what an agent sends alone exceeds a small window, and it shortens its history itself."""
_AGENTS_TOKENS = 2_000
_MESSAGES_TOKENS = 1_500
"""The most for a question of an agent, which reads the rest itself and pays for the context in each step."""

_CHARS_PER_TOKEN = 3  # on the safe side for code; counting exactly would take longer than the search
_REPLY = 1_024
_OLLAMA = 4_096  # its default, whatever the model could


def model_window(body: dict[str, Any], path: str, setting: int | None, reported: int | None = None) -> int | None:
    """Return the model's window: by the setting, the request, the upstream's list, or the model's name."""
    if setting or is_anthropic(path):  # a name tells no window there: the same model has several
        return setting
    options = body.get("options")
    if isinstance(options, dict) and type(options.get("num_ctx")) is int:
        return int(options["num_ctx"])
    if "/api/" in path:
        return _OLLAMA
    model = body.get("model")
    return reported or window_of(model if isinstance(model, str) else None)


def window_or_guess(window: int | None, body: dict[str, Any]) -> int:
    """Return the model's window, or what is taken for it where it isn't known."""
    return window or (_AGENTS_WINDOW if body.get("tools") else _UNKNOWN)


def wanted_budget(policy: BudgetPolicy, window: int | None, conversation: Conversation) -> Budget:
    """Return what a context should have by the settings."""
    if not conversation.body.get("tools"):
        return policy.budget(window)
    most = _MESSAGES_TOKENS if conversation.in_blocks else _AGENTS_TOKENS
    return replace(policy, ceiling=min(policy.ceiling, most)).budget(window_or_guess(window, conversation.body))


def free_tokens(body: dict[str, Any], length: int, window: int) -> int:
    """Return what the conversation and the reply leave of the window.

    `length` is the request's size in bytes: a bound on the conversation's that costs nothing, tools and schemas included.
    """
    limit = next(
        (body[key] for key in ("max_completion_tokens", "max_output_tokens", "max_tokens") if type(body.get(key)) is int), None
    )
    return window - min(limit or _REPLY, window // 2) - length // _CHARS_PER_TOKEN


def too_many(sizes: Sequence[int], free: int, *, one_more: bool) -> int:
    """Return how many of the oldest contexts must go, so that the others fit; with `one_more` there must be room for a new one.

    Once one must go, as many go as leave half of the room: each that goes changes what was sent before.
    """
    least, total, gone = 2 * SMALLEST if one_more else 0, sum(sizes), 0
    if total + least <= free:
        return 0
    for size in sizes:
        last = gone == len(sizes) - 1
        if total <= free // 2 or (last and total + least <= free):
            break
        total, gone = total - size, gone + 1
    return gone


def context_budget(free: int, wanted: Budget) -> Budget | None:
    """Return what the context may take: at most what is wanted and half of what is free; None when that is too little."""
    left = free // 2
    wanted_tokens = wanted.amount if wanted.unit == "tokens" else wanted.amount // 4
    if left >= wanted_tokens:
        return wanted
    return Budget(left, "tokens") if left >= SMALLEST else None

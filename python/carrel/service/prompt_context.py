"""Choose what is put beside a prompt of an agent, in one place for every way that prompts come in.

Remember what sessions of agents were given: it stays in their conversations, so what was sent once isn't sent again.

Whether a prompt is about code that should be looked up, or only steers the agent in what it has in hand.

Steering ("go on", "no, the other one") is most of what people type, and what is added to it is paid in every later turn. What
the index holds for the prompt's own words decides; only a question takes in what was said before, since a task that leans on
the conversation is about what the agent has before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from weakref import WeakValueDictionary

from msgspec import Struct

from carrel.model.conversation import Message
from carrel.model.errors import CarrelError
from carrel.model.lines import rows_of
from carrel.model.patterns import lazy_pattern
from carrel.model.types import Budget, ContextItem, ContextPack
from carrel.model.wording import counted
from carrel.pack.context import further_places, with_items
from carrel.pack.formats import Form, SourceForm, XmlForm
from carrel.question.query_words import is_question
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.workspace import Workspace

MOST_SESSIONS, MOST_LINES = 200, 20_000
FEW = 1 / 3
"""Of a place of which the session has the rest unchanged, so small a share of new lines isn't worth sending all of it again."""

_Lines = dict[tuple[str, int], bytes]
"""Digests of lines by path and number."""


class GivenLines:
    """Lines by session and folder, in memory alone: after a restart something may be sent once more."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], _Lines] = OrderedDict()
        self._cuts: OrderedDict[str, str] = OrderedDict()  # by session

    def new(self, session: str, folder: str, items: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
        """Return the items that a session doesn't have yet as they stand now. A session without a name has none."""
        had = self._sessions.get((session, folder))
        return tuple(item for item in items if not had or _is_new(dict(_lines(item)), had))

    def cut(self, session: str, mark: str) -> None:
        """Forget what a session had where its agent has cut the conversation short since: each cut has a mark of its own."""
        if not mark or self._cuts.get(session) == mark:
            return
        self._cuts[session] = mark
        self._cuts.move_to_end(session)
        while len(self._cuts) > MOST_SESSIONS:
            self._cuts.popitem(last=False)
        for key in [key for key in self._sessions if key[0] == session]:
            del self._sessions[key]

    def add(self, session: str, folder: str, items: Iterable[ContextItem]) -> None:
        """Note that a session was given these items."""
        if not session:
            return
        had = self._sessions.setdefault((session, folder), {})
        self._sessions.move_to_end((session, folder))
        for key, digest in (line for item in items for line in _lines(item)):
            had.pop(key, None)  # the newest stand last
            had[key] = digest
        for key in list(had)[: max(len(had) - MOST_LINES, 0)]:
            del had[key]
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)

    def remove(self, session: str, folder: str, items: Iterable[ContextItem]) -> None:
        """Forget that a session was given these items: they didn't reach it."""
        had = self._sessions.get((session, folder), {})
        for key, _ in (line for item in items for line in _lines(item)):
            had.pop(key, None)


def _is_new(lines: _Lines, had: _Lines) -> bool:
    unknown = sum(key not in had for key in lines)
    changed = any(had.get(key, digest) != digest for key, digest in lines.items())
    return changed or unknown > FEW * len(lines)


def _lines(item: ContextItem) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Yield the lines that an item shows; where others were left out, a mark stands in their place."""
    rows, path, at = iter(rows_of(item.text)), item.hit.chunk.path, item.hit.chunk.span.start_line
    for first, last in item.runs:
        if item.elided and first > at:
            next(rows, None)
        for number in range(first, last + 1):
            row = next(rows, "").rstrip("\r\n")
            yield (path, number), hashlib.blake2b(row.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        at = last + 1


_COMMAND = lazy_pattern(r"\s*(?:(/[^\W\d][\w:-]*)(?=\s|\Z)|#[^\W\d][\w:-]*(?=\s|\Z)|!)")
"""`/compact`, `/model opus`, `!ls`, `#remember`; but neither `/usr/lib`, nor `#123`, nor the name of a folder such as `/tmp`."""


def is_command(prompt: str) -> bool:
    """Tell whether a prompt is for the agent's program, not for the model."""
    command = _COMMAND.match(prompt)
    return command is not None and not (command[1] and os.path.isdir(command[1]))  # noqa: PTH112 - `Path` may raise


DEADLINE_MS = 1_500
INDEXING = "Carrel: indexing, context from the next prompt on"
WITHOUT_TAGS = SourceForm(head="Places of this project, as they stand now. Angle brackets in them were made entities.\n\n")
"""The form for agents that escape `<` and `>`, of which tags would be noise."""
WITH_TAGS = XmlForm()
_LONGEST = 100_000
"""Characters of a prompt that are looked at; what is searched for is shorter (`LONGEST_QUERY`)."""


class Prompt(Struct, frozen=True):
    """A prompt as it comes in. `session` is the agent's name for the conversation, `turns` its last turns, oldest first.

    `compacted` is another text after each time that the agent cut the conversation short.
    """

    text: str
    session: str = ""
    turns: Sequence[Message] = ()
    compacted: str = ""
    form: Form = WITH_TAGS
    most_bytes: int | None = None  # some agents cut a longer text, or put it elsewhere


class Addition(Struct, frozen=True):
    """What is put beside a prompt, empty for nothing, and a line for the person. Call `lost` if it didn't reach the agent."""

    text: str = ""
    line: str = ""
    lost: Callable[[], None] = lambda: None


NOTHING = Addition()


class PromptContexts:
    """Answers prompts of any folders and sessions. Lives on one event loop, as its workspaces do."""

    def __init__(self, first_ms: int = DEADLINE_MS) -> None:
        """Take how long the first prompt of a folder may wait: its index is opened, and the search loaded."""
        self._first_ms = first_ms
        self._answered: set[str] = set()
        self._turns = WeakValueDictionary[str, asyncio.Lock]()  # by session
        self._given = GivenLines()
        self._begun: dict[str, asyncio.Task[None]] = {}  # by folder: the first index, which nobody waits for

    async def addition(self, workspace: Workspace, prompt: Prompt) -> Addition:
        """Return what to add. Raises nothing but a cancel."""
        text = prompt.text[:_LONGEST].strip()
        if not text or is_command(text):
            return NOTHING
        await workspace.settle()
        settings = workspace.settings
        if workspace.blocked or not settings.rag_enabled:
            return NOTHING
        if not workspace.has_index:
            return self._index(workspace)

        turn = self._turns.setdefault(prompt.session, asyncio.Lock()) if prompt.session else asyncio.Lock()
        async with turn:  # two prompts at once would get the same places
            return await self._new_places(workspace, prompt, text)

    async def _new_places(self, workspace: Workspace, prompt: Prompt, text: str) -> Addition:
        """Return what is found for a prompt and its session doesn't have yet."""
        settings = workspace.settings
        self._given.cut(prompt.session, prompt.compacted)

        def revised(pack: ContextPack) -> ContextPack:
            items = list(self._given.new(prompt.session, workspace.root_key, pack.items))
            revised = pack if len(items) == len(pack.items) else with_items(pack, items, prompt.form, workspace.tokenizer(None))
            while items and prompt.most_bytes is not None and len(revised.text.encode()) > prompt.most_bytes:
                items.pop()
                revised = with_items(pack, items, prompt.form, workspace.tokenizer(None))
            return revised

        budget = Budget(settings.prompt_tokens, "tokens")
        answer = await context(
            workspace,
            ContextRequest(
                text,
                settings.places(budget),
                budget,
                deadline_ms=DEADLINE_MS if workspace.root_key in self._answered else self._first_ms,
                format=prompt.form,
                history=tuple(prompt.turns) if is_question(text) else (),
                revise=revised,
            ),
        )
        self._answered.add(workspace.root_key)
        pack = answer.pack
        if not pack.items:
            return Addition(line=f"Carrel: no context. {answer.error}") if answer.error else NOTHING
        self._given.add(prompt.session, workspace.root_key, pack.items)
        line = f"Carrel: {counted(len(pack.items), 'place')}, {counted(pack.tokens, 'token')}"
        further = further_places(pack, workspace.tokenizer(None))
        text = f"{pack.text}\n{further}" if further else pack.text
        if prompt.most_bytes is not None and len(text.encode()) > prompt.most_bytes:
            text = pack.text
        lost = partial(self._given.remove, prompt.session, workspace.root_key, pack.items)
        return Addition(text, f"{line}. {answer.notice}" if answer.notice else line, lost)

    def _index(self, workspace: Workspace) -> Addition:
        """Have a folder's first index made, and say so once."""
        key = workspace.root_key
        was_begun, task = key in self._begun, self._begun.get(key)

        async def index() -> None:
            with contextlib.suppress(CarrelError):  # it is the workspace's error state by now
                await workspace.ready(explicit=True, wait_ms=0)

        if task is None or task.done():
            self._begun[key] = asyncio.get_running_loop().create_task(index())
        return NOTHING if was_begun else Addition(line=INDEXING)

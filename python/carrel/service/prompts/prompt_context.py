"""Choose what is put beside a prompt of an agent, in one place for every way that prompts come in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from carrel.model.conversation import Message
from carrel.model.errors import CarrelError
from carrel.model.types import Budget, ContextPack
from carrel.pack.context import with_items
from carrel.pack.formats import Form, SourceForm, XmlForm
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.prompts.memory import GivenLines
from carrel.service.prompts.wanted import is_command, is_question, is_wanted
from carrel.service.workspace import Workspace

DEADLINE_MS = 1_500
INDEXING = "Carrel: indexing, context from the next prompt on"
WITHOUT_TAGS = SourceForm(head="Places of this project, as they stand now. Angle brackets in them were made entities.\n\n")
"""The form for agents that escape `<` and `>`, of which tags would be noise."""
WITH_TAGS = XmlForm()
_LONGEST = 100_000
"""Characters of a prompt that are looked at; what is searched for is shorter (`LONGEST_QUERY`)."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it comes in. `session` is the agent's name for the conversation, `turns` its last turns, oldest first.

    `compacted` is another text after each time that the agent cut the conversation short.
    """

    text: str
    session: str = ""
    turns: Sequence[Message] = ()
    compacted: str = ""
    form: Form = WITH_TAGS
    most_bytes: int | None = None  # some agents cut a longer text, or put it elsewhere


@dataclass(frozen=True, slots=True)
class Addition:
    """What is put beside a prompt, empty for nothing, and a line for the person."""

    text: str = ""
    line: str = ""


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

        async with self._turn(prompt.session):  # two prompts at once would get the same places
            return await self._found(workspace, prompt, text)

    def _turn(self, session: str) -> asyncio.Lock:
        return self._turns.setdefault(session, asyncio.Lock()) if session else asyncio.Lock()

    async def _found(self, workspace: Workspace, prompt: Prompt, text: str) -> Addition:
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
                wants=lambda found, floor: is_wanted(text, found, floor),
                revise=revised,
            ),
        )
        self._answered.add(workspace.root_key)
        pack = answer.pack
        if not pack.items:
            return NOTHING
        self._given.add(prompt.session, workspace.root_key, pack.items)
        count = len(pack.items)
        line = f"Carrel: {count} place{'s' if count > 1 else ''}, {pack.tokens:,} tokens"
        return Addition(pack.text, f"{line}. {answer.notice}" if answer.notice else line)

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

"""What a chat turn asks for, what it is answered, and the answers that are kept for questions about them."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from carrel.index.workspace_state import State
from carrel.model.conversation import Message
from carrel.model.errors import CarrelError
from carrel.model.types import Budget, ContextPack, Filters, Format, Lines, Trigger
from carrel.settings.settings import Planning

if TYPE_CHECKING:
    from carrel.assist.routing import Route
    from carrel.model.ports import ChatModel
    from carrel.pack.formats import Form
    from carrel.search.explain import Explanation
    from carrel.search.retriever import Retrieval


class MissingFolder(Struct, frozen=True):
    """A folder that gave nothing to an answer, and why."""

    name: str
    uri: str
    cause: CarrelError

    def __str__(self) -> str:
        return f"The folder {self.name} was not searched: {self.cause}"


_KEPT = 64

Revise: TypeAlias = "Callable[[ContextPack], ContextPack]"
"""Makes of a pack what is given."""


class FileRef(Struct, frozen=True):
    """A file that the caller named. `path` is None when it lies in no open folder, `label` is how it was named."""

    path: str | None
    label: str


class AttachedLines(Struct, frozen=True):
    """Lines of a file that the person selected or attached, 1-based and inclusive."""

    file: FileRef
    start_line: int
    end_line: int


class ContextRequest(Struct, frozen=True):
    """What a chat turn asks for. `plan` and `rerank` None: as the settings say; `history` has the oldest turn first."""

    query: str
    limit: int
    budget: Budget
    filters: Filters = field(default_factory=Filters)
    model: str | None = None
    active: FileRef | None = None
    selection: Lines | None = None  # what is selected in it
    open: tuple[FileRef, ...] = ()
    pinned: tuple[FileRef, ...] = ()
    attached: tuple[AttachedLines, ...] = ()
    left_out: tuple[Lines, ...] = ()
    trigger: Trigger = "chat"
    wait_ms: int = 10_000
    deadline_ms: int | None = None
    format: Format | Form = "xml"
    history: tuple[Message, ...] = ()
    plan: Planning | None = None
    rerank: bool | None = None
    lent: ChatModel | None = None  # a chat model at hand: it is asked where the search is unsure and none is set for planning
    sources: tuple[str, ...] = ()  # which to ask, in place of the choice by the question
    revise: Revise | None = None  # runs on the search's thread


class ContextAnswer(Struct, frozen=True):
    """A pack, what it took, and what went wrong, in words for a person.

    With an `error` the pack is empty; with a `notice` it is there, and worse than it should be.
    """

    pack: ContextPack
    stages: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    notice: str | None = None
    cause: CarrelError | None = None  # of the error, where it was foreseen
    state: State = "empty"  # of the index behind it
    pending: int = 0
    rewritten: str | None = None  # what was searched for in place of the question
    sub_queries: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()  # where the question went, where there are sources beside the workspace
    not_searched: tuple[str, ...] = ()  # the sources that nothing in the question spoke for
    late: bool = False  # it was not ready before the deadline
    confidence: float | None = None  # from 0 to 1: is there anything relevant at all; None where nothing was searched
    missing: tuple[MissingFolder, ...] = ()  # of several folders those that were not searched

    @property
    def problem(self) -> str | None:
        """Return what a person should know about it, if anything."""
        return self.error or self.notice


class StoredContext(Struct, frozen=True):
    """What is kept of an answer, so that it can be explained later."""

    root: str
    answer: ContextAnswer
    retrieval: Retrieval
    roots: Mapping[str, str] = field(default_factory=dict)  # of an answer of several folders, by their names
    by_folder: Mapping[str, Retrieval] = field(default_factory=dict)  # what the index of each found

    def candidates(self) -> list[Explanation]:
        """Explain every candidate, in the final order: made when somebody asks. Of several folders each has ranks of its own."""
        from carrel.search.explain import explain_ranked
        from carrel.search.folders import explained_in

        items = self.answer.pack.items
        if not self.by_folder:
            return explain_ranked(self.retrieval, items)
        explained = [row for name, retrieval in self.by_folder.items() for row in explained_in(retrieval, items, name)]
        return sorted(explained, key=lambda row: -(row.relevance or 0.0))


class RecentContexts:
    """The last few answers by the id of their pack."""

    def __init__(self) -> None:
        self._items: OrderedDict[str, StoredContext] = OrderedDict()

    def add(self, stored: StoredContext) -> None:
        """Keep an answer, and drop the oldest beyond the limit."""
        self._items[stored.answer.pack.id] = stored
        while len(self._items) > _KEPT:
            self._items.popitem(last=False)

    def get(self, pack_id: str) -> StoredContext | None:
        """Return the answer, if it is still kept."""
        return self._items.get(pack_id)

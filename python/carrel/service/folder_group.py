"""Several workspace folders that are asked as one: their names, what each gives, and why some give nothing."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from carrel.model.errors import CarrelError, NotReady, place_of
from carrel.service.context_request import MissingFolder

if TYPE_CHECKING:
    from carrel.assist.assisted_retrieval import Assistants
    from carrel.index.open_index import OpenIndex
    from carrel.index.workspace_state import State
    from carrel.model.ports import ChatModel
    from carrel.model.types import Query
    from carrel.service.workspace import Workspace
    from carrel.settings.settings import Planning

log = logging.getLogger(__name__)
T = TypeVar("T")

Locate = Callable[[list[str], str], tuple[str, str] | None]
"""(roots, path) to (innermost root that holds it, relative path); knows the spellings of the system."""

_SHARE = 0.8
"""Of the time that is left before a deadline, for the slowest folder: what the others gave must still be packed."""
_STATES: tuple[State, ...] = ("indexing", "error", "ready", "empty")
"""Of an answer of several folders: the first that is one of theirs."""


def named(workspaces: Iterable[Workspace]) -> dict[str, Workspace]:
    """Return folders by the names of their roots; of equal ones, with the names of the folders around them until they differ."""
    paths = {workspace: workspace.root.parts[1:] or ("root",) for workspace in workspaces}
    names: dict[str, Workspace] = {}
    for workspace, parts in paths.items():
        depths = range(1, len(parts))
        least = (depth for depth in depths if sum(other[-depth:] == parts[-depth:] for other in paths.values()) == 1)
        name = free = "-".join(parts[-next(least, len(parts)) :])
        number = 2
        while free in names:
            free, number = f"{name}-{number}", number + 1
        names[free] = workspace
    return names


class FolderGroup:
    """Folders by name. `first` is the one whose settings and sources count for the question as a whole.

    A question may call a folder by one of its `former` names, too.
    """

    def __init__(
        self, folders: Mapping[str, Workspace], first: Workspace, locate: Locate, former: Mapping[str, Workspace] | None = None
    ) -> None:
        self.folders = dict(folders)
        self.first = first
        self._locate = locate
        self._former = dict(former or {})

    @property
    def roots(self) -> dict[str, str]:
        """Return the paths of the folders by name."""
        return {name: workspace.root_key for name, workspace in self.folders.items()}

    @property
    def pending(self) -> int:
        """Count the files that wait for indexing."""
        return sum(workspace.pending for workspace in self.folders.values())

    @property
    def without_files(self) -> set[str]:
        """Name the folders that hold nothing to read, which is worth a word only where nothing was found in the others."""
        return {name for name, workspace in self.folders.items() if workspace.index and workspace.index.has_nothing_to_read}

    def state(self) -> State:
        """Return the state of all in one word."""
        states = {workspace.state() for workspace in self.folders.values()}
        return next(state for state in _STATES if state in states)

    def place(self, path: str) -> tuple[Workspace, str] | None:
        """Return the folder that a path of an answer begins with, and the path in it; None for a source's."""
        name, _, rest = path.partition("/")
        workspace = self.folders.get(name)
        return (workspace, rest) if workspace is not None and rest else None

    def only(self, names: Iterable[str]) -> FolderGroup:
        """Return the group of these folders alone."""
        kept = {name: self.folders[name] for name in self.folders if name in set(names)}
        first = self.first if self.first in kept.values() else next(iter(kept.values()))
        return FolderGroup(kept, first, self._locate, self._former)

    def query_in(self, name: str, query: Query) -> Query:
        """Return a query as it counts in a folder: its globs and the paths in its text may begin with a folder's name."""
        from carrel.search.folders import filters_in

        names = {
            other: (other, *(former for former, same in self._former.items() if same is workspace))
            for other, workspace in self.folders.items()
        }
        heads = {
            other: (*(f"{each}/" for each in names[other]), f"{workspace.root.as_posix()}/")
            for other, workspace in self.folders.items()
        }
        here = heads.pop(name)
        filters = filters_in(query.filters, names[name], self._inside(name))
        return replace(query, filters=filters, here=here, elsewhere=tuple(itertools.chain(*heads.values())))

    def _inside(self, name: str) -> list[str]:
        """Return the paths in a folder at which others of the group lie."""
        root = self.folders[name].root_key
        others = (other.root_key for other in self.folders.values() if other.root_key != root)
        return [place[1] for path in others if (place := self._locate([root], path))]

    @contextlib.contextmanager
    def assistants(
        self, *, plan: Planning | None, rerank: bool | None, chat: bool = False, lent: ChatModel | None = None
    ) -> Iterator[Mapping[str, Assistants]]:
        """Give the models that help each folder with one question. A planner that several have is asked once for all."""
        from carrel.model_calls.chat_model import SharedModel

        helpers = {
            name: workspace.assistants(plan=plan, rerank=rerank, chat=chat, lent=lent) for name, workspace in self.folders.items()
        }
        shared: dict[str, SharedModel] = {}
        for name, helper in helpers.items():
            if helper.planner is not None:
                model = shared.setdefault(helper.planner.spec.id, SharedModel(helper.planner))
                helpers[name] = replace(helper, planner=model)
        try:
            yield helpers
        finally:
            for model in shared.values():
                model.stop()

    async def each(self, ask: Callable[[str, Workspace], Awaitable[T]]) -> tuple[dict[str, T], list[MissingFolder]]:
        """Do `each_in_time` without an end. Raises what `ask` does, where all folders fail."""
        answers, missing = await self.each_in_time(ask, None)
        if not answers:
            raise error_of_all(missing)
        return answers, missing

    async def each_in_time(
        self, ask: Callable[[str, Workspace], Awaitable[T]], end: float | None
    ) -> tuple[dict[str, T], list[MissingFolder]]:
        """Ask all folders at once; return what each gave, and those that can't or don't in time.

        `end` is the time of the event loop by which the whole answer must be there.
        """
        tasks = {name: asyncio.ensure_future(ask(name, workspace)) for name, workspace in self.folders.items()}
        try:
            now = asyncio.get_running_loop().time()
            await asyncio.wait(tasks.values(), timeout=None if end is None else max(_SHARE * (end - now), 0.0))
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        answers: dict[str, T] = {}
        missing: list[MissingFolder] = []
        for name, task in tasks.items():
            if task.done() and not task.cancelled() and task.exception() is None:
                answers[name] = task.result()
            else:
                missing.append(MissingFolder(name, self.folders[name].uri, _cause(task)))
        return answers, missing


async def ready(workspace: Workspace, *, explicit: bool, wait_ms: int, about: str) -> OpenIndex:
    """Return the index of a folder of a group. Raises `CarrelError` where it holds nothing because making it failed."""
    index = await workspace.ready(explicit=explicit, wait_ms=wait_ms, about=about)
    if workspace.error and not index.begun:
        raise NotReady(workspace.error)
    return index


def _cause(task: asyncio.Future[T]) -> CarrelError:
    if not task.done() or task.cancelled():
        return CarrelError("it gave no answer in time")
    error = task.exception()
    if isinstance(error, CarrelError):
        return error
    # Not the error itself: its message may quote what was being worked on.
    log.error("A folder failed: %s at %s", type(error).__name__, place_of(error) if error else "?")
    return CarrelError("something went wrong inside Carrel; its log says more")


def error_of_all(missing: Sequence[MissingFolder]) -> CarrelError:
    """Return the error of a question that no folder answers."""
    if len({str(folder.cause) for folder in missing}) == 1:
        return missing[0].cause
    return CarrelError(" ".join(f"{str(folder).rstrip('.')}." for folder in missing))

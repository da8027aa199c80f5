"""Questions to answers, without a wire format: the use cases that editors, MCP and the command line share.

Coroutines on the event loop; what costs time runs on the interactive pool with a token.
"""

# ruff: noqa: PLC0415 - the engine is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from carrel.core.errors import Cancelled, CarrelError, place_of
from carrel.core.types import Budget, ContextPack, Dropped, Filters, Format, Hit, Lines, Query, Trigger
from carrel.server.wiring import RENEWED

if TYPE_CHECKING:
    from carrel.core.native import CancelToken
    from carrel.engine.compare import Comparison
    from carrel.engine.explain import Explanation
    from carrel.engine.indexer import IndexReport
    from carrel.engine.retriever import Retrieval
    from carrel.server.wiring import OpenIndex
    from carrel.server.workspace import Workspace

log = logging.getLogger(__name__)

OUTSIDE = "outside the workspace"
_FIRST_INDEX_MS = 10_000  # of the requests that say nothing of it
MOST_SKIPPED = 100_000
"""Where every skipped file counts, and no editor waits for the list."""


@dataclass(frozen=True, slots=True)
class Named:
    """A file that the caller named. `path` is None when it lies in no open folder, `label` is how it was named."""

    path: str | None
    label: str


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What a chat turn asks for."""

    query: str
    limit: int
    budget: Budget
    filters: Filters = field(default_factory=Filters)
    model: str | None = None
    active: Named | None = None
    open: tuple[Named, ...] = ()
    pinned: tuple[Named, ...] = ()
    left_out: tuple[Lines, ...] = ()
    trigger: Trigger = "chat"
    wait_ms: int = 10_000
    deadline_ms: int | None = None
    format: Format = "xml"


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """A pack, what it took, and what went wrong, in words for a person."""

    pack: ContextPack
    stages: dict[str, float]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What is kept of an answer, so that it can be explained later."""

    root: str
    answer: ContextAnswer
    found: Retrieval

    def candidates(self) -> list[Explanation]:
        """Every candidate's story, in the final order: made when somebody asks."""
        from carrel.engine.explain import explain_ranked

        return explain_ranked(self.found)


async def search(workspace: Workspace, query: Query, wait_ms: int) -> Retrieval:
    """The best chunks for an explicit question; raises `CarrelError`."""
    index = await workspace.ready(explicit=True, wait_ms=wait_ms)

    def work(token: CancelToken) -> Retrieval:
        from carrel.engine.retriever import retrieve

        return retrieve(index.store.snapshot(), index.embedder, query, token)

    return await workspace.ask(work)


async def files(workspace: Workspace, query: Query, pool_size: int, wait_ms: int) -> list[tuple[str, float]]:
    """The best files and their summed scores."""
    index = await workspace.ready(explicit=True, wait_ms=wait_ms)

    def work(token: CancelToken) -> list[tuple[str, float]]:
        from carrel.engine.files import pick_files_by_grouped_chunk_hits

        view = index.store.snapshot()
        return pick_files_by_grouped_chunk_hits(index.embedder, view, query, pool_size, query.limit, cancel=token)

    return await workspace.ask(work)


async def similar(workspace: Workspace, path: str, lines: tuple[int, int], limit: int) -> list[Hit]:
    """Code like the code in these lines; raises `CarrelError`."""
    index = await workspace.ready(explicit=True, wait_ms=_FIRST_INDEX_MS)

    def work(token: CancelToken) -> list[Hit]:
        from carrel.engine.similar import similar as find

        if reason := index.store.gate(path):
            raise CarrelError(f"{path} may not be read: {reason}")
        view = index.store.snapshot()
        text = view.lines(path, *lines) or ""
        return find(view, index.embedder, path, lines, text, token, limit=limit)

    return await workspace.ask(work)


async def compare(workspace: Workspace, query: Query, budget: Budget, model: str | None, wait_ms: int) -> tuple[Comparison, str]:
    """Chunks against whole files for one question, and the name of the tokenizer that counted."""
    index = await workspace.ready(explicit=True, wait_ms=wait_ms)

    def work(token: CancelToken) -> tuple[Comparison, str]:
        from carrel.engine.compare import compare as both

        tokenizer = workspace.tokenizer(model)
        return both(index.store.snapshot(), index.embedder, tokenizer, query, budget, token), tokenizer.name

    return await workspace.ask(work)


async def followed_index(workspace: Workspace, *, force: bool) -> IndexReport:
    """What `index` finds where another process writes the index, which is waited for; raises `NotWriter`."""
    from carrel.engine.indexer import follow_index

    index = await workspace.open()

    def work(token: CancelToken) -> IndexReport:
        report = follow_index(index.store, token, force=force)
        index.read_meta()
        return report

    return await workspace.ask(work)


async def explain_line(workspace: Workspace, query: Query, path: str, line: int) -> list[Explanation]:
    """Why the chunk at `path:line` was or wasn't found."""
    index = await workspace.ready(explicit=True, wait_ms=_FIRST_INDEX_MS)

    def work(token: CancelToken) -> list[Explanation]:
        from carrel.engine.explain import explain_line as explain

        # What the rules let through may have been left out when it was read: binary, minified, no right to read it.
        gate = index.store.gate(path) or dict(index.store.skipped(MOST_SKIPPED)).get(path)
        return explain(index.store.snapshot(), index.embedder, query, path, line, token, gate=gate)

    return await workspace.ask(work)


async def context(workspace: Workspace, request: ContextRequest) -> tuple[ContextAnswer, KeptAnswer | None]:
    """Pack the pages for a chat turn. Raises nothing but a cancel: any fault is an empty pack with the reason."""
    started = time.perf_counter()
    try:
        limit = None if request.deadline_ms is None else request.deadline_ms / 1000
        async with asyncio.timeout(limit):
            await workspace.settle()
            if request.trigger == "chat" and not workspace.settings.rag_enabled:
                return empty(request), None
            index = await workspace.ready(explicit=request.trigger == "explicit", wait_ms=request.wait_ms)
            answer, found = await workspace.ask(lambda token: _pack(workspace, index, request, token))
            if index.being_renewed and not answer.pack.items:
                answer = replace(answer, error=RENEWED)
    except TimeoutError:
        return empty(request, f"There was no answer within {request.deadline_ms} ms."), None
    except asyncio.CancelledError:
        raise
    except Cancelled as error:
        return empty(request, f"The work was stopped: {error}"), None
    except CarrelError as error:
        return empty(request, str(error)), None
    except Exception as error:
        # Not the error itself: its message may quote what was being worked on.
        log.error("No context for this turn: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400
        return empty(request, "Something went wrong inside Carrel; its log says more."), None
    answer = replace(answer, stages={**answer.stages, "total": round(1000 * (time.perf_counter() - started), 3)})
    return answer, KeptAnswer(str(workspace.root), answer, found)


def empty(request: ContextRequest, error: str | None = None) -> ContextAnswer:
    """A pack with nothing in it."""
    pack = ContextPack(uuid.uuid4().hex[:16], "", request.format, 0, request.budget, "", (), (), request.query)
    return ContextAnswer(pack, {}, error)


def _pack(workspace: Workspace, index: OpenIndex, request: ContextRequest, token: CancelToken) -> tuple[ContextAnswer, Retrieval]:
    """Runs on a thread."""
    from carrel.engine.candidates import Stopwatch
    from carrel.engine.context import pack
    from carrel.engine.retriever import retrieve

    refused: list[Dropped] = []
    active = _allowed(index, (request.active,) if request.active else (), refused)
    query = Query(
        request.query,
        request.limit,
        request.filters,
        active[0] if active else None,
        _allowed(index, request.open, refused),
        _allowed(index, request.pinned, refused),
        request.left_out,
    )
    view = index.store.snapshot()
    found = retrieve(view, index.embedder, query, token)
    watch = Stopwatch()

    def between(path: str, first: int, last: int) -> str | None:
        return None if query.leaves_out(path, first, last) else view.lines(path, first, last)

    packed = pack(
        found.hits,
        request.budget,
        workspace.tokenizer(request.model),
        query=request.query,
        form=request.format,
        dropped=(*refused, *found.dropped),
        read_lines=between,
    )
    watch.lap("pack")
    # The same question may be asked twice: an answer has an id of its own.
    packed = replace(packed, id=uuid.uuid4().hex[:16])
    return ContextAnswer(packed, {**found.stages, **watch.stages}), found


def _allowed(index: OpenIndex, named: Sequence[Named], refused: list[Dropped]) -> tuple[str, ...]:
    """Those of the named files that may be read; the others are refused with the reason."""
    allowed = []
    for file in named:
        reason = OUTSIDE if file.path is None else index.store.gate(file.path)
        if reason is None:
            allowed.append(file.path or "")
        else:
            refused.append(Dropped(file.path or file.label, 0, 0, reason))
    return tuple(allowed)

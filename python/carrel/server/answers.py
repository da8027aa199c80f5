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
from typing import TYPE_CHECKING, Any

from carrel.core.errors import Cancelled, CarrelError, place_of
from carrel.core.types import Budget, ContextPack, Dropped, Filters, Format, Hit, Lines, Query, Trigger
from carrel.server.wiring import RENEWED

if TYPE_CHECKING:
    from carrel.core.native import CancelToken
    from carrel.engine.compare import Comparison
    from carrel.engine.explain import Explanation
    from carrel.engine.indexer import IndexReport
    from carrel.engine.prepare import PreparedQuery
    from carrel.engine.retriever import Retrieval
    from carrel.server.wiring import OpenIndex
    from carrel.server.workspace import Workspace

log = logging.getLogger(__name__)

OUTSIDE = "outside the workspace"
_FIRST_INDEX_MS = 10_000  # of the requests that name no `waitMs`
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
    from carrel.engine.prepare import prepare
    from carrel.engine.retriever import retrieve

    index = await workspace.ready(explicit=True, wait_ms=wait_ms)
    prepared = await prepare(query, index.embedder)
    view = index.store.snapshot()

    def work(token: CancelToken) -> Retrieval:
        return retrieve(view, prepared, token)

    return await workspace.ask(work)


async def files(workspace: Workspace, query: Query, pool_size: int, wait_ms: int) -> list[tuple[str, float]]:
    """The best files and their summed scores."""
    from carrel.engine.files import best_files, pool_query
    from carrel.engine.prepare import prepare

    index = await workspace.ready(explicit=True, wait_ms=wait_ms)
    prepared = await prepare(pool_query(query, pool_size), index.embedder)
    view = index.store.snapshot()

    def work(token: CancelToken) -> list[tuple[str, float]]:
        return best_files(view, prepared, pool_size, query.limit, "filename", token)

    return await workspace.ask(work)


async def similar(workspace: Workspace, path: str, lines: tuple[int, int], limit: int) -> list[Hit]:
    """Code like the code in these lines; raises `CarrelError`."""
    from carrel.engine.embedding import embed_queries
    from carrel.engine.similar import similar as find
    from carrel.engine.similar import stored_vector

    index = await workspace.ready(explicit=True, wait_ms=_FIRST_INDEX_MS)
    view = index.store.snapshot()

    def read(_: CancelToken) -> tuple[bytes, str]:
        if reason := index.store.gate(path):
            raise CarrelError(f"{path} may not be read: {reason}")
        vector = stored_vector(view, path, lines)
        return vector, "" if vector else view.lines(path, *lines) or ""

    vector, text = await workspace.ask(read)
    if not vector:
        vector = (await embed_queries(index.embedder, [text]))[text]
    floor = index.embedder.spec.floor
    return await workspace.ask(lambda token: find(view, path, lines, vector, floor, token, limit=limit))


async def compare(workspace: Workspace, query: Query, budget: Budget, model: str | None, wait_ms: int) -> tuple[Comparison, str]:
    """Chunks against whole files for one question, and the name of the tokenizer that counted."""
    from carrel.engine.compare import compare as both
    from carrel.engine.prepare import prepare

    index = await workspace.ready(explicit=True, wait_ms=wait_ms)
    prepared = await prepare(query, index.embedder)

    def work(token: CancelToken) -> tuple[Comparison, str]:
        tokenizer = workspace.tokenizer(model)
        return both(index.store.snapshot(), prepared, tokenizer, budget, token), tokenizer.name

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
    from carrel.engine.explain import explain_line as explain
    from carrel.engine.prepare import prepare

    index = await workspace.ready(explicit=True, wait_ms=_FIRST_INDEX_MS)
    prepared = await prepare(query, index.embedder)

    def work(token: CancelToken) -> list[Explanation]:
        # What the rules let through may have been left out when it was read: binary, minified, no right to read it.
        gate = index.store.gate(path) or dict(index.store.skipped(MOST_SKIPPED)).get(path)
        return explain(index.store.snapshot(), prepared, path, line, token, gate=gate)

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
            prepared = await _prepare(index, request)
            answer, found = await workspace.ask(lambda token: _pack(workspace, index, request, prepared, token))
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


async def _prepare(index: OpenIndex, request: ContextRequest) -> PreparedQuery:
    from carrel.engine.prepare import prepare

    query = Query(request.query, request.limit, request.filters, left_out=request.left_out)
    return await prepare(query, index.embedder)


def _pack(
    workspace: Workspace, index: OpenIndex, request: ContextRequest, prepared: PreparedQuery, token: CancelToken
) -> tuple[ContextAnswer, Retrieval]:
    """Runs on a thread."""
    from carrel.engine.candidates import Stopwatch
    from carrel.engine.context import pack
    from carrel.engine.retriever import retrieve

    refused: list[Dropped] = []
    active = _allowed(index, (request.active,) if request.active else (), refused)
    query = replace(
        prepared.query,
        active_path=active[0] if active else None,
        open_paths=_allowed(index, request.open, refused),
        pinned=_allowed(index, request.pinned, refused),
    )
    view = index.store.snapshot()
    found = retrieve(view, replace(prepared, query=query), token)
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


def explanation_of(kept: KeptAnswer) -> dict[str, Any]:
    """A pack's story as plain data: what is in it, what was left out, and every candidate."""
    pack = kept.answer.pack
    return {
        "packId": pack.id,
        "query": pack.query,
        "tokens": pack.tokens,
        "items": [
            {
                "path": i.hit.chunk.path,
                "startLine": i.hit.chunk.span.start_line,
                "endLine": i.hit.chunk.span.end_line,
                "elided": i.elided,
            }
            for i in pack.items
        ],
        "dropped": [{"path": d.path, "startLine": d.start_line, "endLine": d.end_line, "reason": d.reason} for d in pack.dropped],
        "stages": kept.answer.stages,
    }

"""Answer a chat turn with context: the one way to a pack, for every front end and the library.

Nothing here raises but a cancel: a chat request must never fail because of Carrel. Any fault inside is an empty pack with the
reason; what went wrong is logged here, and what was answered is kept here for questions about it.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from carrel.index.open_index import RENEWED
from carrel.model.errors import Cancelled, CarrelError, place_of
from carrel.model.types import ContextPack, Dropped, Format, Lines, Query
from carrel.service.context_request import ContextAnswer, ContextRequest, FileRef, StoredContext
from carrel.service.routed import FromSources, from_sources, from_the_rest
from carrel.system.background import is_being_cancelled

if TYPE_CHECKING:
    from carrel.assist.assisted_retrieval import Assistants
    from carrel.index.open_index import OpenIndex
    from carrel.model.local_index import SnapshotView
    from carrel.model.native import CancelToken
    from carrel.model.ports import Tokenizer
    from carrel.model.types import Hit
    from carrel.policy.audit import AuditTrail
    from carrel.search.retriever import Ranking, Retrieval
    from carrel.service.folder_group import FolderGroup
    from carrel.service.workspace import Workspace

log = logging.getLogger(__name__)

OUTSIDE = "outside the workspace"
INTERNAL = "Something went wrong inside Carrel; its log says more."


async def context(workspace: Workspace, request: ContextRequest) -> ContextAnswer:
    """Pack what the index holds for a chat turn, and keep the answer in the workspace's recent ones.

    Raises nothing but a cancel of this very call.
    """
    answer = await guarded(request, lambda end: _answer(workspace, request, end))
    return recorded(workspace, answer, workspace.audit, request, workspace.root_key)


async def guarded(request: ContextRequest, answer: Callable[[float | None], Awaitable[ContextAnswer]]) -> ContextAnswer:
    """Return what `answer` does by the request's deadline, or an empty pack with the reason. Raises nothing but a cancel.

    `answer` gets the time of the event loop by which all must be done.
    """
    started = time.perf_counter()
    try:
        if request.deadline_ms is None:
            result = await answer(None)
        else:
            async with asyncio.timeout(request.deadline_ms / 1000) as deadline:
                result = await answer(deadline.when())
        total = round(1000 * (time.perf_counter() - started), 3)
        return replace(result, stages={**result.stages, "total": total} if result.stages else {})
    except BaseException as error:
        return _failed(request, error)


def recorded(
    searched: Workspace | FolderGroup,
    answer: ContextAnswer,
    audit: AuditTrail | None,
    request: ContextRequest,
    root: str | Mapping[str, str],
) -> ContextAnswer:
    """Have an answer recorded, and return it with the state of what was searched."""
    if audit is not None:
        audit.context(request, answer, root)
    try:
        return replace(answer, state=searched.state(), pending=searched.pending)
    except Exception as error:
        _log(error)
        return replace(answer, state="error")


def context_blocking(
    current: Callable[[], OpenIndex],
    request: ContextRequest,
    tokenizer: Callable[[], Tokenizer],
    token: CancelToken,
    assistants: Assistants | None = None,
) -> ContextAnswer:
    """Do `context` from a thread, on the index that `current` brings up to date. Raises nothing but a Ctrl-C."""
    try:
        from carrel.assist.assisted_retrieval import ALONE, retrieve_assisted_blocking

        index, helpers = current(), assistants or ALONE
        packing = Packing(index, tokenizer, request)
        return retrieve_assisted_blocking(
            packing.question,
            index.store.snapshot,
            index.embedder,
            helpers,
            packing.finish,
            token,
            scope=packing.scope,
            outside=index.replica,
        )[0]
    except BaseException as error:
        return _failed(request, error)


def empty(request: ContextRequest, error: str | None = None) -> ContextAnswer:
    """Return a pack with nothing in it."""
    name: Format = request.format if isinstance(request.format, str) else "source"
    pack = ContextPack(uuid.uuid4().hex[:16], "", name, 0, request.budget, "", (), (), request.query)
    return ContextAnswer(pack, error=error)


def _failed(request: ContextRequest, error: BaseException) -> ContextAnswer:
    """Turn whatever was raised into an empty answer; raises what ends the caller itself."""
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    if isinstance(error, asyncio.CancelledError):
        if is_being_cancelled():
            raise error
        return empty(request, "The work was stopped: what it waited for has ended.")
    if isinstance(error, TimeoutError) and request.deadline_ms is not None:
        return replace(empty(request, f"There was no answer within {request.deadline_ms} ms."), late=True)
    if isinstance(error, Cancelled):
        return empty(request, f"The work was stopped: {error}")
    if isinstance(error, CarrelError):
        return replace(empty(request, str(error)), cause=error)
    _log(error)
    return empty(request, INTERNAL)


def _log(error: BaseException) -> None:
    # Not the error itself: its message may quote what was being worked on.
    log.error("No context for this turn: %s at %s", type(error).__name__, place_of(error))


async def _answer(workspace: Workspace, request: ContextRequest, end: float | None) -> ContextAnswer:
    from carrel.assist.assisted_retrieval import retrieve_assisted

    await workspace.settle()
    if request.trigger == "chat" and not workspace.settings.rag_enabled:
        return empty(request)
    index = await workspace.ready(explicit=request.trigger == "explicit", wait_ms=request.wait_ms, about=request.query)
    packing = Packing(index, lambda: workspace.tokenizer(request.model), request)
    packing.others = await from_sources(
        workspace,
        packing.question.query,
        named=request.sources,
        explicit=request.trigger == "explicit",
        wait_ms=request.wait_ms,
        plan=request.plan,
        end=end,
    )
    retrieve = partial(
        retrieve_assisted,
        packing.question,
        index.store.snapshot,
        index.embedder,
        workspace.assistants(plan=request.plan, rerank=request.rerank, chat=True, lent=request.lent),
        workspace.run_interactive,
        packing.finish,
        scope=packing.scope,
        end=end,
        outside=index.replica,
    )
    answer, retrieval = await retrieve()
    if not answer.pack.items and request.trigger == "explicit" and not request.sources:
        rest = await from_the_rest(workspace, packing.question.query, packing.others, end=end)
        if rest is not None:
            packing.others = rest
            answer, retrieval = await retrieve()
    # The same question may be asked twice: an answer has an id of its own.
    answer = replace(answer, pack=replace(answer.pack, id=uuid.uuid4().hex[:16]))
    if index.being_renewed and not answer.pack.items:
        answer = replace(answer, error=RENEWED)
    workspace.recent.add(StoredContext(str(workspace.root), answer, retrieval))
    return answer


class Selected(Struct, frozen=True):
    """What was read for one request: the best hits, the lines that the person attached, and what was left out."""

    ranking: Ranking
    retrieval: Retrieval
    hits: tuple[Hit, ...]
    attached: tuple[Hit, ...]
    dropped: tuple[Dropped, ...]
    notice: str | None
    query: Query

    def lines(self, path: str, first: int, last: int) -> str | None:
        """Return lines as they stand now; None where the person left some out, or they can't be read."""
        return None if self.query.leaves_out(path, first, last) else self.ranking.lines(path, first, last)


class Packing:
    """Searches and packs for one request, on threads."""

    def __init__(self, index: OpenIndex, tokenizer: Callable[[], Tokenizer], request: ContextRequest) -> None:
        from carrel.assist.assisted_retrieval import Question

        self._index, self._tokenizer, self._request = index, tokenizer, request
        self._refused: list[Dropped] = []
        self.others: FromSources | None = None
        active = request.active.path if request.active else None
        query = Query(
            request.query,
            request.limit,
            request.filters,
            active_path=active,
            left_out=request.left_out,
            selection=request.selection,
        )
        self.question = Question(query, request.history)

    def scope(self, query: Query) -> Query:
        """Add the files that the caller named, as far as they may be read."""
        request, refused = self._request, list[Dropped]()
        active = _allowed(self._index, (request.active,) if request.active else (), refused)
        scoped = replace(
            query,
            active_path=active[0] if active else None,
            open_paths=_allowed(self._index, request.open, refused),
            pinned=_allowed(self._index, request.pinned, refused),
        )
        self._refused = refused
        return scoped

    def select(self, ranking: Ranking, token: CancelToken) -> Selected:
        """Read the best candidates."""
        from carrel.search.retriever import read
        from carrel.sources.documents.passages import with_document_facts

        ranking = with_document_facts(ranking)
        retrieval = read(ranking, self.question.query, token, one_of_twins=True)
        # Where nothing is relevant, as to "hello!", there are still the files that the person pinned, and nothing else.
        wanted = retrieval.answer if self._request.trigger == "explicit" else retrieval.wanted
        kept = {hit.chunk.id for hit in wanted}
        hits = tuple(hit for hit in retrieval.hits if hit.chunk.id in kept or hit.chunk.path in ranking.query.pinned)
        attached, not_given = self._attached(ranking.view, token)
        return Selected(
            ranking,
            retrieval,
            hits,
            tuple(attached),
            (*self._refused, *not_given, *retrieval.dropped),
            self._index.notice(ranking.view, retrieval.diagnostics.problem),
            self.question.query,
        )

    def finish(self, ranking: Ranking, token: CancelToken) -> tuple[ContextAnswer, Retrieval]:
        """Read the best candidates and pack them."""
        from carrel.pack.context import pack, pack_answer
        from carrel.search.candidates import Stopwatch

        request, query = self._request, self.question.query
        selected = self.select(ranking, token)
        ranking = selected.ranking
        watch = Stopwatch()
        from_index, attached = selected.hits, selected.attached
        hits = from_index if self.others is None else self.others.beside(from_index, query)
        tokenizer = self._tokenizer()
        if hits == from_index:
            packed = pack_answer(
                ranking,
                from_index,
                query,
                request.budget,
                tokenizer,
                token,
                attached=attached,
                form=request.format,
                dropped=selected.dropped,
                read_lines=selected.lines,
            )
        else:  # hits of other sources have no passages to choose
            packed = pack(
                (*attached, *hits),
                request.budget,
                tokenizer,
                query=request.query,
                form=request.format,
                dropped=selected.dropped,
                read_lines=selected.lines,
            )
        if request.revise is not None:
            packed = request.revise(packed)
        watch.lap("pack")
        doubted = unsure(packed, request, selected.retrieval.confidence, ranking.query.pinned) if hits == from_index else None
        not_read = None if packed.items or hits or request.trigger != "explicit" else self._index.left_out()
        notices = [selected.notice, doubted, not_read]
        return answered(packed, selected.retrieval, {**selected.retrieval.stages, **watch.stages}, self.others, notices)

    def _attached(self, view: SnapshotView, token: CancelToken) -> tuple[list[Hit], list[Dropped]]:
        """Return the lines that the person chose, and those that can't be given with the reason."""
        if not self._request.attached:
            return [], []
        from carrel.service.attached import attached_hits

        places, refused = list[Lines](), list[Dropped]()
        for chosen in self._request.attached:
            for path in _allowed(self._index, (chosen.file,), refused):
                places.append(Lines(path, chosen.start_line, chosen.end_line))
        hits, not_there = attached_hits(view, places, self.question.query, token)
        return hits, [*refused, *not_there]


def unsure(packed: ContextPack, request: ContextRequest, confidence: float, pinned: Collection[str]) -> str | None:
    """Return what somebody who asked must be told of a pack that isn't sure; what a person named needs no doubt."""
    from carrel.search.certainty import doubt

    sought = any(not item.hit.attached and item.hit.chunk.path not in pinned for item in packed.items)
    return doubt(confidence) if sought and request.trigger == "explicit" else None


def answered(
    packed: ContextPack,
    retrieval: Retrieval,
    stages: dict[str, float],
    others: FromSources | None,
    notices: Sequence[str | None],
) -> tuple[ContextAnswer, Retrieval]:
    """Return a pack with what must be told of it; `retrieval` is the index's, of several the surest."""
    from carrel.pack.appearance import notice_of

    forged = notice_of((item.hit.chunk, item.text) for item in packed.items)
    diagnostics = retrieval.diagnostics
    answer = ContextAnswer(
        packed,
        stages,
        notice=" ".join(filter(None, (*notices, others.problem if others else None, forged))) or None,
        rewritten=diagnostics.rewritten,
        sub_queries=diagnostics.sub_queries,
        routes=others.routes if others else (),
        not_searched=others.not_searched if others else (),
        confidence=max([retrieval.confidence, *(item.hit.score for item in packed.items if item.hit.chunk.is_of_source)]),
    )
    return answer, retrieval


def _allowed(index: OpenIndex, named: Sequence[FileRef], refused: list[Dropped]) -> tuple[str, ...]:
    """Return those of the named files that may be read; the others are refused with the reason."""
    allowed = []
    for file in named:
        reason = OUTSIDE if file.path is None else index.store.refusal(file.path)
        if reason is None:
            allowed.append(file.path or "")
        else:
            refused.append(Dropped(file.path or file.label, 0, 0, reason))
    return tuple(allowed)

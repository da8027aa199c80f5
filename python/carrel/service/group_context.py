"""Answer a chat turn from several workspace folders at once: their hits in one order, packed once within the budget."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from carrel.index.open_index import RENEWED, OpenIndex
from carrel.model.errors import NotReady
from carrel.model.types import Query
from carrel.service.context_request import ContextAnswer, ContextRequest, MissingFolder, StoredContext
from carrel.service.context_service import OUTSIDE, Packing, Selected, answered, empty, guarded, recorded, unsure
from carrel.service.folder_group import error_of_all, ready
from carrel.service.routed import FromSources, from_sources

if TYPE_CHECKING:
    from carrel.model.native import CancelToken
    from carrel.model.ports import Tokenizer
    from carrel.model.types import Hit
    from carrel.search.retriever import Retrieval
    from carrel.service.folder_group import FolderGroup
    from carrel.service.workspace import Workspace

_OFF = "its memory is off"
_ON_AGAIN = "Set `ragEnabled` for this folder, or leave it out of the request's `folders`."


async def context(group: FolderGroup, requests: Mapping[str, ContextRequest]) -> ContextAnswer:
    """Pack what the indexes of all folders hold for a chat turn, and keep the answer in the recent ones.

    `requests` has for each folder the request with the files that lie in it; that of the first decides on all else. Raises
    nothing but a cancel of this very call.
    """
    request = next(requests[name] for name, workspace in group.folders.items() if workspace is group.first)
    answer = await guarded(request, lambda end: _answer(group, request, requests, end))
    return recorded(group, answer, group.first.audit, request, group.roots)


async def _answer(
    group: FolderGroup, request: ContextRequest, requests: Mapping[str, ContextRequest], end: float | None
) -> ContextAnswer:
    from carrel.assist.assisted_retrieval import retrieve_assisted

    explicit = request.trigger == "explicit"

    async def opened(_: str, workspace: Workspace) -> OpenIndex:
        return await ready(workspace, explicit=explicit, wait_ms=request.wait_ms, about=request.query)

    off = [] if explicit else await _switched_off(group)
    if len(off) == len(group.folders):
        return empty(request)
    indexes, failed = await group.only({*group.folders} - {folder.name for folder in off}).each_in_time(opened, end)
    if not indexes:
        return _unanswered(request, failed, off)
    answering = group.only(indexes)

    def tokenizer() -> Tokenizer:  # on a thread: its table may have to be loaded
        return answering.first.tokenizer(request.model)

    packings: dict[str, Packing] = {}
    for name, index in indexes.items():
        packing = packings[name] = Packing(index, tokenizer, replace(requests[name], limit=request.limit))
        packing.question = replace(packing.question, query=answering.query_in(name, packing.question.query))
    others = await from_sources(
        answering.first,
        Query(request.query, request.limit, request.filters, left_out=request.left_out),
        named=request.sources,
        explicit=explicit,
        wait_ms=request.wait_ms,
        plan=request.plan,
        end=end,
    )

    async def ask(name: str, workspace: Workspace) -> Selected:
        index, packing = indexes[name], packings[name]
        return await retrieve_assisted(
            packing.question,
            index.store.snapshot,
            index.embedder,
            helpers[name],
            workspace.run_interactive,
            packing.select,
            scope=packing.scope,
            end=end,
            outside=index.replica,
        )

    with answering.assistants(plan=request.plan, rerank=request.rerank, chat=True, lent=request.lent) as helpers:
        selected, late = await answering.each_in_time(ask, end)
    failed += late
    if not selected:
        return _unanswered(request, failed, off)
    if any(selection.hits for selection in selected.values()):
        selected |= {name: replace(selected[name], notice=None) for name in answering.without_files & selected.keys()}
    answer, retrieval = await answering.first.run_interactive(
        lambda token: _packed(selected, request, others, failed, tokenizer(), token)
    )
    answer = replace(answer, pack=replace(answer.pack, id=uuid.uuid4().hex[:16]), missing=(*failed, *off))
    if not answer.pack.items and any(index.being_renewed for index in indexes.values()):
        answer = replace(answer, error=RENEWED)
    by_folder = {name: selection.retrieval for name, selection in selected.items()}
    group.first.recent.add(StoredContext(answering.first.root_key, answer, retrieval, group.roots, by_folder))
    return answer


async def _switched_off(group: FolderGroup) -> list[MissingFolder]:
    """Return the folders that give nothing to chats because their settings say so, which is no error."""
    await asyncio.gather(*(workspace.settle() for workspace in group.folders.values()))
    return [
        MissingFolder(name, workspace.uri, NotReady(_OFF, _ON_AGAIN))
        for name, workspace in group.folders.items()
        if not workspace.settings.rag_enabled
    ]


def _unanswered(request: ContextRequest, failed: Sequence[MissingFolder], off: Sequence[MissingFolder]) -> ContextAnswer:
    """Return an empty answer that names every folder, where none of those that were asked answers."""
    cause = error_of_all(failed)
    return replace(empty(request, str(cause)), cause=cause, missing=(*failed, *off))


def _packed(
    selected: Mapping[str, Selected],
    request: ContextRequest,
    others: FromSources | None,
    failed: Sequence[MissingFolder],
    tokenizer: Tokenizer,
    token: CancelToken,
) -> tuple[ContextAnswer, Retrieval]:
    """Pack what was selected in the folders, each path with the name of its folder. Runs on a thread."""
    from carrel.pack.context import offered, pack, pack_offer, shows_lines
    from carrel.search.candidates import Stopwatch
    from carrel.search.folders import named_drop, named_hit, named_offer
    from carrel.search.merge import summed
    from carrel.search.passages import joined

    watch = Stopwatch()

    def between(path: str, first: int, last: int) -> str | None:
        name, _, rest = path.partition("/")
        return selected[name].lines(rest, first, last) if name in selected else None

    def last_line(path: str) -> int:
        name, _, rest = path.partition("/")
        return selected[name].ranking.view.last_line(rest)

    from_indexes = _merged(selected, request.limit)
    query = replace(next(iter(selected.values())).query, text=request.query, filters=request.filters, limit=request.limit)
    hits = from_indexes if others is None else others.beside(from_indexes, query)
    attached = [named_hit(hit, name) for name, selection in selected.items() for hit in selection.attached]
    dropped = [
        drop if drop.reason == OUTSIDE else named_drop(drop, name)
        for name, selection in selected.items()
        for drop in selection.dropped
    ]
    if hits == from_indexes and from_indexes and shows_lines(request.format):
        offers = [
            named_offer(offered(selection.ranking, selection.hits, selection.query, token), name)
            for name, selection in selected.items()
            if selection.hits
        ]
        packed = pack_offer(
            joined(offers, from_indexes),
            query,
            request.budget,
            tokenizer,
            last_line=last_line,
            attached=attached,
            form=request.format,
            dropped=dropped,
            read_lines=between,
        )
    else:
        packed = pack(
            (*attached, *hits),
            request.budget,
            tokenizer,
            query=request.query,
            form=request.format,
            dropped=dropped,
            read_lines=between,
        )
    watch.lap("pack")
    surest = max(selected.values(), key=lambda selection: selection.retrieval.confidence)
    stages = summed([*(selection.retrieval.stages for selection in selected.values()), watch.stages])
    pinned = {f"{name}/{path}" for name, selection in selected.items() for path in selection.ranking.query.pinned}
    doubted = unsure(packed, request, surest.retrieval.confidence, pinned) if hits == from_indexes else None
    notices = [
        *map(str, failed),
        *(f"{name}: {selection.notice}" for name, selection in selected.items() if selection.notice),
        doubted,
    ]
    return answered(packed, surest.retrieval, stages, others, notices)


def _merged(selected: Mapping[str, Selected], most: int) -> tuple[Hit, ...]:
    """Return the hits of the folders by relevance; what the person pinned comes first."""
    from carrel.search.folders import named_hit
    from carrel.search.merge import merge_by_score

    pinned: list[list[Hit]] = []
    others: list[list[Hit]] = []
    for name, selection in selected.items():
        paths = frozenset(selection.ranking.query.pinned)
        pinned.append([named_hit(hit, name) for hit in selection.hits if hit.chunk.path in paths])
        others.append([named_hit(hit, name) for hit in selection.hits if hit.chunk.path not in paths])
    first = merge_by_score(pinned, most)
    return (*first, *merge_by_score(others, most - len(first)))

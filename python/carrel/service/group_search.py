"""Answer an explicit question from several workspace folders at once: one list of hits, each with its folder's name."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from carrel.service import queries
from carrel.service.folder_group import FolderGroup, error_of_all, ready
from carrel.service.routed import from_sources

if TYPE_CHECKING:
    from carrel.git.git import LastChange
    from carrel.model.conversation import Message
    from carrel.model.types import Hit, Query
    from carrel.search.retriever import Retrieval
    from carrel.service.queries import SearchAnswer
    from carrel.service.workspace import Workspace
    from carrel.settings.settings import Planning


async def search(
    searched: Workspace | FolderGroup,
    query: Query,
    wait_ms: int,
    *,
    history: Sequence[Message] = (),
    plan: Planning | None = None,
    rerank: bool | None = None,
    sources: Sequence[str] = (),
) -> SearchAnswer:
    """Find the best chunks of a folder as `queries.search` does, or of all folders of a group, merged by relevance.

    Of a group the sources are those of the first folder that answers, and the file in front is of its first. Raises
    `CarrelError` where no folder answers.
    """
    if not isinstance(searched, FolderGroup):
        return await queries.search(searched, query, wait_ms, history=history, plan=plan, rerank=rerank, sources=sources)
    group = searched
    from carrel.search.folders import named_hit
    from carrel.search.merge import merge_by_score

    _, silent = await group.each(lambda _, workspace: ready(workspace, explicit=True, wait_ms=wait_ms, about=query.text))
    answering = group.only({*group.folders} - {folder.name for folder in silent})
    others = await from_sources(answering.first, query, named=sources, wait_ms=wait_ms, plan=plan)

    async def ask(name: str, workspace: Workspace) -> Retrieval:
        folder_query = query if workspace is group.first else replace(query, active_path=None, selection=None)
        retrieval = await queries.search_index(workspace, answering.query_in(name, folder_query), 0, helpers[name], history)
        return replace(retrieval, hits=tuple(named_hit(hit, name) for hit in retrieval.hits))

    with answering.assistants(plan=plan, rerank=rerank) as helpers:
        retrievals, failed = await answering.each_in_time(ask, None)
    missing = (*silent, *failed)
    if not retrievals:
        raise error_of_all(missing)
    hits: Sequence[Hit] = merge_by_score([retrieval.hits for retrieval in retrievals.values()], query.limit)
    hits = hits if others is None else others.beside(hits, query)
    problems = [f"{name}: {problem}" for name, each in retrievals.items() if (problem := each.diagnostics.problem)]
    surest_first = sorted(retrievals.values(), key=lambda retrieval: -retrieval.confidence)
    answer = await queries.answer(answering.first, tuple(hits), tuple(surest_first), others, [*map(str, missing), *problems])
    if answering.first.audit is not None:
        answering.first.audit.search(query.text, answer.hits, group.roots)
    return replace(answer, missing=missing)


async def last_changes(searched: Workspace | FolderGroup, hits: Sequence[Hit]) -> dict[str, LastChange]:
    """Return by chunk id the commit that changed each of the first hits last, as `queries.last_changes` does."""
    from carrel.search.folders import plain_hit

    if not isinstance(searched, FolderGroup):
        return await queries.last_changes(searched, hits)
    changes: dict[str, LastChange] = {}
    for name, workspace in searched.folders.items():
        here = {plain_hit(hit).chunk.id: hit for hit in hits[: queries.MOST_BLAMED] if hit.chunk.folder == name}
        by_plain = await queries.last_changes(workspace, [plain_hit(hit) for hit in here.values()])
        changes |= {here[plain].chunk.id: change for plain, change in by_plain.items()}
    return changes

"""Answer explicit questions, without a wire format: the use cases that editors, MCP and the command line share.

Coroutines on the event loop; what costs time runs on the interactive pool with a token. They raise `CarrelError`; a chat turn is
answered by `context_service`, which doesn't.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.types import Budget, ContextItem, Hit, Query
from carrel.service.folder_group import FolderGroup, error_of_all, ready
from carrel.service.routed import PREFIX, FromSources, as_passages, from_sources, from_the_rest, only_documents
from carrel.settings.source_settings import WORKSPACE

if TYPE_CHECKING:
    from carrel.assist.assisted_retrieval import Assistants
    from carrel.assist.routing import Route
    from carrel.git.git import LastChange
    from carrel.index.indexer import IndexReport
    from carrel.index.open_index import OpenIndex
    from carrel.model.conversation import Message
    from carrel.model.local_index import SnapshotView
    from carrel.model.native import CancelToken
    from carrel.model.ports import Tokenizer
    from carrel.model.types import RetrievalDiagnostics
    from carrel.pack.compare import Comparison
    from carrel.search.explain import Explanation
    from carrel.search.retriever import Ranking, Retrieval
    from carrel.service.context_request import MissingFolder
    from carrel.service.workspace import Workspace
    from carrel.settings.settings import Planning

T = TypeVar("T")
MOST_BLAMED = 10
_LOOK_SECONDS = 0.1
_FIRST_INDEX_MS = 10_000  # of the requests that name no `waitMs`
MOST_SKIPPED = 100_000
"""Where every skipped file counts, and no editor waits for the list."""


class SearchAnswer(Struct, frozen=True):
    """Hits of the workspace and of the sources that were asked, best first; `retrieval` is what the workspace's index found."""

    hits: tuple[Hit, ...]
    retrieval: Retrieval
    routes: tuple[Route, ...] = ()
    not_searched: tuple[str, ...] = ()
    further: tuple[Retrieval, ...] = ()
    """Hold what the indexes of further folders found; `retrieval` is the surest then."""
    missing: tuple[MissingFolder, ...] = ()
    """Of several folders those that were not searched."""

    @property
    def diagnostics(self) -> RetrievalDiagnostics:
        """Return what was done to answer."""
        return self.retrieval.diagnostics

    @property
    def confidence(self) -> float:
        """Return how sure it is that anything answers: the workspace, or a hit of another source."""
        return max([self.retrieval.confidence, *(hit.score for hit in self.hits if hit.chunk.is_of_source)])

    @property
    def answer(self) -> tuple[Hit, ...]:
        """Return the hits, but of a folder where it isn't sure that anything answers the best few alone."""
        kept = {hit.chunk.id for part in (self.retrieval, *self.further) for hit in part.answer}
        left_out = {hit.chunk.id for part in (self.retrieval, *self.further) for hit in part.hits} - kept
        return tuple(hit for hit in self.hits if hit.chunk.id not in left_out)

    @property
    def with_evidence(self) -> tuple[Hit, ...]:
        """Return the hits, but none where not one shares a word with the question or is likely to answer it."""
        return self.hits if self.answer or any(hit.signals.matched for hit in self.hits) else ()


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
    """Find the best chunks for an explicit question, in a folder, or in all of a group merged by relevance, and in sources.

    `sources` names those to ask, in place of the choice by the question. `plan` and `rerank` say whether models help, None as the
    settings say; `history` is the conversation before it. Of a group the sources are those of the first folder that answers, and
    the file in front is of its first. Raises `CarrelError`, where no folder answers, too.
    """
    if isinstance(searched, FolderGroup):
        return await _search_group(searched, query, wait_ms, history, plan, rerank, sources)
    workspace = searched
    others = await from_sources(workspace, query, named=sources, wait_ms=wait_ms, plan=plan)
    retrieval = await search_index(workspace, query, wait_ms, workspace.assistants(plan=plan, rerank=rerank), history)
    hits = retrieval.hits if others is None else others.beside(retrieval.hits, query)
    result = await answer(workspace, hits, (retrieval,), others, (retrieval.diagnostics.problem,))
    if not result.answer and not sources and (rest := await from_the_rest(workspace, query, others)):
        hits = rest.beside(retrieval.hits, query)
        result = await answer(workspace, hits, (retrieval,), rest, (retrieval.diagnostics.problem,))
    if workspace.audit is not None:
        workspace.audit.search(query.text, result.hits, workspace.root_key)
    return result


async def _search_group(
    group: FolderGroup,
    query: Query,
    wait_ms: int,
    history: Sequence[Message],
    plan: Planning | None,
    rerank: bool | None,
    sources: Sequence[str],
) -> SearchAnswer:
    from carrel.search.folders import named_hit
    from carrel.search.merge import merge_by_score

    _, silent = await group.each(lambda _, workspace: ready(workspace, explicit=True, wait_ms=wait_ms, about=query.text))
    answering = group.only({*group.folders} - {folder.name for folder in silent})
    others = await from_sources(answering.first, query, named=sources, wait_ms=wait_ms, plan=plan)

    async def ask(name: str, workspace: Workspace) -> Retrieval:
        folder_query = query if workspace is group.first else replace(query, active_path=None, selection=None)
        retrieval = await search_index(workspace, answering.query_in(name, folder_query), 0, helpers[name], history)
        return replace(retrieval, hits=tuple(named_hit(hit, name) for hit in retrieval.hits))

    with answering.assistants(plan=plan, rerank=rerank) as helpers:
        retrievals, failed = await answering.each_in_time(ask, None)
    missing = (*silent, *failed)
    if not retrievals:
        raise error_of_all(missing)
    hits: Sequence[Hit] = merge_by_score([retrieval.hits for retrieval in retrievals.values()], query.limit)
    hits = hits if others is None else others.beside(hits, query)
    quiet = answering.without_files if hits else set()
    problems = [
        f"{name}: {each.diagnostics.problem}"
        for name, each in retrievals.items()
        if each.diagnostics.problem and name not in quiet
    ]
    surest_first = sorted(retrievals.values(), key=lambda retrieval: -retrieval.confidence)
    merged = await answer(answering.first, tuple(hits), tuple(surest_first), others, [*map(str, missing), *problems])
    if answering.first.audit is not None:
        answering.first.audit.search(query.text, merged.hits, group.roots)
    return replace(merged, missing=missing)


async def search_index(
    workspace: Workspace,
    query: Query,
    wait_ms: int,
    assistants: Assistants,
    history: Sequence[Message],
) -> Retrieval:
    """Do `search` in the index of the workspace alone."""
    from carrel.assist.assisted_retrieval import Question, retrieve_assisted
    from carrel.search.retriever import read
    from carrel.sources.documents.passages import looked_at

    index = await workspace.ready(explicit=True, wait_ms=wait_ms, about=query.text)
    documents = only_documents(query.filters)
    query = replace(query, documents=documents)

    def finish(ranking: Ranking, token: CancelToken) -> Retrieval:
        if not documents:
            return _retrieval(index, ranking, query, token)
        retrieval = _with_notice(index, ranking, read(ranking, replace(query, limit=looked_at(query)), token))
        return replace(retrieval, hits=as_passages(ranking, retrieval.hits, query)[: query.limit])

    return await retrieve_assisted(
        Question(query, history),
        index.store.snapshot,
        index.embedder,
        assistants,
        workspace.run_interactive,
        finish,
        outside=index.replica,
    )


async def answer(
    workspace: Workspace,
    hits: tuple[Hit, ...],
    retrievals: tuple[Retrieval, ...],
    others: FromSources | None,
    problems: Sequence[str | None],
) -> SearchAnswer:
    """Return hits with what must be told of them. `retrievals` has the surest retrieval first."""
    from carrel.pack.appearance import notice_of

    forged = await workspace.run_interactive(lambda _: notice_of((hit.chunk, hit.chunk.text) for hit in hits))
    problem = " ".join(filter(None, (*problems, others.problem if others else None, forged))) or None
    holding = [retrieval.diagnostics.holding for retrieval in retrievals]
    total = sum(filter(None, holding)) if None not in holding else None
    surest = replace(retrievals[0], diagnostics=replace(retrievals[0].diagnostics, problem=problem, holding=total))
    return SearchAnswer(
        hits, surest, others.routes if others else (), others.not_searched if others else (), further=retrievals[1:]
    )


async def last_changes(searched: Workspace | FolderGroup, hits: Sequence[Hit]) -> dict[str, LastChange]:
    """Return by chunk id the commit that changed each hit last: of the first hits, as far as they stand as they are committed."""
    if not isinstance(searched, FolderGroup):
        return await _last_changes(searched, hits)
    from carrel.search.folders import plain_hit

    changes: dict[str, LastChange] = {}
    for name, workspace in searched.folders.items():
        here = {plain_hit(hit).chunk.id: hit for hit in hits[:MOST_BLAMED] if hit.chunk.folder == name}
        by_plain = await _last_changes(workspace, [plain_hit(hit) for hit in here.values()])
        changes |= {here[plain].chunk.id: change for plain, change in by_plain.items()}
    return changes


async def _last_changes(workspace: Workspace, hits: Sequence[Hit]) -> dict[str, LastChange]:
    from carrel.git import git

    def work(token: CancelToken) -> dict[str, LastChange]:
        changes = {}
        for chunk in [hit.chunk for hit in hits if not hit.chunk.is_of_source][:MOST_BLAMED]:
            if token.cancelled:
                break
            change = git.last_change(workspace.root, chunk.path, chunk.span.start_line, chunk.span.end_line)
            if change and change.text.split() == chunk.text.split():  # else the lines aren't those of the commit
                changes[chunk.id] = change
        return changes

    return await workspace.run_interactive(work)


def search_blocking(
    index: OpenIndex,
    query: Query,
    token: CancelToken,
    *,
    history: Sequence[Message] = (),
    assistants: Assistants | None = None,
) -> Retrieval:
    """Do `search` from a thread, on an index that the caller keeps current."""
    from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted_blocking

    return retrieve_assisted_blocking(
        Question(query, history),
        index.store.snapshot,
        index.embedder,
        assistants or ALONE,
        lambda ranking, token: _retrieval(index, ranking, query, token),
        token,
        outside=index.replica,
    )


def _retrieval(index: OpenIndex, ranking: Ranking, query: Query, token: CancelToken) -> Retrieval:
    """Read the best hits, related definitions first."""
    from carrel.search.name_relations import related_first
    from carrel.search.retriever import read
    from carrel.sources.documents.passages import with_document_facts

    ranking = with_document_facts(ranking)
    return _with_notice(index, ranking, related_first(read(ranking, query, token), ranking, query, token))


def _with_notice(index: OpenIndex, ranking: Ranking, retrieval: Retrieval) -> Retrieval:
    """Say in the diagnostics of a search why it was answered by words alone or not at all, if it was.

    Where nothing sure was found, that may be what wasn't read.
    """
    from carrel.search.certainty import is_sure

    is_answered = bool(retrieval.hits) and is_sure(retrieval.confidence)
    problem = index.notice(ranking.view, retrieval.diagnostics.problem) or index.file_left_out(ranking.query.text.strip())
    problem = problem or (None if is_answered else index.left_out())
    return replace(retrieval, diagnostics=replace(retrieval.diagnostics, problem=problem)) if problem else retrieval


async def files(workspace: Workspace, query: Query, pool_size: int, wait_ms: int) -> list[tuple[str, float]]:
    """Find the best files and their summed scores; none where nothing shares a word with the question or is likely to answer."""
    from carrel.question.prepare import prepare
    from carrel.search.files import pool, pool_query

    index = await workspace.ready(explicit=True, wait_ms=wait_ms, about=query.text)
    prepared = await prepare(pool_query(query, pool_size), index.embedder)
    view = index.store.snapshot()

    def work(token: CancelToken) -> list[tuple[str, float]]:
        candidates = pool(view, prepared, pool_size, token)
        return candidates.best(query.limit) if candidates.has_evidence else []

    return await workspace.run_interactive(work)


async def compare(
    workspace: Workspace, query: Query, budget: Budget, tokenizer: Tokenizer, wait_ms: int, most_tokens: int = 0
) -> Comparison:
    """Compare chunks with whole files for one question; `most_tokens` is what a chat model has room for, if one is asked.

    The files are cut by lines for Carrel's own model, which sends nothing.
    """
    from carrel.model_calls.embedding import embed_batch_blocking
    from carrel.pack.compare import compare as both
    from carrel.question.prepare import PreparedQuery, prepare, prepare_blocking

    index = await workspace.ready(explicit=True, wait_ms=wait_ms)
    prepared = await prepare(query, index.embedder)
    view = index.store.snapshot()

    def work(token: CancelToken) -> Comparison:
        def cut(texts: Mapping[str, str], lines: int) -> tuple[SnapshotView, PreparedQuery]:
            other = workspace.composition.memory_index(windows=(lines, lines // 10))
            for path, text in texts.items():
                batch = other.store.cut_buffer(path, text, token)
                embed_batch_blocking(batch, other.embedder, token)
                other.store.commit_buffer(batch)
            return other.store.snapshot(), prepare_blocking(query, other.embedder)

        comparison = both(view, prepared, tokenizer, budget, token, most_tokens=most_tokens, cut=cut)
        return replace(comparison, problem=index.notice(view, prepared.problem))

    return await workspace.run_interactive(work)


async def followed_index(workspace: Workspace, *, force: bool) -> IndexReport:
    """Report what `index` finds where another process writes the index, which is waited for; raises `NotWriter`."""
    from carrel.index.indexer import follow_index
    from carrel.model.native import CancelToken

    index, token = await workspace.open(), CancelToken()

    async def native(work: Callable[[], T]) -> T:
        return await workspace.run_interactive(lambda _: work(), token)

    report = await follow_index(index.store, token, force=force, native=native)
    await native(index.read_meta)
    return report


async def missing_changes(workspace: Workspace, seconds: float) -> list[str]:
    """Return the changed files that the index lacks, after so many seconds for another process that writes it.

    Beside such a process only what changed since its last commit counts: its settings may leave out other files than those here.
    """
    from carrel.model.native import CancelToken

    index, token, began = await workspace.open(), CancelToken(), time.monotonic()

    def look(_: CancelToken) -> list[str]:
        index.follow()
        committed = index.committed_ns if index.has_other_writer else 0
        paths = index.store.changed(index.store.scan(token), token)
        return [path for path in paths if _changed_ns(index.root / path) > committed]

    while True:
        missing = await workspace.run_interactive(look, token)
        if not missing or time.monotonic() - began >= seconds:
            return missing
        await asyncio.sleep(_LOOK_SECONDS)


def _changed_ns(path: Path) -> int:
    """Return when a file changed last; of one that is gone, when its folder did."""
    for place in (path, *path.parents):
        with contextlib.suppress(OSError):
            status = place.stat()
            return max(status.st_mtime_ns, status.st_ctime_ns)
    return 0


async def explain_line(workspace: Workspace, query: Query, path: str, line: int) -> list[Explanation]:
    """Explain why the chunk at `path:line` was or wasn't found."""
    from carrel.question.prepare import prepare
    from carrel.search.explain import explain_line as explain

    index = await workspace.ready(explicit=True, wait_ms=_FIRST_INDEX_MS)
    prepared = await prepare(query, index.embedder)

    def work(token: CancelToken) -> list[Explanation]:
        # What the rules let through may have been left out when it was read: binary, minified, no right to read it.
        refusal = index.store.refusal(path) or dict(index.store.skipped(MOST_SKIPPED)).get(path)
        return explain(index.store.snapshot(), prepared, path, line, token, refusal=refusal)

    return await workspace.run_interactive(work)


async def refused_paths(workspace: Workspace, items: Iterable[ContextItem]) -> frozenset[str]:
    """Return the paths among these places that are ignored, secret, outside or gone now, or of a source that is set no more.

    Raises `CarrelError` where nothing at all may be searched. What settings exclude is for the caller to compare.
    """
    origins: dict[str, set[str]] = {}  # paths by the source that gave them
    for chunk in (item.hit.chunk for item in items):
        origins.setdefault(chunk.origin.source if chunk.origin else WORKSPACE, set()).add(chunk.path)
    index = await workspace.ready(explicit=False, wait_ms=0)
    in_workspace = origins.pop(WORKSPACE, set())
    if origins:
        workspace.require("sources")
    sources = {source.id: source for source in workspace.sources()}

    def refused(_: CancelToken) -> frozenset[str]:
        refusals = {path for path in in_workspace if index.store.refusal(path) is not None}
        for name, paths in origins.items():
            source = sources.get(name)
            if not name.startswith(PREFIX):  # what a tool said has no rules but the settings
                refusals |= {path for path in paths if source is None or source.refused(path)}
        return frozenset(refusals)

    return await workspace.run_interactive(refused)

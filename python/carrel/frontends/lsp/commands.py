"""The `carrel/*` requests: decode, call, encode."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, structs

from carrel.core.errors import CarrelError, InvalidInput, NotReady, ProviderError
from carrel.core.outbound import Secret, collect
from carrel.core.structs import decode
from carrel.core.types import Budget, Lines, Query
from carrel.engine.chat import augment, question_of
from carrel.engine.context_window import window_of
from carrel.engine.formats import places_text, without_text
from carrel.frontends.common.since import since
from carrel.frontends.common.uris import folder_path, join_uri, uri_to_path
from carrel.frontends.common.wire import Wire, iso_time
from carrel.frontends.lsp import convert, convert_chat, convert_review
from carrel.frontends.lsp import messages as wire
from carrel.frontends.lsp import model_messages as models
from carrel.frontends.lsp import source_messages as sources
from carrel.frontends.lsp.audit_messages import AuditEntry, AuditParams, AuditResult
from carrel.frontends.lsp.chat_messages import ChatParams, ChatResult, ChatStep, CitationsParams, CitationsResult
from carrel.frontends.lsp.convert_models import from_state, from_store
from carrel.frontends.lsp.errors import on_wire
from carrel.frontends.lsp.methods import REQUESTS
from carrel.frontends.lsp.receipts import with_receipt
from carrel.frontends.lsp.review_messages import ReviewParams, ReviewResult
from carrel.frontends.lsp.source_messages import from_report
from carrel.frontends.lsp.tool_commands import ToolCommands
from carrel.server import asks, context_service, model_report, queries, reviews, source_report
from carrel.server.context_request import AttachedLines, ContextAnswer, ContextRequest, FileRef, StoredContext
from carrel.server.store_report import store_report

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from carrel.core.outbound import Destination
    from carrel.core.ports import ChatModel
    from carrel.engine.agent_steps import Event
    from carrel.engine.reviewer import Step
    from carrel.frontends.lsp.client_model import Asker
    from carrel.frontends.lsp.progress import ProgressBars
    from carrel.server.consent import Consent
    from carrel.server.session import Session
    from carrel.server.settings import Settings
    from carrel.server.status import Status
    from carrel.server.workspace import Workspace


class Commands:
    """One coroutine a request; parameters come as plain data, results are wire structs."""

    def __init__(
        self, session: Session, bars: ProgressBars | None, client: Asker | None = None, consent: Consent | None = None
    ) -> None:
        """Answer from `session`. `client` can be told of progress and asked for its chat model, `consent` asks the person
        for permissions; the command line has none of them here.
        """
        self._session = session
        self._bars = bars
        self._client = client
        self._consent = consent
        self._tools = ToolCommands(session, self._workspace, client)

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        tools = self._tools.table()
        own = {method: getattr(self, method.rpartition("/")[2]) for method in REQUESTS if method not in tools}
        return {**own, **tools}

    async def status(self, raw: Any) -> wire.StatusResult:
        """Answer `carrel/status`."""
        workspace = self._workspace(decode(wire.StatusParams, raw))
        return status_result(workspace, await workspace.status())

    async def index(self, raw: Any) -> wire.IndexResult:
        """Answer `carrel/index`."""
        params = decode(wire.IndexParams, raw)
        workspace = self._workspace(params)
        await workspace.settle()
        report = await self._run_index(workspace, params)
        return wire.IndexResult(**dataclasses.asdict(report))

    @with_receipt
    async def search(self, raw: Any) -> wire.SearchResult:
        """Answer `carrel/search`."""
        started = time.perf_counter()
        params = decode(wire.SearchParams, raw)
        workspace = self._workspace(params)
        active = self._named(workspace, params.active.uri) if params.active else None
        query = Query(
            params.query,
            params.limit,
            convert.to_filters(params.filters),
            active_path=active.path if active else None,
            selection=_selection(active, params.active),
        )
        found = await queries.search(
            workspace,
            query,
            params.wait_ms,
            history=convert.to_history(params.history),
            plan=params.plan,
            rerank=params.rerank,
            sources=params.sources,
        )
        hits = [without_text(hit) for hit in found.hits] if params.format == "places" else found.hits
        result = self._search_result(workspace, hits, convert.from_diagnostics(found.own), started)
        if params.format == "places":
            result = structs.replace(result, text=places_text(hits))
        if params.last_change:
            changes = await queries.last_changes(workspace, found.hits)
            result = structs.replace(result, hits=convert.with_last_changes(result.hits, changes))
        done, routes = found.diagnostics, convert.from_routes(found.routes)
        return structs.replace(
            result,
            rewritten=done.rewritten or UNSET,
            sub_queries=done.sub_queries or UNSET,
            routes=routes or UNSET,
            confidence=found.confidence,
        )

    async def similar(self, raw: Any) -> wire.SearchResult:
        """Answer `carrel/similar`."""
        started = time.perf_counter()
        params = decode(wire.SimilarParams, raw)
        workspace, path = self._file(params.uri)
        lines = (params.range.start.line + 1, params.range.end.line + 1)
        hits = await queries.similar(workspace, path, lines, params.limit)
        return self._search_result(workspace, hits, {"path": path, "lines": list(lines)}, started)

    async def files(self, raw: Any) -> wire.FilesResult:
        """Answer `carrel/files`."""
        started = time.perf_counter()
        params = decode(wire.FilesParams, raw)
        workspace = self._workspace(params)
        query = Query(params.query, params.limit, convert.to_filters(params.filters))
        found = await queries.files(workspace, query, params.pool_size, params.wait_ms)
        uri_of = partial(_uri_of, workspace)
        files = tuple(wire.FileResult(uri=uri_of(path), path=path, score=score) for path, score in found)
        return wire.FilesResult(files=files, elapsed_ms=_since(started))

    @with_receipt
    async def compare(self, raw: Any) -> wire.CompareResult:
        """Answer `carrel/compare`."""
        started = time.perf_counter()
        params = decode(wire.CompareParams, raw)
        workspace = self._workspace(params)
        budget = convert.to_budget(params.budget, workspace.settings.budget)
        query = Query(params.query, params.limit)
        answers: wire.CompareAnswers | UnsetType = UNSET
        if params.answers:
            model = self.chat_model(workspace, params.model_token, params.model)
            found, (chunks, whole), tokenizer = await asks.compare(workspace, query, budget, model, params.model, params.wait_ms)
            answers = wire.CompareAnswers(
                chunks=convert_chat.from_answered(chunks, found.chunks),
                whole_files=convert_chat.from_answered(whole, found.whole_files),
            )
        else:
            counting = workspace.tokenizer(params.model)
            found, tokenizer = await queries.compare(workspace, query, budget, counting, params.wait_ms), counting.name
        return wire.CompareResult(
            chunks=convert.from_way(found.chunks),
            whole_files=convert.from_way(found.whole_files),
            unread=found.unread,
            answers=answers,
            tokenizer=tokenizer,
            elapsed_ms=_since(started),
        )

    async def context(self, raw: Any) -> wire.ContextResult:
        """Answer `carrel/context`."""
        params = decode(wire.ContextParams, raw)
        return await self._context(params, params.query)

    async def augment(self, raw: Any) -> wire.AugmentResult:
        """Answer `carrel/augment`."""
        params = decode(wire.AugmentParams, raw)
        pack = await self._context(params, params.query or question_of(params.text))
        return wire.AugmentResult(text=augment(params.text, pack.text), original=params.text, pack=pack)

    @with_receipt
    async def chat(self, raw: Any) -> ChatResult:
        """Answer `carrel/chat`."""
        started = time.perf_counter()
        params = decode(ChatParams, raw)
        messages = convert_chat.to_messages(params)
        workspace = self._workspace(params)
        model = self.chat_model(workspace, params.model_token, params.model)
        uri_of = partial(_uri_of, workspace)
        steps: list[ChatStep] = []

        def tell(event: Event) -> None:
            step = convert_chat.from_event(event, uri_of)
            if step is not None:
                self._report(params.partial_result_token, step)
                steps.extend([step] if step.kind != "text" else [])

        query = params.query or question_of(messages[-1].text) or messages[-1].text
        sized = structs.replace(params, window=params.window or params.max_tokens or model.spec.window)
        context = self._request(workspace, sized, query)
        context = context if context.history else dataclasses.replace(context, history=tuple(messages[:-1]))
        asked = await asks.ask(workspace, asks.AskRequest(messages, context, params.max_tokens), model, tell)
        pack = _context_result(workspace, asked.context, started)
        return convert_chat.from_asked(asked, uri_of, pack, tuple(steps), _since(started))

    @with_receipt
    async def review(self, raw: Any) -> ReviewResult:
        """Answer `carrel/review`."""
        started = time.perf_counter()
        params = decode(ReviewParams, raw)
        workspace = self._workspace(params)
        model = self.chat_model(workspace, params.model_token, params.model)
        uri_of = partial(_uri_of, workspace)

        def tell(step: Step) -> None:
            self._report(params.partial_result_token, convert_review.from_step(step, uri_of))

        found, tokenizer = await reviews.review(workspace, convert_review.to_request(params), model, tell)
        return convert_review.from_reviewed(found, uri_of, tokenizer, workspace, _since(started))

    async def providers(self, raw: Any) -> models.ProvidersResult:
        """Answer `carrel/providers`."""
        params = decode(models.ProvidersParams, raw)
        composition, settings = self._session.composition, self._session.settings
        if params.check and self._consent:
            self._consent.forget()  # whoever checks wants to be asked again
        states = await model_report.report(composition, settings, check=params.check)
        store = await asyncio.to_thread(store_report, composition, settings)
        kept_from = [place for state in states if not state.allowed for place in state.destinations]
        kept_from += [place for place in store.destinations if not composition.outbound.permissions.allows(place)]
        if params.check and await self._allowed_meanwhile(kept_from):
            states = await model_report.report(composition, settings, check=True)
        allows = composition.outbound.permissions.allows
        return models.ProvidersResult(
            models=tuple(from_state(state, allows) for state in states),
            store=from_store(store, allows),
            known=model_report.known(),
        )

    async def sources(self, raw: Any) -> sources.SourcesResult:
        """Answer `carrel/sources`."""
        workspace = self._workspace(decode(sources.SourcesParams, raw))
        return sources.SourcesResult(sources=tuple(map(from_report, await source_report.report(workspace))))

    async def key(self, raw: Any) -> models.KeyResult:
        """Answer `carrel/key`."""
        params = decode(models.KeyParams, raw)
        self._session.composition.outbound.keys.give(params.provider, Secret(params.key) if params.key else None)
        if params.key:
            self._session.retry_models()  # the editor can hand a key over only after a folder began to be indexed
        return models.KeyResult(kept=bool(params.key))

    async def _allowed_meanwhile(self, places: Iterable[Destination]) -> bool:
        """Wait for the person's answer about each place that a check was kept from; tell whether one is allowed now."""
        if self._consent is None:
            return False
        allows = self._session.composition.outbound.permissions.allows
        # A check that is taken back must not take the question back: others may wait for its answer.
        return any([allows(place) or await asyncio.shield(self._consent.want(place)) for place in dict.fromkeys(places)])

    async def explain(self, raw: Any) -> dict[str, Any]:
        """Answer `carrel/explain`."""
        params = decode(wire.ExplainParams, raw)
        if params.pack_id is not None:
            return convert.from_kept(self._kept(params.pack_id))
        if params.query is None or params.path is None or params.line is None:
            raise InvalidInput("packId", "is not given", "Give `packId`, or `query`, `path` and `line`.")
        workspace, path = self._workspace(params), params.path
        if path.startswith("file:"):
            workspace, path = self._file(path)
        found = await queries.explain_line(workspace, Query(params.query), path, params.line)
        return {"candidates": [convert.from_explanation(item) for item in found]}

    async def audit(self, raw: Any) -> AuditResult:
        """Answer `carrel/audit`."""
        params = decode(AuditParams, raw)
        after = since(params.since, time.time()) if params.since else None
        trail = self._session.composition.audit
        if trail is None:
            return AuditResult(entries=(), enabled=False)
        found = await asyncio.to_thread(trail.entries, after, params.kind, params.limit)
        entries = tuple(
            AuditEntry(number=number, at=iso_time(event.at), kind=event.kind, user=event.user, details=dict(event.details))
            for number, event in found
        )
        return AuditResult(entries=entries, enabled=trail.settings.enabled, problem=trail.problem or UNSET)

    async def citations(self, raw: Any) -> CitationsResult:
        """Answer `carrel/citations`."""
        from carrel.engine.citations import check  # noqa: PLC0415 - a server starts without the engine

        params = decode(CitationsParams, raw)
        kept = self._kept(params.pack_id)
        workspace = self._session.workspace(kept.root)
        checked = await asyncio.to_thread(check, params.text, kept.answer.pack.items)
        return CitationsResult(citations=convert_chat.from_citations(checked.citations, partial(_uri_of, workspace)))

    async def clear(self, raw: Any) -> wire.ClearResult:
        """Answer `carrel/clear`."""
        workspace = self._workspace(decode(wire.ClearParams, raw))
        return wire.ClearResult(freed_bytes=await workspace.clear())

    # --- parts

    def chat_model(self, workspace: Workspace, token: wire.ProgressToken | None, name: str | None) -> ChatModel:
        """Return the client's own model if it lends one, else the one that is set. Raises `ProviderError`."""
        if self._client is not None and (lent := self._client.model(token)):
            return lent
        try:
            return workspace.chat_model(name)
        except ProviderError as error:
            if self._client is None or workspace.settings.models.chat.provider:
                raise
            raise ProviderError(error.reason, f"{error.remedy} {self._client.remedy}") from None

    def _kept(self, pack_id: str) -> StoredContext:
        kept = self._session.recent.get(pack_id)
        if kept is None:
            raise InvalidInput("packId", "is not among the recent packs")
        return kept

    def _report(self, token: wire.ProgressToken | None, partial_result: Wire) -> None:
        if self._client is not None:
            self._client.report(token, partial_result)

    async def _run_index(self, workspace: Workspace, params: wire.IndexParams) -> Any:
        index = await workspace.open()
        if index.store.role == "follower":
            return await queries.followed_index(workspace, force=bool(params.force))
        job = workspace.request_index(force=params.force)
        bar = None
        if params.work_done_token is not None and self._bars:
            bar = self._bars.open(
                job, params.work_done_token, f"Indexing {workspace.root.name}", lambda: workspace.queue.cancel(job)
            )
        message = "cancelled"
        try:
            report = await workspace.queue.wait(job)
            message = f"{report.added + report.changed} files indexed, {report.unchanged} unchanged"
        except CarrelError as error:
            message = str(error)
            raise
        finally:
            if bar and self._bars:
                self._bars.end(job, bar, message)
        return report

    async def _context(self, params: wire.ContextParams, query: str) -> wire.ContextResult:
        started = time.perf_counter()
        budget = convert.to_budget(params.budget, _default_budget(self._session.settings, params))
        request = ContextRequest(query, 1, budget, format=params.format, trigger=params.trigger)
        workspace: Workspace | None = None
        with collect() as receipt:
            try:
                workspace = self._workspace(params)
            except (NotReady, InvalidInput) as error:
                answer = context_service.empty(request, None if self._quiet(params) else str(on_wire(error)))
            else:
                answer = await context_service.context(workspace, self._request(workspace, params, query))
        return structs.replace(_context_result(workspace, answer, started), sent=convert.from_receipt(receipt))

    def _quiet(self, params: wire.ContextParams) -> bool:
        return params.trigger == "chat" and not self._session.settings.rag_enabled

    def _request(self, workspace: Workspace, params: wire.ContextParams, query: str) -> ContextRequest:
        settings = workspace.settings
        active = self._named(workspace, params.active.uri) if params.active else None
        return ContextRequest(
            query=query,
            limit=params.top_k or settings.rag_top_k,
            budget=convert.to_budget(params.budget, _default_budget(settings, params)),
            filters=convert.to_filters(params.filters, params.exclude),
            model=params.model,
            active=active,
            selection=_selection(active, params.active),
            open=tuple(self._named(workspace, uri) for uri in params.open_uris),
            pinned=tuple(self._named(workspace, uri) for uri in params.pinned),
            attached=tuple(self._attached(workspace, params)),
            left_out=tuple(self._left_out(workspace, params.exclude_lines)),
            trigger=params.trigger,
            wait_ms=params.wait_ms,
            deadline_ms=params.deadline_ms,
            format=params.format,
            history=convert.to_history(params.history),
            plan=params.plan,
            rerank=params.rerank,
            sources=params.sources,
        )

    def _search_result(self, workspace: Workspace, hits: Any, plan: dict[str, Any], started: float) -> wire.SearchResult:
        return wire.SearchResult(
            hits=tuple(convert.from_hit(hit, partial(_uri_of, workspace)) for hit in hits),
            elapsed_ms=_since(started),
            state=workspace.state(),
            pending=workspace.pending,
            plan=plan,
        )

    def _workspace(self, params: wire.FolderParams) -> Workspace:
        if params.workspace_folder is None:
            return self._session.workspace(None)
        path = folder_path(params.workspace_folder)
        if path is None:
            raise InvalidInput("workspaceFolder", "is neither a file URI nor an absolute path")
        return self._session.workspace(path)

    def _file(self, uri: str) -> tuple[Workspace, str]:
        path = uri_to_path(uri)
        found = self._session.locate(path) if path else self._session.unsaved(uri)
        if found is None or not found[1]:
            raise InvalidInput("uri", "is not a file in an open folder")
        return found

    def _left_out(self, workspace: Workspace, given: Iterable[wire.LinesParam]) -> Iterator[Lines]:
        for lines in given:
            if lines.end_line < lines.start_line:
                raise InvalidInput("excludeLines", "endLine comes before startLine")
            if path := self._named(workspace, lines.uri).path:  # lines elsewhere are in no answer anyway
                yield Lines(path, lines.start_line, lines.end_line)

    def _attached(self, workspace: Workspace, params: wire.ContextParams) -> Iterator[AttachedLines]:
        active = params.active
        if active and active.selection and (selected := convert.to_lines(active.selection)):
            yield AttachedLines(self._named(workspace, active.uri), *selected)
        for lines in params.attached:
            if lines.end_line < lines.start_line:
                raise InvalidInput("attached", "endLine comes before startLine")
            yield AttachedLines(self._named(workspace, lines.uri), lines.start_line, lines.end_line)

    def _named(self, workspace: Workspace, uri: str) -> FileRef:
        with contextlib.suppress(InvalidInput):
            found, path = self._file(uri)
            if found is workspace:
                return FileRef(path, uri)
        return FileRef(None, uri)


def _selection(file: FileRef | None, editor: wire.ActiveEditor | None) -> Lines | None:
    """Return the selected lines; a cursor selects nothing."""
    found = editor.selection if editor else None
    if file is None or file.path is None or found is None or found.start == found.end:
        return None
    last = found.end.line + (found.end.character > 0)  # the end is exclusive
    return Lines(file.path, found.start.line + 1, max(last, found.start.line + 1))


def status_result(workspace: Workspace, status: Status) -> wire.StatusResult:
    """Encode a status."""
    return wire.StatusResult(
        workspace_folder=workspace.uri,
        state=status.state,
        role=status.role,
        files=status.files,
        chunks=status.chunks,
        bytes=status.bytes,
        languages=status.languages,
        model=wire.ModelInfo(id=status.model_id, dims=status.dims),
        store=status.store,
        vectors=convert.from_replica(status.vectors) if status.vectors else UNSET,
        last_indexed=UNSET if status.last_indexed is None else iso_time(status.last_indexed),
        last_commit_sha=status.last_commit or UNSET,
        head_sha=status.head_sha or UNSET,
        pending=status.pending,
        complete=status.complete,
        unfinished=status.unfinished,
        skipped=tuple(wire.SkippedFile(path=path, reason=reason) for path, reason in status.skipped),
        failed=tuple(wire.FailedFile(path=path, reason=reason) for path, reason in status.failed),
        failed_files=status.failed_files,
        chunks_without_vectors=status.chunks_without_vectors,
        masked_files=status.masked[0],
        masked_secrets=status.masked[1],
        problems=status.problems,
        error=status.error or UNSET,
    )


def _default_budget(settings: Settings, params: wire.ContextParams) -> Budget:
    """Return the budget of a request that names none."""
    return settings.budget_policy.budget(params.window or window_of(params.model))


def _context_result(workspace: Workspace | None, answer: ContextAnswer, started: float) -> wire.ContextResult:
    return convert.from_pack(
        answer.pack,
        partial(_uri_of, workspace),
        state=answer.state,
        pending=answer.pending,
        error=answer.problem,
        elapsed_ms=_since(started),
        stages=answer.stages,
        rewritten=answer.rewritten,
        sub_queries=answer.sub_queries,
        routes=answer.routes,
        confidence=answer.confidence,
    )


def _uri_of(workspace: Workspace | None, path: str) -> str:
    """Spell a path as the editor does."""
    if workspace is None:
        return join_uri("", path)
    return workspace.source_uri(path) or workspace.buffers.uri(path) or join_uri(workspace.uri, path)


def _since(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 3)

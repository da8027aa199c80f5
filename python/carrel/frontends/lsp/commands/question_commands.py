"""The `carrel/*` requests that ask something: decode, call, encode. Those about index, models and tools stand beside it."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, structs

from carrel.frontends.common.filters import since
from carrel.frontends.common.uris import join_uri
from carrel.frontends.common.wire import Wire, iso_time
from carrel.frontends.lsp.commands.index_commands import IndexCommands
from carrel.frontends.lsp.commands.setup_commands import ModelCommands, SourceCommands, ToolCommands
from carrel.frontends.lsp.convert import convert_chat
from carrel.frontends.lsp.convert import convert_questions as convert
from carrel.frontends.lsp.convert.convert_questions import on_wire, with_receipt
from carrel.frontends.lsp.convert.request_targets import RequestTargets, default_budget, selected_lines
from carrel.frontends.lsp.messages import chat_messages as chat_wire
from carrel.frontends.lsp.messages import question_messages as wire
from carrel.frontends.lsp.messages.index_messages import AuditEntry, AuditParams, AuditResult
from carrel.frontends.lsp.messages.methods import REQUESTS
from carrel.model.errors import InvalidInput, NotReady, ProviderError
from carrel.model.outbound import collect
from carrel.model.structs import decode
from carrel.model.types import Query
from carrel.pack.chat import augment, question_of
from carrel.pack.formats import places_text, without_text
from carrel.service import asks, assessed, context_service, group_context, queries
from carrel.service.context_request import ContextAnswer, ContextRequest, StoredContext
from carrel.service.folder_group import FolderGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from carrel.agent.agent_steps import Event
    from carrel.agent.reviewer import Step
    from carrel.assist.assessment import Attempt
    from carrel.frontends.lsp.client_model import Asker
    from carrel.frontends.lsp.progress import ProgressBars
    from carrel.model.ports import ChatModel
    from carrel.policy.consent import Consent
    from carrel.service.session import Session
    from carrel.service.workspace import Workspace


class Commands:
    """One coroutine a request; parameters come as plain data, results are wire structs."""

    def __init__(
        self, session: Session, bars: ProgressBars | None, client: Asker | None = None, consent: Consent | None = None
    ) -> None:
        """Answer from `session`. `client` can be told of progress and asked for its chat model, `consent` asks the person
        for permissions; the command line has none of them here.
        """
        self._session = session
        self._client = client
        self._targets = targets = RequestTargets(session)
        self.indexes = IndexCommands(targets, bars)
        self._others = (
            self.indexes,
            SourceCommands(session, targets.workspace),
            ModelCommands(session, consent),
            ToolCommands(session, targets.workspace, client),
        )

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        others = {method: handler for part in self._others for method, handler in part.table().items()}
        handlers = {method: getattr(self, method.rpartition("/")[2]) for method in REQUESTS if method not in others}
        return {**handlers, **others}

    @with_receipt
    async def search(self, raw: Any) -> wire.SearchResult:
        """Answer `carrel/search`."""
        started = time.perf_counter()
        params = decode(wire.SearchParams, raw)
        searched = self._targets.searched(params)
        workspace = searched.first if isinstance(searched, FolderGroup) else searched
        active = self._targets.named(workspace, params.active.uri) if params.active else None
        query = Query(
            params.query,
            params.limit,
            convert.to_filters(params.filters),
            active_path=active.path if active else None,
            selection=selected_lines(active, params.active),
        )
        attempts: list[Attempt] = []
        search = partial(queries.search, plan=params.plan)
        if params.assess:
            search = partial(assessed.search, self.chat_model(workspace, params.model_token, None), attempts.append)
        history = convert.to_history(params.history)
        answer = await search(searched, query, params.wait_ms, history=history, rerank=params.rerank, sources=params.sources)
        hits = answer.with_evidence
        if params.format == "places":
            hits = tuple(map(without_text, hits))
        elapsed_ms = _since(started)
        uri_of, folder_of = partial(_uri_of, searched), partial(_folder_of, searched)
        encoded = tuple(convert.from_hit(hit, uri_of, folder_of=folder_of) for hit in hits)
        if params.last_change:
            encoded = convert.with_last_changes(encoded, await queries.last_changes(searched, hits))
        done = answer.diagnostics
        return wire.SearchResult(
            hits=encoded,
            text=places_text(hits) if params.format == "places" else UNSET,
            elapsed_ms=elapsed_ms,
            state=searched.state(),
            pending=searched.pending,
            plan=convert.from_diagnostics(answer.retrieval),
            rewritten=done.rewritten or UNSET,
            sub_queries=done.sub_queries or UNSET,
            routes=convert.from_routes(answer.routes) or UNSET,
            not_searched=answer.not_searched or UNSET,
            missing_folders=convert.from_missing(answer.missing),
            confidence=answer.confidence,
            attempts=tuple(map(convert.from_attempt, attempts)) or UNSET,
        )

    async def files(self, raw: Any) -> wire.FilesResult:
        """Answer `carrel/files`."""
        started = time.perf_counter()
        params = decode(wire.FilesParams, raw)
        workspace = self._targets.workspace(params)
        query = Query(params.query, params.limit, convert.to_filters(params.filters))
        scores = await queries.files(workspace, query, params.pool_size, params.wait_ms)
        uri_of = partial(_uri_of, workspace)
        files = tuple(wire.FileResult(uri=uri_of(path), path=path, score=score) for path, score in scores)
        return wire.FilesResult(files=files, elapsed_ms=_since(started))

    @with_receipt
    async def compare(self, raw: Any) -> chat_wire.CompareResult:
        """Answer `carrel/compare`."""
        started = time.perf_counter()
        params = decode(chat_wire.CompareParams, raw)
        workspace = self._targets.workspace(params)
        budget = convert.to_budget(params.budget, workspace.settings.budget)
        query = Query(params.query, params.limit)
        answers: chat_wire.CompareAnswers | UnsetType = UNSET
        if params.answers:
            model = self.chat_model(workspace, params.model_token, params.model)
            comparison, (chunks, whole), tokenizer = await asks.compare(
                workspace, query, budget, model, params.model, params.wait_ms
            )
            answers = chat_wire.CompareAnswers(
                chunks=convert_chat.from_answered(chunks, comparison.chunks),
                whole_files=convert_chat.from_answered(whole, comparison.whole_files),
            )
        else:
            counting = workspace.tokenizer(params.model)
            comparison, tokenizer = await queries.compare(workspace, query, budget, counting, params.wait_ms), counting.name
        return chat_wire.CompareResult(
            chunks=convert_chat.from_way(comparison.chunks),
            whole_files=convert_chat.from_way(comparison.whole_files),
            by_lines=tuple(convert_chat.from_way(way, lines) for lines, way in comparison.by_lines.items()),
            unread=comparison.unread,
            reasons=comparison.reasons,
            problem=comparison.problem or UNSET,
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
    async def chat(self, raw: Any) -> chat_wire.ChatResult:
        """Answer `carrel/chat`."""
        started = time.perf_counter()
        params = decode(chat_wire.ChatParams, raw)
        messages = convert_chat.to_messages(params)
        workspace = self._targets.single_folder(params)
        model = self.chat_model(workspace, params.model_token, params.model)
        uri_of = partial(_uri_of, workspace)
        steps: list[chat_wire.ChatStep] = []

        def tell(event: Event) -> None:
            step = convert_chat.from_event(event, uri_of)
            if step is not None:
                self._report(params.partial_result_token, step)
                steps.extend([step] if step.kind != "text" else [])

        query = params.query or question_of(messages[-1].text) or messages[-1].text
        sized = structs.replace(params, window=params.window or params.max_tokens or model.spec.window)
        context = self._targets.context_request(workspace, sized, query)
        context = context if context.history else structs.replace(context, history=tuple(messages[:-1]))
        request = asks.AskRequest(messages, context, params.max_tokens, assess=params.assess)
        answer = await asks.ask(workspace, request, model, tell)
        pack = _context_result(workspace, answer.context, started)
        return convert_chat.from_asked(answer, uri_of, pack, tuple(steps), _since(started))

    @with_receipt
    async def review(self, raw: Any) -> chat_wire.ReviewResult:
        """Answer `carrel/review`."""
        started = time.perf_counter()
        params = decode(chat_wire.ReviewParams, raw)
        workspace = self._targets.workspace(params)
        model = self.chat_model(workspace, params.model_token, params.model)
        uri_of = partial(_uri_of, workspace)

        def tell(step: Step) -> None:
            self._report(params.partial_result_token, convert_chat.from_step(step, uri_of))

        review, tokenizer = await asks.review(workspace, convert_chat.to_request(params), model, tell)
        return convert_chat.from_reviewed(review, uri_of, tokenizer, workspace, _since(started))

    async def explain(self, raw: Any) -> dict[str, Any]:
        """Answer `carrel/explain`."""
        params = decode(wire.ExplainParams, raw)
        if params.pack_id is not None:
            return convert.from_kept(self._kept(params.pack_id))
        if params.query is None or params.path is None or params.line is None:
            raise InvalidInput("packId", "is not given", "Give `packId`, or `query`, `path` and `line`.")
        workspace, path = self._targets.workspace(params), params.path
        if path.startswith("file:"):
            workspace, path = self._targets.file(path)
        candidates = await queries.explain_line(workspace, Query(params.query), path, params.line)
        return {"candidates": [convert.from_explanation(item) for item in candidates]}

    async def audit(self, raw: Any) -> AuditResult:
        """Answer `carrel/audit`."""
        params = decode(AuditParams, raw)
        after = since(params.since, time.time()) if params.since else None
        trail = self._session.composition.audit
        if trail is None:
            return AuditResult(entries=(), enabled=False)
        events = await asyncio.to_thread(trail.entries, after, params.kind, params.limit)
        entries = tuple(
            AuditEntry(number=number, at=iso_time(event.at), kind=event.kind, user=event.user, details=dict(event.details))
            for number, event in events
        )
        return AuditResult(entries=entries, enabled=trail.settings.enabled, problem=trail.problem or UNSET)

    async def citations(self, raw: Any) -> chat_wire.CitationsResult:
        """Answer `carrel/citations`."""
        from carrel.agent.citations import check  # noqa: PLC0415 - the server starts without it
        from carrel.service.asks import dated, readable  # noqa: PLC0415 - likewise

        params = decode(chat_wire.CitationsParams, raw)
        kept = self._kept(params.pack_id)
        searched: Workspace | FolderGroup = self._session.workspace(kept.root)
        if kept.roots:
            searched = self._session.group({name: self._session.workspace(root) for name, root in kept.roots.items()})
        # Of several folders a path that wasn't given says of none whose it is.
        more = await readable(searched, params.text) if params.also_readable and not isinstance(searched, FolderGroup) else ()
        checked = await asyncio.to_thread(check, params.text, [*kept.answer.pack.items, *more])
        if not isinstance(searched, FolderGroup):
            checked = await dated(searched, checked)
        return chat_wire.CitationsResult(citations=convert_chat.from_citations(checked.citations, partial(_uri_of, searched)))

    # --- parts

    def chat_model(self, workspace: Workspace, token: wire.ProgressToken | None, name: str | None) -> ChatModel:
        """Return the model lent under `token`, else the one that is set, else the client's. Raises `ProviderError`."""
        lent = self._client.model(token) if self._client is not None else None
        if lent and (token is not None or not workspace.settings.models.chat.provider):
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

    async def _context(self, params: wire.ContextParams, query: str) -> wire.ContextResult:
        started = time.perf_counter()
        budget = convert.to_budget(params.budget, default_budget(self._session.settings, params))
        request = ContextRequest(query, 1, budget, format=params.format, trigger=params.trigger)
        searched: Workspace | FolderGroup | None = None
        with collect() as receipt:
            try:
                searched = self._targets.searched(params)
            except (NotReady, InvalidInput) as error:
                answer = context_service.empty(request, None if self._quiet(params) else str(on_wire(error)))
            else:
                lent = self._client.model(params.model_token) if self._client and params.model_token is not None else None
                if isinstance(searched, FolderGroup):
                    requests = self._targets.context_requests(searched, params, query)
                    requests = {name: structs.replace(folder_request, lent=lent) for name, folder_request in requests.items()}
                    answer = await group_context.context(searched, requests)
                else:
                    single_request = structs.replace(self._targets.context_request(searched, params, query), lent=lent)
                    answer = await context_service.context(searched, single_request)
        return structs.replace(_context_result(searched, answer, started), sent=convert.from_receipt(receipt))

    def _quiet(self, params: wire.ContextParams) -> bool:
        return params.trigger == "chat" and not self._session.settings.rag_enabled


def _context_result(searched: Workspace | FolderGroup | None, answer: ContextAnswer, started: float) -> wire.ContextResult:
    return convert.from_answer(answer, partial(_uri_of, searched), partial(_folder_of, searched), _since(started))


def _folder_of(searched: Workspace | FolderGroup | None, name: str) -> str | UnsetType:
    return searched.folders[name].uri if name and isinstance(searched, FolderGroup) else UNSET


def _uri_of(workspace: Workspace | FolderGroup | None, path: str) -> str:
    """Spell a path as the editor does."""
    if workspace is None:
        return join_uri("", path)
    if isinstance(workspace, FolderGroup):
        return _uri_of(*(workspace.place(path) or (workspace.first, path)))
    return workspace.source_uri(path) or workspace.buffers.uri(path) or join_uri(workspace.uri, path)


def _since(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 3)

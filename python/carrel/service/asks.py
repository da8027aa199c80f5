"""Questions to a chat model about one workspace: the pack by the one guarded way, then the loop with the workspace's tools.

The issue reviewer on one workspace: its searches are questions like any other, on the interactive pool.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.types import Budget
from carrel.service import assessed, context_service, queries
from carrel.service.context_request import ContextAnswer, ContextRequest
from carrel.service.workspace_tools import WorkspaceIndex, approved_tools, catalogue_tools, searcher, tokenizer_of, tools

if TYPE_CHECKING:
    from carrel.agent.agent_steps import Event
    from carrel.agent.ask import Answered
    from carrel.agent.citations import CheckedText, Citation
    from carrel.agent.reviewer import Reviewed, Step
    from carrel.agent.tools.read_lines import ReadLines
    from carrel.model.conversation import Message
    from carrel.model.local_index import SnapshotView
    from carrel.model.ports import ChatModel, Tool
    from carrel.model.types import ContextItem, Query
    from carrel.pack.compare import Comparison, Strategy
    from carrel.service.workspace import Workspace


class ReviewRequest(Struct, frozen=True):
    """What to review, and within which limits. `max_tokens` None: as many as the model takes."""

    title: str
    body: str = ""
    exclude: tuple[str, ...] = ()
    model: str | None = None
    max_tokens: int | None = None
    wait_ms: int = 10_000


async def review(
    workspace: Workspace, request: ReviewRequest, model: ChatModel, tell: Callable[[Step], None]
) -> tuple[Reviewed, str]:
    """Review an issue; return the name of the tokenizer that counted, too. Makes the first index; raises `CarrelError`."""
    from carrel.agent import reviewer
    from carrel.agent.tools.scope import Scope

    tokenizer = await tokenizer_of(workspace, request.model, model.spec.tokenizer)
    most = model.spec.window if request.max_tokens is None else request.max_tokens
    window = reviewer.opened(reviewer.Issue(request.title, request.body), tokenizer, most)
    await workspace.ready(explicit=True, wait_ms=request.wait_ms)
    search = searcher(workspace, tokenizer, Scope(request.exclude))
    return await reviewer.review(window, model, search, tell), tokenizer.name


_MOST_BEFORE = 20
"""Cited places that are looked up."""


class AskRequest(Struct, frozen=True):
    """A conversation that ends in a question, and the context that is wanted for it.

    `max_tokens` is how many the model takes; None for what its spec says. `tools` are the caller's, beside the workspace's. With
    `assess` the model says before it answers whether the context is enough, or what else to search for.
    """

    messages: tuple[Message, ...]
    context: ContextRequest
    max_tokens: int | None = None
    tools: tuple[Tool, ...] = ()
    assess: bool = False


class AskAnswer(Struct, frozen=True):
    """An answer, what was put before the question, and which tokenizer counted."""

    answered: Answered
    context: ContextAnswer
    tokenizer: str


async def ask(workspace: Workspace, request: AskRequest, model: ChatModel, tell: Callable[[Event], None]) -> AskAnswer:
    """Answer a question. Makes the first index. Raises `CarrelError`: without a model there is no answer.

    Servers of tools that it starts run until it is there.
    """
    if not workspace.settings.tools.sources:
        return await _ask(workspace, request, model, tell)
    async with workspace.composition.tools(workspace.settings).catalogue.servers.in_use():
        return await _ask(workspace, request, model, tell)


async def _ask(workspace: Workspace, request: AskRequest, model: ChatModel, tell: Callable[[Event], None]) -> AskAnswer:
    from carrel.agent import ask as asking
    from carrel.agent import knowledge_form
    from carrel.agent.agent_steps import ToolFinished
    from carrel.agent.tools.read_lines import ReadLines
    from carrel.agent.tools.scope import Scope

    limit = asking.room(model.spec.window if request.max_tokens is None else request.max_tokens)
    tokenizer = await tokenizer_of(workspace, request.context.model, model.spec.tokenizer)
    scope = Scope(request.context.filters.exclude, request.context.left_out)
    offered = tools(workspace, tokenizer, scope)
    callable_tools: list[Tool] = []
    finished = set[str]()  # names of tools
    if workspace.settings.tools.sources:  # else there is nothing to find, and each question would pay for two more schemas
        service = workspace.composition.tools(workspace.settings, offered, confirm=workspace.composition.confirm)
        catalogue = catalogue_tools(service, lambda: knowledge_form.NAME in finished)
        offered += catalogue
        taken = {tool.spec.name for tool in (*offered, *request.tools)}
        question = request.messages[-1].text
        fitting, callable_tools = await approved_tools(service, catalogue[-1], question, taken, tokenizer, limit // 8)
        offered += fitting
    offered += request.tools
    names = [tool.spec.name for tool in offered]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInput("tools", f"have a name that is taken: {', '.join(twice)}", "Give the tool another name.")
    reader = ReadLines(WorkspaceIndex(workspace), tokenizer, scope)
    # Before anything is searched for: a question that is too long is refused.
    asking.opened(request.messages, "", offered, tokenizer, limit)
    wanted = replace(request.context, lent=model)
    if request.assess:
        answer, wanted = await assessed.context(workspace, wanted, model, tell)
    else:
        answer = await context_service.context(workspace, wanted)
    if tokenizer.count(answer.pack.text) > limit // 3:
        smaller = replace(wanted, budget=Budget(limit // 3, "tokens"))
        answer = replace(await context_service.context(workspace, smaller), notice=answer.notice)
    text = answer.pack.text if tokenizer.count(answer.pack.text) <= limit // 2 else ""
    window = asking.opened(request.messages, text, offered, tokenizer, limit)
    before = [message.text for message in request.messages if message.role == "assistant"]
    items = (*(answer.pack.items if text else ()), *await _read_cited(before, reader))
    audit = workspace.audit
    send = audit.step_recorder(tell, workspace.root_key) if audit else tell

    def notify(event: Event) -> None:
        if isinstance(event, ToolFinished) and not event.result.is_error:
            finished.add(event.name)
        send(event)

    answered = await asking.ask(window, model, [*offered, *callable_tools], items, text, notify)
    answered = replace(answered, checked=await dated(workspace, answered.checked))
    if audit:
        audit.answer(model.spec.id, answered, workspace.root_key)
    return AskAnswer(answered, answer, tokenizer.name)


async def compare(
    workspace: Workspace, query: Query, budget: Budget, model: ChatModel, name: str | None, wait_ms: int
) -> tuple[Comparison, tuple[Answered | ProviderError, Answered | ProviderError], str]:
    """Answer one question from retrieved chunks, then from whole files, without tools. Raises `CarrelError`.

    The model says of each way first whether it is enough for the question; the error of one that fails stands for its answer.
    Returns the name of the tokenizer that counted, too.
    """
    from carrel.agent import ask as asking
    from carrel.assist.assessment import assess_text
    from carrel.model.conversation import Message

    limit = asking.room(model.spec.window)
    tokenizer = await tokenizer_of(workspace, name, model.spec.tokenizer)
    question = (Message("user", query.text),)
    room = asking.opened(question, "", [], tokenizer, limit).budget
    if budget.unit == "chars" or budget.amount > room:
        budget = Budget(min(budget.amount, room), budget.unit)
    comparison = await queries.compare(workspace, query, budget, tokenizer, wait_ms, room)

    async def judged(strategy: Strategy) -> Strategy:
        assessment, _ = await assess_text(query.text, strategy.text, model)
        return replace(strategy, judged=assessment.verdict if assessment else None)

    comparison = replace(
        comparison,
        chunks=await judged(comparison.chunks),
        whole_files=await judged(comparison.whole_files),
        by_lines={lines: await judged(strategy) for lines, strategy in comparison.by_lines.items()},
    )

    async def answered(strategy: Strategy) -> Answered | ProviderError:
        text = strategy.text if tokenizer.count(strategy.text) <= room else ""
        window = asking.opened(question, text, [], tokenizer, limit)
        try:
            return await asking.ask(window, model, [], strategy.items if text else (), text, lambda _: None)
        except ProviderError as error:
            return error

    return comparison, (await answered(comparison.chunks), await answered(comparison.whole_files)), tokenizer.name


async def readable(workspace: Workspace, text: str) -> list[ContextItem]:
    """Return the places that an answer cites and the index can read, as they stand now."""
    from carrel.agent.tools.read_lines import ReadLines
    from carrel.agent.tools.scope import Scope

    return await _read_cited([text], ReadLines(WorkspaceIndex(workspace), await tokenizer_of(workspace, None), Scope()))


async def dated(workspace: Workspace, checked: CheckedText) -> CheckedText:
    """Return citations with version and day of the workspace's documents, as these say it of themselves."""
    from carrel.sources.documents.passages import document_facts

    def of(citation: Citation, view: SnapshotView) -> Citation:
        chunks = view.file_chunks(citation.path) if citation.ok and not citation.updated_at else []
        if not chunks or chunks[0].source != "docs":
            return citation
        facts = document_facts(view, citation.path)
        return replace(citation, version=facts.version, updated_at=int(facts.updated_at or chunks[0].updated_at))

    if not checked.citations or (index := workspace.index) is None:
        return checked
    view = index.store.snapshot()
    citations = await workspace.run_interactive(lambda _: tuple(of(citation, view) for citation in checked.citations))
    return replace(checked, citations=citations)


async def _read_cited(answers: Sequence[str], reader: ReadLines) -> list[ContextItem]:
    """Return the places that answers cite, as they stand now: those of earlier ones may be cited again."""
    from carrel.agent.citations import cited

    places = dict.fromkeys(place for answer in answers for place in cited(answer))
    items: list[ContextItem] = []
    for path, first, last in list(places)[-_MOST_BEFORE:]:
        items += (await reader.run({"path": path, "start_line": first, "end_line": last})).items
    return items

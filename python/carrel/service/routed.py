"""Send a question to the sources beside the workspace that are meant, and put what they give beside the workspace's own.

Safe tools of the person are such a place, too: what one says becomes a hit, quoted as any other text. Only tools that the
person approved and called `safe` (`tools.risk`) run here by themselves; no server's word makes one safe.

Without such sources nothing is done here. Raises nothing but a cancel, and `InvalidInput` for a source that doesn't exist.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.catalogue_tool import BUILT_IN, CatalogueTool
from carrel.model.errors import CarrelError, InvalidInput, NotPermitted, place_of
from carrel.model.lines import lines_of
from carrel.model.types import Chunk, Filters, Hit, Origin, Query, Signals, Span
from carrel.service.model_report import THE_WORKSPACE
from carrel.settings.source_settings import WORKSPACE, SourceKind

if TYPE_CHECKING:
    from carrel.assist.routing import Route, Routing, SourceChoice
    from carrel.model.local_index import SnapshotView
    from carrel.question.routing_rules import Target
    from carrel.search.retriever import Ranking
    from carrel.service.workspace import Workspace
    from carrel.settings.settings import Planning
    from carrel.sources.knowledge import Source

log = logging.getLogger(__name__)

SOURCE_SECONDS = 5.0
"""How long a source may take for a question, beside the wait for a first index."""
TOOL_SECONDS = 10.0
"""How long a tool may take, its server's start included."""
_UNASKED = 0.5
"""What a hit of documents counts that no word of the question asks for: below code that fits as well."""
_MOST_NAMED = 3
"""Sources that a problem names."""
_SHARE = 0.4
"""Of the time that is left before a deadline."""


class FromSources(Struct, frozen=True):
    """What sources gave for one question. Without `workspace` nothing of the workspace itself was asked for."""

    routes: tuple[Route, ...]
    hits: tuple[tuple[Hit, ...], ...] = ()
    workspace: bool = True
    problem: str | None = None
    not_searched: tuple[str, ...] = ()
    """The ids of the sources that nothing in the question spoke for."""
    asks: bool = True
    """Whether somebody asks: who only says something isn't given what merely has a word of it."""

    def beside(self, workspace_hits: Sequence[Hit], query: Query) -> tuple[Hit, ...]:
        """Return the hits of the workspace and of the sources, best first, at most the query's limit."""
        from carrel.sources.documents.passages import merged

        sources = frozenset(route.source for route in self.routes if route.weight == 1)
        own = workspace_hits if self.workspace else ()
        return tuple(merged(own, self.hits, query, targets=sources, asks=self.asks))


async def from_sources(
    workspace: Workspace,
    query: Query,
    *,
    named: Sequence[str] = (),
    explicit: bool = True,
    wait_ms: int = 0,
    plan: Planning | None = None,
    end: float | None = None,
) -> FromSources | None:
    """Ask the sources and safe tools that a question is for: those that are `named`, else by rules or the planner.

    None where there are none.

    `end` is the time of the event loop by which all must be done.
    """
    tools = {} if named else {f"{PREFIX}{tool.qualified}": tool for tool in safe_tools(workspace, query.text)}
    if not workspace.settings.sources.by_id and not named and not tools:
        return None
    workspace.require("search")  # before a tool runs for whoever may not even search
    served = {source.id: source for source in workspace.sources()}
    for name in named:
        if name != WORKSPACE and name not in served:
            names = ", ".join((WORKSPACE, *served))
            raise InvalidInput("sources", f"names no source; there are {names}", "`carrel sources list` shows them.", value=name)
    from carrel.assist.routing import everywhere
    from carrel.question.query_words import is_small_talk

    says_nothing = is_small_talk(query.text)
    if not query.text.strip() or (says_nothing and not explicit and not named):
        return None
    if not named and not _reaches_sources(query.filters):
        return None
    if named and set(named) != {WORKSPACE}:
        workspace.require("sources")
    routing = await _routed(workspace, query, named, served, tools, plan, end)
    said, silent = await _ask_tools(workspace, routing, tools, end)
    if silent and not said:  # the user's words everywhere, as where a planner fails
        routing = everywhere(query.text, _choices(served), "the tool gave no answer", routing.problem)
    chosen = [route for route in routing.routes if route.source in served]
    if chosen:
        try:
            workspace.require("sources")
        except NotPermitted as error:
            unserved = tuple(route for route in routing.routes if route.source not in served)
            return FromSources(unserved, problem=str(error), not_searched=tuple(served))
    seconds = _seconds_until(end, SOURCE_SECONDS + wait_ms / 1000)
    remote = any(served[route.source].settings.kind == "repository" for route in chosen)
    view = await _own_view(workspace) if remote else None
    results = await asyncio.gather(
        *(
            _search(served[route.source], query, route, view, explicit=explicit, wait_ms=wait_ms, seconds=seconds)
            for route in chosen
        )
    )
    notices = (result for _, result in results if not isinstance(result, _Silence))
    problems = [routing.problem, *silent, *notices, *_silences([each for _, each in results if isinstance(each, _Silence)])]
    return FromSources(
        routing.routes,
        (tuple(said), *(hits for hits, _ in results)),
        not named or WORKSPACE in named,
        " ".join(filter(None, problems)) or None,
        tuple(name for name in served if name not in routing.sources),
        explicit and not says_nothing,
    )


async def from_the_rest(
    workspace: Workspace, query: Query, others: FromSources | None, *, end: float | None = None
) -> FromSources | None:
    """Ask the sources that nothing in a question spoke for, where nothing else answers it; None where there are none.

    Nobody waits for a first index of theirs, and no repository elsewhere hears of a question that isn't for it.
    """
    if others is None or not workspace.permits("sources"):
        return None
    elsewhere = {source.id for source in workspace.sources() if source.settings.kind == "repository"}
    named = [name for name in others.not_searched if name not in elsewhere]
    rest = await from_sources(workspace, query, named=named, end=end) if named else None
    if rest is None:
        return None
    routes = (*others.routes, *(replace(route, reason="nothing else answers the question") for route in rest.routes))
    problem = " ".join(filter(None, (others.problem, rest.problem))) or None
    left = tuple(name for name in others.not_searched if name in elsewhere)
    return replace(
        rest, routes=routes, hits=(*others.hits, *rest.hits), workspace=others.workspace, problem=problem, not_searched=left
    )


def _seconds_until(end: float | None, most: float) -> float:
    """Return how long something may take before the loop's time `end`, at most so many seconds."""
    return most if end is None else min(most, max(_SHARE * (end - asyncio.get_running_loop().time()), 0.0))


def only_documents(filters: Filters) -> bool:
    """Tell whether nothing but documents was asked for."""
    from carrel.model.kinds import LANGUAGES

    return filters.sources == ("docs",) or bool(filters.languages and set(filters.languages) <= set(LANGUAGES))


def as_passages(ranking: Ranking, hits: Sequence[Hit], query: Query) -> tuple[Hit, ...]:
    """Return documents of the workspace as passages: one version of each, with what must be known of it. Runs on a thread."""
    from carrel.sources.documents.passages import FactsCache, Shown, passages

    shown = Shown(WORKSPACE, lambda path: path, lambda _: "", dated=False)
    return tuple(passages(hits, ranking.view, FactsCache(), shown, max_age_days=query.filters.max_age_days))


def _reaches_sources(filters: Filters) -> bool:
    """Tell whether filters let anything but the workspace answer: paths, symbols and languages are the workspace's own."""
    if filters.path_globs or filters.symbol or filters.metadata or filters.sources == ("code",):
        return False
    return not filters.languages or only_documents(filters)


async def _routed(
    workspace: Workspace,
    query: Query,
    named: Sequence[str],
    served: dict[str, Source],
    tools: dict[str, CatalogueTool],
    plan: Planning | None,
    end: float | None,
) -> Routing:
    from carrel.assist.routing import Route, Routing, SourceChoice, by_model, by_rules, everywhere
    from carrel.question.routing_rules import span_of_time

    workspace_choice, *others = _choices(served)
    if named:
        return everywhere(
            query.text, [choice for choice in (workspace_choice, *others) if choice.id in named], "it was asked for by name"
        )
    if only_documents(query.filters):
        return everywhere(
            query.text,
            [workspace_choice, *(choice for choice in others if choice.target == "documents")],
            "documents were asked for",
        )
    helpers = workspace.assistants(plan=plan)
    if helpers.planner is None:
        problem = None
        if tools and (words := span_of_time(query.text)):
            try:
                if tool := await fitting_tool(workspace, list(tools.values()), query.text):
                    return Routing((Route(f"{PREFIX}{tool.qualified}", query.text, f"it asks for a value: {words}"),))
            except CarrelError as error:
                problem = f"No tool was asked: {error}"
        routing = by_rules(query.text, [workspace_choice, *others])
        return Routing((*routing.routes, *_documents_beside(workspace, query.text, routing, served)), problem)
    seconds = _seconds_until(end, helpers.planner_seconds)
    others += [SourceChoice(name, "tool", tool.description) for name, tool in tools.items()]
    return await by_model(query.text, [workspace_choice, *others], helpers.planner, seconds) if seconds > 0.1 else Routing(())


def _choices(served: dict[str, Source]) -> list[SourceChoice]:
    """Return what can be chosen of texts, the workspace first."""
    from carrel.assist.routing import SourceChoice

    kinds: dict[SourceKind, Target] = {"documents": "documents", "git": "git", "mcp": "documents", "repository": "code"}
    others = (SourceChoice(source.id, kinds[source.settings.kind], source.description) for source in served.values())
    return [SourceChoice(WORKSPACE, "code", THE_WORKSPACE), *others]


async def _ask_tools(
    workspace: Workspace, routing: Routing, tools: dict[str, CatalogueTool], end: float | None
) -> tuple[list[Hit], list[str]]:
    """Return what tools said that a question goes to, and why others said nothing."""
    seconds = _seconds_until(end, TOOL_SECONDS)
    calls = [(tools[route.source], route.query) for route in routing.routes if route.source in tools]
    answers = await asyncio.gather(*(ask_tool(workspace, tool, text, seconds) for tool, text in calls), return_exceptions=True)
    said = [answer for answer in answers if isinstance(answer, Hit)]
    silent = [
        f"{answer}." if isinstance(answer, CarrelError) else "A tool failed." for answer in answers if not isinstance(answer, Hit)
    ]
    return said, silent


def _documents_beside(workspace: Workspace, text: str, routing: Routing, served: dict[str, Source]) -> list[Route]:
    """Return the routes to folders of documents that no word asks for: to search them is cheap, and their score decides."""
    from carrel.assist.routing import Route
    from carrel.question.routing_rules import asks_for_documents

    if not workspace.permits("sources"):
        return []
    others = [source for source in served.values() if source.settings.kind == "documents" and source.id not in routing.sources]
    weight = 1.0 if asks_for_documents(text) else _UNASKED
    return [Route(source.id, text, "documents are searched for every question", weight) for source in others]


async def _own_view(workspace: Workspace) -> SnapshotView | None:
    """Return the index of the workspace itself as it is now; None where it has none yet. Makes none."""
    if not workspace.has_index:
        return None
    try:
        return (await workspace.ready(explicit=False, wait_ms=0)).store.snapshot()
    except CarrelError:
        return None


class _Silence(Struct, frozen=True):
    """Why a source gave nothing, as a verb."""

    source: str
    reason: str


async def _search(
    source: Source, query: Query, route: Route, view: SnapshotView | None, *, explicit: bool, wait_ms: int, seconds: float
) -> tuple[tuple[Hit, ...], str | _Silence | None]:
    """Search one source; a fault costs its help only. Nobody waits for a first index of one that no word asks for."""
    about = query.about(route.query, query.limit)
    if route.weight < 1:
        explicit, wait_ms = False, 0
    try:
        async with asyncio.timeout(seconds):
            hits = await source.search(about, explicit=explicit, wait_ms=wait_ms, view=view)
            return tuple(replace(hit, score=round(hit.score * route.weight, 4)) for hit in hits), source.notice
    except TimeoutError:
        reason = "gave no answer in time."
    except CarrelError as error:
        reason = f"can't answer yet: {str(error).rstrip('.')}."
    except Exception as error:  # a chat must go on
        log.error("A source failed: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400 - a trace could quote it
        reason = "failed; Carrel's log says more."
    return (), _Silence(source.id, reason)


def _silences(silences: Sequence[_Silence]) -> Iterator[str]:
    """Say each reason once: fifty repositories of one server that is gone have the same."""
    for reason in dict.fromkeys(silence.reason for silence in silences):
        first, *others = (silence.source for silence in silences if silence.reason == reason)
        if others:
            more = f" and {len(others) - _MOST_NAMED + 1} more" if len(others) >= _MOST_NAMED else ""
            yield f"The sources {', '.join([first, *others][:_MOST_NAMED])}{more} {reason}"
        else:
            yield f"The source {first} {reason}"


_LONGEST_RESULT = 20_000
_LEAST_SECONDS = 0.5
"""No server starts and answers within less."""
_LEAST_WORDS = 2
"""How many telling words of a question its tool must hold."""
PREFIX = "tool:"
"""Before the name of a tool among the sources that a question can go to."""


def safe_tools(workspace: Workspace, text: str) -> list[CatalogueTool]:
    """Return the tools that a question may go to: approved as they are, called safe by the person, and content with its text."""
    settings = workspace.settings.tools
    if not settings.servers or "safe" not in settings.risk.values():
        return []
    state = workspace.composition.tools(workspace.settings).state()
    safe = [item.tool for item in state.tools if item.usable and item.tool.risk == "safe" and item.tool.source != BUILT_IN]
    return [tool for tool in safe if _arguments(tool, text) is not None]


async def fitting_tool(workspace: Workspace, tools: Sequence[CatalogueTool], text: str) -> CatalogueTool | None:
    """Return which of the tools a question fits best by the catalogue's search; None where it hardly does.

    Raises `NotPermitted` for a caller that may not know of tools.
    """
    from carrel.extensions.tools.catalogue.search import ToolQuery

    service = workspace.composition.tools(workspace.settings)
    query = ToolQuery(text, limit=1, among=frozenset(tool.qualified for tool in tools))
    matches = await service.search(query, usable_only=False)
    return next((item.tool for item, _ in matches if len(item.why) >= _LEAST_WORDS), None)


async def ask_tool(workspace: Workspace, tool: CatalogueTool, text: str, seconds: float) -> Hit:
    """Run a tool for a question, and return what it says as a hit. Raises `CarrelError`."""
    from carrel.index.index_opening import question_mask

    if seconds < _LEAST_SECONDS:
        raise CarrelError(f"The tool {tool.qualified} was not asked: there was no time for it")
    service = workspace.composition.tools(workspace.settings, confirm=None)
    arguments = _arguments(tool, question_mask(workspace.settings)(text)) or {}
    task = asyncio.ensure_future(service.run({"steps": [{"tool": tool.qualified, "args": arguments}], "risk_level": "safe"}, ""))
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            workspace.composition.end(task)
    if not task.done():
        raise CarrelError(f"The tool {tool.qualified} gave no answer in time")
    run = task.result()
    if run.problem or run.result is None:
        raise CarrelError(f"The tool {tool.qualified} failed: {run.problem}")
    said = run.result.output[:_LONGEST_RESULT].strip() or "(It said nothing.)"
    now = datetime.now(UTC)
    chunk = Chunk(
        id=f"{tool.fingerprint[:16]}{int(now.timestamp()):016x}",
        path=f"@{tool.source}/{tool.name}",
        language="text",
        source="docs",
        kind="tool result",
        symbol=f"{tool.qualified}",
        span=Span(1, len(lines_of(said))),
        text=said,
        updated_at=int(now.timestamp()),
        origin=Origin(
            f"{PREFIX}{tool.qualified}",
            f"{PREFIX}{tool.qualified}",
            f"said by the tool {tool.qualified} at {now:%Y-%m-%d %H:%M} UTC",
        ),
    )
    return Hit(chunk, 1.0, Signals())


def _arguments(tool: CatalogueTool, text: str) -> dict[str, str] | None:
    """Return what a tool is called with for a question: nothing, or the question as its one text; None where it needs more."""
    from carrel.agent.tool_arguments import problem_with

    required = tool.schema.get("required")
    arguments = {str(required[0]): text} if required and isinstance(required, list) else {}
    return None if problem_with(arguments, tool.schema) else arguments

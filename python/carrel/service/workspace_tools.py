"""The tools of chat models on one workspace: what they ask is asked of the index of that moment, on the interactive pool."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from carrel.model.errors import CarrelError
from carrel.model.types import Query
from carrel.service import queries

if TYPE_CHECKING:
    from carrel.agent.knowledge_form import KnowledgeArguments
    from carrel.agent.search_tool import SearchArguments, SearchPage
    from carrel.agent.tools.catalogue_tools import ExecuteArguments, FindToolsArguments
    from carrel.agent.tools.scope import Refusal, Scope
    from carrel.extensions.tools.tool_service import ToolService
    from carrel.model.local_index import SnapshotView
    from carrel.model.native import CancelToken
    from carrel.model.ports import Tokenizer, Tool
    from carrel.model.remote import Confirm
    from carrel.model.types import Hit
    from carrel.service.workspace import Workspace

T = TypeVar("T")

DIRECT_TOOLS = 5
"""How many of the person's tools a model can call by themselves."""
_LOOKED_AT = 20
"""Carrel's own are among those that fit, too."""
BETWEEN_CALLS = 60.0
"""Seconds for which servers wait for the next call of a model elsewhere, which doesn't say when its answer is done."""


class WorkspaceIndex:
    """The index of a workspace as it is at each call: the person may go on typing while a model thinks."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def read(self, work: Callable[[SnapshotView, Refusal, CancelToken], T]) -> T:
        """Run `work` on an ask thread. Raises `CarrelError`."""
        index = await self._workspace.ready(explicit=True, wait_ms=0)
        return await self._workspace.run_interactive(lambda token: work(index.store.snapshot(), index.store.refusal, token))


def searcher(workspace: Workspace, tokenizer: Tokenizer, scope: Scope) -> Callable[[SearchArguments, int], Awaitable[SearchPage]]:
    """Return the search of `search_code`."""
    from carrel.agent.search_tool import most_hits, page, places_page, to_filters
    from carrel.search.certainty import doubt

    async def search(arguments: SearchArguments, tokens: int) -> SearchPage:
        query = Query(arguments.query, most_hits(arguments), to_filters(arguments, scope.exclude), left_out=scope.left_out)
        result = await queries.search(workspace, query, 0, plan="never")  # the model plans its searches itself
        shown = places_page if arguments.format == "places" else page
        answer = await workspace.run_interactive(lambda _: shown(result.answer, tokens, tokenizer))
        unsure = doubt(result.confidence) if result.answer else None
        return replace(answer, text=f"{unsure}\n\n{answer.text}") if unsure else answer

    return search


def documents_searcher(workspace: Workspace, scope: Scope) -> Callable[[KnowledgeArguments], Awaitable[Sequence[Hit]]]:
    """Return the search of `search_knowledge_base`."""
    from carrel.model.kinds import LANGUAGES
    from carrel.model.types import Filters

    async def search(arguments: KnowledgeArguments) -> Sequence[Hit]:
        filters = Filters(
            path_globs=arguments.path_glob, exclude=scope.exclude, languages=LANGUAGES, max_age_days=arguments.max_age_days
        )
        query = Query(arguments.query, arguments.limit, filters, left_out=scope.left_out)
        return (await queries.search(workspace, query, 0, plan="never")).answer

    return search


def tools(workspace: Workspace, tokenizer: Tokenizer, scope: Scope) -> list[Tool]:
    """Return all tools that read the workspace."""
    from carrel.agent.knowledge_form import SearchDocuments
    from carrel.agent.search_tool import SearchCode
    from carrel.agent.tools.names import FindDefinition, FindUses
    from carrel.agent.tools.read_lines import ReadLines

    index = WorkspaceIndex(workspace)
    return [
        SearchCode(searcher(workspace, tokenizer, scope)),
        SearchDocuments(documents_searcher(workspace, scope), tokenizer),
        ReadLines(index, tokenizer, scope),
        FindDefinition(index, tokenizer, scope),
        FindUses(index, tokenizer, scope),
    ]


async def tool_service(workspace: Workspace, *, confirm: Confirm | None) -> ToolService:
    """Return the person's tools with those that read the workspace. Without `confirm` no person can be asked."""
    from carrel.agent.tools.scope import Scope

    tokenizer = await tokenizer_of(workspace, None)
    return workspace.composition.tools(workspace.settings, tools(workspace, tokenizer, Scope()), confirm=confirm)


def catalogue_tools(service: ToolService, searched: Callable[[], bool] = lambda: True) -> list[Tool]:
    """Return `search_tools` and `execute_pipeline`. What acts isn't run before the documents were `searched`."""
    from carrel.agent.tools.catalogue_tools import SEARCH_FIRST, ExecutePipeline, SearchTools

    async def run(arguments: ExecuteArguments) -> tuple[str, str]:
        checked = service.check(arguments.pipeline, arguments.input_data)
        if not checked.problems and checked.acts and not searched():
            return "", SEARCH_FIRST
        return await execute(service, arguments)

    return [SearchTools(partial(find_tools, service)), ExecutePipeline(run)]


async def approved_tools(
    service: ToolService, pipelines: Tool, question: str, taken: Collection[str], tokenizer: Tokenizer, most: int
) -> tuple[list[Tool], list[Tool]]:
    """Return the approved tools that fit a question best, as far as `most` tokens describe them, and all that can be called.

    The latter have a name as the former and the one by which `search_tools` finds them, none that is `taken`. `pipelines` runs
    them: `execute_pipeline`, which runs all others, too.
    """
    from carrel.agent.tool_arguments import properties_of
    from carrel.agent.tools.catalogue_tools import ApprovedTool
    from carrel.extensions.tools.catalogue.exports import exported_names
    from carrel.extensions.tools.catalogue.search import ToolQuery
    from carrel.extensions.tools.pipelines.format import refers
    from carrel.model.catalogue_tool import BUILT_IN, canonical
    from carrel.model.conversation import ToolSpec

    try:
        matches = await service.search(ToolQuery(question, _LOOKED_AT), usable_only=True)
    except CarrelError:  # `search_tools` says why
        return [], []
    approved = [item.tool for item in service.state().tools if item.usable and item.tool.source != BUILT_IN]
    # What has a parameter `input` is filled by a pipeline even where the model leaves it out.
    direct = [tool for tool in approved if "input" not in properties_of(tool.schema)]
    names = exported_names(direct)
    by_name: dict[str, Tool] = {}
    for tool in direct:
        for name in (names[tool.qualified], tool.qualified):
            if name not in taken:
                spec = ToolSpec(name, tool.description, {"type": "object", **tool.schema})
                by_name.setdefault(name, ApprovedTool(spec, tool.qualified, pipelines, refers))
    fitting = [names[item.tool.qualified] for item, _ in matches if item.why and item.tool.qualified in names]
    offered: list[Tool] = []
    for name in [name for name in fitting if name in by_name][:DIRECT_TOOLS]:
        spec = by_name[name].spec
        tokens = tokenizer.count(f"{spec.description}{canonical(spec.schema)}")
        if tokens <= most:
            most -= tokens
            offered.append(by_name[name])
    return offered, list(by_name.values())


async def find_tools(service: ToolService, arguments: FindToolsArguments) -> list[dict[str, Any]]:
    """Return what a model is told of the tools that fit: those alone that the person approved as they are."""
    from carrel.extensions.tools.catalogue.search import ToolQuery

    matches = await service.search(ToolQuery(arguments.query, arguments.limit, arguments.risk, arguments.tags), usable_only=True)
    return [
        {
            "name": item.tool.qualified,
            "description": item.tool.description,
            "risk": item.tool.risk,
            "schema": item.tool.schema,
            "examples": list(item.tool.examples),
        }
        for item, _ in matches
    ]


async def execute(service: ToolService, arguments: ExecuteArguments) -> tuple[str, str]:
    """Run a pipeline for a model; return its output, and what went wrong with what was there until then."""
    async with service.catalogue.servers.in_use(linger_seconds=BETWEEN_CALLS):
        run = await service.run(arguments.pipeline, arguments.input_data)
    if not run.problem:
        return (run.result.output if run.result else ""), ""
    kept = f"\nThe output before that was:\n{run.result.output}" if run.result and run.result.output else ""
    return "", f"{run.problem}{kept}"


async def tokenizer_of(workspace: Workspace, name: str | None, model_tokenizer: Tokenizer | None = None) -> Tokenizer:
    """Return a chat model's own tokenizer, or the one for its name, with its table loaded: a loop counts on the event loop."""

    def warm(_: CancelToken) -> Tokenizer:
        tokenizer = model_tokenizer or workspace.tokenizer(name)
        tokenizer.count("warm")
        return tokenizer

    return await workspace.run_interactive(warm)

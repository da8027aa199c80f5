"""The tools: what each is called, what it takes and gives, and how it queries. Nothing here knows the SDK."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType, structs

from carrel.agent import knowledge_form, search_tool
from carrel.agent.tools import catalogue_tools
from carrel.frontends.common import wire
from carrel.frontends.common.filters import checked_filters
from carrel.frontends.mcp import messages, resources
from carrel.index.left_out import unfinished_text
from carrel.model.conversation import Message
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.structs import decode_call
from carrel.model.types import Budget, Filters, Hit, Query
from carrel.model.wording import counted
from carrel.pack.appearance import one_line
from carrel.pack.context import further_places
from carrel.pack.formats import NOTHING_FOUND, places_text
from carrel.search.certainty import doubt
from carrel.service import assessed, group_context, queries, workspace_tools
from carrel.service.context_request import ContextRequest, FileRef
from carrel.service.context_service import context
from carrel.service.folder_group import FolderGroup

if TYPE_CHECKING:
    from carrel.assist.assessment import Attempt
    from carrel.frontends.mcp.folders import Folders
    from carrel.frontends.mcp.index_readiness import IndexReadiness, Report
    from carrel.index.status import Status
    from carrel.service.context_request import MissingFolder
    from carrel.service.workspace import Workspace

_TEXTS = {"text": search_tool.text_of, "places": places_text}
_NAMES = {"path_globs": "pathGlob", "exclude_globs": "exclude"}


class Answer(Struct, frozen=True):
    """What a tool gives: text for the model, the same as a value for programs, and notes beside it."""

    text: str
    value: wire.Wire
    notes: tuple[str, ...] = ()


class Tool(Struct, frozen=True):
    """One tool. `run` is a method of `Tools`; `arguments` and `result` give the schemas."""

    name: str
    title: str
    description: str
    arguments: type[Any]
    result: type[Any]
    run: Callable[[Tools, Any, Report], Awaitable[Answer]]
    reads_only: bool = True
    """False for what may reach other programs, and change something there."""


class Tools:
    """The answers, over the use cases that editors and the command line share."""

    def __init__(self, folders: Folders, readiness: IndexReadiness) -> None:
        self._folders = folders
        self._readiness = readiness

    async def call(self, name: str, raw: object, report: Report) -> Answer:
        """Answer one call. Raises `CarrelError`."""
        tool = TOOLS[name]
        return await tool.run(self, decode_call(tool.arguments, raw), report)

    async def search_code(self, arguments: messages.SearchArguments, report: Report) -> Answer:
        """Answer `search_code`."""
        filters = checked_filters(search_tool.to_filters(arguments), _NAMES)
        most = assessed.HITS if arguments.assess and not arguments.limit else search_tool.most_hits(arguments)
        query, text_of = Query(arguments.query, most, filters), _TEXTS[arguments.format]
        return await self._search(arguments.folder, query, text_of, report, _history(arguments.history), assess=arguments.assess)

    async def search_knowledge_base(self, arguments: messages.KnowledgeArguments, report: Report) -> Answer:
        """Answer `search_knowledge_base`."""
        filters = Filters(path_globs=arguments.path_glob, languages=knowledge_form.LANGUAGES, max_age_days=arguments.max_age_days)
        query = Query(arguments.query, arguments.limit, checked_filters(filters, _NAMES))
        return await self._search(arguments.folder, query, knowledge_form.text_of_hits, report)

    async def get_context(self, arguments: messages.ContextArguments, report: Report) -> Answer:
        """Answer `get_context`."""
        searched = self._folders.searched(arguments.folder)
        await self._ready(searched, report, arguments.query)
        request = ContextRequest(
            query=arguments.query,
            limit=arguments.top_k,
            budget=Budget(arguments.max_tokens, "tokens"),
            filters=checked_filters(Filters(exclude=arguments.exclude), _NAMES),
            model=arguments.model or None,
            trigger="explicit",
            wait_ms=0,
            format=arguments.format,
            history=_history(arguments.history),
        )
        name = self._name(searched)
        if isinstance(searched, FolderGroup):
            pinned = {
                folder: self._pinned(arguments, workspace, searched.first) for folder, workspace in searched.folders.items()
            }
            answer = await group_context.context(
                searched, {folder: structs.replace(request, pinned=files) for folder, files in pinned.items()}
            )
        else:
            request = structs.replace(request, pinned=self._pinned(arguments, searched, searched))
            answer = await context(searched, request)
        if answer.error:
            raise CarrelError(answer.error)
        pack = answer.pack
        value = wire.encode(
            messages.ContextResult,
            answer,
            folder=name,
            text=pack.text,
            tokens=pack.tokens,
            max_tokens=arguments.max_tokens,
            tokenizer=pack.tokenizer,
            places=tuple(_place(name, item.hit, item.masked, with_text=False) for item in pack.items),
            dropped=tuple(wire.encode(wire.DroppedResult, drop) for drop in pack.dropped),
            missing_folders=_missing(answer.missing),
        )
        first = searched.first if isinstance(searched, FolderGroup) else searched
        notices = filter(None, (answer.notice, further_places(pack, first.tokenizer(request.model))))
        return Answer(
            pack.text or NOTHING_FOUND,
            value,
            (*notices, *_searched_for(answer.rewritten), *notes(searched, answer.notice)),
        )

    async def search_tools(self, arguments: messages.FindToolsArguments, _: Report) -> Answer:
        """Answer `search_tools`."""
        workspace = self._folders.pick(arguments.folder)[1]
        tools = await workspace_tools.find_tools(await workspace_tools.tool_service(workspace, confirm=None), arguments)
        return Answer(catalogue_tools.listed(tools), messages.ToolsResult(tools=tuple(tools)))

    async def execute_pipeline(self, arguments: messages.ExecuteArguments, _: Report) -> Answer:
        """Answer `execute_pipeline`. No caller can agree to a dangerous one: nobody is asked from here."""
        workspace = self._folders.pick(arguments.folder)[1]
        output, problem = await workspace_tools.execute(await workspace_tools.tool_service(workspace, confirm=None), arguments)
        if problem:
            raise CarrelError(problem)
        return Answer(output, messages.ExecuteResult(output=output))

    async def index_status(self, arguments: messages.StatusArguments, _: Report) -> Answer:
        """Answer `index_status`. It looks only: it makes no index and waits for none."""
        chosen = [self._folders.pick(arguments.folder)] if arguments.folder else self._folders.all()
        statuses = [(name, await workspace.status(most_files=queries.MOST_SKIPPED)) for name, workspace in chosen]
        value = messages.StatusResult(folders=tuple(_status(name, status) for name, status in statuses))
        return Answer("\n\n".join(status_text(name, status) for name, status in statuses), value)

    async def _search(
        self,
        folder: str,
        query: Query,
        text_of: Callable[[Sequence[Hit]], str],
        report: Report,
        history: Sequence[Message] = (),
        *,
        assess: bool = False,
    ) -> Answer:
        """Answer with what was found, or with nothing where it is all but sure that nothing answers."""
        searched = self._folders.searched(folder)
        await self._ready(searched, report, query.text)
        attempts: list[Attempt] = []
        if assess:
            first = searched.first if isinstance(searched, FolderGroup) else searched
            result = await assessed.search(first.chat_model(), attempts.append, searched, query, 0, history=history)
        else:
            result = await queries.search(searched, query, 0, history=history)
        name, with_text = self._name(searched), text_of is not places_text
        value = messages.HitsResult(
            folder=name,
            hits=tuple(_place(name, hit, hit.chunk.masked, with_text=with_text) for hit in result.answer),
            confidence=result.confidence,
            state=searched.state(),
            pending=searched.pending,
            missing_folders=_missing(result.missing),
        )
        problem = result.diagnostics.problem
        unsure = doubt(result.confidence) if result.answer else None
        instead = attempts[-1].query if len(attempts) > 1 else result.diagnostics.rewritten
        holding = result.diagnostics.holding or 0
        more = f"{holding:,} places of the index hold the word; these come first." if holding > len(result.answer) else None
        notices = (*filter(None, (problem, unsure, more)), *_searched_for(instead))
        return Answer(text_of(result.answer), value, (*notices, *notes(searched, problem)))

    async def _ready(self, searched: Workspace | FolderGroup, report: Report, about: str) -> None:
        """Bring what is searched to where it can answer. Of several folders, one that can't be is named by the answer."""
        if isinstance(searched, FolderGroup):
            await searched.each(lambda name, workspace: self._readiness.ready(workspace, name, report, about))
        else:
            await self._readiness.ready(searched, self._folders.name_of(searched), report, about)

    def _name(self, searched: Workspace | FolderGroup) -> str:
        return "" if isinstance(searched, FolderGroup) else self._folders.name_of(searched)

    def _pinned(self, arguments: messages.ContextArguments, workspace: Workspace, first: Workspace) -> tuple[FileRef, ...]:
        """Return the files that matter and lie in a folder. One that lies nowhere is left out of the pack by the first folder,
        with the reason.
        """
        refs: list[FileRef] = []
        for file in arguments.files:
            try:
                holder, path = self._folders.place(arguments.folder, file)[1:]
            except InvalidInput:
                holder, path = None, None
            if holder is workspace:
                refs.append(FileRef(path, file))
            elif workspace is first and (holder is None or arguments.folder):
                refs.append(FileRef(None, file))
        return tuple(refs)


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            search_tool.NAME,
            "Search the code",
            search_tool.DESCRIPTION,
            messages.SearchArguments,
            messages.HitsResult,
            Tools.search_code,
        ),
        Tool(
            knowledge_form.NAME,
            "Search the documents",
            knowledge_form.DESCRIPTION,
            messages.KnowledgeArguments,
            messages.HitsResult,
            Tools.search_knowledge_base,
        ),
        Tool(
            "get_context",
            "Get context for a question",
            "Pack the code and documents of the user's workspace that matter for a question into one text within a budget of "
            "tokens, each with its source. Use it once for a question about how something works across files, in place of "
            "several searches; use search_code to find one place.",
            messages.ContextArguments,
            messages.ContextResult,
            Tools.get_context,
        ),
        Tool(
            catalogue_tools.SearchTools.spec.name,
            "Find tools",
            catalogue_tools.SEARCH_DESCRIPTION,
            messages.FindToolsArguments,
            messages.ToolsResult,
            Tools.search_tools,
        ),
        Tool(
            catalogue_tools.ExecutePipeline.spec.name,
            "Run a pipeline of tools",
            catalogue_tools.EXECUTE_DESCRIPTION,
            messages.ExecuteArguments,
            messages.ExecuteResult,
            Tools.execute_pipeline,
            reads_only=False,
        ),
        Tool(
            "index_status",
            "Show the index",
            "Show which workspace folders are open, how much of each is indexed, and what was left out and why.",
            messages.StatusArguments,
            messages.StatusResult,
            Tools.index_status,
        ),
    )
}


def _history(texts: Sequence[str]) -> tuple[Message, ...]:
    """Return earlier messages, whose speakers an assistant doesn't name: the last one is its own, as is every second before."""
    return tuple(Message("user" if (len(texts) - at) % 2 == 0 else "assistant", text) for at, text in enumerate(texts))


def _searched_for(rewritten: str | None) -> tuple[str, ...]:
    return (f"Searched for: {rewritten}",) if rewritten else ()


def _missing(missing: Sequence[MissingFolder]) -> dict[str, str] | UnsetType:
    return {folder.name: str(folder.cause) for folder in missing} or UNSET


def _place(folder: str, hit: Hit, masked: int, *, with_text: bool) -> messages.Place:
    chunk, lines = hit.chunk, (hit.chunk.span.start_line, hit.chunk.span.end_line)
    origin = chunk.origin if chunk.origin and chunk.origin.uri else None
    return wire.encode(
        messages.Place,
        chunk,
        uri=origin.uri if origin else resources.build(chunk.folder or folder, chunk.path_in_folder, lines),
        start_line=lines[0],
        end_line=lines[1],
        score=round(hit.score, 4),
        source=origin.source if origin else UNSET,
        masked=masked,
        text=chunk.text if with_text else UNSET,
    )


def _status(name: str, status: Status) -> messages.FolderStatus:
    at = status.last_indexed
    return wire.encode(
        messages.FolderStatus,
        status,
        folder=name,
        path=status.root,
        skipped=status.left_out,
        last_indexed=None if at is None else wire.iso_time(at),
    )


def notes(workspace: Workspace | FolderGroup, notice: str | None = None) -> tuple[str, ...]:
    """Say what a reader of an answer must know about the index behind it, beside its `notice`."""
    if isinstance(workspace, FolderGroup):
        return tuple(f"{name}: {note}" for name, folder in workspace.folders.items() for note in notes(folder, notice))
    index = workspace.index
    if workspace.error:
        return () if workspace.error in (notice or "") else (f"The index may be out of date: {workspace.error}",)
    if index is None:
        return ()
    if index.complete:
        waiting = workspace.pending
        files = "1 changed file is" if waiting == 1 else f"{waiting} changed files are"
        return (f"{files} still being indexed: what is new there may be missing here. Ask again for more.",) if waiting else ()
    if index.store.role == "follower" and not index.begun:
        return ("Another Carrel, such as the editor's, keeps this folder's index and hasn't filled it: index the folder there.",)
    renewed = ("The index was deleted or damaged and is being made anew.",) if index.being_renewed else ()
    lacks = index.lacks or "The first index is still being made: ask again for more."
    return renewed if lacks in (notice or "") else (*renewed, lacks)


def status_text(name: str, folder_status: Status) -> str:
    """Describe one folder's index in a few lines."""
    lacks = unfinished_text(
        folder_status.files, folder_status.unfinished, folder_status.failed_files, complete=folder_status.complete
    )
    state = "unfinished" if lacks and folder_status.state in ("ready", "empty") else folder_status.state
    holds = f"{counted(folder_status.files, 'file')}, {counted(folder_status.chunks, 'chunk')}"
    lines = [f"{name} ({folder_status.root}): {state}, {holds}"]
    if lacks:
        lines.append(lacks)
    if folder_status.pending:
        lines.append(f"{folder_status.pending} files wait for indexing")
    if folder_status.languages:
        ordered = sorted(folder_status.languages.items(), key=lambda pair: -pair[1])
        lines.append("languages: " + ", ".join(f"{language} {count}" for language, count in ordered))
    if folder_status.left_out:
        reasons = Counter(folder_status.left_out)
        lines.append("left out: " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
    lines += [f"problem: {problem}" for problem in folder_status.problems]
    if folder_status.error:
        lines.append(f"error: {folder_status.error}")
    return "\n".join(one_line(line) for line in lines)

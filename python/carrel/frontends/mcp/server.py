"""Carrel as a server of the official SDK: its messages in, ours out. Faults become tool errors; the server goes on.

Which folders the client works in it says itself: protocol versions until 2025-11-25 let a server ask at any time; since
2026-07-28 it answers a call with the question, and the client sends the call again with its answer. The SDK's own types reject
a whole answer for one root that isn't a file URI: ours take any text.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import BaseModel, ValidationError

from carrel.frontends.common.agent_hooks import AGENT_HOOKS
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.transcripts import read_transcript
from carrel.frontends.common.uris import uri_to_path
from carrel.frontends.mcp import resources, server_info
from carrel.frontends.mcp.folders import Folders
from carrel.frontends.mcp.index_readiness import IndexReadiness, Report
from carrel.frontends.mcp.resources import Resources
from carrel.frontends.mcp.server_info import Offer
from carrel.frontends.mcp.tools import TOOLS, Answer, Tools
from carrel.model.caller import Caller, called_by
from carrel.model.errors import CarrelError, InvalidInput, place_of
from carrel.model.installation import carrel_version
from carrel.model.structs import decode
from carrel.service.prompt_context import Prompt, PromptContexts

log = logging.getLogger(__name__)
Context = ServerRequestContext[Any]

_UNKNOWN = "Something went wrong inside Carrel; its log (standard error) says more."

_ROOTS = "roots"
_ROOTS_SECONDS = 5.0


class CallToolParams(types.CallToolRequestParams):
    """A tool's call with the client's answers as they came."""

    input_responses: dict[str, Any] | None = None


class ReadResourceParams(types.ReadResourceRequestParams):
    """A resource's reading with the client's answers as they came."""

    input_responses: dict[str, Any] | None = None


class _Root(BaseModel):
    uri: str


class _RootList(types.Result):
    roots: list[_Root]


async def _client_folders(context: Context, responses: dict[str, Any] | None) -> list[Path] | types.InputRequiredResult | None:
    """Return the client's folders; or what to answer so that it tells them; or None where it can't."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return None
    try:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await context.session.send_request(types.ListRootsRequest(), _RootList, _ROOTS_SECONDS)
        elif responses and _ROOTS in responses:
            answer = _RootList.model_validate(responses[_ROOTS], by_name=False)
        else:
            return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
    except (MCPError, ValidationError) as error:
        log.warning("The client didn't say which folders it works in (%s): the current folder counts", type(error).__name__)
        return None
    return _folders([root.uri for root in answer.roots])


def _folders(uris: list[str]) -> list[Path]:
    """Return the folders that these URIs name, with a warning of those that name none."""
    paths = [Path(path) for uri in uris if (path := uri_to_path(uri))]
    folders = [path for path in paths if os.path.isdir(path)]  # noqa: PTH112 - one that mustn't be looked at is none, either
    if others := len(uris) - len(paths):
        log.warning("%d of the client's %d roots left out: not a file: URI of a folder on this machine", others, len(uris))
    if missing := len(paths) - len(folders):
        log.warning("%d of the client's %d roots left out: not a folder, or not to be read", missing, len(uris))
    if not folders:
        log.warning("The client names no folder that can be read: the current folder counts. `--root PATH` names another")
    return folders


class McpServer:
    """Handlers for one process's MCP connections."""

    def __init__(self, folders: Folders, readiness: IndexReadiness, offer: Offer) -> None:
        """Register the handlers."""
        self._offer = offer
        self._folders = folders
        self._tools = Tools(folders, readiness)
        self._resources = Resources(folders, readiness)
        self._hook = PromptHook(folders)
        self._deciding = asyncio.Lock()
        self.sdk: Server[Any] = Server(
            server_info.NAME,
            version=carrel_version(),
            title=server_info.TITLE,
            instructions=server_info.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
        )
        self.sdk.add_request_handler("tools/call", CallToolParams, self._call_tool)
        self.sdk.add_request_handler("resources/read", ReadResourceParams, self._read_resource)
        self.sdk.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, self._roots_changed)

    # --- tools

    async def _list_tools(self, _context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in self._offer.tools()])

    async def _call_tool(self, context: Context, params: CallToolParams) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in TOOLS and params.name != PROMPT_CONTEXT:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}; there are {', '.join(TOOLS)}.")
        try:
            if question := await self._decide(context, params.input_responses):
                return question
            if params.name == PROMPT_CONTEXT:
                text = await self._hook.answer(params.arguments, _caller(context))
                return types.CallToolResult(content=[types.TextContent(text=text)])
            with called_by(_caller(context)):
                answer = await self._tools.call(params.name, params.arguments, _reporter(context))
                self._folders.recorded(params.name, params.arguments or {}, answer.text)
            wanted = dict(params.meta or {}).get(server_info.STRUCTURED) is True
            return _result(answer, structured=self._offer.structured or wanted)
        except CarrelError as error:
            return _failure(str(error))
        except Exception as error:
            _log(params.name, error)
            return _failure(_UNKNOWN)

    # --- resources

    async def _list_resources(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        try:
            if await self._decide(context, None):  # only a call can carry the question: until then nothing is known
                return types.ListResourcesResult(resources=[])
            page = await self._resources.page(params.cursor if params else None)
        except CarrelError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        listed = [types.Resource(uri=uri, name=path, mime_type="text/plain") for uri, path in page.files]
        return types.ListResourcesResult(resources=listed, next_cursor=page.cursor)

    async def _list_templates(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        described = (
            (resources.FILE_TEMPLATE, "file", "A file of the workspace that is in the index, as it stands now."),
            (resources.LINES_TEMPLATE, "lines", "Some lines of such a file: what a hit's `uri` names."),
        )
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=template, name=name, description=text, mime_type="text/plain")
                for template, name, text in described
            ]
        )

    async def _read_resource(
        self, context: Context, params: ReadResourceParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        try:
            if question := await self._decide(context, params.input_responses):
                return question
            text = await self._resources.read(str(params.uri), _reporter(context))
        except CarrelError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except Exception as error:
            _log("resources/read", error)
            raise MCPError(types.INTERNAL_ERROR, _UNKNOWN) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=str(params.uri), mime_type="text/plain", text=text)]
        )

    # --- folders

    async def _decide(self, context: Context, responses: dict[str, Any] | None) -> types.InputRequiredResult | None:
        """Know the workspace folders before anything is answered; gives what to ask the client, if it must be asked so."""
        async with self._deciding:
            if self._folders.decided:
                return None
            reply = await _client_folders(context, responses)
            if isinstance(reply, types.InputRequiredResult):
                return reply
            self._folders.decide(reply or ())
        return None

    async def _roots_changed(self, context: Context, _params: types.NotificationParams | None) -> None:
        if not self._folders.named and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._folders.decided = False  # the next call asks


def _caller(context: Context) -> Caller:
    client = context.session.client_params
    return Caller("mcp", client.client_info.name if client else "")


def _reporter(context: Context) -> Report:
    async def report(done: float, total: float | None, message: str) -> None:
        await context.session.report_progress(done, total, message)

    return report


def _result(answer: Answer, *, structured: bool) -> types.CallToolResult:
    """Return the text, and the same as a value if the client wants it: many give a model the value in place of the text."""
    content: list[types.ContentBlock] = [types.TextContent(text=note) for note in answer.notes]
    content.append(types.TextContent(text=answer.text))
    value = msgspec.to_builtins(answer.value, str_keys=True) if structured else None
    return types.CallToolResult(content=content, structured_content=value)


def _failure(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def _log(what: str, error: Exception) -> None:
    # Not the error itself: its message may quote what was worked on.
    log.error("%s failed: %s at %s", what, type(error).__name__, place_of(error))


PROMPT_CONTEXT = "prompt_context"

_HOOK = AGENT_HOOKS["claude-code"]
"""Codex takes the same."""
_FIRST_MS = 5_000
"""The agent starts this server with itself, so its first prompt often comes while everything is loaded; it waits 10 s at most."""


class _Request(Struct, frozen=True):
    prompt: str = ""
    folder: str = ""
    transcript: str = ""
    session: str = ""


class PromptHook:
    """Answers the tool that agents' hooks call before each prompt, over the folders of one connection; models don't see it.

    Claude Code and Codex fill in the prompt, its folder, the transcript and the session, and take the tool's text for a
    hook's JSON. Whatever fails, the prompt goes on: the text is `{}` then.
    """

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._contexts = PromptContexts(_FIRST_MS)
        self._switch: ContextSwitch | None = None

    async def answer(self, raw: Any, caller: Caller) -> str:
        """Return the hook's JSON; an empty object for a folder that isn't open."""
        try:
            request = decode(_Request, raw)
        except InvalidInput:
            return "{}"
        workspace = self._folders.holding(request.folder)
        if workspace is None:
            return "{}"
        if self._switch is None:
            self._switch = ContextSwitch()
        self._folders.switch_context(on=self._switch.on)
        said = await asyncio.to_thread(read_transcript, request.transcript, request.prompt)
        prompt = Prompt(request.prompt, request.session, said.turns, said.compacted, _HOOK.form, _HOOK.most_bytes)
        with called_by(Caller(caller.entry, f"{caller.name} {request.session[:8]}".strip())):
            addition = await self._contexts.addition(workspace, prompt)
        return json.dumps(_HOOK.answer(addition))

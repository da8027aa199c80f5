"""Which folders the client works in, where it says so.

Protocol versions until 2025-11-25 let a server ask at any time; since 2026-07-28 it answers a call with the question, and the
client sends the call again with its answer. The SDK's own types reject a whole answer for one root that isn't a file URI: ours
take any text.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from carrel.frontends.common.uris import uri_to_path

log = logging.getLogger(__name__)

_KEY = "roots"
_SECONDS = 5.0


class CallToolParams(types.CallToolRequestParams):
    """A tool's call with the client's answers as they came."""

    input_responses: dict[str, Any] | None = None


class ReadResourceParams(types.ReadResourceRequestParams):
    """A resource's reading with the client's answers as they came."""

    input_responses: dict[str, Any] | None = None


class _Root(BaseModel):
    uri: str


class _Roots(types.Result):
    roots: list[_Root]


async def ask(
    context: ServerRequestContext[Any], responses: dict[str, Any] | None
) -> list[Path] | types.InputRequiredResult | None:
    """Return the client's folders; or what to answer so that it tells them; or None where it can't."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return None
    try:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await context.session.send_request(types.ListRootsRequest(), _Roots, _SECONDS)
        elif responses and _KEY in responses:
            answer = _Roots.model_validate(responses[_KEY], by_name=False)
        else:
            return types.InputRequiredResult(input_requests={_KEY: types.ListRootsRequest()})
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

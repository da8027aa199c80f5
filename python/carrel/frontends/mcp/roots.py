"""Which folders the client works in, where it says so.

Protocol versions until 2025-11-25 let a server ask at any time; since 2026-07-28 it answers a call with the question, and the
client sends the call again with its answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from carrel.frontends.common.uris import uri_to_path

_KEY = "roots"
_SECONDS = 5.0


async def ask(
    context: ServerRequestContext[Any], responses: types.InputResponses | None
) -> list[Path] | types.InputRequiredResult | None:
    """Return the client's folders; or what to answer so that it tells them; or None where it can't."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return None
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (responses or {}).get(_KEY)
        if answer is None:
            return types.InputRequiredResult(input_requests={_KEY: types.ListRootsRequest()})
        return _paths(answer) if isinstance(answer, types.ListRootsResult) else None
    try:
        result = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult, _SECONDS)
    except (MCPError, ValidationError):
        return None
    return _paths(result)


def _paths(result: types.ListRootsResult) -> list[Path]:
    return [Path(path) for root in result.roots if (path := uri_to_path(str(root.uri)))]

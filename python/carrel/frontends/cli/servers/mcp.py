"""`carrel mcp [install | uninstall]`."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.mcp.server_info import DEFAULT_TOOLS, Offer, sdk_problem, tool_names
from carrel.model.errors import InvalidInput

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output
    from carrel.policy.broad_folders import BroadFolder
    from carrel.settings.settings import Options


def run(arguments: Namespace, output: Output) -> int:
    """Serve, or write a client's configuration."""
    if arguments.action:
        from carrel.frontends.cli.assistants.setup import configure

        return configure(arguments, output)
    roots = tuple(folder(root) for root in arguments.root)
    options = _options(arguments.settings)
    broad: BroadFolder = "once indexed" if arguments.roots_by_editor else "allowed"
    offer = Offer(_tools(arguments.tools), arguments.structured)
    if problem := sdk_problem():
        raise problem
    from carrel.frontends.common import parent_process
    from carrel.frontends.mcp.early_responder import EarlyResponder

    parent_process.end_with_parent()
    responder = EarlyResponder.on_standard_streams(offer.tools(), ask_roots=not roots)
    if not responder.wait():
        return 0
    from carrel.frontends.mcp.serve import run as serve

    return serve(roots, responder, options, broad, offer)


def _tools(typed: str) -> tuple[str, ...]:
    """Return the tools to list, in the order of all."""
    names = tool_names()
    if typed == "all":
        return names
    wanted = DEFAULT_TOOLS if typed == "" else tuple(name.strip() for name in typed.split(","))
    for name in wanted:
        if name not in names:
            raise InvalidInput("--tools", f"{name!r} is no tool", f"There are: {', '.join(names)}; or give all.")
    return tuple(name for name in names if name in wanted)


def _options(text: str) -> Options:
    """Read settings as typed, or as an editor hands them over."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput("--settings", f"is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput("--settings", "is not a JSON object", 'Give one such as {"exclude": ["*.gen.ts"]}.')
    return value

"""The arguments of the two proxies."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, BooleanOptionalAction
from typing import Any

from carrel.frontends.cli.arguments.argument_types import count, path, port, positive


def add_proxies(commands: Any) -> None:
    """Add `copilot-proxy` and `proxy` to the commands."""
    copilot = commands.add_parser(
        "copilot-proxy",
        help="stand before the Copilot Language Server and put context into chat turns",
        usage="carrel copilot-proxy [options] -- COMMAND…  |  carrel copilot-proxy [options] install|uninstall CLIENT",
    )
    copilot.add_argument(
        "--mode", choices=("prepend", "references", "off"), default="prepend", help="how context is given (prepend)"
    )
    copilot.add_argument(
        "--deadline-ms", type=positive, default=300, metavar="N", help="after this a turn goes on as it was (300)"
    )
    copilot.add_argument("--top-k", type=positive, metavar="N", help="hits at most (setting ragTopK)")
    copilot.add_argument("--tool", action=BooleanOptionalAction, default=True, help="offer search tools to the agent (yes)")
    copilot.add_argument(
        "--citations", action=BooleanOptionalAction, default=True, help="check the places that answers cite (yes)"
    )
    copilot.add_argument("--real", metavar="FILE", help="for install: the real server (copilot-language-server on PATH)")
    _workspaces(copilot, "the editor's folders")
    copilot.add_argument("server", nargs=REMAINDER, metavar="-- COMMAND")

    proxy = commands.add_parser("proxy", help="stand before a chat API (OpenAI's or Ollama's) and put context into questions")
    proxy.add_argument("--upstream", required=True, metavar="URL", help="where requests go on to, with or without /v1")
    proxy.add_argument("--port", type=port, default=4141, metavar="N", help="port to listen on (4141; 0 takes a free one)")
    proxy.add_argument("--window", type=positive, metavar="N", help="the model's window in tokens, where it isn't known by name")
    proxy.add_argument("--tokens", type=positive, metavar="N", help="context of at most N tokens (setting budget)")
    proxy.add_argument(
        "--deadline-ms", type=positive, default=300, metavar="N", help="after this a question goes on as it was (300)"
    )
    proxy.add_argument(
        "--rate-limit", type=count, metavar="N", help="questions a minute that get context at most (600; 0 for no limit)"
    )
    proxy.add_argument("--citations", action=BooleanOptionalAction, default=True, help="check the places that answers cite (yes)")
    proxy.add_argument("--token-env", metavar="NAME", help="environment variable with a token that callers must send")
    proxy.add_argument("--upstream-key-env", metavar="NAME", help="environment variable with the key for the upstream")
    _workspaces(proxy, "the current folder")


def _workspaces(command: ArgumentParser, default: str) -> None:
    command.add_argument(
        "--workspace", "--path", action="append", type=path, default=[], metavar="PATH", help=f"a folder (repeatable; {default})"
    )

"""Declare the commands that serve assistants: `carrel mcp`, `carrel agents` and the two proxies."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, BooleanOptionalAction

from carrel.frontends.cli.argument_types import Commands, add_json, add_scope, count, path, port, positive

MCP_CLIENTS = ("vscode", "claude", "cursor", "zed", "jetbrains", "copilot-cli", "codex", "gemini", "opencode", "qwen")
"""Assistants whose configuration `carrel mcp install` knows; `carrel.frontends.cli.assistants.clients` says where it is."""
AGENTS = ("claude-code", "codex", "gemini", "copilot", "opencode", "qwen", "cursor", "vscode")


def add_mcp(commands: Commands) -> None:
    """Add `mcp` to the commands."""
    mcp = commands.add_parser("mcp", help="serve assistants that speak MCP, over standard input and output")
    mcp.add_argument(
        "--root",
        "--path",
        action="append",
        type=path,
        default=[],
        metavar="PATH",
        help="a workspace folder (repeatable; the client's)",
    )
    mcp.add_argument(
        "--roots-by-editor",
        action="store_true",
        help="an editor names --root: a home folder or whole disk counts only once it was indexed by `carrel index`",
    )
    mcp.add_argument(
        "--tools",
        default="",
        metavar="NAME,…",
        help="the tools to list, or all (search_code,get_context): an agent sends each one with every request",
    )
    mcp.add_argument("--structured", action="store_true", help="give results as values too, and list their schemas")
    mcp.add_argument("--settings", default="{}", metavar="JSON", help="settings over those of your settings file, as an object")
    actions = mcp.add_subparsers(dest="action", metavar="ACTION")
    for name, text in (
        ("install", "enter Carrel in an assistant's configuration file"),
        ("uninstall", "take it out again"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("--client", required=True, choices=MCP_CLIENTS, help="whose configuration")
        add_scope(action)
        add_json(action)


def add_agents(commands: Commands) -> None:
    """Add the command."""
    agents = commands.add_parser("agents", help="put context in front of the prompts of agents in a terminal")
    actions = agents.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("install", "enter Carrel in agents' settings: its MCP server, and a hook that adds context to each prompt"),
        ("uninstall", "take it out again, and leave the files as they were"),
        ("status", "say which agents are here, and where Carrel is installed"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument(
            "agent",
            nargs="?",
            choices=(*AGENTS, "all"),
            default="all",
            metavar="AGENT",
            help=f"{', '.join(AGENTS)}, or all (those of a terminal that are here)",
        )
        add_scope(action)
        if name != "status":
            action.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        if name == "install":
            action.add_argument("--yes", action="store_true", help="write without asking")
        add_json(action)
    last = actions.add_parser("last", help="show what was added to the last prompts")
    add_json(last)
    actions.add_parser("serve")  # without help it isn't listed: the first prompt starts it


def add_proxies(commands: Commands) -> None:
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

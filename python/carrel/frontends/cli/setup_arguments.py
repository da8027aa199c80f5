"""Declare the commands that show and change what a person sets up: models, sources, stores, tools, the audit log.

Here are also those that serve assistants: `carrel mcp`, `carrel agents` and the two proxies.
"""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, BooleanOptionalAction
from collections.abc import Sequence
from pathlib import Path

from carrel.frontends.cli.argument_types import Commands, add_scope, count, path, port, positive, query
from carrel.model.kinds import AUDIT_KINDS
from carrel.model.kinds import KINDS as STORES

ROLES = ("embedder", "reranker", "chat", "planner")


def add_models(commands: Commands) -> None:
    """Add both commands."""
    models = commands.add_parser("models", help="choose models beside the bundled one, and see where their text goes")
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="show the models that are set, and the providers that can be")
    actions.add_parser("check", help="ask each model for as little as it can answer")

    chosen = actions.add_parser(
        "set",
        help="choose the model for a role, in your settings file",
        epilog="examples:\n  carrel models set chat ollama qwen3\n  carrel models set embedder openai text-embedding-3-small\n"
        "  carrel models set embedder bundled",
    )
    chosen.add_argument("role", choices=ROLES, help="what it is used as")
    chosen.add_argument("provider", metavar="PROVIDER", help='who offers it, as `carrel models list` names it; "none" for none')
    chosen.add_argument("model", nargs="?", metavar="MODEL", help="its name there")
    chosen.add_argument("--base-url", metavar="URL", help="where it is asked")
    chosen.add_argument(
        "--key", metavar="PLACE", help="where its key is: env:NAME, keyring, editor or none; never the key itself"
    )
    chosen.add_argument("--dimensions", type=positive, metavar="N", help="numbers of a vector")
    chosen.add_argument("--window", type=positive, metavar="N", help="tokens of a chat model's prompt and answer together")
    chosen.add_argument("--price", type=float, metavar="DOLLARS", help="for a million tokens sent")

    key = actions.add_parser("key", help="keep a provider's key in the system's keyring")
    key.add_argument("provider", metavar="PROVIDER")
    how = key.add_mutually_exclusive_group()
    how.add_argument("--stdin", action="store_true", help="read the key from standard input instead of asking")
    how.add_argument("--remove", action="store_true", help="delete it")

    confirm = commands.add_parser(
        "confirm",
        help="allow text to be sent to a provider",
        description="Allow text to be sent to a provider; without one, to each that a model is set for. Asks at the terminal.",
        epilog="example:\n  carrel confirm openai api.openai.com",
    )
    confirm.add_argument("provider", nargs="?", metavar="PROVIDER")
    confirm.add_argument("host", nargs="?", metavar="HOST", help="its host, with the port where it has one of its own")
    what = confirm.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show what is allowed")
    what.add_argument("--withdraw", action="store_true", help="allow it no more")


def add_sources(commands: Commands) -> None:
    """Add the command."""
    sources = commands.add_parser(
        "sources", help="choose what is searched beside the workspace: documents, git history, repositories"
    )
    actions = sources.add_subparsers(dest="action", required=True, metavar="ACTION")

    added = actions.add_parser(
        "add",
        help="add a source to your settings file, or change one",
        description="Add a source to your settings file. Of one that is there already, only what you give is changed.",
        epilog="examples:\n  carrel sources add runbooks ~/ops/runbooks --outdated-after 365\n  carrel sources add history --git"
        "\n  carrel sources add wiki mcp://wiki           resources of the MCP server `wiki` of `carrel tools`"
        "\n  carrel sources add notes mcp://wiki/note://  those whose URI begins with note://"
        "\n  carrel sources add qdrant://qdrant.example.com:6333/billing --key env:QDRANT_API_KEY",
    )
    added.add_argument(
        "id", metavar="ID", help="what it is called: small letters, digits, - and _; a repository or server may do without"
    )
    added.add_argument(
        "folder",
        nargs="?",
        metavar="PLACE",
        help="the folder, with --git the workspace's by default; mcp://SERVER; or qdrant://HOST:PORT/NAME",
    )
    added.add_argument("--key", metavar="PLACE", help="where the key of a repository's server is: env:NAME, keyring or none")
    added.add_argument("--git", action="store_true", help="the history of a repository, in place of documents")
    added.add_argument("--description", metavar="TEXT", help="one line on what it holds, for whoever chooses between sources")
    added.add_argument("--outdated-after", type=positive, metavar="DAYS", help="mark documents that are older as outdated")

    removed = actions.add_parser(
        "remove",
        help="take a source out of your settings file, and delete what Carrel keeps of it",
        epilog="example:\n  carrel sources remove runbooks",
    )
    removed.add_argument("id", metavar="ID", help="what `carrel sources list` calls it")

    listed = actions.add_parser(
        "list",
        help="show every source with its state",
        epilog="example:\n  carrel sources list --index",
    )
    listed.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the workspace folder (the current one)")
    listed.add_argument("--index", action="store_true", help="bring the index of each up to date before")


def add_publish(commands: Commands) -> None:
    """Add `carrel publish`."""
    publish = commands.add_parser(
        "publish",
        help="put a repository's index on a Qdrant server, to be searched without a checkout",
        description="Index a repository and publish what changed. What is there stays visible until all of the new state is. "
        "A run that was stopped or killed is taken up by the next one.",
        epilog="example:\n  carrel publish --repo billing --to qdrant://qdrant.example.com:6333 --text no",
    )
    publish.add_argument("--repo", required=True, metavar="NAME", help="what it is called there, such as billing or acme/billing")
    publish.add_argument("--to", metavar="URL", help="the server, qdrant://HOST:PORT; by default that of the setting `store`")
    publish.add_argument("--text", choices=("yes", "no"), default="yes", help="publish the text of chunks, or their places alone")
    publish.add_argument("--key", default="", metavar="PLACE", help="where the server's key is: env:NAME, keyring or none")
    publish.add_argument("--allow-dirty", action="store_true", help="publish files that differ from the commit as they are")
    publish.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the repository's folder (the current one)")


def add_store(commands: Commands) -> None:
    """Add `carrel store`."""
    store = commands.add_parser("store", help="where vectors are kept besides the index: state, change, comparison")
    actions = store.add_subparsers(dest="action", required=True, metavar="ACTION")

    status = actions.add_parser("status", help="open the store and say what it holds and what waits")
    status.add_argument("--path", type=path, default=Path(), metavar="FOLDER", help="the project (this folder)")

    migrate = actions.add_parser(
        "migrate",
        help="fill another store with the vectors of this folder's index, and set it",
        description="Fill another store from the index's own vectors: nothing is embedded again. A run that was stopped "
        "or killed goes on where it was. When the store holds everything it is written into your settings.",
        epilog="examples:\n  carrel store migrate lancedb\n  carrel store migrate qdrant --url http://localhost:6333\n"
        "  carrel store migrate segments",
    )
    migrate.add_argument(
        "kind",
        help=f"the store to fill: {', '.join(STORES)}, or what an installed package offers; `segments` is the index alone",
    )
    migrate.add_argument("--path", type=path, default=Path(), metavar="FOLDER", help="the project (this folder)")
    migrate.add_argument("--url", default="", help="of Qdrant's server")
    migrate.add_argument("--key", default="", metavar="PLACE", help="where its key is: env:NAME, keyring or none")
    migrate.add_argument("--collection", default="", metavar="NAME", help="in place of `carrel-…`")
    migrate.add_argument("--delete-old", action="store_true", help="delete this folder's vectors from the former store")

    verify = actions.add_parser(
        "verify",
        help="compare the ids of all vectors in the store with those of the index; exit code 1 where they differ",
        epilog="example:\n  carrel store verify --mend",
    )
    verify.add_argument("--path", type=path, default=Path(), metavar="FOLDER", help="the project (this folder)")
    verify.add_argument("--mend", action="store_true", help="add what is missing there, and delete what is too much")

    actions.add_parser(
        "install",
        help="download Qdrant's program for this machine, after you agreed to it at the terminal",
        description="Download Qdrant's program from its releases on GitHub, checked against the digest published there.",
        epilog="example:\n  carrel store install",
    )


def add_selftest(commands: Commands) -> None:
    """Add `carrel selftest`."""
    selftest = commands.add_parser(
        "selftest",
        help="try the remote parts in ten checks: Copilot's token and embeddings, and the Qdrant server",
        description="Run ten checks. Those that need GitHub run against a stand-in on this machine, or with --live against "
        "GitHub itself with your own token; those of Qdrant run against the real program, where there is one.",
        epilog="examples:\n  carrel selftest\n  carrel selftest --live --json",
    )
    selftest.add_argument("--live", action="store_true", help="ask GitHub itself, with the token that Copilot's plugins keep")
    selftest.add_argument("--qdrant", type=path, metavar="PROGRAM", help="Qdrant's program, in place of the one that is found")


RISKS = ("safe", "moderate", "dangerous")


def split_program(typed: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return what was typed without the program behind `--` of `carrel tools add`, and that program.

    argparse would take options behind NAME for a part of it.
    """
    if list(typed[:2]) != ["tools", "add"] or "--" not in typed:
        return typed, []
    place = list(typed).index("--")
    return typed[:place], list(typed[place + 1 :])


def add_tools(commands: Commands) -> None:
    """Add both commands."""
    tools = commands.add_parser("tools", help="choose tools for models: MCP servers, files")
    actions = tools.add_subparsers(dest="action", required=True, metavar="ACTION")

    add = actions.add_parser(
        "add",
        help="add a source of tools to your settings file, and read it",
        usage="carrel tools add NAME [options] [-- COMMAND …]",
        epilog="examples:\n  carrel tools add git -- uvx mcp-server-git\n  carrel tools add wiki --url https://wiki.example/mcp "
        "--key env:WIKI_TOKEN\n  carrel tools add ours --file ~/tools.toml",
    )
    add.add_argument("name", metavar="NAME", help="what the source is called: small letters, digits, - and _")
    add.add_argument("--url", metavar="URL", help="an MCP server that is asked by streamable HTTP")
    add.add_argument("--key", metavar="PLACE", help="with --url: where its key or token is, env:NAME or keyring")
    add.add_argument("--file", type=path, metavar="FILE", help="a TOML or JSON file that describes tools")
    add.add_argument("--env", action="append", default=[], metavar="NAME", help="a variable that the program gets (repeatable)")
    add.add_argument("--cwd", type=path, metavar="PATH", help="the folder that the program runs in")

    remove = actions.add_parser(
        "remove",
        help="take a source out of your settings file",
        epilog="example:\n  carrel tools remove git",
    )
    remove.add_argument("name", metavar="NAME")

    for name, text in (
        ("refresh", "read sources again: servers are started, asked and stopped"),
        ("approve", "look at tools that are new or changed, and allow them; asks at the terminal"),
    ):
        action = actions.add_parser(name, help=text, epilog=f"example:\n  carrel tools {name} git")
        action.add_argument("names", nargs="*", metavar="NAME", help="of sources (all of them)")

    listed = actions.add_parser(
        "list",
        help="show all tools, and what is wrong with them",
        epilog="examples:\n  carrel tools list\n  carrel tools list --export openai",
    )
    listed.add_argument("--export", choices=("openai", "anthropic", "mcp"), help="print approved tools as schemas of this form")

    search = actions.add_parser(
        "search",
        help="find the tools that fit a request",
        epilog='examples:\n  carrel tools search "find errors in logs"\n  carrel tools search "close an issue" --risk moderate',
    )
    search.add_argument("query", type=query, metavar="REQUEST")
    search.add_argument("--limit", type=positive, default=5, metavar="N", help="tools at most (5)")
    search.add_argument("--risk", choices=RISKS, help="the highest risk that they may have")
    search.add_argument("--tag", action="append", default=[], metavar="TAG", help="that they must have (repeatable)")

    pipeline = commands.add_parser("pipeline", help="check and run pipelines of tools")
    actions = pipeline.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text, example in (
        ("validate", "check a pipeline whole, and run nothing", "carrel pipeline validate errors.json"),
        ("run", "run a pipeline; a dangerous one asks at the terminal", "carrel pipeline run errors.json --input app.log"),
    ):
        action = actions.add_parser(name, help=text, epilog=f"example:\n  {example}")
        action.add_argument("file", metavar="FILE", help='the pipeline as JSON; "-" for standard input')
        action.add_argument("--input", metavar="FILE", help="the text that its first step gets")
        action.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the folder that tools search (current)")
        if name == "run":
            action.add_argument("--dry-run", action="store_true", help="check it and show its steps, and run nothing")


def add_audit(commands: Commands) -> None:
    """Add the command."""
    audit = commands.add_parser(
        "audit",
        help="show what was given to whom, and what left the machine",
        description="Show what was selected, sent and done, by whom and when. Of texts the log has hashes and sizes.",
        epilog="examples:\n  carrel audit --since 1d --kind sent\n  carrel audit --export audit.jsonl",
    )
    audit.add_argument("--since", metavar="TIME", help="entries since then alone: a span such as 12h or 7d, or a date")
    audit.add_argument(
        "--kind", choices=AUDIT_KINDS, metavar="KIND", help=f"entries of this kind alone: {', '.join(AUDIT_KINDS)}"
    )
    audit.add_argument("--limit", type=positive, default=50, metavar="N", help="show the newest N entries (50)")
    audit.add_argument("--export", type=Path, metavar="FILE", help="write all entries into a new file, as JSON lines")


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
    for name, text in (("install", "enter Carrel in an assistant's configuration file"), ("uninstall", "take it out again")):
        action = actions.add_parser(name, help=text)
        action.add_argument("--client", required=True, choices=MCP_CLIENTS, help="whose configuration")
        add_scope(action)


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
    actions.add_parser("last", help="show what was added to the last prompts")
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

"""What can be typed after `carrel tools` and `carrel pipeline`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json, path, positive, query

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]

RISKS = ("safe", "moderate", "dangerous")


def split_program(typed: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return what was typed without the program behind `--` of `carrel tools add`, and that program.

    argparse would take options behind NAME for a part of it.
    """
    if list(typed[:2]) != ["tools", "add"] or "--" not in typed:
        return typed, []
    place = list(typed).index("--")
    return typed[:place], list(typed[place + 1 :])


def add_tools(commands: _Commands) -> None:
    """Add both commands."""
    tools = commands.add_parser("tools", help="choose tools for models: MCP servers, files, OpenAPI documents")
    actions = tools.add_subparsers(dest="action", required=True, metavar="ACTION")

    add = actions.add_parser(
        "add",
        help="add a source of tools to your settings file, and read it",
        usage="carrel tools add NAME [options] [-- COMMAND …]",
        epilog="examples:\n  carrel tools add git -- uvx mcp-server-git\n  carrel tools add wiki --url https://wiki.example/mcp "
        "--key env:WIKI_TOKEN\n  carrel tools add ours --file ~/tools.toml\n  carrel tools add shop --openapi ~/shop.yaml\n  "
        "carrel tools add shop --openapi ~/shop.yaml --url https://shop.example/v1 --key env:SHOP_KEY",
        formatter_class=RawDescriptionHelpFormatter,
    )
    add.add_argument("name", metavar="NAME", help="what the source is called: small letters, digits, - and _")
    add.add_argument(
        "--url",
        metavar="URL",
        help="an MCP server that is asked by streamable HTTP; with --openapi: where its operations are asked",
    )
    add.add_argument("--key", metavar="PLACE", help="with --url: where its key or token is, env:NAME or keyring")
    add.add_argument("--file", type=path, metavar="FILE", help="a TOML or JSON file that describes tools")
    add.add_argument("--openapi", type=path, metavar="FILE", help="an OpenAPI document, JSON or YAML")
    add.add_argument("--env", action="append", default=[], metavar="NAME", help="a variable that the program gets (repeatable)")
    add.add_argument("--cwd", type=path, metavar="PATH", help="the folder that the program runs in")
    add_json(add)

    remove = actions.add_parser(
        "remove",
        help="take a source out of your settings file",
        epilog="example:\n  carrel tools remove git",
        formatter_class=RawDescriptionHelpFormatter,
    )
    remove.add_argument("name", metavar="NAME")
    add_json(remove)

    for name, text in (
        ("refresh", "read sources again: servers are started, asked and stopped"),
        ("approve", "look at tools that are new or changed, and allow them; asks at the terminal"),
    ):
        action = actions.add_parser(
            name, help=text, epilog=f"example:\n  carrel tools {name} git", formatter_class=RawDescriptionHelpFormatter
        )
        action.add_argument("names", nargs="*", metavar="NAME", help="of sources (all of them)")
        add_json(action)

    listed = actions.add_parser(
        "list",
        help="show all tools, and what is wrong with them",
        epilog="examples:\n  carrel tools list\n  carrel tools list --export openai",
        formatter_class=RawDescriptionHelpFormatter,
    )
    listed.add_argument("--export", choices=("openai", "anthropic", "mcp"), help="print approved tools as schemas of this form")
    add_json(listed)

    search = actions.add_parser(
        "search",
        help="find the tools that fit a request",
        epilog='examples:\n  carrel tools search "find errors in logs"\n  carrel tools search "close an issue" --risk moderate',
        formatter_class=RawDescriptionHelpFormatter,
    )
    search.add_argument("query", type=query, metavar="REQUEST")
    search.add_argument("--limit", type=positive, default=5, metavar="N", help="tools at most (5)")
    search.add_argument("--risk", choices=RISKS, help="the highest risk that they may have")
    search.add_argument("--tag", action="append", default=[], metavar="TAG", help="that they must have (repeatable)")
    add_json(search)

    pipeline = commands.add_parser("pipeline", help="check and run pipelines of tools")
    actions = pipeline.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text, example in (
        ("validate", "check a pipeline whole, and run nothing", "carrel pipeline validate errors.json"),
        ("run", "run a pipeline; a dangerous one asks at the terminal", "carrel pipeline run errors.json --input app.log"),
    ):
        action = actions.add_parser(name, help=text, epilog=f"example:\n  {example}", formatter_class=RawDescriptionHelpFormatter)
        action.add_argument("file", metavar="FILE", help='the pipeline as JSON; "-" for standard input')
        action.add_argument("--input", metavar="FILE", help="the text that its first step gets")
        action.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the folder that tools search (current)")
        if name == "run":
            action.add_argument("--dry-run", action="store_true", help="check it and show its steps, and run nothing")
        add_json(action)

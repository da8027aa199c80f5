"""What can be typed. Only argparse is imported here: this module runs for every call, `--version` included."""

from __future__ import annotations

import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentError,
    ArgumentParser,
    Namespace,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from carrel.frontends.cli.argument_types import (
    Commands,
    did_you_mean,
    path,
    place,
    positive,
    query,
    unknown_arguments,
)
from carrel.frontends.cli.setup_arguments import (
    add_agents,
    add_audit,
    add_mcp,
    add_models,
    add_proxies,
    add_publish,
    add_selftest,
    add_sources,
    add_store,
    add_tools,
    split_program,
)

ASSESS = "have the chat model that is set say whether what was found is enough, and search on until it is"


def add_searches(commands: Commands) -> None:
    """Add the commands that search."""
    search = commands.add_parser("search", help="find code by words, a question or an identifier")
    _query(search)
    search.add_argument("--limit", type=positive, metavar="N", help="hits at most (10; few where the search isn't sure)")
    search.add_argument(
        "--format", choices=("full", "places"), default="full", help="places: path, lines and symbol alone, a line each (full)"
    )
    search.add_argument("--last-change", action="store_true", help="say which commit changed each of the first 10 hits last")
    search.add_argument("--assess", action="store_true", help=ASSESS)
    _history(search)
    _filters(search)

    context = commands.add_parser("context", help="print the context that a chat request would get")
    _query(context)
    budget = context.add_mutually_exclusive_group()
    budget.add_argument("--tokens", type=positive, metavar="N", help="at most N tokens, everything counted")
    budget.add_argument("--chars", type=positive, metavar="N", help="at most N characters, everything counted (4000)")
    context.add_argument("--top-k", type=positive, metavar="N", help="hits at most (setting ragTopK)")
    context.add_argument(
        "--format", choices=("xml", "source", "tool", "places"), default="xml", help="the form of the text (xml)"
    )
    _history(context)
    _filters(context)

    files = commands.add_parser("files", help="find the files that answer a query best")
    _query(files)
    files.add_argument("--limit", type=positive, default=5, metavar="N", help="files at most (5)")
    _filters(files)

    localize = commands.add_parser(
        "localize",
        help="find the files and functions that an issue is about",
        description="Find the files and functions that an issue, an error report or a stack trace is about, best first.",
        epilog="example:\n  gh issue view 1234 | carrel localize - --path ~/code/project",
    )
    source = localize.add_mutually_exclusive_group(required=True)
    source.add_argument("text", nargs="?", metavar="TEXT", help='the text, of any length; "-" for standard input')
    source.add_argument("--file", metavar="FILE", help='a file that holds the text; "-" for standard input')
    localize.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the folder of code (the current one)")
    localize.add_argument("--limit", type=positive, default=10, metavar="N", help="files, and functions, at most (10)")

    compare = commands.add_parser("compare", help="compare what whole files and retrieved chunks cost for one question")
    _query(compare)
    compare.add_argument("--limit", type=positive, default=10, metavar="N", help="hits at most (10)")
    compare.add_argument("--tokens", type=positive, default=4_000, metavar="N", help="budget of the chunks in tokens (4000)")
    compare.add_argument("--answers", action="store_true", help="have the chat model that is set answer both ways, side by side")
    compare.add_argument("--model", metavar="NAME", help="with --answers: another model of the provider that is set")

    explain = commands.add_parser("explain", help="say why a line was or wasn't found")
    _query(explain)
    explain.add_argument("place", type=place, metavar="FILE:LINE", help="file relative to the folder, and a line of it")


def add_conversations(commands: Commands) -> None:
    """Add the commands that ask a chat model."""
    ask = commands.add_parser(
        "ask",
        help="have the chat model that is set answer a question about the code, with checked citations",
        description="Have the chat model that is set answer a question about the code. It gets context first and may then search "
        "and read; each place that it cites is checked against what it was given.",
        epilog='example:\n  carrel ask "where are retries limited?" --path ~/code/project',
    )
    ask.add_argument("query", type=query, metavar="QUESTION")
    ask.add_argument("--assess", action="store_true", help=ASSESS)
    _common(ask)

    chat = commands.add_parser(
        "chat",
        help="talk with the chat model that is set about the code",
        description="Talk with the chat model that is set about the code. /quit ends it; Ctrl-C stops an answer.",
        epilog="example:\n  carrel chat --path ~/code/project",
    )
    _common(chat)

    review = commands.add_parser(
        "review",
        help="have the chat model that is set say what an issue takes",
        description="Have the chat model that is set search the code and say what an issue takes.",
        epilog='example:\n  gh issue view 12 --json body -q .body | carrel review "Login fails for umlauts" --body -',
    )
    review.add_argument("title", type=query, metavar="TITLE", help="the issue in a line")
    review.add_argument("--body", metavar="FILE", help='a file with the rest of it; "-" for standard input')
    _common(review)


def _common(command: ArgumentParser) -> None:
    command.add_argument("--path", type=Path, default=Path(), metavar="PATH", help="the folder of code (the current one)")
    command.add_argument("--model", metavar="NAME", help="another model of the provider that is set")
    command.add_argument("--max-tokens", type=positive, metavar="N", help="tokens that the model takes (what its settings say)")
    command.add_argument("--steps", action="store_true", help="show each step: what the model is asked and which tools it calls")


def _query(command: ArgumentParser) -> None:
    command.add_argument("query", type=query, metavar="QUERY", help='words, a question or an identifier; "-" for standard input')
    command.add_argument("--path", type=path, default=Path(), metavar="PATH", help="the folder (the current one)")


def _history(command: ArgumentParser) -> None:
    command.add_argument(
        "--history",
        metavar="FILE",
        help='what was said before a query such as "and how is that tested?": a JSON list of {"role": "user" or "assistant", '
        '"content"}, oldest first; "-" for standard input',
    )


def _filters(command: ArgumentParser) -> None:
    group = command.add_argument_group("filters")
    group.add_argument("--glob", action="append", default=[], metavar="GLOB", help="only paths like this (repeatable)")
    group.add_argument("--language", action="append", default=[], metavar="NAME", help="only this language (repeatable)")
    group.add_argument("--symbol", metavar="NAME", help="only what is or defines this symbol (Class.method, or a name alone)")
    group.add_argument("--source", action="append", default=[], choices=("code", "docs"), help="only code, or only documents")
    group.add_argument("--max-age-days", type=positive, metavar="N", help="only what was updated in the last N days")


_USUAL_ACTIONS = {"agents": "status", "models": "list", "sources": "list", "store": "status", "tools": "list"}
"""The actions of commands that are typed without one."""
_NO_RESULT = ("serve", "agents serve", "proxy", "copilot-proxy", "chat", "batch", "demo")


class WrongUsage(Exception):
    """What was typed is no command; `usage` says what would be."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class _Parser(ArgumentParser):
    """Raises instead of leaving the process, so that `--json` holds for this failure too, and says what may have been meant."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if self.epilog:  # examples, a line each
            self.formatter_class = RawDescriptionHelpFormatter
        self.set_defaults(parser=self)  # the innermost one counts
        self.inner: Mapping[str, Any] = {}

    def add_subparsers(self, **more: Any) -> Any:
        """Add commands or actions, and remember them."""
        commands = super().add_subparsers(**more)
        self.inner = commands.choices
        return commands

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(message, self.format_usage())

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse as argparse does; what is left over is told by the command that doesn't know it."""
        words, program = split_program(_options_last(self, list(sys.argv[1:] if args is None else args)))
        if (usual := _USUAL_ACTIONS.get(words[0] if words else "")) and not _names_action(words[1:]):
            words = [words[0], usual, *words[1:]]
        parsed, unknown = self.parse_known_args(words, namespace)
        parsed.server = program or getattr(parsed, "server", [])
        command: _Parser = parsed.parser
        del parsed.parser
        if unknown:
            command.error(unknown_arguments(unknown, command.format_usage()))
        _name_folder_once(parsed, command)
        return parsed

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            message = f"invalid choice: {value!r} (choose from {', '.join(choices)})"
            raise ArgumentError(action, message + did_you_mean(str(value), choices))


def _options_last(outer: ArgumentParser, typed: list[str]) -> list[str]:
    """Put options that stand before a command, or an action, behind it: only these know them."""
    inner = next((action.choices for action in outer._actions if isinstance(action, _SubParsersAction)), {})
    if typed and typed[0] in inner:
        return [typed[0], *_options_last(inner[typed[0]], typed[1:])]
    if not typed or not typed[0].startswith("--"):
        return typed
    taking = {option for command in inner.values() for option in _options_with_value(command)}
    for values in (taking, frozenset[str]()):  # `--workspace` takes a value in one command and is a flag in another
        at = 0
        while at < len(typed) and typed[at].startswith("--") and typed[at] not in outer._option_string_actions:
            at += 1 + (typed[at] in values)
        if at < len(typed) and typed[at] in inner:
            break
    else:
        return typed
    return [typed[at], *_options_last(inner[typed[at]], typed[:at] + typed[at + 1 :])]


def _options_with_value(command: ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        yield from action.option_strings if action.nargs != 0 else ()
        for inner in action.choices.values() if isinstance(action, _SubParsersAction) else ():
            yield from _options_with_value(inner)


def _names_action(typed: Sequence[str]) -> bool:
    """Return whether an action stands behind a command; help is about the command itself."""
    return bool(typed) and (not typed[0].startswith("-") or typed[0] in ("-h", "--help"))


def _name_folder_once(parsed: Namespace, command: _Parser) -> None:
    """Take the folder from wherever it was named."""
    values = dict(vars(parsed))
    option = values.pop("path_option", None)
    if option is None:
        if values.get("path", ...) is None and parsed.command != "demo":
            parsed.path = Path()
        return
    if values.get("path") is not None:
        if parsed.command != "demo" or parsed.question is not None:
            command.error("the folder is named twice: give it once, by PATH or by --path")
        parsed.question = str(parsed.path)  # the first word is the question then
    parsed.path = option


def parser() -> ArgumentParser:
    """Build the parser of all commands; it raises `WrongUsage`."""
    top = _Parser(
        prog="carrel", description="Find the parts of your own code that a chat request is about, and put them in front of it."
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the language server on standard input and output; editors start it")
    serve.add_argument("--stdio", action="store_true", help=SUPPRESS)  # editors' clients add these two by themselves
    serve.add_argument("--clientProcessId", dest="parent", type=int, help=SUPPRESS)

    index = commands.add_parser("index", help="bring a folder's index up to date")
    _folder(index)
    index.add_argument("--yes", action="store_true", help="index a whole disk or home folder without asking")
    index.add_argument("--force", action="store_true", help="read and embed everything again")
    index.add_argument(
        "--background",
        action="store_true",
        help="for hooks: lowest priority, no output, no error if another Carrel is indexing",
    )

    add_searches(commands)
    add_conversations(commands)
    _add_maintenance(commands)
    add_mcp(commands)
    add_agents(commands)
    add_models(commands)
    add_audit(commands)
    add_sources(commands)
    add_publish(commands)
    add_store(commands)
    add_selftest(commands)
    add_proxies(commands)
    add_tools(commands)
    _add_json(top)
    return top


def _add_json(command: _Parser, name: str = "") -> None:
    """Add `--json` to every command and action that gives one result."""
    for inner, parser in command.inner.items():
        _add_json(parser, f"{name} {inner}")
    if not command.inner and name.strip() not in _NO_RESULT:
        command.add_argument("--json", action="store_true", help="print one JSON value and nothing else")


def _add_maintenance(commands: Commands) -> None:
    for name, text in (
        ("status", "show what the index holds"),
        ("clear", "delete the index"),
        ("doctor", "find problems, and say how to solve each"),
        ("secrets", "show where secrets are: what is masked and what is left out"),
    ):
        command = commands.add_parser(name, help=text)
        _folder(command)

    batch = commands.add_parser("batch", help="answer many queries: JSON lines {id, repo_dir, query, k} in, {id, results} out")
    batch.add_argument("file", metavar="FILE", help='a file of JSON lines, "-" for standard input')
    batch.add_argument("--context", action="store_true", help="give the items of the packed context instead of the ranked hits")
    batch.add_argument("--tokens", type=positive, default=4_000, metavar="N", help="budget of each context in tokens (4000)")

    demo = commands.add_parser("demo", help="start a server as an editor does and show what a chat request gets")
    demo.add_argument("path", nargs="?", type=path, metavar="PATH", help="a folder of code (a well-known package by default)")
    _path_option(demo)
    demo.add_argument("question", nargs="?", metavar="QUESTION", help="what to ask about it")
    demo.add_argument("--svg", type=path, metavar="FILE", help=SUPPRESS)

    hook = commands.add_parser("hook", help="index in the background after commits, merges, checkouts and rebases")
    hook.add_argument("action", choices=("install", "remove"))
    _folder(hook)


class _Version(Action):
    """Print the version: reading the package's metadata costs too much to do on every start."""

    def __call__(self, parser: ArgumentParser, *_: Any, **__: Any) -> None:
        from carrel.model.installation import carrel_version

        print(f"carrel {carrel_version()}")  # noqa: T201
        parser.exit()


def _folder(command: ArgumentParser) -> None:
    command.add_argument("path", nargs="?", type=path, metavar="PATH", help="the folder (the current one)")
    _path_option(command)


def _path_option(command: ArgumentParser) -> None:
    command.add_argument(
        "--path", dest="path_option", type=path, metavar="PATH", help="the folder, named as other commands take it"
    )

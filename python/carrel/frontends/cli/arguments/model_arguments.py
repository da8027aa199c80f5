"""What can be typed after `carrel models` and `carrel confirm`."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, TypeAlias

from carrel.frontends.cli.arguments.argument_types import add_json, positive

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    _Commands: TypeAlias = _SubParsersAction[ArgumentParser]

ROLES = ("embedder", "reranker", "chat", "planner")


def add_models(commands: _Commands) -> None:
    """Add both commands."""
    models = commands.add_parser("models", help="choose models beside the bundled one, and see where their text goes")
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("list", "show the models that are set, and the providers that can be"),
        ("check", "ask each model for as little as it can answer"),
    ):
        add_json(actions.add_parser(name, help=text))

    chosen = actions.add_parser(
        "set",
        help="choose the model for a role, in your settings file",
        epilog="examples:\n  carrel models set chat ollama qwen3\n  carrel models set embedder openai text-embedding-3-small\n"
        "  carrel models set embedder bundled",
        formatter_class=RawDescriptionHelpFormatter,
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
    add_json(chosen)

    key = actions.add_parser("key", help="keep a provider's key in the system's keyring")
    key.add_argument("provider", metavar="PROVIDER")
    how = key.add_mutually_exclusive_group()
    how.add_argument("--stdin", action="store_true", help="read the key from standard input instead of asking")
    how.add_argument("--remove", action="store_true", help="delete it")
    add_json(key)

    confirm = commands.add_parser(
        "confirm",
        help="allow text to be sent to a provider",
        description="Allow text to be sent to a provider; without one, to each that a model is set for. Asks at the terminal.",
        epilog="example:\n  carrel confirm openai api.openai.com",
        formatter_class=RawDescriptionHelpFormatter,
    )
    confirm.add_argument("provider", nargs="?", metavar="PROVIDER")
    confirm.add_argument("host", nargs="?", metavar="HOST", help="its host, with the port where it has one of its own")
    what = confirm.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show what is allowed")
    what.add_argument("--withdraw", action="store_true", help="allow it no more")
    add_json(confirm)

"""Check values of arguments (text -> value, or argparse's own error in words), and add the options of several commands.

Here is also what a person may have meant by a wrong argument.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, _SubParsersAction
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

Commands: TypeAlias = "_SubParsersAction[ArgumentParser]"
"""Takes commands: what argparse makes of a parser's `add_subparsers`."""


def count(text: str) -> int:
    """Read a number from 0 on."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a number from 0 to below a billion")


def positive(text: str) -> int:
    """Read a number above 0."""
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text):
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a number above 0 and below a billion")


def port(text: str) -> int:
    """Read a TCP port; 0 stands for any free one."""
    if text.isascii() and text.isdigit() and int(text) < 65_536:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")


def query(text: str) -> str:
    """Read something to search for."""
    if not text.strip():
        raise ArgumentTypeError("is empty: say what to look for")
    return text


def place(text: str) -> tuple[str, int]:
    """Read `FILE:LINE`."""
    path, _, line = text.rpartition(":")
    if not path:
        raise ArgumentTypeError(f"{text!r} is not FILE:LINE")
    return path, positive(line)


def path(text: str) -> Path:
    """Read a path; an empty one, as of an unset variable, would mean the current folder."""
    if not text:
        raise ArgumentTypeError("is empty: name a folder, or leave it out for the current one")
    return Path(text)


def add_scope(command: ArgumentParser) -> None:
    """Add whose settings are meant: those of the user, or of a folder."""
    scope = command.add_mutually_exclusive_group()
    scope.add_argument("--global", dest="scope", action="store_const", const="global", help="the user's own (default)")
    scope.add_argument("--workspace", dest="scope", action="store_const", const="workspace", help="those of a folder")
    command.add_argument("--path", type=path, default=Path(), metavar="PATH", help="with --workspace: the folder (current)")


def did_you_mean(typed: str, choices: Iterable[str]) -> str:
    """Return a question with the nearest name, to stand behind an error; nothing where none is near."""
    import difflib

    near = difflib.get_close_matches(typed.lower(), list(choices), 1)
    return f" Did you mean {near[0]}?" if near else ""


def unknown_arguments(unknown: list[str], usage: str) -> str:
    """Return what is wrong with arguments that a command doesn't take, and what may be meant; `usage` names what it takes."""
    flags = sorted(set(re.findall(r"--[a-z][a-z-]*", usage)))
    options = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    hint = "".join(did_you_mean(option, flags) for option in options)
    if not options:
        folder = next((option for option in ("--path", "--workspace", "--root") if option in flags), None)
        hint = f" A folder is named by {folder} here." if folder else ""
        hint += " A query of several words needs quotes." if "QUERY" in usage else ""
    return f"unrecognized arguments: {' '.join(unknown)}" + (f".{hint}" if hint else "")

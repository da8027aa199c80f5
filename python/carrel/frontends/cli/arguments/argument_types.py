"""What arguments have in common: checks of their values (text -> value, or argparse's own error in words), and `--json`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

ASSESS = "have the chat model that is set say whether what was found is enough, and search on until it is"
"""Help of an option that two commands have."""


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


def add_json(command: ArgumentParser) -> None:
    """Add `--json`, which every command has that gives a result."""
    command.add_argument("--json", action="store_true", help="print one JSON value and nothing else")

"""Read what a person types or pipes in: texts and conversations, and a code that agrees to something at the terminal."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import msgspec

from carrel.frontends.cli.terminal import one_line
from carrel.frontends.common.transcripts import text_of
from carrel.model.errors import CarrelError, InvalidInput, ProviderError
from carrel.model.remote import Confirmation

STANDARD_INPUT = "-"
_MOST_BYTES = 20_000_000


def read_text(source: str) -> str:
    """Read a file's text, or what is piped in for "-"; raises `InvalidInput`.

    Pasted logs hold any bytes: those that are not text become marks; a byte order mark says the encoding.
    """
    try:
        with contextlib.ExitStack() as opened:
            file = sys.stdin.buffer if source == STANDARD_INPUT else opened.enter_context(Path(source).open("rb"))
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput("file", f"{source} can't be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise InvalidInput("file", f"{source} holds more than {_MOST_BYTES:,} bytes", "Give the part that says what is wrong.")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig", errors="replace")


class _Turn(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]] | None


def read_history(source: str) -> list[dict[str, str]]:
    """Read the messages of a conversation, JSON as chat models take it, from a file or standard input; raises `InvalidInput`.

    Messages without text, such as calls of tools, are left out.
    """
    try:
        turns = msgspec.json.decode(read_text(source), type=list[_Turn])
    except InvalidInput as error:
        raise error.renamed("--history") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(
            "--history",
            f"{'standard input' if source == STANDARD_INPUT else source} isn't a conversation: {error}",
            'It is a JSON list of {"role": "user", "content": "…"}, oldest first.',
        ) from None
    return [{"role": turn.role, "content": text} for turn in turns if (text := text_of(turn.content))]


_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # without those that look like others
_LENGTH = 4


def agreed(lines: Sequence[str]) -> bool:
    """Show what is to be decided, and return whether the person typed the code. Raises `CarrelError` without a terminal."""
    code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    with _terminal() as (typed, shown):
        for line in lines:
            shown.write(one_line(line) + "\n")
        shown.write(f"Type {code} to allow it, anything else to leave it: ")
        shown.flush()
        return typed.readline().strip().lower() == code


@contextmanager
def _terminal() -> Iterator[tuple[TextIO, TextIO]]:
    names = ("CONIN$", "CONOUT$") if sys.platform == "win32" else ("/dev/tty", "/dev/tty")
    try:
        typed = open(names[0], encoding="utf-8", errors="replace")  # noqa: SIM115, PTH123 - devices, closed below
    except OSError:
        raise CarrelError(
            "There is no terminal to ask a person on",
            "Run this in a terminal of your own, or name the provider in `allowProviders` of your settings file.",
        ) from None
    with typed, open(names[1], "w", encoding="utf-8", errors="replace") as shown:  # noqa: PTH123 - a device
        yield typed, shown


async def confirm(confirmation: Confirmation) -> bool:
    """Have the person at the terminal decide. Raises `ProviderError` where there is none."""
    lines = [f"{confirmation.risk}.", *(f"  {name}: {value}" for name, value in confirmation.details.items())]
    try:
        return await asyncio.to_thread(agreed, lines)
    except CarrelError as error:
        remedy = error.remedy if confirmation.what in ("provider", "paidIndex") else "Run this in a terminal of your own."
        raise ProviderError(f"{confirmation.risk}, and nobody could be asked", remedy) from None

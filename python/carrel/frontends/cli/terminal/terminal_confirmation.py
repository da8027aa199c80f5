"""Ask the person at the controlling terminal: a code to type, whatever standard input and output lead to.

A program with a terminal of its own can type the code as well; docs/security.md says what that means.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from carrel.frontends.cli.terminal.output import one_line
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.remote import Confirmation

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

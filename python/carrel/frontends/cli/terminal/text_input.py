"""Texts and conversations that a person names a file for, or pipes in."""

from __future__ import annotations

import codecs
import contextlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from carrel.frontends.common.transcripts import text_of
from carrel.model.errors import InvalidInput

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

"""The last turns of an agent's transcript, whichever of their forms it has: data, read from the end of a file and never written.

Claude Code, Codex and Qwen Code write a JSON value a line, Gemini CLI one for the whole conversation. Each record names who
speaks and has the words; what tools were given and gave is left out.

Read the text of a chat message, which programs send whole or in parts.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Container, Iterator
from typing import Any

from msgspec import Struct

from carrel.model.conversation import Message, Role
from carrel.model.patterns import lazy_pattern
from carrel.model.plain_data import as_list, inner, read_json


def text_parts(content: Any, kinds: Container[object] | None = None) -> list[tuple[int, str]]:
    """Return the parts of a content that hold text, of these `kinds` alone where they are given: their places, and the texts."""
    return [
        (at, text)
        for at, part in enumerate(as_list(content))
        if isinstance(part, dict) and (kinds is None or part.get("type") in kinds) and isinstance(text := part.get("text"), str)
    ]


def text_of(content: Any, kinds: Container[object] | None = None) -> str:
    """Return all text of a content; nothing of what is neither text nor parts."""
    return content if isinstance(content, str) else "\n".join(text for _, text in text_parts(content, kinds))


def words_of(content: Any, kinds: Container[object]) -> tuple[tuple[str | int, ...], str, str] | None:
    """Return where in a content its first text stands, that text, and all of its text; None where it has none."""
    if isinstance(content, str):
        return (), content, content
    parts = text_parts(content, kinds)
    return ((parts[0][0], "text"), parts[0][1], text_of(content, kinds)) if parts else None


MOST_BYTES = 256 * 1024
MOST_TURNS = 12
_LONGEST = 20_000
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "gemini": "assistant", "model": "assistant"}
_TAGGED = lazy_pattern(r"\s*<[a-z][\w:-]*>")
"""What a program put among a person's words, such as `<environment_context>` and `<qwen:user-prompt-submit-context>`."""
_COMPACTED = lazy_pattern(r"(?:\w+_)?comp(?:act|ress)", re.IGNORECASE)
_INDENTED = lazy_pattern(r"(?m)^    (?=\{$)")
"""Where a message begins in Gemini's file, which is written with two blanks a level."""


class Transcript(Struct, frozen=True):
    """What is read of one: the last turns, oldest first, and when what was before was cut short, in the agent's own words."""

    turns: tuple[Message, ...] = ()
    compacted: str = ""


def read_transcript(path: str, prompt: str = "") -> Transcript:
    """Return the end of a transcript without `prompt` itself; nothing of a file that isn't there or isn't the user's own."""
    tail = _tail(path)
    if tail is None:
        return Transcript()
    records = list(_records(tail))
    turns = [turn for record in records if (turn := _turn(record))]
    if turns and turns[-1].role == "user" and turns[-1].text.strip() == prompt.strip():
        del turns[-1]
    return Transcript(tuple(turns[-MOST_TURNS:]), next(filter(None, map(_compacted, reversed(records))), ""))


def _tail(path: str) -> str | None:
    """Return the end of a regular file that belongs to this user; None for anything else, links too."""
    if not os.path.isabs(path) or "\0" in path or path.startswith(("\\\\", "//")):  # noqa: PTH117 - text until it is opened
        return None
    # Neither a link is followed, nor a pipe waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if sys.platform == "win32" and os.path.realpath(path).lower() != os.path.abspath(path).lower():  # noqa: PTH100
            return None
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or (sys.platform != "win32" and state.st_uid != os.getuid()):
            return None
        start = max(state.st_size - MOST_BYTES, 0)
        os.lseek(descriptor, start, os.SEEK_SET)
        data = os.read(descriptor, MOST_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace")


def _records(tail: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file's end; what is torn is skipped."""
    if isinstance(messages := inner(read_json(tail), "messages"), list):
        yield from (message for message in messages if isinstance(message, dict))
        return
    pieces = [_decoded(tail, begins.end()) for begins in _INDENTED.finditer(tail)]
    for piece in pieces or (_decoded(line.strip()) for line in tail.split("\n")):
        if isinstance(piece, dict):
            yield piece


def _decoded(text: str, start: int = 0) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _compacted(record: dict[str, Any]) -> str:
    """Return what tells a record of a cut from every other; empty for any other record."""
    kinds = (record.get("type"), record.get("subtype"))
    is_cut = any(isinstance(kind, str) and _COMPACTED.match(kind) for kind in kinds)
    return str(record.get("uuid") or record.get("timestamp") or "compacted")[:100] if is_cut else ""


def _turn(record: dict[str, Any]) -> Message | None:
    """Return what somebody said in a record, if that is what it holds."""
    if record.get("isSidechain") or record.get("isMeta"):
        return None
    said = next((value for key in ("message", "payload") if isinstance(value := record.get(key), dict)), record)
    role = _ROLES.get(str(said.get("role") or record.get("type")))
    words = said.get("content") or said.get("parts")
    parts = [words] if isinstance(words, str) else words if isinstance(words, list) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    text = "\n".join(text for text in texts if isinstance(text, str) and not _TAGGED.match(text))[:_LONGEST].strip()
    return Message(role, text) if role and text else None

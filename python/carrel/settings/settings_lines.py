"""Change a table of a TOML text line by line: every other line stays as it is, and comments before the table that they are about.

What the lines of a string look like may mislead this: whoever uses it compares what the text holds before and after.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from carrel.model.lines import rows_of


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of a table: its header at `start`, its last entry before `filled`, the next table's header at `end`."""

    keys: tuple[str, ...]
    start: int
    filled: int
    end: int


def changed(text: str, keys: tuple[str, ...], value: object) -> str | None:
    """Return a text whose table of these keys holds `value`, or is gone with all in it for None.

    None where it can't be done so: the table isn't there and neither is one beside it, or `value` holds tables itself.
    """
    lines = rows_of(text)
    blocks = _blocks(lines)
    tables = [block for block in blocks if block.keys[: len(keys)] == keys]
    if value is None:
        return _without(lines, tables) if tables else None
    if not isinstance(value, Mapping) or any(isinstance(inner, Mapping) for inner in value.values()):
        return None
    if [block.keys for block in tables] == [keys]:
        return _rewritten(lines, tables[0], value)
    beside = [block for block in blocks if block.keys[:-1] == keys[:-1]]
    if tables or not beside:
        return None
    header = ".".join(tomlkit.key(key).as_string() for key in keys)
    return _joined(lines[: beside[-1].filled], ["\n", f"[{header}]\n", tomlkit.dumps(value)], lines[beside[-1].filled :])


def _blocks(lines: list[str]) -> list[_Block]:
    headers = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")]
    blocks = list[_Block]()
    for start, end in pairwise([*headers, len(lines)]):
        filled = max(at for at in range(start, end) if at == start or lines[at].lstrip()[:1] not in ("", "#")) + 1
        blocks.append(_Block(_keys_of(lines[start]), start, filled, end))
    return blocks


def _keys_of(header: str) -> tuple[str, ...]:
    """Return the keys that the header of a table names; none for any other line."""
    try:
        inner: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return ()
    keys = list[str]()
    while isinstance(inner, dict) and len(inner) == 1:
        ((key, inner),) = inner.items()
        keys.append(key)
    return tuple(keys)


def _without(lines: list[str], blocks: list[_Block]) -> str:
    kept, last = list[str](), 0
    for block in blocks:
        kept += lines[last : block.start]
        last = next((at for at in range(block.filled, block.end) if not lines[at].strip()), block.filled)
        if last < block.end and not lines[last].strip() and (not kept or not kept[-1].strip()):
            last += 1  # one blank line is enough
    return "".join([*kept, *lines[last:]])


def _rewritten(lines: list[str], block: _Block, value: Mapping[str, Any]) -> str | None:
    """Change, drop and add entries of one table; those that stay keep their places and comments."""
    try:
        document = tomlkit.parse("".join(lines[block.start + 1 : block.filled]))
    except TOMLKitError:  # a line of a string that looks like a header
        return None
    for key in [key for key in document if key not in value]:
        del document[key]
    for key, wanted in value.items():
        if key not in document or document[key] != wanted:
            document[key] = wanted
    return _joined(lines[: block.start + 1], [tomlkit.dumps(document)], lines[block.filled :])


def _joined(*parts: list[str]) -> str:
    """Join lines, each part from the beginning of one."""
    text = ""
    for part in map("".join, parts):
        text += part if not text or text.endswith("\n") or not part else f"\n{part}"
    return text

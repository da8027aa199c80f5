"""Change the person's own settings file without losing what else stands in it, comments and order included."""

from __future__ import annotations

import contextlib
import json
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from msgspec import Struct
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from carrel.model.errors import CarrelError, SettingsError
from carrel.model.lines import rows_of
from carrel.settings.settings_files import user_file
from carrel.system.filesystem import OWNER_ONLY, locked, private_folder, replace_file

Parents: TypeAlias = tuple[str, ...]
"""The keys of the tables around an entry, outermost first."""
Value: TypeAlias = Mapping[str, Any] | str | None
Check: TypeAlias = Callable[[Mapping[str, Any]], None]

_PATIENCE_SECONDS, _PAUSE_SECONDS = 5.0, 0.02
"""How long a change waits for another one, and how often it looks: each reads the whole file and writes it whole."""
_MARK = "\ufeff"
"""Some editors begin a file with a byte order mark."""


def set_model(role: str, fields: Mapping[str, Any] | None) -> Path:
    """Write which model answers for a role, or with None that none is set; return the file. Raises `CarrelError`."""
    return _set(("models",), role, fields)


def set_source(name: str, fields: Mapping[str, Any] | None, *, entry: Any) -> Path:
    """Write what is searched beside the workspace under this id, or with None nothing; return the file.

    Raises `CarrelError`, also where the entry isn't as it was (`entry`) when the person was asked (None for no entry).
    """

    def is_unchanged(options: Mapping[str, Any]) -> None:
        sources = options.get("sources")
        if (sources.get(name) if isinstance(sources, Mapping) else None) != entry:
            raise CarrelError(
                f"`sources.{name}` was changed elsewhere while you were asked, and is left so.", "Look at it and try again."
            )

    return _set(("sources",), name, fields, check=is_unchanged)


def set_store(fields: Mapping[str, Any] | None) -> Path:
    """Write where vectors are kept, or with None that the index alone keeps them; return the file. Raises `CarrelError`."""
    return _set((), "store", fields)


def set_tool_source(kind: str, name: str, value: Mapping[str, Any] | str | None) -> Path:
    """Write a source of tools (`kind` is `servers` or `files`), or with None that it is gone; return the file.

    Raises `CarrelError`.
    """
    return _set(("tools", kind), name, value)


def _set(parents: Parents, name: str, value: Value, *, check: Check | None = None) -> Path:
    """Write an entry of a table that stands below `parents`, unless `check` raises for what the file holds."""
    path = user_file()
    try:
        private_folder(path.parent)
        with locked(path.with_name(f".{path.name}.lock"), _PATIENCE_SECONDS, _PAUSE_SECONDS) as held:
            if not held:
                raise CarrelError(f"{path} is being written by another Carrel process.", "Try again.")
            _rewrite(path, lambda text: _changed(path, text, parents, name, value, check))
    except OSError as error:
        raise CarrelError(f"{path} can't be written ({error.strerror})", "Make it and its folder writable.") from None
    return path


def _changed(path: Path, text: str, parents: Parents, name: str, value: Value, check: Check | None) -> str:
    changed = _changed_json if path.suffix == ".json" else _changed_toml
    return changed(path, text, parents, name, value, check)


def _changed_toml(path: Path, text: str, parents: Parents, name: str, value: Value, check: Check | None) -> str:
    try:
        tomlkit.parse(text)
        wanted = tomllib.loads(text)
    except (TOMLKitError, ValueError) as error:
        raise SettingsError(path, str(error)) from None
    if check:
        check(wanted)
    _apply(path, wanted, parents, name, value, dict)
    # By lines where that does it, so that comments stay before the table that they are about.
    by_lines = with_table(text, (*parents, name), value)
    if by_lines is not None and (_holds(by_lines, wanted) or _holds(by_lines, wanted, emptied=parents)):
        return by_lines
    # In some tables of dotted keys tomlkit loses its place where one goes, so that the whole entry is written anew there.
    for put in (_put, _replace):
        with contextlib.suppress(ValueError, LookupError):
            document = tomlkit.parse(text)
            _apply(path, document, parents, name, _as_toml(value), lambda: tomlkit.table(is_super_table=True), put)
            if _holds(changed := tomlkit.dumps(document), wanted):  # nothing else in the file is changed by it
                return changed
    raise _other_form(path, parents, name)


def _holds(text: str, wanted: Mapping[str, Any], *, emptied: Parents = ()) -> bool:
    """Tell whether a text holds what is wanted; tables of `emptied` may stand in it without an entry."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    tables = [document]
    for parent in emptied:
        tables.append(tables[-1].get(parent, {}))
    _drop_empty(tables, emptied)
    return document == wanted


def _as_toml(value: Value) -> Any:
    if not isinstance(value, Mapping):
        return value
    table: Table = tomlkit.table()
    table.update(value)
    return table


def _replace(table: Any, name: str, value: Any) -> None:
    """Set or remove an entry."""
    table.pop(name, None)
    if value is not None:
        table[name] = value


def _apply(
    path: Path,
    document: Any,
    parents: Parents,
    name: str,
    value: Any,
    make: Callable[[], Any],
    put: Callable[[Any, str, Any], None] = _replace,
) -> None:
    """Set or remove the entry; tables that it leaves empty go too."""
    chain = [document]
    for parent in parents:
        inner = chain[-1].get(parent)
        if inner is None:
            chain[-1][parent] = make()
            inner = chain[-1][parent]
        if not isinstance(inner, dict):
            raise SettingsError(path, f"`{parent}` must be a table")
        chain.append(inner)
    put(chain[-1], name, value)
    _drop_empty(chain, parents)


def _put(table: Any, name: str, value: Any) -> None:
    """Set or remove an entry; what stays of a table that was there keeps its form, its place and its comments."""
    before = table.get(name)
    if isinstance(before, dict) and isinstance(value, dict):
        _put_entries(before, value)
    else:
        _replace(table, name, value)


def _put_entries(table: Any, value: Mapping[str, Any]) -> None:
    """Change, drop and add entries of a table; those that stay keep their places and comments."""
    for key in [key for key in table if key not in value]:
        del table[key]
    for key, wanted in value.items():
        if key not in table or table[key] != wanted:
            table[key] = wanted


def _drop_empty(chain: Sequence[Any], parents: Parents) -> None:
    """Remove the tables that are empty, innermost first; `chain` is the document and what stands under each parent."""
    for outer, parent, inner in reversed(list(zip(chain, parents, chain[1:], strict=False))):
        if not inner:
            outer.pop(parent, None)


def _other_form(path: Path, parents: Parents, name: str) -> SettingsError:
    if not parents:
        return SettingsError(path, f"its `{name}` is written in a form that can't be changed here; write it as `[{name}]`")
    table = ".".join(parents)
    return SettingsError(path, f"its `{table}` are written in a form that can't be changed here; write each as `[{table}.NAME]`")


def _changed_json(path: Path, text: str, parents: Parents, name: str, value: Value, check: Check | None) -> str:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, str(error)) from None
    if not isinstance(document, dict):
        raise SettingsError(path, "it must hold an object")
    if check:
        check(document)
    _apply(path, document, parents, name, dict(value) if isinstance(value, Mapping) else value, dict)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    """Write the changed text of a file whole or not at all; a link to it stays a link. Raises `CarrelError` and `OSError`.

    Its byte order mark and its line ends stay as they are.
    """
    target = path.resolve()
    there = target.exists()
    mode = stat.S_IMODE(target.stat().st_mode) if there else OWNER_ONLY
    try:
        text = target.read_bytes().decode() if there else ""
    except UnicodeDecodeError as error:
        raise SettingsError(path, str(error)) from None
    mark = _MARK if text.startswith(_MARK) else ""
    ends = "\r\n" if "\r\n" in text else "\n"
    changed = change(text.removeprefix(_MARK).replace("\r\n", "\n"))
    if not mode & stat.S_IWUSR:
        raise CarrelError(f"{path} is read-only.", "Make it writable.")
    replace_file(target, (mark + changed.replace("\n", ends)).encode(), mode=mode & 0o777)


class _Block(Struct, frozen=True):
    """The lines of a table: its header at `start`, its last entry before `filled`, the next table's header at `end`."""

    keys: tuple[str, ...]
    start: int
    filled: int
    end: int


def with_table(text: str, keys: tuple[str, ...], value: object) -> str | None:
    """Change a table of a TOML text line by line: it holds `value`, or is gone with all in it for None.

    Every other line stays as it is, and comments before the table that they are about. What the lines of a string look like may
    mislead this: whoever uses it compares what the text holds before and after.

    A new table comes after the last one beside it, else last. None where it can't be done so: what holds the entry isn't one
    table, or `value` holds tables itself.
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
    if tables:
        return None
    at = max((block.filled for block in blocks if block.keys[:-1] == keys[:-1]), default=len(lines))
    header = ".".join(tomlkit.key(key).as_string() for key in keys)
    return _joined(lines[:at], ["\n"] if at else [], [f"[{header}]\n", tomlkit.dumps(value)], lines[at:])


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
    """Put the entries of one table between its header and what follows it."""
    try:
        document = tomlkit.parse("".join(lines[block.start + 1 : block.filled]))
    except TOMLKitError:  # a line of a string that looks like a header
        return None
    _put_entries(document, value)
    return _joined(lines[: block.start + 1], [tomlkit.dumps(document)], lines[block.filled :])


def _joined(*parts: list[str]) -> str:
    """Join lines, each part from the beginning of one."""
    text = ""
    for part in map("".join, parts):
        text += part if not text or text.endswith("\n") or not part else f"\n{part}"
    return text

"""Check filters that came over a wire before a search begins, and read times in the past as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from carrel.model.errors import InvalidInput
from carrel.model.types import CHUNK_FIELDS, Filters

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def since(text: str, now: float) -> float:
    """Return Unix seconds. Raises `InvalidInput`."""
    if span := re.fullmatch(r"(\d{1,6})\s*([smhdw])", text.strip()):
        return now - int(span[1]) * _SECONDS[span[2]]
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            "since", f"{text!r} is no time", "Give a span such as `12h` or `7d`, or a date such as 2026-01-31."
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


_OTHER_NAMES = {
    "c#": "c-sharp",
    "c++": "cpp",
    "csharp": "c-sharp",
    "f#": "f-sharp",
    "fsharp": "f-sharp",
    "golang": "go",
    "objc": "objective-c",
    "shell": "bash",
}
"""What people call some languages, which Carrel knows by another name."""


def checked_filters(filters: Filters, names: Mapping[str, str]) -> Filters:
    """Return filters that the core can use; raises `InvalidInput` with the field's name on the wire, which `names` gives."""
    if not (filters.path_globs or filters.exclude or filters.languages or filters.metadata):
        return filters
    from carrel.search.candidates import native_filter  # noqa: PLC0415 - a server starts without the core

    # Files of a workspace have no metadata of their own: another field is a mistake.
    if unknown := [name for name in filters.metadata if name not in CHUNK_FIELDS]:
        name = names.get("metadata", "metadata")
        raise InvalidInput(name, "is not recorded of a chunk", f"Use {', '.join(CHUNK_FIELDS)}.", value=unknown[0])
    try:
        native_filter(filters)
    except InvalidInput as error:
        remedy = _language_meant(filters.languages) if error.field == "languages" else None
        raise error.renamed(names.get(error.field, error.field), remedy) from None
    return filters


def _language_meant(typed: Iterable[str]) -> str:
    """Return the language that a wrong name may stand for: of files that end so, or of a name like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for what was typed wrongly

    from carrel.model.native import detect_language, languages  # noqa: PLC0415 - a server starts without the core

    names = languages()
    wrong = next((name.lower() for name in typed if name.lower() not in names), "")
    if wrong in _OTHER_NAMES:
        return f"Did you mean {_OTHER_NAMES[wrong]}?"
    by_extension = detect_language(f"x.{wrong}")
    near = [by_extension] if by_extension else get_close_matches(wrong, names, 1)
    return f"Did you mean {near[0]}?" if near else ""

"""How old a document is and which version of it, by what it says of itself (spec D13)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from carrel.model.lines import lines_of
from carrel.model.patterns import lazy_pattern

HEAD_LINES = 40
"""Lines of a document in which it says what it is."""
HEAD_CHARACTERS = 4_000
SECONDS_A_DAY = 86_400.0
LEAST_OF_A_SCORE = 0.8
"""What is left of the relevance of a document that is outdated."""

_DATES = frozenset(
    ("updated_at", "updated", "last updated", "last_updated", "last modified", "lastmod", "last reviewed", "reviewed", "modified")
)
_CREATED = frozenset(("date", "created", "published"))
_VERSIONS = frozenset(("version", "revision", "rev"))
_DAY = lazy_pattern(r"(?<!\d)((?:19|20)\d\d)[-./](0?[1-9]|1[0-2])[-./](0?[1-9]|[12]\d|3[01])(?!\d)")
_VERSION = lazy_pattern(r"[vV]?(\d{1,6}(?:\.\d{1,6}){0,3}[\w.+-]{0,12})")
_NAME_VERSION = lazy_pattern(r"(?<![a-z0-9])(?:v|ver|version|rev)[\s_.-]?(\d+(?:[._]\d+)*)", re.IGNORECASE)
_NAME_DAY = lazy_pattern(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What a document says of itself; `updated_at` in Unix seconds, None where it names no day."""

    title: str = ""
    version: str = ""
    updated_at: float | None = None


def facts_of(head: str, path: str) -> DocumentFacts:
    """Read the facts in the first lines of a document, in front matter or as lines such as `Version: 2`, else in its name."""
    version, updated, created, title = "", None, None, ""
    for line in lines_of(head)[:HEAD_LINES]:
        if not title and line.startswith("# "):
            title = line[2:].strip()
        name, value = _field(line)
        if name in _VERSIONS and not version and (version_match := _VERSION.match(value)):
            version = version_match[1].rstrip(".")
        elif name in _DATES and updated is None:
            updated = _day(_DAY.search(value))
        elif name in _CREATED and created is None:
            created = _day(_DAY.search(value))
        elif name == "title" and not title:
            title = value
    if not version and (version_match := _NAME_VERSION.search(PurePosixPath(path).name)):
        version = version_match[1].replace("_", ".")
    if updated is None:
        updated = created if created is not None else _day(_NAME_DAY.search(path))
    return DocumentFacts(title, version, updated)


def remaining(age_days: float, outdated_after: float) -> float:
    """Return what is left of a relevance at this age: all of it for what is new, `LEAST_OF_A_SCORE` for what is outdated."""
    if not outdated_after:
        return 1.0
    return 1.0 - (1.0 - LEAST_OF_A_SCORE) * min(max(age_days / outdated_after, 0.0), 1.0)


def _field(line: str) -> tuple[str, str]:
    """Return the name and the value of a line such as `Version: 2` or `**Updated** = 2024-05-01`, without its marks."""
    ends = [at for mark in ":=|" if (at := line.find(mark)) >= 0]
    name, value = (line[: min(ends)], line[min(ends) + 1 :]) if ends else ("", "")
    return name.strip(">*_- \t").lower(), value.strip("*_|\"' \t")


def _day(match: re.Match[str] | None) -> float | None:
    if match is None:
        return None
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC).timestamp()
    except ValueError:
        return None

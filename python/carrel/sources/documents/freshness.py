"""How old a document is and which version of it, by what it says of itself; which documents are versions of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePosixPath

from msgspec import Struct

from carrel.model.lines import lines_of
from carrel.model.patterns import lazy_pattern

HEAD_LINES = 40
"""Lines of a document in which it says what it is."""
HEAD_CHARACTERS = 4_000
SECONDS_A_DAY = 86_400.0
LEAST_OF_A_SCORE = 0.8
"""What is left of the relevance of a document that is outdated."""

_FIELD = lazy_pattern(
    r"^[>*_\s-]{0,6}([A-Za-z][A-Za-z _-]{0,25}?)[*_]{0,2}"
    r"(?:\s*[:=|]|\s+on\b)\s*[*_]{0,2}\s*(.{1,120}?)\s*[*_|]{0,3}$"
)
_DATES = frozenset(
    ("updated_at", "updated", "last updated", "last_updated", "last modified", "lastmod", "last reviewed", "reviewed", "modified")
)
_CREATED = frozenset(("date", "created", "published"))
_ENDS = frozenset(("expires", "valid until", "valid_until", "review by", "review_by"))
_VERSIONS = frozenset(("version", "revision", "rev"))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NUMBERED_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_NAMED_MONTH = rf"\b(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_NUMBERED_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_DAYS = tuple(
    lazy_pattern(rf"(?<!\d){pattern}(?!\d)", re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}[-./]{_NUMBERED_MONTH}[-./]{_NUMBERED_DAY}",
        rf"{_NUMBERED_DAY}\.\s?{_NUMBERED_MONTH}\.\s?{_YEAR}",
        rf"{_NUMBERED_DAY}(?:st|nd|rd|th|\.)?\s+{_NAMED_MONTH},?\s+{_YEAR}",
        rf"{_NAMED_MONTH}\s+{_NUMBERED_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}",
    )
)
_VERSION = lazy_pattern(r"[vV]?(\d{1,6}(?:\.\d{1,6}){0,3}[\w.+-]{0,12})")
_IN_NAME = lazy_pattern(
    r"[\s_.(-]*(?:(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])|(?<![a-z0-9])(?:v|ver|version|rev)[\s_.-]?\d+(?:[._]\d+)*"
    r"|\(\d{1,3}\)|(?<=[\s_-])(?:old|obsolete|deprecated|final|copy|draft)(?![a-z]))[\s_.)-]*",
    re.IGNORECASE,
)
_NAME_VERSION = lazy_pattern(r"(?<![a-z0-9])(?:v|ver|version|rev)[\s_.-]?(\d+(?:[._]\d+)*)", re.IGNORECASE)
_NAME_DAY = lazy_pattern(rf"(?<!\d){_YEAR}[-_.]?(?P<month>0[1-9]|1[0-2])[-_.]?(?P<day>0[1-9]|[12]\d|3[01])(?!\d)")
_OLD = lazy_pattern(r"(?:^|(?<=[\s_./-]))(?:old|obsolete|deprecated|archived?|previous|superseded)(?=$|[\s_./-])", re.IGNORECASE)


class DocumentFacts(Struct, frozen=True):
    """The facts that a document gives of itself; `updated_at` and `valid_until` in Unix seconds, None where it names no day."""

    title: str = ""
    version: str = ""
    updated_at: float | None = None
    owner: str = ""
    valid_until: float | None = None


@lru_cache(maxsize=512)
def facts_of(head: str, path: str) -> DocumentFacts:
    """Read the facts in the first lines of a document, in front matter or as lines such as `Version: 2`, else in its name."""
    version, updated, created, title, owner, until = "", None, None, "", "", None
    for line in lines_of(head)[:HEAD_LINES]:
        if not title and line.startswith("# "):
            title = line[2:].strip()
        match = _FIELD.match(line)
        if not match:
            continue
        name, value = match[1].strip().lower(), match[2].strip("\"' ")
        if name in _VERSIONS and not version and (version_match := _VERSION.match(value)):
            version = version_match[1].rstrip(".")
        elif name in _DATES and updated is None:
            updated = _day_in(value)
        elif name in _CREATED and created is None:
            created = _day_in(value)
        elif name in _ENDS and until is None:
            until = _day_in(value)
        elif name == "title" and not title:
            title = value
        elif name == "owner" and not owner:
            owner = value
    if not version and (version_match := _NAME_VERSION.search(PurePosixPath(path).name)):
        version = version_match[1].replace("_", ".")
    if updated is None:
        updated = created if created is not None else _day(_NAME_DAY.search(path))
    return DocumentFacts(title, version, updated, owner, until)


@lru_cache(maxsize=50_000)
def document_key(path: str) -> str:
    """Return what the paths of all versions of one document have in common."""
    pure = PurePosixPath(path.lower())
    parts = [*(part for part in pure.parts[:-1] if not _OLD.fullmatch(part)), pure.stem]
    bare = [_IN_NAME.sub("-", part).strip("-_. ") for part in parts]
    return "/".join(part for part in bare if part) + pure.suffix


def newest_first(path: str, facts: DocumentFacts) -> tuple[bool, tuple[int, ...], float, str]:
    """Return a key by which the versions of one document are ordered: the newest is the greatest."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", facts.version)[:4])
    return not _OLD.search(path), numbers, facts.updated_at or 0.0, path


def superseded(paths: Iterable[str], facts: Mapping[str, DocumentFacts]) -> dict[str, str]:
    """Return for each document of which a newer version is among `paths` the path of the newest."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(document_key(path), []).append(path)
    newest_by_path = {}
    for group in groups.values():
        if len(group) > 1:
            newest = max(group, key=lambda path: newest_first(path, facts.get(path) or facts_of("", path)))
            newest_by_path.update({path: newest for path in group if path != newest})
    return newest_by_path


def remaining(age_days: float, outdated_after: float) -> float:
    """Return what is left of a relevance at this age: all of it for what is new, `LEAST_OF_A_SCORE` for what is outdated."""
    if not outdated_after:
        return 1.0
    return 1.0 - (1.0 - LEAST_OF_A_SCORE) * min(max(age_days / outdated_after, 0.0), 1.0)


def front_matter(fields: Mapping[str, str]) -> str:
    """Return front matter with the fields that say something, each on one line."""
    lines = [f"{name}: {' '.join(value.split())}" for name, value in fields.items() if value.strip()]
    return "\n".join(["---", *lines, "---", ""])


def _day_in(value: str) -> float | None:
    """Read `2021-03-03`, `03.03.2021`, `3 March 2021` or `March 3, 2021`. Of `3/4/2021` either number may be the month."""
    return _day(next(filter(None, (pattern.search(value) for pattern in _DAYS)), None))


def _day(match: re.Match[str] | None) -> float | None:
    if match is None:
        return None
    month = match["month"].lower()
    try:
        number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
        return datetime(int(match["year"]), number, int(match["day"]), tzinfo=UTC).timestamp()
    except ValueError:
        return None

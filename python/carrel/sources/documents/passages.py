"""Passages of documents as they are given: with version and date by what a document says, marked where outdated (spec D13)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath

from carrel.model.lines import lines_of, rows_of
from carrel.model.local_index import SnapshotView
from carrel.model.patterns import lazy_pattern
from carrel.model.types import Chunk, Hit, Origin, Query
from carrel.search.merge import merge_by_score
from carrel.search.retriever import Ranking

LEAST_RELEVANCE = 0.05
"""What is below it isn't given from a source that wasn't asked for by name."""


_MOST_LOOKED_AT = 200


def document_facts(view: SnapshotView, path: str) -> DocumentFacts:
    """Return what a document says of itself at its head, as it stands now."""
    return facts_of((view.text(path) or "")[:HEAD_CHARACTERS], path)


@dataclass(slots=True)
class FactsCache:
    """What the documents of one index say of themselves, by path, as long as their content is the same."""

    facts: dict[str, tuple[str, DocumentFacts]] = field(default_factory=dict)

    def of(self, view: SnapshotView, path: str, content_hash: str) -> DocumentFacts:
        """Return the facts of one document, read again where it changed."""
        entry = self.facts.get(path)
        if entry is None or entry[0] != content_hash:
            entry = (content_hash, document_facts(view, path))
            self.facts[path] = entry
        return entry[1]


@dataclass(frozen=True, slots=True)
class Shown:
    """How the documents of a source are shown."""

    source: str
    path_of: Callable[[str], str]
    uri_of: Callable[[str], str]
    outdated_after: int = 0
    dated: bool = True  # whether the day of each is told


def looked_at(query: Query) -> int:
    """Return of how many hits those are taken that `query` wants.

    What is too old gives its place to others, and may be nearly everything.
    """
    return query.limit if query.filters.max_age_days is None else max(query.limit, _MOST_LOOKED_AT)


def passages(
    hits: Sequence[Hit],
    view: SnapshotView,
    cache: FactsCache,
    shown: Shown,
    *,
    max_age_days: float | None = None,
) -> list[Hit]:
    """Return hits as passages of their source, best first: what is older than `max_age_days` is left out."""
    now, results = time.time(), []
    for hit in hits:
        passage = _with_facts(hit, cache.of(view, hit.chunk.path, hit.chunk.content_hash), shown, now)
        if max_age_days is None or now - passage.chunk.updated_at <= max_age_days * SECONDS_A_DAY:
            results.append(passage)
    return sorted(results, key=lambda hit: -hit.score)


def fresh(ranking: Ranking) -> Ranking:
    """Leave out documents that say of themselves that they are older than the query wants (spec D13).

    The index compares the time stamps of files, which a clone makes anew.
    """
    days = ranking.query.filters.max_age_days
    if days is None:
        return ranking
    oldest, view = time.time() - days * SECONDS_A_DAY, ranking.view

    @cache
    def is_fresh(path: str) -> bool:
        chunks = view.file_chunks(path)
        if not chunks or chunks[0].source != "docs":
            return True
        said = document_facts(view, path).updated_at
        return said is None or said >= oldest

    places = tuple(place for place in ranking.order.places if is_fresh(place.candidate.path))
    return replace(ranking, order=replace(ranking.order, places=places))


def _with_facts(hit: Hit, facts: DocumentFacts, shown: Shown, now: float) -> Hit:
    chunk = _without_front_matter(hit.chunk)
    at = facts.updated_at if facts.updated_at is not None else float(chunk.updated_at)
    age = (now - at) / SECONDS_A_DAY
    outdated = bool(shown.outdated_after) and age > shown.outdated_after
    notes = [
        "outdated" if outdated else "",
        f"version {facts.version}" if facts.version else "",
        f"updated {datetime.fromtimestamp(at, UTC):%Y-%m-%d}" if shown.dated else "",
    ]
    origin = Origin(shown.source, shown.uri_of(chunk.path), ", ".join(filter(None, notes)), facts.version)
    chunk = replace(
        chunk, path=shown.path_of(chunk.path), updated_at=int(at), origin=origin, source="docs" if shown.dated else chunk.source
    )
    return replace(hit, chunk=chunk, score=round(hit.score * remaining(age, shown.outdated_after), 4))


def _without_front_matter(chunk: Chunk) -> Chunk:
    """Return the passage that follows front matter, which says of the document what is told of it anyway."""
    rows = rows_of(chunk.text) if chunk.span.start_line == 1 else []
    fence = rows[0].rstrip() if rows else ""
    ends = (number for number, row in enumerate(rows[1:], 2) if row.rstrip() in (fence, "..."))
    begin = next(ends, 0) if fence in ("---", "+++") else 0
    while begin and begin < len(rows) and not rows[begin].strip():
        begin += 1
    if not 0 < begin < len(rows):
        return chunk
    return replace(chunk, text="".join(rows[begin:]), span=replace(chunk.span, start_line=1 + begin))


def merged(
    workspace_hits: Sequence[Hit], others: Sequence[Sequence[Hit]], query: Query, *, targets: Collection[str]
) -> list[Hit]:
    """Merge the hits of the workspace with those of other sources by relevance; the order of each stays.

    Of equals those of a source in `targets`, which the question was sent to for a reason, come first.
    """
    lists = [workspace_hits, *(_allowed(hits, query) for hits in others)]
    return merge_by_score(lists, query.limit, first=lambda hit: _source(hit) in targets)


def _allowed(hits: Sequence[Hit], query: Query) -> list[Hit]:
    least = query.filters.min_score or LEAST_RELEVANCE

    def left_out(hit: Hit) -> bool:
        span = hit.chunk.span
        return query.leaves_out(hit.chunk.path, span.start_line, span.end_line) or any(
            fnmatchcase(hit.chunk.path, glob) for glob in query.filters.exclude
        )

    return [hit for hit in hits if hit.score >= least and not left_out(hit)]


def _source(hit: Hit) -> str:
    return hit.chunk.origin.source if hit.chunk.origin else "workspace"


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

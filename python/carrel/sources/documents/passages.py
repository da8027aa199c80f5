"""Passages of documents as they are given: with version and date, marked where outdated, one version of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.lines import rows_of
from carrel.model.local_index import SnapshotView
from carrel.model.types import Chunk, Hit, Origin, Query
from carrel.search.certainty import GUESSES
from carrel.search.merge import merge_by_score
from carrel.search.pieces import LineReader
from carrel.search.retriever import Ranking
from carrel.settings.source_settings import WORKSPACE
from carrel.sources.documents import freshness

LEAST_RELEVANCE = 0.05
"""What is below it isn't given from a source that wasn't asked for by name."""


_MOST_LOOKED_AT = 200


def document_facts(view: SnapshotView, path: str, lines: LineReader | None = None) -> freshness.DocumentFacts:
    """Return what a document says of itself at its head, as it stands now; `lines` reads it where some were read before."""
    read = lines or view.lines
    head = read(path, 1, min(view.last_line(path), freshness.HEAD_LINES)) or view.text(path) or ""  # it may be shorter by now
    return freshness.facts_of(head[: freshness.HEAD_CHARACTERS], path)


class FactsCache(Struct):
    """What the documents of one index say of themselves, by path, as long as their content is the same."""

    facts: dict[str, tuple[str, freshness.DocumentFacts]] = field(default_factory=dict)

    def of(self, view: SnapshotView, path: str, content_hash: str) -> freshness.DocumentFacts:
        """Return the facts of one document, read again where it changed."""
        entry = self.facts.get(path)
        if entry is None or entry[0] != content_hash:
            entry = (content_hash, document_facts(view, path))
            self.facts[path] = entry
        return entry[1]


class Shown(Struct, frozen=True):
    """How the documents of a source are shown."""

    source: str
    path_of: Callable[[str], str]
    uri_of: Callable[[str], str]
    outdated_after: int = 0
    dated: bool = True  # whether the day of each is told
    named: bool = False  # whether the name of each is told, which its path doesn't show


def looked_at(query: Query) -> int:
    """Return of how many hits those are taken that `query` wants.

    Older versions of a document give their places to others, and so does what is too old, which may be nearly everything.
    """
    return 2 * query.limit if query.filters.max_age_days is None else max(2 * query.limit, _MOST_LOOKED_AT)


def passages(
    hits: Sequence[Hit],
    view: SnapshotView,
    cache: FactsCache,
    shown: Shown,
    *,
    max_age_days: float | None = None,
) -> list[Hit]:
    """Return hits as passages of their source, best first: what is older than `max_age_days` and older versions are left out.

    An older version stands only where the newest wasn't found, and says so.
    """
    facts = {hit.chunk.path: cache.of(view, hit.chunk.path, hit.chunk.content_hash) for hit in hits}
    paths = {hit.chunk.path for hit in hits}
    keys = {freshness.document_key(path) for path in paths}
    siblings = [path for path in view.paths() if freshness.document_key(path) in keys]
    for path in siblings:  # few: the versions of what was found
        if path not in facts and (chunks := view.file_chunks(path)):
            facts[path] = cache.of(view, path, chunks[0].content_hash)
    newer, now = freshness.superseded(siblings, facts), time.time()
    results = []
    for hit in hits:
        path = hit.chunk.path
        if newer.get(path) in paths:
            continue
        passage = _with_facts(hit, facts[path], newer.get(path), shown, now)
        if max_age_days is None or now - passage.chunk.updated_at <= max_age_days * freshness.SECONDS_A_DAY:
            results.append(passage)
    return sorted(results, key=lambda hit: -hit.score)


def with_document_facts(ranking: Ranking) -> Ranking:
    """Return a ranking whose documents say which version they are, of when and whose.

    Those that are older by this than the query wants are left out: the index compares the time stamps of files, which a clone
    makes anew.
    """
    now, view, days = time.time(), ranking.view, ranking.query.filters.max_age_days
    facts_of = cache(lambda path: document_facts(view, path, ranking.lines))

    def with_facts(chunk: Chunk) -> Chunk:
        if chunk.source != "docs" or not (note := _note(facts := facts_of(chunk.path), now)):
            return chunk
        updated = chunk.updated_at if facts.updated_at is None else int(facts.updated_at)
        return replace(chunk, updated_at=updated, origin=Origin(WORKSPACE, note=note, version=facts.version))

    described = replace(ranking, with_facts=with_facts)
    if days is None:
        return described
    oldest = now - days * freshness.SECONDS_A_DAY

    @cache
    def is_fresh(path: str) -> bool:
        chunks = view.file_chunks(path)
        if not chunks or chunks[0].source != "docs":
            return True
        said = facts_of(path).updated_at
        return said is None or said >= oldest

    places = tuple(place for place in ranking.order.places if is_fresh(place.candidate.path))
    return replace(described, order=replace(ranking.order, places=places))


def _with_facts(hit: Hit, facts: freshness.DocumentFacts, newer: str | None, shown: Shown, now: float) -> Hit:
    chunk = _without_front_matter(hit.chunk)
    at = facts.updated_at if facts.updated_at is not None else float(chunk.updated_at)
    age = (now - at) / freshness.SECONDS_A_DAY
    outdated = bool(shown.outdated_after) and age > shown.outdated_after
    warning = f"outdated: {shown.path_of(newer)} is newer" if newer else "outdated" if outdated else ""
    note = _note(replace(facts, updated_at=at) if shown.dated else facts, now, warning)
    if shown.named and facts.title:
        note = f"{facts.title}, {note}"
    origin = Origin(shown.source, shown.uri_of(chunk.path), note, facts.version)
    kept = freshness.LEAST_OF_A_SCORE if newer else freshness.remaining(age, shown.outdated_after)
    chunk = replace(
        chunk, path=shown.path_of(chunk.path), updated_at=int(at), origin=origin, source="docs" if shown.dated else chunk.source
    )
    return replace(hit, chunk=chunk, score=round(hit.score * kept, 4))


def _note(facts: freshness.DocumentFacts, now: float, warning: str = "") -> str:
    """Return what a reader must know of a document; `warning` is why it is outdated, if anything but its own words says so."""
    expired = facts.valid_until is not None and facts.valid_until + freshness.SECONDS_A_DAY <= now
    notes = [
        warning or ("outdated" if expired else ""),
        f"version {facts.version}" if facts.version else "",
        f"updated {datetime.fromtimestamp(facts.updated_at, UTC):%Y-%m-%d}" if facts.updated_at is not None else "",
        f"owner {facts.owner}" if facts.owner else "",
    ]
    return ", ".join(filter(None, notes))


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
    workspace_hits: Sequence[Hit], others: Sequence[Sequence[Hit]], query: Query, *, targets: Collection[str], asks: bool
) -> list[Hit]:
    """Merge the hits of the workspace with those of other sources by relevance; the order of each stays.

    Of equals those of a source in `targets`, which the question was sent to for a reason, come first. Whoever `asks` gets, where
    nothing is relevant, the best few of each source that hold a word of the question.
    """
    lists, least = [_allowed(hits, query) for hits in others], query.filters.min_score or LEAST_RELEVANCE
    relevant = [[hit for hit in hits if hit.score >= least] for hits in lists]
    asks = asks and not query.filters.min_score
    if asks and not any(hit.score >= least for hit in chain(workspace_hits, *relevant)):
        relevant = [[hit for hit in hits if hit.signals.matched][:GUESSES] for hits in lists]
    return merge_by_score([workspace_hits, *relevant], query.limit, first=lambda hit: _source(hit) in targets)


def _allowed(hits: Sequence[Hit], query: Query) -> list[Hit]:
    def left_out(hit: Hit) -> bool:
        span = hit.chunk.span
        return query.leaves_out(hit.chunk.path, span.start_line, span.end_line) or any(
            fnmatchcase(hit.chunk.path, glob) for glob in query.filters.exclude
        )

    return [hit for hit in hits if not left_out(hit)]


def _source(hit: Hit) -> str:
    return hit.chunk.origin.source if hit.chunk.origin else WORKSPACE

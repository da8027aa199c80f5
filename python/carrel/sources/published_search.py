"""What a published repository gives for a question, ranked by the rules that rank the workspace's own chunks.

The server searches by vectors and by words. Both lists are fused by reciprocal rank, and the rules of the core order the best by
what is known of them here: cosine, share of the question, definitions, path. Whatever was read is data: secrets are masked again
by the reader's own rules, and no text is longer than `model.published` allows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.native import Candidate, EditorContext, detect_language, languages, stem
from carrel.model.published import SHORT_COMMIT, FoundIds, Head, PublishedAddress, PublishedChunk, ReadPoint
from carrel.model.types import Chunk, Hit, Origin, Query, SourceName, Span, masks_in
from carrel.question import query_words
from carrel.search.definitions import definitions_first
from carrel.search.focus import focus
from carrel.search.order import Order
from carrel.search.ranking import RankingContext, rank, signals
from carrel.search.retriever import placed
from carrel.sources.published_words import question_terms, term_index

POOL = 60
"""How many chunks each search gives."""
MOST_READ = 40
NO_TEXT = "(The text of these lines isn't published.)"
_PLACE = 60.0
_CALLABLE = ("function", "method")


class RemoteQuestion(Struct, frozen=True):
    """A question as a published repository is asked."""

    question: query_words.ParsedQuery
    terms: tuple[str, ...]

    @staticmethod
    def read(text: str) -> RemoteQuestion:
        """Take a text apart."""
        question = query_words.read(text)
        return RemoteQuestion(question, tuple(question_terms(question.search_text)))

    @property
    def indices(self) -> list[int]:
        """Return its sparse vector's indices, each once."""
        return list(dict.fromkeys(map(term_index, self.terms)))


class Shown(Struct, frozen=True):
    """How hits are shown: by the source's id, its address, what is visible, and what masks secrets in a text of a path."""

    source: str
    address: PublishedAddress
    head: Head
    mask: Callable[[str, str], str]

    def path(self, chunk: PublishedChunk) -> str:
        """Return `repo@commit path`."""
        return f"{self.address.name}@{self.head.commit[:SHORT_COMMIT]}{'+' if self.head.dirty else ''} {chunk.path}"


def best_ids(result: FoundIds) -> list[str]:
    """Return the ids that are worth reading, best first by the sum of their reciprocal ranks."""
    fused: dict[str, float] = defaultdict(float)
    for ranking in (result.dense, result.words):
        for place, (point, _) in enumerate(ranking, 1):
            fused[point] += 1 / (_PLACE + place)
    return sorted(fused, key=lambda point: (-fused[point], point))[:MOST_READ]


def ranked(request: RemoteQuestion, result: FoundIds, points: Sequence[ReadPoint], shown: Shown, query: Query) -> list[Hit]:
    """Return the best chunks as hits, at most the query's `limit`. Runs on a thread."""
    question = request.question
    rarest = math.log(1 + (shown.head.chunks + 0.5) / 0.5)

    def rarity(term: str) -> float:
        return result.rarities.get(term_index(term), rarest)

    context = RankingContext(question, [rarity(word) for word in question.words])
    weights = {term: rarity(term) for term in request.terms}
    # A word that stands nowhere is likelier one of speech: it counts half, as in the core.
    possible = sum(weight if term_index(term) in result.rarities else weight / 2 for term, weight in weights.items())
    dense = {point: (place, score) for place, (point, score) in enumerate(result.dense, 1)}
    words = {point: place for place, (point, _) in enumerate(result.words, 1)}
    of_file = _held_by_files(points, weights)
    candidates = []
    for doc, point in enumerate(points):
        chunk = point.chunk
        held = {term: point.words[term_index(term)] for term in weights if term_index(term) in point.words}
        share = sum(weights[term] * min(max(value, 0.0), 1.0) for term, value in held.items())
        place, cosine = dense.get(point.id, (None, 0.0))
        candidates.append(
            Candidate(
                doc,
                chunk.path,
                chunk.start_line,
                chunk.end_line,
                id=point.id.replace("-", ""),
                symbol=chunk.symbol,
                callable=chunk.kind in _CALLABLE,
                dense=min(max(cosine, -1.0), 1.0),
                dense_rank=place,
                lexical=share / possible if possible else 0.0,
                lexical_rank=words.get(point.id),
                matched=sorted(held, key=lambda term: -weights[term]),
                covered=len(held) / len(weights) if weights else 0.0,
                file_share=of_file[chunk.path] / possible if possible else 0.0,
                defines=_defines(chunk, question.names),
            )
        )
    order = Order(placed(rank(candidates, context, EditorContext()), context, shown.head.floor))
    hits: list[Hit] = []
    for found_at in definitions_first(order, context, replace(query, pinned=())).places:
        if len(hits) == query.limit:
            break
        point = points[found_at.candidate.doc]
        path, span = shown.path(point.chunk), Span(point.chunk.start_line, point.chunk.end_line)
        if any(hit.chunk.path == path and hit.chunk.span.overlaps(span) for hit in hits):
            continue
        shown_chunk = _shown(point, shown)
        lines = focus(shown_chunk, context.rarity, sought=found_at.candidate.defines > 0)
        hits.append(Hit(shown_chunk, found_at.relevance, signals(found_at), lines))
    return hits


def _held_by_files(points: Sequence[ReadPoint], weights: Mapping[str, float]) -> dict[str, float]:
    """Return what the chunks that were read hold of the question's weight together, by file."""
    lacks: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for point in points:
        for term in weights:
            lacks[point.chunk.path, term] *= 1.0 - min(max(point.words.get(term_index(term), 0.0), 0.0), 1.0)
    held: dict[str, float] = defaultdict(float)
    for (path, term), lacking in lacks.items():
        held[path] += weights[term] * (1.0 - lacking)
    return held


def _defines(chunk: PublishedChunk, names: Sequence[str]) -> float:
    best = 0.0
    for name in names:
        for defined in chunk.definitions:
            if defined == name:
                return 1.0
            definition, wanted = defined.lower(), name.lower()
            best = max(best, 0.8 if definition == wanted else 0.6 if stem(definition) == stem(wanted) else 0.0)
    return best


@lru_cache(maxsize=1)
def _languages() -> frozenset[str]:
    return frozenset(languages())


def _shown(point: ReadPoint, shown: Shown) -> Chunk:
    chunk = point.chunk
    text = NO_TEXT if chunk.text is None else shown.mask(chunk.path, chunk.text)
    note = f"not on this machine: {shown.address.name} at {shown.head.commit[:SHORT_COMMIT]}"
    note += " with changes that aren't committed" if shown.head.dirty else ""
    source: SourceName = "docs" if chunk.source == "docs" else "code"
    return Chunk(
        id=point.id.replace("-", ""),
        path=shown.path(chunk),
        language=chunk.language if chunk.language in _languages() else detect_language(chunk.path) or "",
        source=source,
        kind=chunk.kind,
        symbol=chunk.symbol,
        container=chunk.container,
        definitions=chunk.definitions,
        span=Span(chunk.start_line, chunk.end_line),
        text=text,
        content_hash=chunk.content_hash,
        updated_at=min(chunk.updated_at, 2**33),
        masked=masks_in(text) if chunk.text is not None else 0,
        origin=Origin(shown.source, shown.address.uri(shown.head.commit, chunk.path), note, local=False),
    )

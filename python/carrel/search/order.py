"""One scored list of candidates, and what each step adds to a score, by name.

The core's rules score each candidate by itself. What knows more, such as the conversation, a person's pins, or a reranker, adds a
named amount; the list is always sorted by its scores. A relevance is that of the candidate's own evidence, whatever its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.native import Candidate

Step = tuple[str, float]
SHARE = 0.4
"""Weighs each search with the conversation against the question's own."""
_SMALL = 1e-9
"""Less than this is the rounding of numbers."""


class Place(Struct, frozen=True):
    """A candidate in a list: the score that orders it, its relevance from 0 to 1, and what steps after the rules added."""

    candidate: Candidate
    score: float
    relevance: float
    steps: tuple[Step, ...] = ()

    def moved(self, step: str, gain: float) -> Place:
        """Return it with an amount added to its score."""
        # Not by `replace`, which takes five times as long: this is done for each of some hundred candidates.
        return Place(self.candidate, self.score + gain, self.relevance, (*self.steps, (step, gain))) if gain else self


class Order(Struct, frozen=True):
    """Places, best first. `reranked` holds what a reranker said, by the number of each candidate that it judged."""

    places: tuple[Place, ...] = ()
    reranked: Mapping[int, float] = field(default_factory=dict)

    @property
    def ranked(self) -> tuple[Candidate, ...]:
        """Return the candidates."""
        return tuple(place.candidate for place in self.places)

    @property
    def best(self) -> float:
        """Return the best score; 0 where there is none."""
        return self.places[0].score if self.places else 0.0

    def with_missing(self, places: Iterable[Place]) -> Order:
        """Return the order with places whose candidates it lacks."""
        docs = {place.candidate.doc for place in self.places}
        return replace(self, places=sort((*self.places, *(place for place in places if place.candidate.doc not in docs))))

    def moved(self, step: str, gains: Mapping[int, float]) -> Order:
        """Return the order with amounts added, by the candidates' numbers. What scores the same stays in order."""
        if not any(gains.values()):
            return self
        return replace(self, places=sort(place.moved(step, gains.get(place.candidate.doc, 0.0)) for place in self.places))

    def lifted(self, step: str, levels: Mapping[int, int]) -> Order:
        """Return the order with candidates, by their numbers, before all of a lower level; others have level 0."""
        if not self.places:
            return self
        span = self.best - self.places[-1].score + 1.0
        return self.moved(step, {doc: level * span for doc, level in levels.items()})


def sort(places: Iterable[Place]) -> tuple[Place, ...]:
    """Return places by their scores; equal ones stay in order."""
    return tuple(sorted(places, key=lambda place: -place.score))


def joined(base: Order, others: Sequence[Order], judged: Callable[[Sequence[int]], Sequence[Place]]) -> Order:
    """Return the candidates of all searches in one order; each of the `others` counts for `SHARE`.

    A file's score is the sum of its best scores, each as a part of the best one of that search: searches often find different
    places of a file. Its chunks follow by the sum of theirs. `judged` gives the question's own view of what only `others` found.
    A candidate is as relevant as the search says that it answers best.
    """
    places = {place.candidate.doc: place for place in base.places}
    docs = dict.fromkeys(place.candidate.doc for order in others for place in order.places)
    places |= {place.candidate.doc: place for place in judged([doc for doc in docs if doc not in places])}
    paths = {doc: place.candidate.path for doc, place in places.items()}
    of_chunk, of_file, first = dict.fromkeys(places, 0.0), defaultdict[str, float](float), defaultdict[str, float](float)
    relevance = {doc: place.relevance for doc, place in places.items()}
    for weight, order in ((1.0, base), *((SHARE, other) for other in others)):
        top, best = order.best, defaultdict[str, float](float)
        for place in order.places:
            doc = place.candidate.doc
            path = paths[doc]
            part = weight * place.score / top if place.score > 0 else 0.0
            of_chunk[doc] += part
            best[path] = max(best[path], part)
            relevance[doc] = max(relevance[doc], place.relevance)
        for path, part in best.items():
            of_file[path] += part
    for doc, total in of_chunk.items():
        path = paths[doc]
        first[path] = max(first[path], total)
    scale = max(base.best, 0.0) / (1.0 + SHARE * len(others))

    def placed(doc: int, place: Place) -> Place:
        path = paths[doc]
        gain = scale * of_file[path] * of_chunk[doc] / (first[path] or 1.0) - place.score
        moved = place.moved("conversation", gain if abs(gain) > _SMALL else 0.0)
        return Place(moved.candidate, moved.score, relevance[doc], moved.steps)

    return replace(base, places=sort(placed(doc, place) for doc, place in places.items()))

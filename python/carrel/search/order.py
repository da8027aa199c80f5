"""One scored list of candidates, and what each step adds to a score, by name.

The core's rules score each candidate by itself. What knows more, such as the conversation, a person's pins, or a reranker, adds a
named amount; the list is always sorted by its scores. A relevance is that of the candidate's own evidence, whatever its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from carrel.model.native import Candidate

Step = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A candidate in a list: the score that orders it, its relevance from 0 to 1, and what steps after the rules added."""

    candidate: Candidate
    score: float
    relevance: float
    steps: tuple[Step, ...] = ()

    def moved(self, step: str, gain: float) -> Place:
        """Return it with an amount added to its score."""
        # Not by `replace`, which takes five times as long: this is done for each of some hundred candidates.
        return Place(self.candidate, self.score + gain, self.relevance, (*self.steps, (step, gain))) if gain else self


@dataclass(frozen=True, slots=True)
class Order:
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

"""Join what a question finds with what the searches find that take in the conversation before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from carrel.search.order import Order, Place, sort

SHARE = 0.4
"""Weighs each search with the conversation against the question's own."""
_SMALL = 1e-9
"""Less than this is the rounding of numbers."""


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

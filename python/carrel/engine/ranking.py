"""From what each search found to one order, by the core's rules, and what is told of it.

`relevance` is apart from the order: an absolute estimate from 0 to 1 that can be compared across queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from carrel.core import native
from carrel.core.native import Ranked, Scene
from carrel.core.types import Query, Signals
from carrel.engine.query_words import Question


class Asked:
    """The question with what the rules want to know of it. `rarity` has each of its words; 1 for those that aren't given."""

    def __init__(self, question: Question, rarity: Mapping[str, float] | None = None) -> None:
        self.question = question
        self.rarity = {word: (rarity or {}).get(word, 1.0) for word in question.words}
        self.native = native.Asked(
            list(self.rarity.items()),
            question.text,
            names=question.names,
            scope=list(question.scope),
            plain=question.plain,
            is_symbol=question.is_symbol,
            is_change=question.is_change,
        )


def scene_of(query: Query) -> Scene:
    """What the person who asks has in front of them."""
    return Scene(query.active_path, frozenset(query.open_paths), frozenset(query.pinned))


def rank(candidates: Sequence[Ranked], asked: Asked, scene: Scene, *, without: AbstractSet[str] = frozenset()) -> list[Ranked]:
    """Order candidates, best first. Sets `fused` and `score` on each. `without` names rules to leave out."""
    return native.rank(candidates, asked.native, scene, without=without)


def score(candidates: Sequence[Ranked], asked: Asked, scene: Scene) -> None:
    """Score each candidate by itself."""
    native.score(candidates, asked.native, scene)


def signals(ranked: Ranked) -> Signals:
    """What is told to the outside of a candidate that was ranked."""
    return Signals(
        dense=ranked.dense,
        dense_rank=ranked.dense_rank,
        lexical=ranked.lexical,
        lexical_rank=ranked.lexical_rank,
        fused=ranked.fused,
        matched=tuple(ranked.matched),
        boosts=tuple(ranked.boosts),
    )


def relevance(ranked: Ranked, floor: float) -> float:
    """How sure it is that the chunk answers, from 0 to 1, whatever else was found.

    The three kinds of evidence are independent witnesses: 1 - (1 - lexical)(1 - dense)(1 - definition), with the lexical
    share as it is, the cosine counted from the model's noise floor to 0.9, and a definition at 0.85.
    """
    dense = min(max((ranked.dense - floor) / (0.9 - floor), 0.0), 1.0)
    lexical = min(max(ranked.lexical, 0.0), 1.0)
    value = 1 - (1 - lexical) * (1 - dense) * (1 - 0.85 * ranked.defines)
    return round(min(max(value, 0.0), 1.0), 4) if math.isfinite(value) else 0.0

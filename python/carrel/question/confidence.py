"""One number from 0 to 1: how sure it is that the index holds anything that answers a question at all.

A logistic model over what the search knows anyway. `tests/bench/confidence.py` measures it and fits its weights again; they are
calibrated for as many questions with an answer as without one (docs/quality.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrel.model.native import Candidate
    from carrel.question.query_words import ParsedQuery

FLOOR = 0.08
"""Below it a pack says that there is nothing instead of giving the least unlike places. It costs 3 of 1,557 questions with an
answer, and is passed by none of the greetings."""
OF_A_TRACE = 0.9
"""At least so sure is it of a stack trace that goes through the indexed code: its words alone say little. Set, not fitted."""
BEST = 3
"""Candidates whose evidence counts: which of close ones comes first is no matter of certainty."""
TENTH = 9

FEATURES = ("relevance", "lead", "words", "literal", "undefined", "covered", "cosine")
"""relevance: of the best candidate
lead: how far it falls until the tenth, as a share
words: telling ones of the question, ln(1 + n)
literal: text that stands there word for word
undefined: 1 where the question names a symbol that nothing found defines
covered: the largest share of the question's terms in one of the best candidates
cosine: the largest of theirs
"""
BIAS = -9.54
WEIGHTS = (3.29, 2.52, 1.80, 2.63, -1.37, 2.26, 3.27)

_WORD = re.compile(r"\w+")
_SMALL_TALK = frozenset(
    """
    afternoon again awesome bye cheers continue cool day evening everyone fine friend fun good goodbye great greetings haha
    hello help helped hey hi hm hmm interesting job joke later lol lot luck mind moment morning much name never nice night no
    nope now ok okay perfect please right see sorry sounds speak sure tell thank thanks think tired today tomorrow too
    understand very wait week weekend welcome well whats wonderful wow wrong yeah yep yes
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
_BETWEEN = frozenset(
    """
    a all am an and are be can could did do does don everybody for going have how i is it m me my of on one s so t that the
    there this to up was we what who will with work would you your
    """.split()  # noqa: SIM905 - a list of words reads best as text
)


def features(
    ordered: Sequence[Candidate], relevances: Sequence[float], question: ParsedQuery
) -> tuple[float, float, float, float, float, float, float]:
    """Return the evidence for an order of candidates, as `FEATURES` names it."""
    best, first = ordered[:BEST], max(relevances[:1], default=0.0)
    tenth = relevances[TENTH] if len(relevances) > TENTH else 0.0
    defined = max((candidate.defines for candidate in best), default=0.0)
    return (
        first,
        1 - tenth / first if first else 0.0,
        math.log1p(len(question.words)),
        max((candidate.literal for candidate in best), default=0.0),
        float(bool(question.names) and defined < 1),
        max((candidate.covered for candidate in best), default=0.0),
        max((candidate.dense for candidate in best), default=0.0),
    )


def confidence(ordered: Sequence[Candidate], relevances: Sequence[float], question: ParsedQuery) -> float:
    """Return how sure it is that anything answers the question; `relevances` are those of the candidates, best first."""
    if not ordered or (is_small_talk(question.text) and ordered[0].defines < 1):
        return 0.0
    evidence = features(ordered, relevances, question)
    exponent = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, evidence, strict=True))
    return round(1 / (1 + math.exp(-exponent)), 4) if math.isfinite(exponent) else 0.0


def is_enough(found: float) -> bool:
    """Tell whether a pack may be made of what was found with this confidence."""
    return found >= FLOOR


def is_small_talk(text: str) -> bool:
    """Tell whether a text only greets, thanks or agrees."""
    words = _WORD.findall(text.casefold())
    return any(word in _SMALL_TALK for word in words) and all(word in _SMALL_TALK or word in _BETWEEN for word in words)

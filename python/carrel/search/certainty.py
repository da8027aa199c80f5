"""Tell how sure it is that a hit answers, and that anything does: from the evidence of each hit alone.

Both are logistic models, fitted and checked on questions of other projects by `tests/bench/confidence.py`. Neither depends on a
hit's place in the list, nor on what else is in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from carrel.model.native import Candidate
from carrel.question.query_words import ParsedQuery, is_question

OF_QUESTION = (-4.8, 2.25)
"""Bias, and the weight of a candidate's own score, for the logarithm of the odds that it answers."""
OF_SYMBOL = (-4.75, 1.27)
"""The same of a question that is a symbol alone, whose definition scores much more."""
FLOOR_OF_FIT = 0.15
"""The cosine below which a hit of the model is noise that these were fitted with."""

CONFIDENCE = (-0.44, 1.4, 2.73, 2.69)
"""Bias, and the weights of the best candidates' log odds, share of the question's terms, and cosine."""
BY_MEANING = (-5.0, 7.0)
"""Bias and weight of the best cosine alone: a question may share no word with the code that answers it. Set so that it changes
none of the figures of those that do."""
BEST = 3
"""Candidates that count: which of close ones comes first is no matter of certainty."""
FLOOR = 0.12
"""Below it nothing is added to what nobody asked for."""
UNSURE = 0.3
"""Below it an answer to a question says that it isn't sure, and gives the best few places alone."""
CLOSE_QUESTION, CLOSE_ORDER = 0.36, 0.7
"""The cosine of the closest place, times the root of the number of telling words, from which a text is about code: a vector of
few words is near to many places by chance. Orders about what is in hand ("run the tests") meet something in every index."""
IN_FRONT = 1.0
"""So sure is it of the file, or the lines, in front that a question is about."""
GUESSES = 3
"""So many places."""
DOUBT = "Not sure that anything here answers this: these are the nearest places. A name or word of the code may find more."
OF_CONVERSATION = 0.01
"""At most so sure is it of a text that says nothing by itself, as "is that right?" does: somebody who asks gets the best places
for what was said before."""
STANDS = 0.6
"""From here on a question of few words needs nothing of the conversation: it may be on another topic. Chosen on follow-ups."""
OF_A_TRACE = 0.9
"""At least so sure is it of a stack trace that goes through the indexed code, and of a message that the code writes: the words
around say little. Set, not fitted."""


def log_odds(candidate: Candidate, question: ParsedQuery, floor: float) -> float:
    """Return the logarithm of the odds that a candidate answers; `floor` is that of the model that gave its cosine."""
    bias, weight = OF_SYMBOL if question.is_symbol else OF_QUESTION
    dense = candidate.dense
    value = bias + weight * (candidate.own_score - dense + above(dense, floor))
    return value if math.isfinite(value) else bias


def above(cosine: float, floor: float) -> float:
    """Return a cosine as one of the model that these were fitted with: models differ in what their cosines begin with."""
    return cosine - (floor - FLOOR_OF_FIT) if cosine > 0 else cosine


def relevance(candidate: Candidate, question: ParsedQuery, floor: float) -> float:
    """Return how likely it is that a candidate answers, from 0 to 1."""
    return _share(log_odds(candidate, question, floor))


def confidence(ordered: Sequence[Candidate], question: ParsedQuery, floor: float) -> float:
    """Return how sure it is that the best of these candidates answer a question.

    Greetings and thanks ask for nothing, unless they are a name that is defined, nor does a sentence without a telling word, such
    as "what can you do?", that stands nowhere.
    """
    says = question.has_telling_words or any(candidate.literal for candidate in ordered[:BEST])
    is_defined = bool(ordered) and ordered[0].defines >= 1
    if not ordered or (question.is_small_talk and not (question.identifier and is_defined)) or not (says or is_defined):
        return 0.0
    values = features(ordered, question, floor)
    bias, of_meaning = BY_MEANING
    return max(_share(sum(map(mul, CONFIDENCE, values))), _share(bias + of_meaning * values[-1]))


def features(ordered: Sequence[Candidate], question: ParsedQuery, floor: float) -> tuple[float, float, float, float]:
    """Return what the confidence weighs: 1, and the most of the best candidates in log odds, share of the terms, and cosine."""
    best = ordered[:BEST]
    odds, covered = max(log_odds(candidate, question, floor) for candidate in best), max(candidate.covered for candidate in best)
    return 1.0, odds, covered, max(above(candidate.dense, floor) for candidate in best)


def is_enough(certainty: float) -> bool:
    """Tell whether so sure an answer may be added to what nobody asked for."""
    return certainty >= FLOOR


def is_about_code(ordered: Sequence[Candidate], question: ParsedQuery, floor: float) -> bool:
    """Tell whether a text that wasn't sent to be searched for is about the code: by a name or by meaning."""
    text, best = question.text.strip(), ordered[:BEST]
    is_named = bool(question.names) and not (text.isalpha() and text.islower())  # "stop" is no name of code
    if is_named and any(candidate.defines >= 1 for candidate in best):
        return True
    if not any(candidate.dense for candidate in ordered):  # no model took part: the words alone were weighed
        return True
    closeness = max((above(candidate.dense, floor) for candidate in best), default=0.0) * math.sqrt(len(question.words))
    return closeness >= (CLOSE_QUESTION if is_question(text) else CLOSE_ORDER)


def is_sure(certainty: float) -> bool:
    """Tell whether an answer needs no word of doubt."""
    return certainty >= UNSURE


def doubt(certainty: float) -> str | None:
    """Return what somebody who asks must be told of an answer that isn't sure; None for one that is."""
    return None if is_sure(certainty) else DOUBT


def _share(odds: float) -> float:
    return round(1 / (1 + math.exp(-odds)), 4) if odds > -700 else 0.0

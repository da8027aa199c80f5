"""What each rule of the ranking added to the score that is shown, or took from it."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

from carrel.core.native import Candidate

HUNDREDTHS = 100
"""Scores are shown so finely: contributions are whole ones, so that what is shown adds up."""
_HUNDREDTH = Decimal("0.01")
RERANKER = "reranker"
COMBINED = "combined"
"""The score was made from several searches, or from the parts of an issue: no rule has a share of its own."""
SPREAD = "spread"
"""A rule of the core that scales what the others made; what it took is what they leave unexplained."""
_PINNED = "pinned"


def contributions(ranked: Candidate, in_order: float, shown: float, *, reranked: bool = False) -> tuple[tuple[str, float], ...]:
    """Return rules with their signed shares of `shown`, a score from 0 to 1: in hundredths, and adding up to it.

    `in_order` is the candidate's score in the final order. The largest shares come first.
    """
    total, score = hundredths(shown), ranked.score
    if reranked:
        return _of(RERANKER, total)
    if score <= 0 or not math.isclose(in_order, score, rel_tol=1e-9):
        return _of(COMBINED, total)
    scale = total / score
    parts = {rule: amount * scale for rule, amount in _amounts(ranked).items()}
    whole = {rule: math.floor(part) for rule, part in parts.items()}
    # The largest remainders are rounded up, as many as are missing.
    missing = total - sum(whole.values())
    if missing > 0:
        for rule in sorted(parts, key=lambda rule: (whole[rule] - parts[rule], rule))[:missing]:
            whole[rule] += 1
    named = [(rule, count / HUNDREDTHS) for rule, count in whole.items() if count]
    return tuple(sorted(named, key=lambda pair: (-abs(pair[1]), pair[0])))


def hundredths(shown: float) -> int:
    """Return a score in hundredths, rounded as editors show it: halves upwards."""
    return int(Decimal(shown).quantize(_HUNDREDTH, ROUND_HALF_UP) * HUNDREDTHS)


def _amounts(ranked: Candidate) -> dict[str, float]:
    """Return what each rule changed of the score, in the order in which the core applies them; they add up to it."""
    amounts = dict(ranked.added)
    score = sum(amounts.values())
    for rule, factor in ranked.scaled:
        amounts[rule] = score * factor - score
        score *= factor
    lifts = dict(ranked.boosts)
    for rule, lift in lifts.items():
        if rule not in amounts and rule != _PINNED:
            amounts[rule] = lift
            score += lift
    pinned = lifts.get(_PINNED, 0.0)
    amounts[SPREAD] = ranked.score - pinned - score
    if pinned:
        amounts[_PINNED] = pinned
    return amounts


def _of(rule: str, total: int) -> tuple[tuple[str, float], ...]:
    return ((rule, total / HUNDREDTHS),) if total else ()

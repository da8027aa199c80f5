"""Which of a planner's three steps a question is worth, by rules that cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from carrel.model.conversation import Message
from carrel.model.native import split_names
from carrel.question import issue_text, query_words

Step = Literal["rewrite", "divide", "imagine"]
"""Rewriting, sub-queries, a hypothetical answer."""
When = Literal["unsure", "auto", "always"]
"""When a model is asked: once, where the search is unsure; where a question is worth it; for every question."""

LONGEST_PLANNED = 400
"""Characters of a question. A longer text says itself what it is about, and is searched for in its own way."""
SHORT = 6
"""Telling words of a question that may be too short to be found by."""
FOUND_WELL = 0.8
"""Confidence from which a short question needs no help of a model that is set for planning. Of the 227 short questions of the
frozen corpus, 51 of the 65 whose first hit is in a wrong file are below, and 88 of the others; with .5 they are 33 and 51."""
_LEAST_OF_A_PART = 3
"""Telling words on each side of an `and` that make two questions of it: `how errors are logged and reported` is one. With 2, the
rule divides 29 % of 760 questions of which nearly all are about one thing, with 3 it is 8 %."""

_DIFFERENCE = frozenset("differ difference differences differs distinguish versus vs".split())  # noqa: SIM905
_COMPARING = frozenset("between compare compared compares comparing comparison".split())  # noqa: SIM905
_WITH = frozenset("against and to versus vs with".split())  # noqa: SIM905
_ASKING = frozenset("are do does how is what when where which who why".split())  # noqa: SIM905


def steps_at_once(text: str, history: Sequence[Message], when: When = "auto") -> frozenset[Step]:
    """Return what to ask for before anything was searched: rewriting where there is a conversation, and sub-queries of a
    question that compares or asks for several things.
    """
    if when == "unsure" or not (_asks(text) if when == "always" else can_be_planned(text)):
        return frozenset()
    steps: set[Step] = {"rewrite"} if history or when == "always" else set()
    if can_be_planned(text) and _asks_for_several(text):
        steps.add("divide")
    return frozenset(steps)


def steps_after_search(text: str, confidence: float, *, sure: bool, when: When = "auto") -> frozenset[Step]:
    """Return what to ask for after a search of this confidence: a question of which it isn't `sure` is rewritten.

    A model that is set for planning also answers a short question that found nothing good, for the answer's embedding.
    """
    if not can_be_planned(text):
        return frozenset()
    if when != "unsure" and confidence < FOUND_WELL and len(query_words.read(text).words) <= SHORT:
        return frozenset({"rewrite", "imagine"})
    return frozenset() if sure else frozenset({"rewrite"})


def can_be_planned(text: str) -> bool:
    """Tell whether a text is a question of ordinary length: not a name, an identifier, or what somebody pasted."""
    stripped = text.strip()
    if not _asks(stripped) or len(stripped) > LONGEST_PLANNED or issue_text.read(stripped) is not None:
        return False
    question = query_words.read(stripped)
    return bool(question.words) and not question.is_symbol and not query_words.is_code(question.quoted)


def _asks(text: str) -> bool:
    return bool(text.strip()) and not query_words.is_small_talk(text)


def _asks_for_several(text: str) -> bool:
    words = split_names(text)
    if _compares(words) or sum(bool(part.strip()) for part in f"{text} ".replace("\n", " ").split("? ")) > 1:
        return True
    sides = " ".join(text.lower().replace(";", " and ").split()).replace(" as well as ", " and ").split(" and ")
    asks_again = any(word in _ASKING for side in sides[1:] for word in split_names(side.removeprefix("also "))[:1])
    return asks_again or sum(len(query_words.telling_words(side)) >= _LEAST_OF_A_PART for side in sides) > 1


def _compares(words: Sequence[str]) -> bool:
    first = next((at for at, word in enumerate(words) if word in _COMPARING), len(words))
    return not _DIFFERENCE.isdisjoint(words) or not _WITH.isdisjoint(words[first:])

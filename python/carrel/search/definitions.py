"""Put the definitions of an identifier first, where the question is an identifier alone."""

from __future__ import annotations

from collections.abc import Sequence

from carrel.model.kinds import LANGUAGES
from carrel.model.native import Candidate, detect_language
from carrel.model.types import Query
from carrel.question import query_words
from carrel.search.order import Order
from carrel.search.ranking import RankingContext

_DOCUMENTS = frozenset(LANGUAGES) - {"notebook"}
_NOT_CODE = frozenset({"", "css", "html", "ini", "json", "toml", "xml", "yaml"})
"""Languages in which a name that stands at the head of something defines nothing that is used by that name."""
_SAME_LETTERS = 0.8
"""Marks what defines a name and writes it with other capitals."""
_DECLARED_APART = frozenset({"c", "cpp", "cuda", "objective-c"})
"""Languages in which a function is declared where it isn't defined."""


def definitions_first(order: Order, context: RankingContext, query: Query) -> Order:
    """Return the order with the definitions of an identifier before its uses, where the question is an identifier alone.

    Both come before what holds another form of it, and that before what holds none. What is pinned stays first. A key or a title
    is no definition. A plain word may mean several names that differ in case.
    """
    question, pinned = context.question, frozenset(query.pinned)
    if not question.identifier:
        return order
    is_plain = question.identifier.isalpha() and not question.is_symbol
    is_any = is_plain and any(_SAME_LETTERS <= candidate.defines < 1 for candidate in order.ranked)
    least = _SAME_LETTERS if is_any else 1.0
    order = order.lifted("holds_name", _holding(order.ranked, len(question.words), least, pinned))
    return order.lifted("definition", _defining(order.ranked, question.identifier, least, pinned))


def _holding(ranked: Sequence[Candidate], words: int, least: float, pinned: frozenset[str]) -> dict[int, int]:
    """Return by the numbers of candidates whether each holds the name as it was typed (2), in another form (1) or not."""

    def level(candidate: Candidate) -> int:
        if candidate.path in pinned or candidate.defines >= least or (candidate.literal > 0 and not _steps_back(candidate)):
            return 2
        return 1 if candidate.literal > 0 or len(candidate.matched) >= words else 0

    return {candidate.doc: level(candidate) for candidate in ranked}


def _defining(ranked: Sequence[Candidate], identifier: str, least: float, pinned: frozenset[str]) -> dict[int, int]:
    """Return by the numbers of candidates whether each is called so (3), defines it otherwise (2) or documents it (1).

    Where names that differ in case count (`least` below 1), all code that defines one is alike.
    """
    has_function = any(
        candidate.callable
        and candidate.defines >= least
        and query_words.ends_with(candidate.symbol, identifier)
        and detect_language(candidate.path) in _DECLARED_APART
        for candidate in ranked
    )

    def level(candidate: Candidate) -> int:
        if candidate.path in pinned:
            return 4
        symbol, language = candidate.symbol, detect_language(candidate.path)
        if language in _DOCUMENTS:
            return int(candidate.defines >= 1 and not _steps_back(candidate))
        if candidate.defines < least or not query_words.is_named(symbol, identifier) or language in _NOT_CODE:
            return 0
        is_apart = language in _DECLARED_APART
        is_otherwise = least < 1 or not (query_words.ends_with(symbol, identifier) if symbol else not is_apart)
        return 2 if is_otherwise or (is_apart and has_function and not candidate.callable) else 3

    return {candidate.doc: level(candidate) for candidate in ranked}


def _steps_back(candidate: Candidate) -> bool:
    """Tell whether the kind of its file counts against it."""
    return any(rule == "path_penalty" for rule, _ in candidate.boosts)

"""What was done to answer a query, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CandidateCounts:
    """How many candidates each search found; one may be found by several."""

    dense: int = 0
    lexical: int = 0
    definitions: int = 0


@dataclass(frozen=True, slots=True)
class RetrievalDiagnostics:
    """How a query was read, how much was found for it, and what models had to do with it."""

    embedder: str
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    is_symbol: bool = False
    is_issue: bool = False
    candidates: CandidateCounts = CandidateCounts()
    problem: str | None = None  # why the answer is worse than it should be, such as by words alone
    rewritten: str | None = None  # what was searched for in place of the question
    sub_queries: tuple[str, ...] = ()  # what a planner divided it into
    imagined: bool = False  # whether a planner's hypothetical answer stood in for its meaning
    reranker: str | None = None  # the id of the one that judged the hits
    holding: int | None = None  # how many chunks of the index hold the word, where one word is all that was asked for

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
    """How a query was read, and how much was found for it."""

    embedder: str
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    is_symbol: bool = False
    is_issue: bool = False
    candidates: CandidateCounts = CandidateCounts()
    problem: str | None = None  # why it was answered by words alone or not at all, if it was

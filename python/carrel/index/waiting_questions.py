"""Questions that wait for an index that is being made: the run reads first what they are about."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class WaitingQuestion:
    """A question: its words, and what is called on the run's thread once the files with most of them answer."""

    words: tuple[str, ...]
    answerable: Callable[[], None]


WaitingQuestions = deque[WaitingQuestion]
"""Filled by the event loop, emptied by the run."""

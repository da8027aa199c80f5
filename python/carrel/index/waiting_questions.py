"""Questions that wait for an index that is being made: the run reads first what they are about."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from functools import partial

from msgspec import Struct

_MOST_READ = 2_000
"""Characters of a question by whose words files are read first."""


class WaitingQuestion(Struct, frozen=True, eq=False):
    """A question: its words, and what is called on the run's thread once the files with most of them answer."""

    words: tuple[str, ...]
    answerable: Callable[[], None]


class WaitingQuestions:
    """Those of one index, the first one first: added on the event loop, taken by the run."""

    def __init__(self) -> None:
        self._questions: deque[WaitingQuestion] = deque()

    def add(self, text: str) -> asyncio.Future[None]:
        """Have the run read first what a question is about; return what is done then."""
        from carrel.question.query_words import read  # noqa: PLC0415 - as search is

        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def answerable() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(partial(_end, done))

        parsed = read(text[:_MOST_READ])
        self._questions.append(WaitingQuestion(tuple(dict.fromkeys((*parsed.names, *parsed.words))), answerable))
        return done

    def take(self) -> WaitingQuestion | None:
        """Return the next question, which no longer waits in line; None where there is none."""
        return self._questions.popleft() if self._questions else None


def _end(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)

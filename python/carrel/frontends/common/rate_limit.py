"""How often the callers of one listening process may ask: a bucket of tokens that fills at an even pace.

A process that listens serves this machine's user only, so one bucket holds for all callers together. The default is far above
what people and agents do; it ends loops that went wrong before they take the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PER_MINUTE = 600
"""Requests a minute, unless the person who starts the process sets another number."""

_BURST_SECONDS = 10
"""So much of the pace may be asked at once after a pause: 100 requests by default."""


class RateLimit:
    """A token bucket. Used on one event loop; 0 a minute is no limit, None the default."""

    def __init__(self, per_minute: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = PER_MINUTE if per_minute is None else per_minute
        self._per_second = self.per_minute / 60
        self._most = max(1.0, self._per_second * _BURST_SECONDS)
        self._tokens = self._most
        self._clock = clock
        self._filled = clock()

    def take(self) -> float:
        """Take a token and give 0.0, or give the seconds until there is one."""
        if not self.per_minute:
            return 0.0
        now = self._clock()
        self._tokens = min(self._most, self._tokens + (now - self._filled) * self._per_second)
        self._filled = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._per_second

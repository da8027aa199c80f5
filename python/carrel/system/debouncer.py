"""Do something after a pause, on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Debouncer:
    """Calls `act` once, `seconds` after it was started."""

    def __init__(self, seconds: float, act: Callable[[], None]) -> None:
        self.seconds = seconds
        self._act = act
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to wait, unless it waits already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.seconds, self._due)

    def restart(self) -> None:
        """Begin to wait anew: what comes in bursts is done when they have ended."""
        self.cancel()
        self.start()

    def cancel(self) -> bool:
        """Stop waiting; return whether it waited."""
        timer, self._timer = self._timer, None
        if timer:
            timer.cancel()
        return timer is not None

    def _due(self) -> None:
        self._timer = None
        self._act()

"""How much was asked of remote services: limits a minute kept in this process, costs a day shared by all of the user's.

The counts live in SQLite beside the indexes. A failure there is logged and never stops a request, but for a limit of
cost: where nobody can tell what was spent, nothing more is spent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from carrel.model.errors import ProviderError, StoreError
from carrel.model.outbound import Destination, Hold, Load
from carrel.system.filesystem import private_file, private_folder

log = logging.getLogger(__name__)

LONGEST_WAIT = 60.0
"""Seconds. The buckets of a minute are never empty for longer."""
_WAIT_SECONDS = 5.0
"""How long other processes are waited for that count at the same moment."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS usage (
    day TEXT NOT NULL, provider TEXT NOT NULL, host TEXT NOT NULL,
    requests INTEGER NOT NULL, texts INTEGER NOT NULL, characters INTEGER NOT NULL, tokens INTEGER NOT NULL,
    dollars REAL NOT NULL,
    PRIMARY KEY (day, provider, host)
)
"""


class Limits(Struct, frozen=True):
    """What a person set; 0 is no limit."""

    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    cost_per_day: float = 0.0


class Usage(Struct, frozen=True):
    """What was used in a time."""

    requests: int = 0
    texts: int = 0
    characters: int = 0
    tokens: int = 0
    dollars: float = 0.0

    def __add__(self, more: Usage | Load) -> Usage:
        amounts = (self.requests + more.requests, self.texts + more.texts, self.characters + more.characters)
        return Usage(*amounts, self.tokens + more.tokens, self.dollars + more.dollars)


class UsageMeter:
    """Keeps to limits and counts. `path` None keeps the counts in this process."""

    def __init__(
        self,
        path: Path | None,
        limits: Callable[[], Limits],
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], str] = lambda: datetime.now(UTC).strftime("%Y-%m-%d"),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take `limits` as a function: a change of settings counts at once."""
        self._path = path
        self._limits = limits
        self._clock = clock
        self._today = today
        self._sleep = sleep
        self._minute: dict[Destination, deque[tuple[float, int]]] = {}
        self._memory: dict[tuple[str, Destination], Usage] = {}
        self._writer: ThreadPoolExecutor | None = None
        self._reserving = threading.Lock()
        self._counting = threading.Lock()
        self.failures: dict[Destination, str] = {}
        """The last failure of each destination since the last success, for a person."""

    async def admit(self, destination: Destination, load: Load) -> Hold:
        """Wait until the request keeps within the limits of a minute, and count the cost that it may have at once.

        Returns the dollars that were counted; a cancel gives them back, however far the counting is. Raises `ProviderError` where
        the day's cost is reached, or can't be told.
        """
        limits = self._limits()
        if limits.cost_per_day and not destination.local and not load.priced:
            raise ProviderError(
                f"{destination} was not asked: `costPerDay` is set, and what this model costs isn't known",
                "Set `price` (of a chat model `outputPrice` too) of the model, or `costPerDay` of `limits` to 0.",
            )
        while (pause := self._pause(destination, load, limits)) > 0:
            await self._sleep(min(pause, LONGEST_WAIT))
        self._minute.setdefault(destination, deque()).append((self._clock(), load.tokens))
        if not limits.cost_per_day or destination.local or not (load.requests or load.dollars):
            return Hold()
        reservation = _Reservation(lambda hold: self.give_back(destination, hold))
        dollars = load.dollars + load.reserve
        try:
            await asyncio.to_thread(reservation.made, lambda: self._reserve(limits.cost_per_day, destination, dollars))
        except asyncio.CancelledError:
            reservation.abandon()
            raise
        return reservation.hold

    def record(self, destination: Destination, load: Load) -> None:
        """Count what was used, on a thread of its own. Never raises."""
        self.failures.pop(destination, None)
        self._count(self._today(), destination, load)

    def give_back(self, destination: Destination, hold: Hold) -> None:
        """Count dollars no more that were held, on the day that they were counted on."""
        self._count(hold.day or self._today(), destination, Load(requests=0, dollars=-hold.dollars))

    def _count(self, day: str, destination: Destination, load: Load) -> None:
        with self._counting:  # what is given back may come from any thread
            if self._path is None:
                self._remember(day, destination, load)
                return
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "carrel-usage")
            self._writer.submit(self._write, self._path, day, destination, load)

    def failed(self, destination: Destination, reason: str) -> None:
        """Remember the last failure."""
        self.failures[destination] = reason

    def close(self) -> None:
        """Wait until all is written. May be used again afterwards."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.shutdown()

    def _write(self, path: Path, day: str, destination: Destination, load: Load) -> None:
        try:
            with _opened(path) as database:
                _add(database, day, destination, load)
        except (OSError, sqlite3.Error) as error:
            log.warning("What was asked of %s is counted in this process only: %s", destination, error)
            self._remember(day, destination, load)

    def total(self, destination: Destination | None = None, *, since: str = "") -> Usage:
        """Sum what was used from a day on (`YYYY-MM-DD`), by one destination or all. Raises `StoreError`."""
        if self._writer is not None:
            self._writer.submit(lambda: None).result()  # what was recorded before is in it
        rows = [usage for (day, of), usage in self._memory.items() if day >= since and (destination is None or of == destination)]
        if self._path is not None and self._path.exists():
            try:
                rows.append(_summed(self._path, destination, since))
            except (OSError, sqlite3.Error) as error:
                raise StoreError(
                    f"What was spent can't be read from {self._path} ({error})", "Mend or delete the file."
                ) from None
        return sum(rows, Usage())

    def _reserve(self, most: float, destination: Destination, dollars: float) -> Hold:
        """Count dollars where the day's limit has room for them, which no other process can use meanwhile."""
        with self._reserving:  # the day's total and what is added to it are one step here too
            if self._writer is not None:
                self._writer.submit(lambda: None).result()  # what was recorded before is in it
            today, held = self._today(), Load(requests=0, dollars=dollars)
            spent = sum(usage.dollars for (day, _), usage in self._memory.items() if day >= today)
            if self._path is None:
                _check_limit(most, spent, dollars)
                self._remember(today, destination, held)
                return Hold(dollars, today)
            try:
                with _opened(self._path) as database:
                    database.execute("BEGIN IMMEDIATE")
                    spent += database.execute("SELECT TOTAL(dollars) FROM usage WHERE day >= ?", [today]).fetchone()[0]
                    _check_limit(most, spent, dollars)
                    _add(database, today, destination, held)
            except (OSError, sqlite3.Error) as error:
                raise ProviderError(
                    f"What was spent can't be read from {self._path} ({error})",
                    "Mend or delete the file. Or set `costPerDay` of `limits` to 0.",
                ) from None
        return Hold(dollars, today)

    def _pause(self, destination: Destination, load: Load, limits: Limits) -> float:
        """Return the seconds until the last minute has room for the request; an empty minute always has."""
        requests = self._minute.get(destination)
        if not requests:
            return 0.0
        now = self._clock()
        while requests and requests[0][0] <= now - 60:
            requests.popleft()
        tokens = sum(amount for _, amount in requests)
        many = limits.requests_per_minute and len(requests) >= limits.requests_per_minute
        much = limits.tokens_per_minute and requests and tokens + load.tokens > limits.tokens_per_minute
        return max(requests[0][0] + 60 - now, 0.001) if (many or much) and requests else 0.0

    def _remember(self, day: str, destination: Destination, load: Load) -> None:
        self._memory[day, destination] = self._memory.get((day, destination), Usage()) + load


class _Reservation:
    """A hold that is made on a thread, for somebody who may go away meanwhile."""

    def __init__(self, give_back: Callable[[Hold], None]) -> None:
        self.hold = Hold()
        self._give_back = give_back
        self._abandoned = False
        self._lock = threading.Lock()

    def made(self, reserve: Callable[[], Hold]) -> None:
        """Make it; where it was abandoned before or meanwhile, it is given back."""
        if self._abandoned:
            return
        hold = reserve()
        with self._lock:
            self.hold = hold
            abandoned = self._abandoned
        if abandoned:
            self._give_back(hold)

    def abandon(self) -> None:
        """Have it given back: at once where it was made, else by the thread that makes it."""
        with self._lock:
            self._abandoned = True
            hold = self.hold
        if hold.dollars:
            self._give_back(hold)


def _summed(path: Path, destination: Destination | None, since: str) -> Usage:
    where, values = "day >= ?", [since]
    if destination is not None:
        where, values = where + " AND provider = ? AND host = ?", [since, destination.provider, destination.host]
    sums = "TOTAL(requests), TOTAL(texts), TOTAL(characters), TOTAL(tokens), TOTAL(dollars)"
    with _opened(path) as database:
        row = database.execute(f"SELECT {sums} FROM usage WHERE {where}", values).fetchone()  # noqa: S608 - fixed texts
    return Usage(int(row[0]), int(row[1]), int(row[2]), int(row[3]), row[4])


def _check_limit(most: float, spent: float, dollars: float) -> None:
    if spent + dollars > most:
        raise ProviderError(
            f"The day's limit of ${most:g} is reached: ${spent:.2f} was spent or is held for answers under way",
            "Raise `costPerDay` of `limits`, or wait until tomorrow (UTC).",
        )


def _add(database: sqlite3.Connection, day: str, destination: Destination, load: Load) -> None:
    database.execute(
        "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "requests = requests + excluded.requests, texts = texts + excluded.texts, "
        "characters = characters + excluded.characters, tokens = tokens + excluded.tokens, "
        "dollars = dollars + excluded.dollars",
        (
            *(day, destination.provider, destination.host),
            *(load.requests, load.texts, load.characters, load.tokens, load.dollars),
        ),
    )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    private_folder(path.parent)
    private_file(path)
    with contextlib.closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as database, database:
        database.execute(_SCHEMA)
        yield database

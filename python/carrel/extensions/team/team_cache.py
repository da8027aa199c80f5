"""Vectors that a team has paid for: who is the first to need one pays, and everybody else finds it (docs/team.md).

Stands behind the cache of this machine and before the model. Wherever values are kept, they are sealed (`TeamSeal`): whoever
keeps them is not trusted, neither to keep a secret nor to give back what it was given. Nothing here fails an index run: a place
that is gone, slow or lying costs a deadline, then the model alone is asked for a while. What it couldn't be told waits on disk.

A key is an HMAC of what the cache on this machine is asked by: the hash of model, size and text. A value is encrypted and
authenticated (AES-GCM) together with its key. Without the secret nobody can tell which texts are there, read a vector, put one
there that is believed, or give one in another's place. Needs the extra `team`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import math
import os
import struct
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from carrel.extensions.team.team_ledger import TeamLedger
from carrel.model.errors import CarrelError, InvalidInput, NotAllowed, ProviderError, StoreError
from carrel.model.installation import how_to_install
from carrel.model.outbound import Secret
from carrel.model.vectors import LENGTH_TOLERANCE

log = logging.getLogger(__name__)
T = TypeVar("T")

READ_SECONDS = 3.0
WRITE_SECONDS = 5.0
"""Each for one request of `AT_ONCE` values."""
TOTAL_SECONDS = 15.0
"""After so long no further request of a batch is made: a batch of 2,048 texts needs 21 of them."""
PROBE_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 10.0
"""How long a place that failed is left alone, twice as long after each further failure."""
LONGEST_PAUSE_SECONDS = 300.0
AT_ONCE = 100
"""Values of one request: 100 vectors of 1,536 numbers are 0.4 MB."""
CATCH_UP_SECONDS = 5.0
"""How long a batch waits at most while the place is told what it missed."""
State = Literal["unused", "ready", "waiting", "unreachable"]


class SealedValues(Protocol):
    """Where sealed values are kept, by keys of `KEY_BYTES`. Both raise `CarrelError`."""

    async def read(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the values that are there."""
        ...

    async def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values; return when others can read them."""

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""


class TeamStatus(Struct, frozen=True):
    """The team's cache at one moment. Counts are those of all programs of the person; `waiting` values have to be told yet."""

    place: str
    state: State
    hits: int = 0
    missed: int = 0
    refused: int = 0
    shared: int = 0
    waiting: int = 0
    lag_seconds: float = 0.0
    problem: str = ""


class TeamCache:
    """The cache of one place. Used from any event loop; keys are those of the cache on this machine, vectors float16."""

    def __init__(
        self,
        place: str,
        values: SealedValues,
        find_seal: Callable[[], TeamSeal],
        ledger: TeamLedger,
        *,
        clock: Callable[[], float] = time.monotonic,
        read_seconds: float = READ_SECONDS,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        """Take what finds the team's secret, and raises `CarrelError` where it can't; it runs on a thread."""
        self.place = place
        self._values, self._find_seal, self._ledger, self._clock = values, find_seal, ledger, clock
        self._read_seconds, self._write_seconds = read_seconds, write_seconds
        self._seal: TeamSeal | None = None
        self._checked = False
        self._read_only = False
        self._not_before = 0.0
        self._pause = FIRST_PAUSE_SECONDS
        self._behind = True  # unknown
        self._state: State = "unused"
        self._problem = ""

    @property
    def usable(self) -> bool:
        """Tell whether it answered when it was asked last."""
        return self._state == "ready"

    @property
    def problem(self) -> str | None:
        """Return why it can't be used, in words for a person."""
        return f"{self._problem.rstrip('.')}. Meanwhile the embedding model is asked for every text." if self._problem else None

    async def find(self, keys: Sequence[bytes], dim: int) -> dict[bytes, bytes]:
        """Return the vectors of those keys that the team has. Raises nothing but a cancel."""
        seal = await self._ready() if keys else None
        if seal is None:
            return {}
        names = {seal.key(key): key for key in keys}
        names_read, sealed = await self._read(list(names))
        vectors = await asyncio.to_thread(_unsealed, seal, {name: sealed[name] for name in names_read if name in sealed}, dim)
        refused = sum(name in sealed for name in names_read) - len(vectors)
        if refused:
            log.warning("%s gave %d vectors that the team didn't make; they are not used", self.place, refused)
        numbers = {"found": len(vectors), "missed": len(names_read) - len(vectors) - refused, "refused": refused}
        await asyncio.to_thread(self._ledger.count, self.place, numbers)
        if len(names_read) == len(names):
            await self._catch_up(CATCH_UP_SECONDS)
        return {names[name]: vector for name, vector in vectors.items()}

    async def share(self, vectors: Mapping[bytes, bytes]) -> None:
        """Give the team vectors that were paid for; they wait where it can't be reached. Raises nothing but a cancel."""
        ready = await self._ready()
        seal = self._seal
        if seal is None or self._read_only or not vectors:
            return
        sealed = await asyncio.to_thread(lambda: {(name := seal.key(key)): seal.seal(name, v) for key, v in vectors.items()})
        if ready is None or not await self._tell(sealed):
            if not self._read_only:
                self._behind = True
                await asyncio.to_thread(self._ledger.wait, self.place, sealed)
            return
        await asyncio.to_thread(self._ledger.count, self.place, {"shared": len(sealed)})

    async def probe(self) -> TeamStatus:
        """Ask it now, tell it what waits, and return its state. Raises nothing but a cancel."""
        self._not_before = 0.0
        self._checked = False
        if await self._ready() is not None:
            await self._catch_up(PROBE_SECONDS)
        return await asyncio.to_thread(self.status)

    def status(self) -> TeamStatus:
        """Describe it by what was met last. Reads the disk."""
        counts = self._ledger.counts(self.place)
        waiting, lag = self._ledger.backlog(self.place)
        hits, missed, refused, shared = (counts.get(name, 0) for name in ("found", "missed", "refused", "shared"))
        return TeamStatus(self.place, self._state, hits, missed, refused, shared, waiting, round(lag, 1), self._problem)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._values.aclose()

    # --- inside

    async def _ready(self) -> TeamSeal | None:
        """Return the seal where the place may be asked; the first time whether its values were made with the same secret."""
        if self._clock() < self._not_before:
            return None
        if self._seal is None:
            try:
                self._seal = await asyncio.to_thread(self._find_seal)
            except CarrelError as error:
                self._fail("waiting", error)
                return None
        seal = self._seal
        if not self._checked:
            held = await self._within(self._read_seconds, lambda: self._values.read([CHECK_KEY]))
            if held is None:
                return None
            if CHECK_KEY in held and not await asyncio.to_thread(seal.made, held[CHECK_KEY]):
                self._seal = None  # a right one may be given any moment
                await asyncio.to_thread(self._ledger.forget, self.place)
                self._fail("waiting", _OTHER_SECRET)
                return None
            if CHECK_KEY not in held and not await self._tell({CHECK_KEY: seal.check_value()}) and not self._read_only:
                return None
            self._checked = True
        return seal

    async def _read(self, names: Sequence[bytes]) -> tuple[Sequence[bytes], dict[bytes, bytes]]:
        """Return the keys that the place was asked for, and their values that are there; a failure ends it."""
        values: dict[bytes, bytes] = {}
        began = self._clock()
        for at in range(0, len(names), AT_ONCE):
            page = names[at : at + AT_ONCE]
            answer = (
                None if self._took_too_long(began) else await self._within(self._read_seconds, partial(self._values.read, page))
            )
            if answer is None:
                return names[:at], values
            values |= answer
        return names, values

    def _took_too_long(self, began: float) -> bool:
        """Tell whether a batch has had its time, and leave the place alone for a while then."""
        late = self._clock() - began > TOTAL_SECONDS
        if late:
            self._fail("unreachable", ProviderError(f"{self.place} took more than {TOTAL_SECONDS:g} s for one batch"))
        return late

    async def _tell(self, sealed: Mapping[bytes, bytes]) -> bool:
        """Tell the place values; return whether it has them."""
        rows, began = list(sealed.items()), self._clock()
        for at in range(0, len(rows), AT_ONCE):
            if self._read_only or self._took_too_long(began):
                return False
            if await self._within(self._write_seconds, partial(self._write, dict(rows[at : at + AT_ONCE])), writes=True) is None:
                return False
        return True

    async def _write(self, values: Mapping[bytes, bytes]) -> bool:
        await self._values.write(values)
        return True

    async def _catch_up(self, seconds: float) -> None:
        """Tell the place what waited, for so long at most. Of several batches at once one does."""
        if not self._behind or self._read_only:
            return
        self._behind, caught_up = False, False
        end = self._clock() + seconds
        try:
            while waited := await asyncio.to_thread(self._ledger.waiting, self.place, AT_ONCE):
                if self._clock() >= end or not await self._tell(waited):
                    return
                await asyncio.to_thread(self._ledger.forget_values, self.place, list(waited))
                await asyncio.to_thread(self._ledger.count, self.place, {"shared": len(waited)})
            caught_up = True
        finally:
            self._behind = self._behind or not caught_up

    async def _within(self, seconds: float, ask: Callable[[], Awaitable[T]], *, writes: bool = False) -> T | None:
        """Ask the place; a failure is told, and the place left alone for a while."""
        try:
            async with asyncio.timeout(seconds):
                answer = await ask()
        except TimeoutError:
            self._fail("unreachable", ProviderError(f"{self.place} didn't answer within {seconds:g} s"))
            return None
        except NotAllowed as error:
            self._fail("waiting", error, pause=False)  # to look for a permission asks nobody
            return None
        except CarrelError as error:
            if writes and isinstance(error, ProviderError) and error.status in (401, 403):
                self._read_only = True  # a key that only reads: what others pay is used, and nothing is added
                log.info("%s can only be read with this key", self.place)
            else:
                self._fail("unreachable", error)
            return None
        self._state, self._problem, self._pause = "ready", "", FIRST_PAUSE_SECONDS
        return answer

    def _fail(self, state: State, error: CarrelError, *, pause: bool = True) -> None:
        if self._problem != str(error):
            log.warning("The team's cache: %s", error)
        self._state, self._problem = state, str(error)
        if pause and self._clock() >= self._not_before:
            self._not_before = self._clock() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


_OTHER_SECRET = StoreError(
    "The team's cache was begun with another secret, so nothing in it can be read",
    "Enter the team's secret with `carrel models key team`. Or set another `collection` of `team`, to begin a new cache.",
)


def _unsealed(seal: TeamSeal, sealed: Mapping[bytes, bytes], dim: int) -> dict[bytes, bytes]:
    """Return those that are vectors of this size, made by the team for this key. Runs on a thread."""
    opened = {name: seal.unseal(name, value) for name, value in sealed.items()}
    return {name: vector for name, vector in opened.items() if vector is not None and _is_vector(vector, dim)}


def _is_vector(half: bytes, dim: int) -> bool:
    if len(half) != 2 * dim:
        return False
    length = math.hypot(*struct.unpack(f"<{dim}e", half))
    return abs(length - 1) < LENGTH_TOLERANCE


KEY_BYTES = 16
LEAST_SECRET = 32
"""Characters. Whoever keeps the values can try secrets as fast as they like, so it must not be one that a person made up."""
CHECK_KEY = hashlib.sha256(b"carrel team cache: which secret").digest()[:KEY_BYTES]
"""The same for every secret: what is there tells a wrong one from an empty cache."""
_CHECK = b"carrel"
_NONCE_BYTES = 12
HOW_TO_MAKE_ONE = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"'


class TeamSeal:
    """Make keys and seal values with one team's secret."""

    def __init__(self, secret: Secret) -> None:
        """Raise `InvalidInput` for a secret that could be guessed, and `StoreError` where the package is missing."""
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
        except ImportError:
            raise StoreError(
                "The team's cache needs a package that isn't installed", f"Install it: {how_to_install('team')}"
            ) from None
        value = secret.reveal().encode()
        if len(value) < LEAST_SECRET:
            raise InvalidInput("team.secret", f"has fewer than {LEAST_SECRET} characters, and could be guessed", HOW_TO_MAKE_ONE)
        self._naming = hmac.digest(value, b"carrel team cache 1: keys", "sha256")
        self._cipher = AESGCM(hmac.digest(value, b"carrel team cache 1: values", "sha256"))

    def key(self, local: bytes) -> bytes:
        """Return the key of a value that the cache on this machine has by `local`."""
        return hmac.digest(self._naming, local, "sha256")[:KEY_BYTES]

    def seal(self, key: bytes, value: bytes) -> bytes:
        """Return a value as it is kept."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, key)

    def unseal(self, key: bytes, sealed: bytes) -> bytes | None:
        """Return a value; None for one that wasn't sealed with this secret for this key."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], key)
        except (InvalidTag, ValueError):
            return None

    def check_value(self) -> bytes:
        """Return what is kept by `CHECK_KEY`."""
        return self.seal(CHECK_KEY, _CHECK)

    def made(self, check_value: bytes) -> bool:
        """Tell whether this secret made a check value."""
        return self.unseal(CHECK_KEY, check_value) == _CHECK

"""What stands between a remote model or store and the network: keys, permission, and limits on how much is asked.

Providers get all of it from outside as an `Outbound`, and send nothing before `Permissions.check` let them. `model.fakes` has
stand-ins. `collect` gathers what one request sent where, for its receipt.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

Role = Literal["embedder", "reranker", "chat", "planner", "store", "tool"]
"""What a remote service is used as."""


class Secret:
    """A key or token. It shows itself to nobody by accident: not in a log, an error, a traceback or a pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself, to send it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(...)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a key can't be pickled")


class Destination(Struct, frozen=True):
    """Where a provider sends text. `host` has the port where it isn't the scheme's own."""

    provider: str
    host: str

    @property
    def local(self) -> bool:
        """Tell whether it is this machine."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"{self.provider} at {self.host}"


def is_loopback(host: str) -> bool:
    """Tell whether a host, with or without a port, is this machine. Names other than `localhost` are not looked up."""
    name = host.rsplit(":", 1)[0] if host.count(":") == 1 else host
    if "]" in name:
        name = name[: name.index("]")]
    name = name.strip("[]").lower().rstrip(".")
    if name == "localhost":  # of names below it not every system's resolver says that they are this machine
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Load(Struct, frozen=True):
    """What one request asks of a service; tokens and dollars are estimates until it has answered."""

    texts: int = 0
    characters: int = 0
    tokens: int = 0
    dollars: float = 0.0
    requests: int = 1
    """0 for what is counted later of a request that was counted already."""
    reserve: float = 0.0
    """Dollars that the answer may cost besides: they are held until its cost is known."""
    priced: bool = True
    """Whether `dollars` and `reserve` can be told at all: of a model without a price they can't."""


class Sent(Struct, frozen=True):
    """What was sent to one destination."""

    destination: Destination
    role: Role
    load: Load
    bytes: int = 0
    """Of the requests themselves, without headers."""


class Hold(Struct, frozen=True):
    """Dollars that are counted before they are spent, in the sum of one day: there they are given back."""

    dollars: float = 0.0
    day: str = ""


class Permissions(Protocol):
    """Knows where a person allowed text to go."""

    def check(self, destination: Destination) -> None:
        """Raise `NotAllowed` unless a person allowed this destination. This machine itself needs no permission."""


class Keys(Protocol):
    """Finds the keys of providers."""

    def find(self, provider: str, place: str) -> Secret | None:
        """Return a provider's key from a place: `env:NAME`, `keyring`, `editor`, or "" for wherever one is.

        Raises `ProviderError` where the place itself can't be read, and `InvalidInput` where there is no such place.
        """


class Meter(Protocol):
    """Keeps to the limits that a person set, and counts what is used."""

    async def admit(self, destination: Destination, load: Load) -> Hold:
        """Wait until a request may be sent. Raises `ProviderError` where a limit forbids it for longer than a wait is worth.

        Returns the dollars that are counted from now on, so that no other request spends them; none where nothing limits them.
        `Admission` sees to what becomes of them. Who is cancelled here holds nothing.
        """
        ...

    def record(self, destination: Destination, load: Load) -> None:
        """Count what was used. Never raises."""

    def give_back(self, destination: Destination, hold: Hold) -> None:
        """Count dollars no more that `admit` counted. Never raises."""

    def failed(self, destination: Destination, reason: str) -> None:
        """Remember the last failure. Never raises."""


def destinations_of(model: object) -> tuple[Destination, ...]:
    """Return where a model or store may send text; nothing for one that runs inside this process."""
    return tuple(getattr(model, "destinations", ()))


class Outbound(Struct, frozen=True):
    """All that a provider needs of its surroundings."""

    permissions: Permissions
    keys: Keys
    meter: Meter
    proxy: str = ""
    """URL of an HTTP proxy; empty for the one that the environment names, if any."""


class Receipt(Struct):
    """What was sent while it was open."""

    sent: list[Sent] = field(default_factory=list)


_OPEN: ContextVar[Receipt | None] = ContextVar("carrel_receipt", default=None)


@contextmanager
def collect() -> Iterator[Receipt]:
    """Gather what is sent inside, by this task and those that it starts."""
    receipt = Receipt()
    token = _OPEN.set(receipt)
    try:
        yield receipt
    finally:
        _OPEN.reset(token)


async def admitted(meter: Meter, destination: Destination, load: Load) -> Admission:
    """Wait until a request may be sent, as `Meter.admit`, and return what is to be done with its reserve."""
    return Admission(meter, destination, load, await meter.admit(destination, load))


class Admission(Struct):
    """A request that may be sent, and the dollars that are held for it."""

    meter: Meter
    destination: Destination
    load: Load
    held: Hold

    def taken(self) -> None:
        """Count the request: the service took it."""
        self.meter.record(self.destination, self.load)
        if self.held.dollars:
            # It is counted twice for a moment, never not at all.
            self.meter.give_back(self.destination, replace(self.held, dollars=self.load.dollars))
            self.held = replace(self.held, dollars=self.held.dollars - self.load.dollars)

    def ended(self) -> None:
        """Give back what is held still: the answer's cost is counted, or there was none. Called in any case."""
        held, self.held = self.held, Hold()
        if held.dollars:
            self.meter.give_back(self.destination, held)


def summed(receipt: Receipt) -> tuple[Sent, ...]:
    """Return what was sent, one entry for each destination and what it was asked as."""
    sums: dict[tuple[Destination, Role], Sent] = {}
    for sent in receipt.sent:
        had = sums.get((sent.destination, sent.role))
        if had is None:
            sums[sent.destination, sent.role] = sent
            continue
        load = Load(
            had.load.texts + sent.load.texts,
            had.load.characters + sent.load.characters,
            had.load.tokens + sent.load.tokens,
            had.load.dollars + sent.load.dollars,
            had.load.requests + sent.load.requests,
        )
        sums[sent.destination, sent.role] = Sent(sent.destination, sent.role, load, had.bytes + sent.bytes)
    return tuple(sums.values())


def note(sent: Sent) -> None:
    """Add to the open receipt, if there is one."""
    receipt = _OPEN.get()
    if receipt is not None:
        receipt.sent.append(sent)

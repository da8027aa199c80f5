"""What an MCP server says, bounded while it is read: the SDK gathers a whole message before anybody sees its size.

Programs are read line by line by a transport of our own (`mcp_program`); of services, the body of each answer is counted, and the
messages that the SDK's transport makes of it.
"""

# ruff: noqa: PLC0415 - the SDK takes long to import
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import httpx2
    from mcp_types import JSONRPCMessage

MOST_BYTES = 16_000_000
"""Of one message."""
MOST_VALUES = 100_000
"""Values in one message, about as many as 1 MB of JSON has. The SDK makes an object of each, and an error of 6 kB of each item
that isn't as it should be."""
MOST_PLAIN_VALUES = 1_000_000
"""Of one message whose other values are the structured value of a tool, which the SDK takes as it is."""
MOST_IN_ALL = 256_000_000
"""Bytes of one connection."""
MOST_MESSAGES = 100_000
"""Of one connection."""
MOST_REQUESTS = 1_000
"""That a server makes of Carrel, which can do nothing for it but answer: the answers wait until it reads them."""
_LESS = "Ask it for less at a time; a server that does so whatever it is asked is broken, or not to be trusted."


class Bound:
    """Whether a server said too much. What asks it waits for `exceeded`, too: the SDK drops some failures."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self.exceeded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.problem = self.remedy = ""
        """What was too much, as the end of a sentence, and what to do."""
        self._bytes = self._messages = self._requests = 0

    def check(self, size: int) -> None:
        """Raise `ValueError` for a message of so many bytes, if that is too long."""
        if size > self.most:
            self.end(f"it sent more than {self.most:,} bytes at once")

    def check_values(self, values: int, most: int = MOST_VALUES) -> None:
        """Raise `ValueError` for a message of so many values, if they are too many."""
        if values > most:
            self.end(f"it sent more than {most:,} values at once")

    def took(self, size: int, *, messages: int = 1) -> None:
        """Count what was read. Raises `ValueError` where it is too much in all."""
        self._bytes += size
        self._messages += messages
        if self._bytes > MOST_IN_ALL or self._messages > MOST_MESSAGES:
            self.end(f"it sent more than {MOST_IN_ALL:,} bytes or {MOST_MESSAGES:,} messages in all")

    def was_asked(self) -> None:
        """Count a request of the server's. Raises `ValueError` where there are too many."""
        self._requests += 1
        if self._requests > MOST_REQUESTS:
            self.end(f"it made more than {MOST_REQUESTS:,} requests")

    def lets_through(self, message: JSONRPCMessage) -> bool:
        """Tell whether somebody waits for a message: for none of progress, records and changes.

        Counts the server's requests. Raises `ValueError` where there are too many.
        """
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        if isinstance(message, JSONRPCRequest):
            self.was_asked()
        return not isinstance(message, JSONRPCNotification)

    def end(self, problem: str, remedy: str = _LESS) -> NoReturn:
        """Give the server up. Raises `ValueError`."""
        if not self.exceeded.done():
            self.problem, self.remedy = problem, remedy
            self.exceeded.set_result(None)
        raise ValueError(problem)


class Values:
    """Counts the values of a JSON text that comes in pieces, by the marks outside its strings.

    A line end is "\\n" here; a stream of events has others, which `LineEnds` makes that.
    """

    def __init__(self) -> None:
        self.count = 0
        self._in_string = False
        self._escaped = False

    def add(self, piece: bytes) -> int:
        """Count those of the next piece; return how many there are by now."""
        for number, line in enumerate(piece.split(b"\n")):
            if number:  # no string of JSON holds a line end: what stands between messages can't hide what follows
                self._in_string = self._escaped = False
            self._line(line)
        return self.count

    def _line(self, line: bytes) -> None:
        if self._escaped:
            line, self._escaped = line[1:], not line
        line = line.replace(b"\\\\", b"").replace(b'\\"', b"")
        self._escaped = self._escaped or line.endswith(b"\\")
        quotes = line.count(b'"')
        if quotes > 4 * MOST_VALUES:  # too many strings to be taken apart
            self.count += quotes
            return
        outside = line.split(b'"')[1 if self._in_string else 0 :: 2]
        self.count += sum(part.count(mark) for part in outside for mark in (b",", b"[", b"{"))
        self._in_string ^= quotes % 2 == 1


class LineEnds:
    """Reads a stream of events in pieces: an event ends at an empty line, and a line at "\\r", "\\n" or both."""

    def __init__(self) -> None:
        self._half = self._at_start = False

    def events(self, piece: bytes) -> list[bytes]:
        """Return the parts of a piece, cut where an event ends, with "\\n" at the end of each line."""
        if self._half and piece.startswith(b"\n"):
            piece = piece[1:]
        self._half = piece.endswith(b"\r") or (self._half and not piece)
        plain = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        parts = ((b"\n" if self._at_start else b"") + plain).split(b"\n\n")
        if plain:
            self._at_start = plain.endswith(b"\n")
        return parts


def bounded_answers(bound: Bound) -> dict[str, list[Any]]:
    """Return the hooks of an HTTP client that bound what services answer: a whole body, or one event of a stream."""
    import httpx2

    class Counted(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, *, events: bool) -> None:
            self._stream = stream
            self._events = events

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, values, ends = 0, Values(), LineEnds()
            async for piece in self._stream:
                parts = ends.events(piece) if self._events else [piece]
                for number, part in enumerate(parts):
                    if number:  # another event begins
                        size, values = 0, Values()
                    size += len(part)
                    bound.check(size)
                    bound.check_values(values.add(part))
                bound.took(len(piece), messages=len(parts) - 1)
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def count(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":  # a little may become much
            bound.end("it answered compressed, which it wasn't asked to", "Turn compression off where it is set up.")
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.stream = Counted(response.stream, events=events)

    return {"response": [count]}


@asynccontextmanager
async def service(url: str, client: httpx2.AsyncClient, bound: Bound) -> AsyncIterator[Any]:
    """Reach a service and give the two streams of its messages, without those that nobody waits for."""
    import anyio
    from mcp.client.streamable_http import streamable_http_client

    async with streamable_http_client(url, http_client=client) as (said, sending), anyio.create_task_group() as tasks:
        passed_on, messages = anyio.create_memory_object_stream[Any](0)
        tasks.start_soon(_pass_on, said, passed_on, bound)
        with messages:
            yield messages, sending
        tasks.cancel_scope.cancel()


async def _pass_on(said: Any, passed_on: Any, bound: Bound) -> None:
    import anyio

    with contextlib.suppress(ValueError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with passed_on:
            async for item in said:
                if isinstance(item, Exception) or bound.lets_through(item.message):
                    await passed_on.send(item)

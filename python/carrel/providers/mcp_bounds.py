"""What an MCP server says, bounded while it is read: the SDK gathers a whole message before anybody sees its size.

Programs are read line by line by a transport of our own, which starts and stops them as the SDK's does; of services, the body of
each answer is counted.
"""

# ruff: noqa: PLC0415 - the SDK takes long to import
from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from carrel.core import leftovers

if TYPE_CHECKING:
    import anyio
    import httpx2
    from anyio.abc import ByteReceiveStream

MOST_BYTES = 16_000_000
"""Of one message."""
MOST_VALUES = 100_000
"""Values in one message, about as many as 1 MB of JSON has. The SDK makes an object of each, and an error of 6 kB of each item
that isn't as it should be.
"""
MOST_IN_ALL = 64_000_000
"""Bytes of one connection."""
MOST_MESSAGES = 20_000
"""Of one connection."""
MOST_REQUESTS = 1_000
"""That a program makes of Carrel, which can do nothing for it but answer: the answers wait until it reads them."""
_FLUSH_SECONDS = 0.5
_EXIT_SECONDS = 2.0
_POLL_SECONDS = 0.01


class Bound:
    """Whether a server said too much. What asks it waits for `exceeded`, too: the SDK drops some failures."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self.exceeded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.problem = ""
        """What was too much, as the end of a sentence."""
        self._bytes = self._messages = self._requests = 0

    def check(self, size: int) -> None:
        """Raise `ValueError` for a message of so many bytes, if that is too long."""
        if size > self.most:
            self.end(f"it sent more than {self.most:,} bytes at once")

    def check_values(self, values: int) -> None:
        """Raise `ValueError` for a message of so many values, if they are too many."""
        if values > MOST_VALUES:
            self.end(f"it sent more than {MOST_VALUES:,} values at once")

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

    def end(self, problem: str) -> NoReturn:
        """Give the server up. Raises `ValueError`."""
        if not self.exceeded.done():
            self.problem = problem
            self.exceeded.set_result(None)
        raise ValueError(problem)


class Values:
    """Counts the values of a JSON text that comes in pieces, by the marks outside its strings."""

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


async def lines_of(stream: ByteReceiveStream, bound: Bound) -> AsyncIterator[bytes]:
    """Give the lines of a program. Raises `ValueError` for one that is too long, before it is read to its end."""
    import anyio

    parts: list[bytes] = []
    size = 0
    while True:
        try:
            piece = await stream.receive()
        except anyio.EndOfStream:
            return
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line = b"".join([*parts, end])
            bound.took(len(line))
            bound.check_values(Values().add(line))
            yield line
            parts, size = [], 0
        size += len(rest)
        bound.check(size)
        parts.append(rest)


@asynccontextmanager
async def program(
    command: str, args: Sequence[str], env: Mapping[str, str], folder: str | Path, errors: TextIO, bound: Bound
) -> AsyncIterator[Any]:
    """Start a program and give the two streams of its messages; it and what it started have ended at the end."""
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

    process = await _started(command, args, get_default_environment() | dict(env), folder, errors)
    said, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()

    async def read() -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            async with said:
                try:
                    async for line in lines_of(process.stdout, bound):
                        try:
                            message = jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
                        except ValueError as error:
                            if line.startswith(b"{") and not _is_json(line):  # it may be the answer that is waited for
                                bound.end("it sent a message that can't be read")
                            await said.send(error)
                            continue
                        if isinstance(message, JSONRPCRequest):
                            bound.was_asked()
                        await said.send(SessionMessage(message))
                except ValueError:  # too much
                    return
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    # The session is gone: what the program still writes must not keep it from ending.
                    async for _ in process.stdout:
                        pass

    async def write() -> None:
        try:
            async with to_send:
                async for item in to_send:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode("utf-8", "replace"))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await said.aclose()
        finally:
            written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield messages, sending
        finally:
            with anyio.CancelScope(shield=True):
                messages.close()
                sending.close()
                await _stopped(process, written)
                for stream in (messages, sending, said, to_send):
                    await stream.aclose()
            tasks.cancel_scope.cancel()


def _is_json(line: bytes) -> bool:
    from pydantic_core import from_json

    try:
        from_json(line)
    except ValueError:
        return False
    return True


async def _started(command: str, args: Sequence[str], env: dict[str, str], folder: str | Path, errors: TextIO) -> Any:
    """Start a program so that it can be stopped with all that it starts."""
    if sys.platform == "win32":
        from mcp.os.win32.utilities import create_windows_process, get_windows_executable_command

        found = await asyncio.to_thread(get_windows_executable_command, command)
        return await create_windows_process(found, list(args), env, errors, folder)
    import anyio

    process = await anyio.open_process([command, *args], env=env, stderr=errors, cwd=folder, start_new_session=True)
    leftovers.add_group(process.pid)
    return process


async def _stopped(process: Any, written: anyio.Event) -> None:
    """Stop a program once it was told everything.

    A shield keeps off anyio's cancels, not asyncio's own: at a second one, or when the loop ends, it is killed at once.
    """
    import anyio

    try:
        with anyio.move_on_after(_FLUSH_SECONDS):
            await written.wait()
        await _ended(process)
    finally:
        if sys.platform != "win32":  # what it started may be there when it isn't any more
            leftovers.end_group(process.pid)
        if sys.platform == "win32":
            from mcp.os.win32.utilities import close_process_job

            close_process_job(process)
        # What wasn't read, or another process that holds the pipe, keeps asyncio's transport open; nothing public leads to it.
        transport = getattr(getattr(process, "_process", None), "_transport", None)
        if transport is not None:
            with contextlib.suppress(PermissionError):
                transport.close()
        await _exited(process)


async def _ended(process: Any) -> None:
    """Close a program's input, and kill it and what it started unless it ends by that."""
    import anyio

    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    if not await _exited(process):
        if sys.platform == "win32":
            from mcp.os.win32.utilities import terminate_windows_process_tree

            await terminate_windows_process_tree(process)
        else:
            from mcp.os.posix.utilities import terminate_posix_process_tree

            await terminate_posix_process_tree(process, _EXIT_SECONDS)
        await _exited(process)
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdout.aclose()


async def _exited(process: Any) -> bool:
    """Wait for the end of a program, not of its output, which others may hold."""
    end = asyncio.get_running_loop().time() + _EXIT_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110 - its own event waits for pipes
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def bounded_answers(bound: Bound) -> dict[str, list[Any]]:
    """Return the hooks of an HTTP client that bound what services answer: a whole body, or one event of a stream."""
    import httpx2

    class Counted(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, *, events: bool) -> None:
            self._stream = stream
            self._events = events

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, last, values = 0, b"", Values()
            async for piece in self._stream:
                last = (last + piece[-4:])[-4:]
                ends = 0
                if self._events and (b"\n\n" in piece or b"\r\n\r\n" in piece or last.replace(b"\r", b"").endswith(b"\n\n")):
                    ends = max(piece.count(b"\n\n") + piece.count(b"\r\n\r\n"), 1)
                    size, values = 0, Values()
                size += len(piece)
                bound.check(size)
                bound.check_values(values.add(piece))
                bound.took(len(piece), messages=ends)
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def count(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            bound.check(bound.most + 1)  # it wasn't asked for, and a little may become much
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = Counted(response.stream, events=events)

    return {"response": [count]}

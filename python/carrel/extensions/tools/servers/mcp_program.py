"""MCP servers that are programs: started, read line by line within bounds, and stopped with all that they started.

The SDK's own transport reads lines of any length, and leaves behind what a program starts.
"""

# ruff: noqa: PLC0415 - the SDK takes long to import
from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from carrel.extensions.tools.servers.mcp_bounds import MOST_PLAIN_VALUES, MOST_VALUES, Bound, Values
from carrel.model.lines import single_line
from carrel.system import leftovers

if TYPE_CHECKING:
    import anyio
    from anyio.abc import ByteReceiveStream

_FLUSH_SECONDS = 0.5
_EXIT_SECONDS = 2.0
_POLL_SECONDS = 0.01
_WATCH_SECONDS = 0.25
"""How long after a program's end its number may still be taken for it."""


@asynccontextmanager
async def program(
    command: str, args: Sequence[str], env: Mapping[str, str], folder: str | Path, errors: TextIO, bound: Bound
) -> AsyncIterator[Any]:
    """Start a program and give the two streams of its messages; it and what it started have ended at the end."""
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await _started(command, args, get_default_environment() | dict(env), folder, errors)
    said, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process.stdout, said, bound)
        tasks.start_soon(_write, process.stdin, to_send, said, written)
        if sys.platform != "win32":
            tasks.start_soon(_watch, process)
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


async def _read(output: Any, said: Any, bound: Bound) -> None:
    """Pass on a program's messages until its end, the session's, or the bounds."""
    import anyio

    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
        async with said:
            try:
                async for line in lines_of(output, bound):
                    if (message := _message(line, bound)) is not None:
                        await said.send(message)
            except ValueError:  # too much
                return
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                # The session is gone: what the program still writes must not keep it from ending.
                async for _ in output:
                    pass


def _message(line: bytes, bound: Bound) -> Any:
    """Return the message that a line is, or what is wrong with it; None for one that nobody waits for.

    Raises `ValueError` where it is too much.
    """
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    values = Values().add(line)
    bound.check_values(values, MOST_PLAIN_VALUES)
    try:
        message = jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
    except ValueError as error:
        if b'"jsonrpc"' in line and not _is_json(line):  # it may be the answer that is waited for
            bound.end("it sent a message that can't be read", "Start it by hand to see what it says.")
        return error
    if not bound.lets_through(message):
        return None
    if values > MOST_VALUES:
        bound.check_values(_checked_values(message))
    return SessionMessage(message)


async def _write(stdin: Any, to_send: Any, said: Any, written: anyio.Event) -> None:
    """Pass on what a program is told; closes its messages where it can't be told any more."""
    import anyio

    try:
        async with to_send:
            async for item in to_send:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(single_line(f"{text}\n".encode("utf-8", "replace")))
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        await said.aclose()
    finally:
        written.set()


async def _watch(process: Any) -> None:
    """Kill what a program leaves behind as soon as it ends: later its number may be another's."""
    while process.returncode is None:  # noqa: ASYNC110 - its own event waits for pipes, which others may hold
        await asyncio.sleep(_WATCH_SECONDS)
    leftovers.end_group(process.pid)


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
            yield line
            parts, size = [], 0
        size += len(rest)
        bound.check(size)
        parts.append(rest)


def _checked_values(message: Any) -> int:
    """Count the values of a message that the SDK checks one by one: all but those of a tool's structured value."""
    from mcp_types import JSONRPCResponse

    if not isinstance(message, JSONRPCResponse):
        return MOST_VALUES + 1
    waiting: list[Any] = [value for name, value in message.result.items() if name != "structuredContent"]
    count = 0
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
    return count


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

        executable = await asyncio.to_thread(get_windows_executable_command, command)
        return await create_windows_process(executable, list(args), env, errors, folder)
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

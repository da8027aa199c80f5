"""Convert documents in processes that are bounded and end with this one, without a thread that waits for them.

The documents come from anywhere. So whoever parses one gets no keys by its environment, may use so much time and memory, and
ends when the process that started it does, however that ends (`convert` has the other half).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable

from carrel.model.errors import StoreError
from carrel.model.installation import how_to_install
from carrel.model.structs import whole_characters
from carrel.sources.documents.to_markdown import MOST_OUTPUT
from carrel.system.child_environment import child_environment

SECONDS = 60.0
"""How long one document may take."""
_AT_ONCE = 2
_NOT_UNDERSTOOD = {"problem": "can't be understood: reading it failed, maybe for lack of memory"}


Convert = Callable[[str, bytes], Awaitable[dict[str, str]]]
"""(kind, data) -> what `to_markdown` does, or a `problem`."""


class Converter:
    """Converts a few documents at once, the others wait their turn."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, kind: str, data: bytes) -> dict[str, str]:
        """Convert a document; return what `to_markdown` does, or a `problem`."""
        async with self._turns:
            return await convert(kind, data)


async def convert(kind: str, data: bytes, *, seconds: float = SECONDS) -> dict[str, str]:
    """Convert a document in a process of its own; return what `to_markdown` does, or a `problem`. A cancel ends the process."""
    too_long = {"problem": f"took longer than {seconds:g} seconds to read"}
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "carrel.sources.documents.to_markdown", kind, str(seconds)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(("VIRTUAL_ENV", "CONDA_PREFIX"), ("PYTHON",)),
            creationflags=flags,
        )
    except OSError as error:
        raise StoreError(
            f"No process can be started that reads documents ({error.strerror})",
            "Close other programs, then index again: what was read before is kept.",
        ) from None
    try:
        async with asyncio.timeout(seconds):
            written = await _talk(process, data)
        fields = json.loads(written)
    except TimeoutError:
        return too_long
    except (OSError, ValueError):
        limit = getattr(signal, "SIGXCPU", None)
        return too_long if limit is not None and process.returncode == -limit else _NOT_UNDERSTOOD
    finally:
        await _ended(process)
    if "missing" in fields:
        return {"problem": f"needs packages that aren't installed: {how_to_install('documents')}"}
    return {str(key): whole_characters(str(value)) for key, value in fields.items()}


async def _talk(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    """Hand over the document and return what is written. Input stays open: its end tells the process that this one died."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - pipes, see above
    process.stdin.write(b"%d\n" % len(data))
    process.stdin.write(data)
    with contextlib.suppress(ConnectionError):  # it ended before it had read all: what it wrote says why
        await process.stdin.drain()
    written = bytearray()
    while piece := await process.stdout.read(1 << 16):
        written += piece
        if len(written) > MOST_OUTPUT:
            raise ValueError("a document became too long a text")
    await process.wait()
    return bytes(written)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Kill what still runs, and wait for its end."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()

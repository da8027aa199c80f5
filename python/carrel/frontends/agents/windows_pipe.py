"""The server's pipe on Windows: of a name that nobody can guess, told in the user's folder, and for the user alone."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import _winapi
    import asyncio
    import ctypes
    import secrets
    from asyncio import windows_events, windows_utils
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import asynccontextmanager
    from ctypes import wintypes
    from pathlib import Path
    from typing import Any

    from carrel.frontends.agents.meeting_place import PIPE
    from carrel.system.filesystem import replace_file

    _FOR_THE_USER = "D:P(A;;GA;;;OW)"
    """In the language of security descriptors: all rights for the owner, none for anybody else."""
    _REVISION, _BYTES, _REJECT_REMOTE, _BUFFER = 1, 0, 8, 1 << 16

    Exchange = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

    class _SecurityAttributes(ctypes.Structure):
        _fields_ = (("length", wintypes.DWORD), ("descriptor", wintypes.LPVOID), ("inherit", wintypes.BOOL))

    def _attributes() -> _SecurityAttributes:
        """Return what a pipe of the user alone is made with. Raises `OSError`."""
        descriptor = wintypes.LPVOID()
        convert = ctypes.WinDLL("advapi32", use_last_error=True).ConvertStringSecurityDescriptorToSecurityDescriptorW
        convert.argtypes = [wintypes.LPCWSTR, wintypes.DWORD, ctypes.POINTER(wintypes.LPVOID), wintypes.LPVOID]
        if not convert(_FOR_THE_USER, _REVISION, ctypes.byref(descriptor), None):
            raise ctypes.WinError(ctypes.get_last_error())
        return _SecurityAttributes(ctypes.sizeof(_SecurityAttributes), descriptor, False)

    class _OwnPipes(windows_events.PipeServer):
        """asyncio's, but for the rights."""

        _security = _attributes()
        _address: str
        _free_instances: set[windows_utils.PipeHandle]

        def _server_pipe_handle(self, first: bool) -> Any:
            if self.closed():
                return None
            flags = _winapi.PIPE_ACCESS_DUPLEX | _winapi.FILE_FLAG_OVERLAPPED
            handle = _winapi.CreateNamedPipe(
                self._address,
                flags | (_winapi.FILE_FLAG_FIRST_PIPE_INSTANCE if first else 0),
                _BYTES | _REJECT_REMOTE,
                _winapi.PIPE_UNLIMITED_INSTANCES,
                _BUFFER,
                _BUFFER,
                _winapi.NMPWAIT_WAIT_FOREVER,
                ctypes.addressof(self._security),
            )
            pipe = windows_utils.PipeHandle(handle)
            self._free_instances.add(pipe)
            return pipe

    @asynccontextmanager
    async def listening(folder: Path, connected: Exchange) -> AsyncIterator[Callable[[], bool]]:
        """Have clients answered by `connected`; what is yielded tells whether they can still find the pipe."""
        loop, address_file = asyncio.get_running_loop(), folder / PIPE
        if not isinstance(loop, asyncio.ProactorEventLoop):
            raise TypeError("pipes are served by asyncio's own event loop of Windows")
        name = rf"\\.\pipe\carrel-{secrets.token_hex(16)}"

        def made() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), connected, loop=loop)

        before = windows_events.PipeServer
        windows_events.PipeServer = _OwnPipes  # type: ignore[misc]
        try:
            (server,) = await loop.start_serving_pipe(made, name)
        finally:
            windows_events.PipeServer = before  # type: ignore[misc]
        replace_file(address_file, name.encode())

        def is_found() -> bool:
            try:
                return address_file.read_text("utf-8") == name
            except OSError:
                return False

        try:
            yield is_found
        finally:
            server.close()
            if is_found():
                address_file.unlink(missing_ok=True)

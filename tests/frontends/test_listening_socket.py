from __future__ import annotations

import asyncio
import socket

import pytest

from carrel.frontends.common.listening_socket import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_answers_dont_wait_for_acknowledgements(host: str) -> None:
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    try:
        listener = listen(host, 0)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    async with await asyncio.start_server(serve, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
        assert await seen
        writer.close()


def test_a_port_that_is_taken_is_an_error() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", first.getsockname()[1])

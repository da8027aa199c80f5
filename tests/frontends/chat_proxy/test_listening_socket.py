from __future__ import annotations

import asyncio
import socket

import pytest

from carrel.frontends.chat_proxy.http_guard import listen


async def test_answers_dont_wait_for_acknowledgements() -> None:
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = listen(0)
    assert listener.getsockname()[0] == "127.0.0.1"
    async with await asyncio.start_server(serve, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        assert await seen
        writer.close()


def test_a_port_that_is_taken_is_an_error() -> None:
    with listen(0) as first, pytest.raises(OSError, match="in use"):
        listen(first.getsockname()[1])

"""Frames, and the first answer."""

from __future__ import annotations

import io

import pytest

from carrel.frontends.capabilities import COMMANDS, initialize_result
from carrel.frontends.methods import REQUESTS
from carrel.frontends.transport import BadFrame, frame, read_frame


@pytest.mark.parametrize(
    ("stream", "body"),
    [
        (frame(b"{}"), b"{}"),
        (frame("é".encode()), "é".encode()),
        (b"content-length: 2\r\nContent-Type: x\r\n\r\n{}", b"{}"),
        (b"\r\n\r\n" + frame(b"{}"), b"{}"),
        (frame(b""), b""),
        (b"", None),
    ],
)
def test_read_frame(stream: bytes, body: bytes | None) -> None:
    assert read_frame(io.BytesIO(stream)) == body


@pytest.mark.parametrize(
    "stream",
    [
        b"hello\r\n\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 10\r\n\r\n{}",
        b"Content-Length: 10\r\n",
    ],
)
def test_what_is_no_frame_ends_the_connection(stream: bytes) -> None:
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(stream))


def test_every_request_is_a_command() -> None:
    capabilities = initialize_result()["capabilities"]
    assert capabilities["executeCommandProvider"]["commands"] == [method.replace("/", ".") for method in REQUESTS]
    assert list(COMMANDS.values()) == list(REQUESTS)

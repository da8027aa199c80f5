"""Frames, and the first answer."""

from __future__ import annotations

import io

import pytest

from carrel.frontends.common.transport import BadFrame, frame, read_frame
from carrel.frontends.lsp.messages.methods import COMMANDS, REQUESTS, initialize_result


@pytest.mark.parametrize(
    ("stream", "body"),
    [
        (frame(b"{}"), b"{}"),
        (frame("é".encode()), "é".encode()),
        (b"content-length: 2\r\nContent-Type: x\r\n\r\n{}", b"{}"),
        (b"\r\n\r\n" + frame(b"{}"), b"{}"),
        (frame(b""), b""),
        (b"", None),
        (b"hello\r\n\r\n", None),
        (b"\0\0\0" + frame(b"{}"), b"{}"),
        (b"Content-Length: 2\0\r\n\0\r\n{}", b"{}"),
        (b"hello\r\n\r\n" + frame(b"{}"), b"{}"),
        (b"Content-Length: x\r\n\r\n[1]" + frame(b"{}"), b"{}"),
        (b"Content-Length: -1\r\n\r\n[1]" + frame(b"{}"), b"{}"),
        (b"Content-Length: 99999999999\r\n\r\n[1]" + frame(b"{}"), b"{}"),
        (b"Content-Length: 5\r\n[1]\n" + frame(b"{}"), b"{}"),
        (b"\xff" * 8190 + frame(b"{}"), b"{}"),
        (b'{"text": "Content-Length: 9\\r\\n\\r\\n"}\n' + frame(b"{}"), b"{}"),
        (b"X-Content-Length: 9\r\n" + frame(b"{}"), b"{}"),
    ],
)
def test_read_frame(stream: bytes, body: bytes | None) -> None:
    assert read_frame(io.BytesIO(stream)) == body


@pytest.mark.parametrize("stream", [b"Content-Length: 10\r\n\r\n{}", b"Content-Length: 10\r\n"])
def test_an_end_inside_a_message_is_told(stream: bytes) -> None:
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(stream))


def test_a_wrong_length_costs_no_more_than_its_neighbour() -> None:
    stream = io.BytesIO(
        b"Content-Length: 1\r\n\r\n{}" + frame(b"[1]") + b"Content-Length: 9\r\n\r\n{}" + frame(b"[2]") + frame(b"[3]")
    )
    bodies = list(iter(lambda: read_frame(stream), None))
    assert bodies == [b"{", b"[1]", b"{}Content", b"[3]"]


def test_every_request_is_a_command() -> None:
    capabilities = initialize_result()["capabilities"]
    assert capabilities["executeCommandProvider"]["commands"] == [method.replace("/", ".") for method in REQUESTS]
    assert list(COMMANDS.values()) == list(REQUESTS)

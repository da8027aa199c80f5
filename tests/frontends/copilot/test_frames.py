"""Frames as hostile or broken ends write them: every byte goes on, and a changed body has the length that each header names."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator

from carrel.frontends.copilot.frames import Frame, FrameReader

DRAWN = random.SystemRandom()


def case_of(name: str) -> bytes:
    return "".join(DRAWN.choice((char.lower(), char.upper())) for char in name).encode()


def header_of(length: int) -> bytes:
    """Draw a header, right or wrong."""
    numbers = [b"%d" % length] * 6 + [
        b"00%d" % length,
        b"%d" % (length + 1),
        b"-1",
        b"+5",
        b"9" * 15,
        b"9" * 5_000,
        b"",
        b"0x5",
        b"5 5",
    ]
    lines = [b"Content-Type: application/vscode-jsonrpc; charset=utf-8", b"X-Content-Length: 3", b"", b"\xff\x00: \xf0\x9f"]
    drawn = DRAWN.sample(lines, DRAWN.choice((0, 0, 1, 2)))
    blanks = (b"", b" ", b"\t ", b"\x0b")
    for _ in range(DRAWN.choice((1, 1, 1, 2, 0))):
        blank = [DRAWN.choice(blanks[: DRAWN.choice((2, 4))]) for _ in range(4)]
        line = blank[0] + case_of("Content-Length") + blank[1] + b":" + blank[2] + DRAWN.choice(numbers) + blank[3]
        drawn.insert(DRAWN.randrange(len(drawn) + 1), line)
    return DRAWN.choice((b"\r\n", b"\r\n", b"\n")).join(drawn) + b"\r\n\r\n"


def stream() -> bytes:
    frames = []
    for _ in range(DRAWN.randrange(1, 8)):
        body = DRAWN.choice(
            (b"", b'{"method": "a/b"}', b'[{"method": "a/b"}, {}]', "é😀".encode()[:-2], DRAWN.randbytes(300), b"[" * 5_000)
        )
        frames.append(header_of(len(body)) + body)
    data = b"".join(frames)
    return data[: DRAWN.randrange(len(data) + 1)] if DRAWN.random() < 0.5 else data


def read(data: bytes) -> Iterator[Frame | bytes]:
    """Read a stream that comes in pieces."""
    out, into = os.pipe()

    def write() -> None:
        at = 0
        while at < len(data):
            at += os.write(into, data[at : at + DRAWN.randrange(1, 400)])
        os.close(into)

    writer = threading.Thread(target=write)
    writer.start()
    for item in FrameReader(out):
        yield item if isinstance(item, Frame) else b"".join(item)
    writer.join()
    os.close(out)


def lengths_in(header: bytes) -> set[bytes]:
    """Read a header as another program may: any line of that name, in any case, with any blanks."""
    pairs = [line.partition(b":") for line in header.split(b"\r\n")]
    return {value.strip() for name, _, value in pairs if name.strip().lower() == b"content-length"}


def test_whatever_comes_goes_on_and_a_changed_body_has_one_length() -> None:
    changed = 0
    for _ in range(400):
        data = stream()
        items = list(read(data))
        assert b"".join(bytes(item.raw) if isinstance(item, Frame) else item for item in items) == data
        for item in items:
            if isinstance(item, Frame):
                item.methods()
                new = item.with_body(b"x" * 1_234)
                assert lengths_in(new[:-1_234]) == {b"1234"}, bytes(item.raw[: item.start])
                changed += 1
    assert changed > 40, "too few streams held a whole frame"  # 120 on average, 90 to 150 of 60 runs


def test_of_lengths_that_differ_none_counts() -> None:
    data = b'Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}Content-Length: 2\r\n\r\n{"method": "a"}'
    assert list(read(data)) == [data]

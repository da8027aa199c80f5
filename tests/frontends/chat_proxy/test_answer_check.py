"""What the check of an answer's citations says in a header."""

from __future__ import annotations

import json
import time

import pytest

from carrel.frontends.chat_proxy.answer_check import StreamText, verdict


def test_a_verdict_stays_short_whatever_is_cited() -> None:
    answer = " ".join(f"src/{'é' * 250}{number}.py:1-2" for number in range(20))
    found = verdict(answer, ())
    told = json.loads(found)
    assert len(found) <= 2_000
    assert (told["cited"], told["unsupported"]) == (20, 20)
    assert 0 < len(told["places"]) < 20


@pytest.mark.parametrize(
    ("stream", "ended"),
    [
        (b'data: {"choices": [{"delta": {"content": "a.py:1-2"}}]}\n\n', True),
        (b'data: {"choices": [{"delta": {"content": "a.py:1-2"}}]}\r\n\r\n', True),
        (b'data: {"choices": [{"delta": {"content": "a.py:1-2"}}]}\n', False),
        (b'data: {"choices": [{"delta": {"content": "a.py:1-2"}}]}\r\n', False),
        (b'data: {"choices": [{"delta": {"content": "a.py:1-2"}}]}\n\ndata: {"cho', False),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_stream_has_ended_behind_an_empty_line_however_it_was_cut(stream: bytes, ended: bool, size: int) -> None:
    said = StreamText()
    for start in range(0, len(stream), size):
        said.take(stream[start : start + size])
    assert (said.text, said.ended) == ("a.py:1-2", ended)


def test_a_long_line_in_many_pieces_is_not_read_again_with_each() -> None:
    said = StreamText()
    before = time.process_time()
    for piece in [b"data: "] + [b"x"] * 400_000 + [b"\n\n"]:
        said.take(piece)
    assert time.process_time() - before < 5  # read again each time it takes half a minute
    assert said.ended

"""Numbers of a server's answer that no float holds, and ids that are none, are left out."""

from __future__ import annotations

import json

from carrel.providers import published_repository


def test_numbers_beyond_a_float_are_left_out() -> None:
    huge = json.loads("1" + "0" * 400)
    rows = [{"id": "a", "score": huge}, {"id": "b", "score": 0.5}, {"id": ["c"], "score": 1}, {"id": "d", "score": True}]
    assert published_repository._scored(rows) == [("b", 0.5), ("d", 1.0)]
    words = {"vector": {"words": {"indices": [1, 2], "values": [huge, 2]}}}
    assert published_repository._words_of(words) == {2: 2.0}

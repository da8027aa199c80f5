from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.common import json_splice

Step = tuple[str | int, ...]

KEYS = st.sampled_from(['a"]}', "b\\", "é", "", "{", "\ud83d", ","]) | st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def places(value: Any, path: Step = ()) -> list[tuple[Step, Any]]:
    members: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    return [(path, value), *(found for step, member in members for found in places(member, (*path, step)))]


@given(VALUES, st.data(), st.sampled_from([None, 1, "\t"]), st.booleans(), st.sampled_from(["", " ", "\r\n"]))
def test_any_value_is_found_and_changed_alone(
    value: Any, data: st.DataObject, indent: Any, ascii_only: bool, around: str
) -> None:
    raw = (around + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + around).encode("utf-8", "surrogatepass")
    path, found = data.draw(st.sampled_from(places(value)))
    span = json_splice.span_of(raw, path)
    assert span
    assert json.loads(raw[span[0] : span[1]]) == found
    new = json_splice.replaced(raw, span, ["new", "\ud83d"])
    assert new[: span[0]] == raw[: span[0]]
    assert new.endswith(raw[span[1] :])
    assert dict(places(json.loads(new)))[path] == ["new", "\ud83d"] if path else json.loads(new) == ["new", "\ud83d"]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"a": "x", "a": "y"}', ("a",)),
        (b'{"a": "x", "\\u0061": "y"}', ("a",)),
        (b'{"a": [{"b": "x", "b": "y"}]}', ("a", 0, "b")),
        (b'{"a": {"b": "x"}}', ("b",)),
        (b"{}", ("a",)),
    ],
)
def test_what_is_not_there_once_is_not_found(raw: bytes, path: Step) -> None:
    assert json_splice.span_of(raw, path) is None


@pytest.mark.parametrize(
    "raw", [b'\xef\xbb\xbf{"a": 1}', b'{"a": "\xff"}', '{"a": 1}'.encode("utf-16"), b"[" * 100_000, b"1" * 5_000]
)
def test_what_python_cannot_read_is_left_alone(raw: bytes) -> None:
    assert json_splice.parse(raw) is None

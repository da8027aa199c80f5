"""Look into whatever strangers send: nothing raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.model.plain_data import as_dict, as_list, as_text, inner, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from("abc"), values, max_size=3),
)


@given(VALUES, st.lists(st.sampled_from("abc") | st.integers(-3, 3), max_size=4))
def test_any_path_leads_into_any_value_or_nowhere(value: Any, path: list[str | int]) -> None:
    end = inner(value, *path)
    assert (as_dict(end), as_list(end), as_text(end)) == (
        end if isinstance(end, dict) else {},
        end if isinstance(end, list) else [],
        end if isinstance(end, str) else "",
    )


@pytest.mark.parametrize(
    ("path", "end"),
    [((), {"a": [{"b": "x"}]}), (("a", 0, "b"), "x"), (("a", -1, "b"), "x"), (("a", 1, "b"), None), (("a", "b"), None)],
)
def test_a_path_leads_to_what_stands_there(path: tuple[str | int, ...], end: object) -> None:
    assert inner({"a": [{"b": "x"}]}, *path) == end


@given(VALUES)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    text = json.dumps(value)
    assert json.dumps(read_json(text)) == text
    assert json.dumps(read_json(text.encode())) == text


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000, b"\xff\xfe\xff", b'"\xff"'])
def test_what_is_no_json_is_none(text: str | bytes) -> None:
    assert read_json(text) is None

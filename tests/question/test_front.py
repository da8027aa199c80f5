"""The definition that the lines in front belong to."""

from __future__ import annotations

import pytest
from tests.support.texts import indexed

from carrel.model.types import Lines, Query
from carrel.question.front import symbol_in_front

SOURCES = {
    "a.py": """
def valid(order, most=3):
    return order.total < most

class Till:
    rate = 1

    async def charge(
        self,
        order,
    ) -> int:
        if valid(order):
            total = valid(
                order,
            )
        return 0

valid(1)
""",
    "a.go": "package a\n\ntype Client struct {\n\tn int\n}\n\n"
    "func (c *Client) Do(x int) error {\n\tif x > 0 {\n\t\treturn nil\n\t}\n\treturn nil\n}\n",
    "a.c": "static int sum(int a,\n               int b)\n{\n    int c = sum(a, b);\nout:\n    return c;\n}\n",
    "a.ts": "export const compose = (a: number) => {\n  return a;\n};\n"
    "export class Box {\n  open() {\n    compose(\n      1,\n    );\n  }\n}\n",
}


@pytest.mark.parametrize(
    ("path", "line", "symbol", "type_name"),
    [
        ("a.py", 2, "valid", None),
        ("a.py", 3, "valid", None),
        ("a.py", 6, "Till", "Till"),
        ("a.py", 9, "charge", "Till"),
        ("a.py", 14, "charge", "Till"),
        ("a.py", 16, "charge", "Till"),
        ("a.py", 18, None, None),
        ("a.go", 4, "Client", "Client"),
        ("a.go", 9, "Do", None),
        ("a.c", 4, "sum", None),
        ("a.c", 6, "sum", None),
        ("a.ts", 2, "compose", None),
        ("a.ts", 7, "open", "Box"),
    ],
)
def test_a_selected_line_belongs_to_the_definition_around_it(
    path: str, line: int, symbol: str | None, type_name: str | None
) -> None:
    view, asked = indexed(SOURCES), Query("", active_path=path, selection=Lines(path, line, line))
    assert symbol_in_front(view, asked) == symbol
    assert symbol_in_front(view, asked, type_meant=True) == type_name


def test_a_character_that_ends_no_line_in_an_editor_moves_no_selection() -> None:
    view = indexed({"a.py": "# \f\u2028\x85\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"})
    asked = [Query("", active_path="a.py", selection=Lines("a.py", line, line)) for line in (2, 6, 7)]
    assert [symbol_in_front(view, query) for query in asked] == ["first", "second", "second"]


def test_a_long_line_of_data_hides_no_symbol() -> None:
    short = "def other():\n    value = 1\n    return value\n\n\n"
    view = indexed({"blob.py": short * 500 + f"def blob():\n    data = '{'a' * 200_000}'\n    return data\n"})
    asked = [Query("", active_path="blob.py", selection=Lines("blob.py", line, line)) for line in (2, 2_502)]
    assert [symbol_in_front(view, query) for query in asked] == ["other", "blob"]

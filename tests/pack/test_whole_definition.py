"""Asked for by its name alone, a definition is shown whole where the budget has room for it, else by its best lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from carrel import Budget, Index

METHODS = 12


METHOD = """  /** Number {n} of the ledger. */
  public int entry{letter}(int amount) {{
    int total = amount + {n};
    return total * {n};
  }}"""


def java_class(name: str, methods: int) -> str:
    body = "\n\n".join(METHOD.format(n=n, letter=chr(ord("A") + n)) for n in range(methods))
    return f"package books;\n\n/** Keeps the books. */\npublic class {name} {{\n  private int rest;\n\n{body}\n}}\n"


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as made:
        made.add_file("books/Ledger.java", java_class("Ledger", METHODS))
        made.add_file("books/Journal.java", java_class("Journal", 26))
        for n in range(6):
            made.add_file(
                f"shop/Till{n}.java",
                f"class Till{n} {{\n  Ledger ledger = new Ledger();\n  Journal journal = new Journal();\n}}\n",
            )
        yield made


def shown(index: Index, question: str, tokens: int, path: str) -> list[tuple[int, int]]:
    pack = index.context(question, Budget(tokens, "tokens"))
    assert pack.tokens <= tokens
    return [run for item in pack.items if item.hit.chunk.path == path for run in item.runs]


def test_a_class_is_shown_with_all_its_methods_to_its_last_bracket(index: Index) -> None:
    lines = java_class("Ledger", METHODS).rstrip("\n").count("\n") + 1
    [(first, last)] = shown(index, "Ledger", 1_500, "books/Ledger.java")
    assert first <= 4
    assert last == lines


def test_what_uses_it_is_still_there(index: Index) -> None:
    pack = index.context("Ledger", Budget(1_500, "tokens"))
    assert any(item.hit.chunk.path.startswith("shop/") for item in pack.items)


def test_a_class_that_would_take_all_of_the_budget_is_not(index: Index) -> None:
    whole = java_class("Journal", 26)
    found = shown(index, "Journal", 600, "books/Journal.java")
    assert sum(last - first + 1 for first, last in found) < whole.count("\n") * 2 / 3


def test_a_question_in_words_shows_what_it_asks_for(index: Index) -> None:
    found = shown(index, "where is entryC of the ledger added up", 400, "books/Ledger.java")
    assert sum(last - first + 1 for first, last in found) < METHODS * 6

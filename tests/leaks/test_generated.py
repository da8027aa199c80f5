"""No secret comes out in any form in which a language or a document gives it to a name, and constants stay."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.leaks.generated import Bound, Generator, harmless, seed_of_commit
from tests.leaks.test_planted import everything, open_store, run

from carrel import Index
from carrel.model.native import SecretOptions, mask_secrets

SEED = seed_of_commit()
# Letters alone that read like the words of a name can't be told from one in code.
MOST_LETTERS = 0.01


def masked(bound: Bound) -> str:
    return mask_secrets(bound.path, bound.text, SecretOptions())


def test_no_form_lets_a_secret_through() -> None:
    generator = Generator(SEED)
    drawn = [*generator.languages(1), *generator.documents(2), *generator.lists(2)]
    assert len(drawn) >= 3_000
    leaks = [bound for bound in drawn if bound.secret in masked(bound)]
    certain = [(bound.kind, bound.text) for bound in leaks if bound.kind != "letters"]
    assert certain == [], f"seed {SEED}"
    letters = Counter(bound.kind for bound in drawn)["letters"]
    assert len(leaks) <= letters * MOST_LETTERS, [bound.text for bound in leaks]


def test_constants_stay_as_they_are() -> None:
    changed = [
        (path, line) for path, line in harmless(SEED, 5_000) if mask_secrets(path, line + "\n", SecretOptions()) != line + "\n"
    ]
    assert changed == [], f"seed {SEED}"


def of_kinds(seed: str, count: int) -> list[Bound]:
    """Draw secrets that can be told for certain, each in a file of its own."""
    generator = Generator(seed)
    every = [*generator.languages(1), *generator.documents(1), *generator.lists(1)]
    drawn = [bound for bound in every if bound.kind != "letters"]
    chosen = drawn[:: max(len(drawn) // count, 1)]
    return [Bound(f"{number}/{bound.path}", bound.text, bound.secret, bound.kind) for number, bound in enumerate(chosen)]


def test_neither_index_nor_answers_hold_one(tmp_path: Path) -> None:
    drawn = of_kinds(SEED, 600)
    for bound in drawn:
        path = tmp_path / "code" / bound.path
        path.parent.mkdir(parents=True)
        path.write_bytes(bound.text.encode())
    store = open_store(tmp_path / "code", tmp_path / "index")
    shown = "\n".join(run(store))
    answers = everything(store.snapshot())
    store.close()
    bytes_of_index = b"".join(file.read_bytes() for file in (tmp_path / "index").rglob("*") if file.is_file())
    assert len(shown) > 10_000
    for bound in drawn:
        assert bound.secret not in shown
        assert bound.secret not in answers
        assert bound.secret.encode() not in bytes_of_index
        assert bound.secret.lower().encode() not in bytes_of_index, "words are kept in small letters"


@pytest.mark.parametrize("query", ["password", "api key token", "login of the database"])
def test_packs_hold_none(query: str) -> None:
    drawn = of_kinds(SEED + query, 120)
    with Index() as index:
        for bound in drawn:
            index.add_file(bound.path, bound.text)
        texts = [hit.content for hit in index.search(query, 100)]
        texts += [index.context(query, 1_000_000, k=100).text, index.search_code(query, 50)]
    given = "\n".join(texts)
    assert len(given) > 2_000
    assert [bound.text for bound in drawn if bound.secret in given] == []
